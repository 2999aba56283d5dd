/* base/small_file.h - files of a few lines, as /proc and /sys have them. */
#pragma once

#include <stdint.h>

/* The first line without its end, to be freed; NULL when there is none. */
char *small_file_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The number that the first line begins with (0x: hexadecimal), or `otherwise`. */
int64_t small_file_number(int64_t otherwise, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What stands behind "field:", to be freed; NULL when no line begins so. */
char *small_file_field(const char *path, const char *field);
