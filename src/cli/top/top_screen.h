/* cli/top/top_screen.h - the live view on a terminal. */
#pragma once

#include "cli/top/top_feed.h"
#include "view/refresh.h"

#include <stdbool.h>

struct top_shown {
    struct view_options *view; /* color, ascii: of the terminal */
    const char *name;          /* of the process */
    uint32_t pid;
    sigset_t *mask;                 /* in force while it waits */
    volatile sig_atomic_t *stopped; /* set by a signal: it ends */
};

/* Until q, a signal or a failure; when the processes end it stays until q. 0, or negative with `err`. The terminal is as it was then. */
int top_screen(struct top_feed *feed, const struct top_shown *shown, struct error *err);
