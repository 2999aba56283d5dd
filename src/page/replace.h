/* page/replace.h - a file that is written whole or not at all. Private to src/page. */
#ifndef NUMALENS_PAGE_REPLACE_H
#define NUMALENS_PAGE_REPLACE_H

#include "base/error.h"

#include <stdio.h>

/* Lets `fill` write, into a new file beside `path` that takes its place once everything is on the disk; what was there
 * before stays when something fails. The umask decides who may read it. Devices and pipes are written to as they are. */
int replace_file(const char *path, void (*fill)(FILE *out, const void *context), const void *context,
                 struct error *err);

#endif
