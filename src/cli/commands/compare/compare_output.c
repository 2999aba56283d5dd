#include "cli/commands/compare/compare_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that nobody else can find: it is deleted when it is closed. */
static int nameless(const char *folder, struct error *err)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/output-XXXXXX", folder);
    int fd = length < (int)sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
    if (fd < 0)
        return error_set(err, -errno, "cannot make a file in %s: %s", folder, strerror(errno));
    unlink(path);
    return fd;
}

int compare_output_open(struct compare_output *output, bool same, const char *folder, struct error *err)
{
    *output = (struct compare_output){.same = same, .first = -1, .now = -1};
    output->first = same ? nameless(folder, err) : open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (output->first < 0)
        return same ? output->first : error_set(err, -errno, "cannot open /dev/null: %s", strerror(errno));
    if (same && (output->now = nameless(folder, err)) < 0)
        return output->now;
    return 0;
}

void compare_output_close(struct compare_output *output)
{
    if (output->first >= 0)
        close(output->first);
    if (output->now >= 0)
        close(output->now);
    output->first = output->now = -1;
}

int compare_output_begin(struct compare_output *output, struct error *err)
{
    if (!output->same || !output->has_first)
        return output->first;
    if (ftruncate(output->now, 0) < 0 || lseek(output->now, 0, SEEK_SET) < 0)
        return error_set(err, -errno, "cannot write down what the program prints: %s", strerror(errno));
    return output->now;
}

int compare_output_end(struct compare_output *output, const char *what, struct error *err)
{
    if (!output->same)
        return 0;
    if (!output->has_first) {
        output->has_first = true;
        return 0;
    }
    char left[16384], right[sizeof left];
    for (off_t at = 0;;) {
        ssize_t had = pread(output->first, left, sizeof left, at), got = pread(output->now, right, sizeof right, at);
        if (had < 0 || got < 0)
            return error_set(err, -errno, "cannot read what the program printed: %s", strerror(errno));
        ssize_t both = had < got ? had : got, same = 0;
        while (same < both && left[same] == right[same])
            same++;
        if (same < had || same < got)
            return error_set(err, -ECANCELED,
                             "%s: the program printed something else than in its first run, from byte %lld on; the "
                             "comparison ends here",
                             what, (long long)at + same + 1);
        if (had == 0)
            return 0;
        at += had;
    }
}
