/* base/sanitizer.h - programs built with AddressSanitizer, ThreadSanitizer, MemorySanitizer or LeakSanitizer.
 *
 * Their runtime brings a malloc, threads and signals of its own and stands no library before it: with the agent there they end at
 * once, hang or report errors that they do not have. UndefinedBehaviorSanitizer alone brings none of that and is not meant here.
 *
 * The file may be anything, and may change while it is read. System calls only, nothing is allocated, 3 KB of stack: also for
 * handlers and the child of a vfork. False whenever a file cannot be read or understood. */
#pragma once

#include <stdbool.h>

/* Whether the program in this file has such a runtime; of a script, its interpreter. */
bool sanitizer_in_file(int fd);
bool sanitizer_in_program(int directory, const char *path);

/* Whether a list of libraries, as in LD_PRELOAD, names such a runtime. */
bool sanitizer_in_list(const char *list);
