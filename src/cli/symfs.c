#include "cli/symfs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { OPTION_SYMFS = 1 };

static const struct argp_option option_table[] = {
    {"symfs", OPTION_SYMFS, "DIR", 0, "Search the recorded binaries below this directory first: DIR/usr/bin/program",
     0},
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    const char **symfs = state->input;
    if (key != OPTION_SYMFS)
        return ARGP_ERR_UNKNOWN;
    struct stat status;
    if (stat(value, &status) != 0)
        argp_error(state, "--symfs: %s: %s", value, strerror(errno));
    else if (!S_ISDIR(status.st_mode))
        argp_error(state, "--symfs: %s is not a directory", value);
    *symfs = value;
    return 0;
}

const struct argp symfs_argp = {.options = option_table, .parser = parse_option};
