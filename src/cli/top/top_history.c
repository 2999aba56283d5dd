#include "cli/top/top_history.h"

#include "base/mem.h"

#include <string.h>

enum { SIGN_BYTES = 3, LEVELS = 8 };

static const char *sign(double part, bool ascii)
{
    static const char *const bars[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[LEVELS] = {"_", ".", "-", ":", "=", "+", "*", "#"};
    return (ascii ? letters : bars)[(unsigned)(part * 0.999 * LEVELS)];
}

void top_history_add(struct top_history *history, double remote)
{
    history->whole[history->intervals++ % HISTORY] = remote;
}

static uint64_t last_shown(const struct top_history *history, size_t row)
{
    uint64_t last = 0;
    for (unsigned i = 0; i < ROW_HISTORY; i++)
        last = history->rows[row].at[i] > last ? history->rows[row].at[i] : last;
    return last;
}

/* The row of this key; where there is none, the one to take for it. */
static size_t place_of(const struct top_history *history, uint64_t key)
{
    size_t oldest = 0;
    for (size_t i = 0; i < HISTORY_ROWS; i++) {
        if (history->rows[i].key == key)
            return i;
        if (last_shown(history, i) < last_shown(history, oldest))
            oldest = i;
    }
    return oldest;
}

void top_history_rows(struct top_history *history, const struct view_screen_row *rows, size_t count)
{
    unsigned now = (unsigned)(history->intervals % ROW_HISTORY);
    for (size_t i = 0; i < count; i++) {
        size_t place = place_of(history, rows[i].key);
        if (rows[i].remote < 0)
            continue;
        if (history->rows[place].key != rows[i].key)
            memset(&history->rows[place], 0, sizeof history->rows[place]);
        history->rows[place].key = rows[i].key;
        history->rows[place].at[now] = history->intervals;
        history->rows[place].remote[now] = (float)rows[i].remote;
    }
}

char *top_history_whole(const struct top_history *history, size_t room, bool ascii)
{
    uint64_t kept = history->intervals < HISTORY ? history->intervals : HISTORY, shown = kept < room ? kept : room;
    double most = 0.01;
    char text[HISTORY * SIGN_BYTES + 1] = "";
    for (uint64_t i = history->intervals - shown; i < history->intervals; i++)
        most = history->whole[i % HISTORY] > most ? history->whole[i % HISTORY] : most;
    for (uint64_t i = history->intervals - shown; i < history->intervals; i++)
        strcat(text, sign(history->whole[i % HISTORY] / most, ascii));
    return mem_format("remote, 0 to %.1f%%: %s", most * 100, text);
}

char *top_history_row(const struct top_history *history, uint64_t key, bool ascii)
{
    size_t place = place_of(history, key);
    bool known = history->rows[place].key == key;
    char text[ROW_HISTORY * SIGN_BYTES + 1] = "";
    for (uint64_t back = ROW_HISTORY; back > 0; back--) {
        uint64_t interval = history->intervals + 1 - back;
        bool there = known && history->intervals >= back && history->rows[place].at[interval % ROW_HISTORY] == interval;
        strcat(text, there ? sign(history->rows[place].remote[interval % ROW_HISTORY], ascii) : " ");
    }
    return mem_strdup(text);
}
