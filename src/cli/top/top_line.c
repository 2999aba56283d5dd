#include "cli/top/top_line.h"

#include "base/mem.h"
#include "base/text.h"

#include <curses.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void top_line(int y, const char *line, size_t length, int attributes)
{
    int room = COLS;
    move(y, 0);
    clrtoeol();
    attrset(attributes);
    for (const char *at = line, *end = line + length; at < end && room > 0;) {
        if (*at == '\033') {
            const char *m = memchr(at, 'm', (size_t)(end - at));
            bool hot = m && strncmp(at, "\033[1;31m", 7) == 0;
            attrset(attributes | (hot ? (int)(A_BOLD | COLOR_PAIR(TOP_PAIR_HOT)) : 0));
            at = m ? m + 1 : end;
            continue;
        }
        const char *next = memchr(at, '\033', (size_t)(end - at));
        char *part = mem_format("%.*s", (int)((next ? next : end) - at), at);
        char *fit = text_fit(part, (size_t)room);
        addstr(fit);
        room -= (int)text_width(fit);
        free(fit);
        free(part);
        at = next ? next : end;
    }
    for (; (attributes & A_REVERSE) && room > 0; room--)
        addch(' ');
    attrset(A_NORMAL);
}

void top_words(int y, int attributes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *safe = text_safe_format(format, args);
    va_end(args);
    top_line(y, safe, strlen(safe), attributes);
    free(safe);
}
