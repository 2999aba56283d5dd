/* cli/top/top_history.h - remote shares of the last intervals: of the whole, and of each row that a screen has shown. */
#pragma once

#include "view/refresh.h"

#include <stdbool.h>

enum {
    HISTORY = 60,       /* intervals of the whole */
    ROW_HISTORY = 8,    /* of a row */
    HISTORY_ROWS = 512, /* rows; the one that was not shown for longest is forgotten first */
};

struct top_history {
    double whole[HISTORY];
    uint64_t intervals;
    struct {
        uint64_t key;
        uint64_t at[ROW_HISTORY]; /* interval, from 1 */
        float remote[ROW_HISTORY];
    } rows[HISTORY_ROWS];
};

/* A next interval begins with this remote share. */
void top_history_add(struct top_history *history, double remote);

/* What rows had in this interval, once or several times. Where the share is not known, nothing is kept. */
void top_history_rows(struct top_history *history, const struct view_screen_row *rows, size_t count);

/* Up to `room` intervals of the whole, from 0 to the largest of them; to be freed. */
char *top_history_whole(const struct top_history *history, size_t room, bool ascii);

/* ROW_HISTORY signs, each from 0 to 100%; a blank where there is nothing. To be freed. */
char *top_history_row(const struct top_history *history, uint64_t key, bool ascii);
