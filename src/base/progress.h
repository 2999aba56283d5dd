/* base/progress.h - how far long work has come, for whoever shows it: the work announces itself here, and nothing is printed.
 *
 * One state for the process, since one piece of work is shown at a time: written by the threads that work, read by the one that
 * shows (cli/progress_line.h). Words and numbers are atomic each for itself, which is all that a line on a terminal needs.
 * Texts must be literals: whoever shows them may come late. */
#pragma once

#include <stdint.h>

struct progress {
    const char *what;     /* "reading", or NULL: nothing was announced */
    const char *inner;    /* a part of it that may take long by itself, or NULL */
    uint64_t done, total; /* total 0: not known */
};

void progress_begin(const char *what, uint64_t total);
void progress_set(uint64_t done);

/* For the time of a part; NULL at its end. */
void progress_inner(const char *what);

struct progress progress_now(void);

/* Until it is called with NULL, `listener` is called on this thread whenever this thread begins work or advances in it. */
typedef void progress_listener(void *data, const char *what, uint64_t done, uint64_t total);
void progress_listen(progress_listener *listener, void *data);
