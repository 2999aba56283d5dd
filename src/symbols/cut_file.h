/* symbols/cut_file.h - files that somebody makes shorter while they are mapped: a program that is recorded may do that to its own
 * libraries, and a build does it to what is being reported on. The kernel answers a read beyond the new end with SIGBUS. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* From here on this process reads zeros there, in files that are watched; SIGBUS for anything else ends it as before. */
void cut_file_survive(void);

/* A file that is being mapped, until cut_file_forget(); cut_file_mapped() says where it is. -1: there are too many, and it is not watched. */
int cut_file_watch(void);
void cut_file_mapped(int number, const void *start, size_t bytes);
void cut_file_forget(int number);

/* Whether zeros were read in place of it. */
bool cut_file_was_cut(int number);
