/* base/replace.h - a file that is written whole or not at all; or, where it is read while it grows, as it comes. Links that
 * somebody else may have laid are not followed (base/link.h). */
#pragma once

#include "base/error.h"

#include <stdio.h>

/* Who may read a new file: its owner, where it has what a recording has (traces are 0600); or whom the umask lets. */
enum replace_readers { REPLACE_FOR_OWNER = 0600, REPLACE_BY_UMASK = 0666 };

/* Lets `fill` write, into a new file beside `path` that takes its place once everything is on the disk; what was there
 * before stays when something fails. Devices and pipes are written to as they are. A file that was there keeps its mode.
 * `fill` returns 0, or a negative code with `err` for a failure of its own; those of the stream are found here. */
typedef int replace_fill(FILE *out, const void *context, struct error *err);
int replace_file(const char *path, enum replace_readers readers, replace_fill *fill, const void *context,
                 struct error *err);

/* Opens the file itself, empty. NULL with `err`. */
FILE *replace_stream(const char *path, struct error *err);
