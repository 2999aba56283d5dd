#include "base/replace.h"

#include "base/link.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int explain(const char *path, int code, struct error *err)
{
    const char *remedy = code == ENOSPC || code == EDQUOT                    ? "; nothing was written"
                         : code == EACCES || code == EROFS || code == ENOENT ? "; name another file"
                                                                             : "";
    return error_set(err, code ? -code : -EIO, "cannot write %s: %s%s", path, strerror(code ? code : EIO), remedy);
}

/* 0; the cause; or negative with `err` when `fill` says so. Closes the descriptor. */
static int fill_and_close(int file, bool regular, replace_fill *fill, const void *context, struct error *err)
{
    FILE *out = fdopen(file, "w");
    if (!out) {
        int why = errno;
        close(file);
        return why;
    }
    errno = 0;
    int failed = fill(out, context, err);
    int why = failed < 0 ? failed : fflush(out) != 0 || ferror(out) ? (errno ? errno : EIO) : 0;
    if (why == 0 && regular && fsync(file) != 0)
        why = errno;
    if (fclose(out) != 0 && why == 0)
        why = errno;
    return why;
}

static int write_into(const char *path, replace_fill *fill, const void *context, struct error *err)
{
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    int why = file < 0 ? errno : fill_and_close(file, false, fill, context, err);
    return why > 0 ? explain(path, why, err) : why;
}

int replace_file(const char *path, enum replace_readers readers, replace_fill *fill, const void *context,
                 struct error *err)
{
    struct stat old;
    char *target = link_follow(path, err);
    if (!target)
        return err ? err->code : -EACCES;
    bool exists = stat(path, &old) == 0;
    if (!exists || !S_ISREG(old.st_mode)) {
        free(target);
        target = NULL;
    }
    if (exists && S_ISDIR(old.st_mode))
        return error_set(err, -EISDIR, "cannot write %s: it is a folder; name a file in it", path);
    if (exists && !S_ISREG(old.st_mode))
        return write_into(path, fill, context, err);
    /* The file that a symbolic link leads to is meant, not the link. */
    target = target ? target : mem_strdup(path);
    char *fresh = mem_format("%s.%d.new", target, (int)getpid());
    int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)readers);
    if (file >= 0 && exists)
        fchmod(file, old.st_mode & 0777);
    int why = file < 0 ? errno : fill_and_close(file, true, fill, context, err);
    if (why == 0 && rename(fresh, target) != 0)
        why = errno;
    if (why && file >= 0)
        unlink(fresh);
    free(fresh);
    free(target);
    return why > 0 ? explain(path, why, err) : why;
}

FILE *replace_stream(const char *path, struct error *err)
{
    struct stat old;
    char *target = link_follow(path, err);
    if (!target)
        return NULL;
    /* A device or pipe may be reached by a link that leads nowhere by itself (/dev/stdout). */
    bool special = stat(path, &old) == 0 && !S_ISREG(old.st_mode);
    int file = open(special ? path : target,
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | (special ? 0 : O_NOFOLLOW), REPLACE_BY_UMASK);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (!out)
        explain(path, errno, err);
    if (!out && file >= 0)
        close(file);
    free(target);
    return out;
}
