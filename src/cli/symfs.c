#include "cli/symfs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

const char *symfs_parse(const struct argp_state *state, const char *directory)
{
    struct stat status;
    if (stat(directory, &status) != 0)
        argp_error(state, "--symfs: %s: %s", directory, strerror(errno));
    else if (!S_ISDIR(status.st_mode))
        argp_error(state, "--symfs: %s is not a directory", directory);
    return directory;
}
