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

enum { OPTION_SYMFS = 1 };

static const struct argp_option option_table[] = {
    {"symfs", OPTION_SYMFS, "DIR", 0, SYMFS_HELP, 0},
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    const char **symfs = state->input;
    if (key != OPTION_SYMFS)
        return ARGP_ERR_UNKNOWN;
    *symfs = symfs_parse(state, value);
    return 0;
}

const struct argp symfs_argp = {.options = option_table, .parser = parse_option};
