/* cli/symfs.h - --symfs DIR: binaries of the machine that was recorded, in a tree of their own; as perf's option. */
#ifndef NUMALENS_CLI_SYMFS_H
#define NUMALENS_CLI_SYMFS_H

#include <argp.h>

#define SYMFS_HELP "Search the recorded binaries below this directory first: DIR/usr/bin/program"

/* The option by itself, as a child of a command's own argp: its input is a const char *. */
extern const struct argp symfs_argp;

/* The directory as it was given; ends in a usage error when it is none. */
const char *symfs_parse(const struct argp_state *state, const char *directory);

#endif
