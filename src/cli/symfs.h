/* cli/symfs.h - --symfs DIR: binaries of the machine that was recorded, in a tree of their own; as perf's option. */
#pragma once

#include <argp.h>

/* A child of a command's own argp: its input is a const char *. */
extern const struct argp symfs_argp;
