/* base/replace.h - a file that is written whole or not at all. */
#ifndef NUMALENS_BASE_REPLACE_H
#define NUMALENS_BASE_REPLACE_H

#include "base/error.h"

#include <stdio.h>

/* Lets `fill` write, into a new file beside `path` that takes its place once everything is on the disk; what was there
 * before stays when something fails. The umask decides who may read it. Devices and pipes are written to as they are.
 * `fill` returns 0, or a negative code with `err` for a failure of its own; those of the stream are found here. */
typedef int replace_fill(FILE *out, const void *context, struct error *err);
int replace_file(const char *path, replace_fill *fill, const void *context, struct error *err);

#endif
