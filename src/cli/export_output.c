#include "cli/export_output.h"

#include "exchange/export/fields.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

bool export_output_is_terminal(const char *path)
{
    return is_stdout(path) && isatty(STDOUT_FILENO);
}

int export_output_check(const char *path, const char *binary, struct error *err)
{
    if (binary && export_output_is_terminal(path))
        return error_set(err, -EINVAL, "%s is binary and not for a terminal; name a file with -o", binary);
    return 0;
}

int export_output(const struct input *source, const char *path, replace_fill *fill, const void *context,
                  struct error *err)
{
    if (!is_stdout(path)) {
        if (input_has(source, path))
            return error_set(err, -EINVAL, "%s is the recording itself; name another file with -o", path);
        return replace_file(path, REPLACE_FOR_OWNER, fill, context, err);
    }
    int failed = fill(stdout, context, err);
    if (failed == 0 && (fflush(stdout) != 0 || ferror(stdout)))
        failed = error_set(err, -EIO, "cannot write to standard output: %s", strerror(errno));
    return failed;
}

int export_fields_are_wrong(const char *fields, struct error *err)
{
    struct fields parsed;
    return fields_parse(&parsed, fields, err);
}
