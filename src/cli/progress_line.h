/* cli/progress_line.h - one line on the terminal for work of more than two seconds: "numalens report: reading, 43%, 5 s".
 *
 * It goes to stderr when that is a terminal, and to nowhere else. It is erased before anything else is printed, on stdout or
 * stderr, and when the program ends; after that it does not come again. */
#pragma once

#include <stdbool.h>

/* `quiet`: the user wants none. `json`: what is printed is for programs; there is no line then where that is a terminal, too. What
 * the work is and how far it is: base/progress.h. NUMALENS_PROGRESS_MS in the environment is the time until it appears,
 * for tests. */
void progress_line_begin(const char *command, bool quiet, bool json);

/* Before something is printed. May be called at any time, again too. */
void progress_line_end(void);
