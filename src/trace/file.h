/* trace/file.h - the file under a trace: created with care for what was there, appended whole or not at all. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A descriptor of a new, empty file of mode 0600 at `path`, or a negative code. What was there before is replaced in
 * one step, and only when the new file exists. Character devices are opened as they are; FIFOs, sockets, directories and
 * block devices are refused, and so are symbolic links that another user may have laid (base/link.h). */
int trace_file_create(const char *path, struct error *err);

/* Removes what trace_file_create made. Devices stay. */
void trace_file_remove(const char *path);

/* Writes all of it at offset `at`, or leaves the file `at` bytes long and returns a negative errno. */
int trace_file_append(int fd, uint64_t at, const void *bytes, size_t size);
