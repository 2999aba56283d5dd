/* cli/top/top_line.h - lines of a screen of curses. */
#pragma once

#include <stddef.h>

enum { TOP_PAIR_HOT = 1 }; /* a colour's number */

/* Prints a line that may have colours of a terminal in it, cut at the screen's edge. `attributes`: of curses. */
void top_line(int y, const char *line, size_t length, int attributes);

/* The same of a text, in which nothing does harm to a terminal. */
void top_words(int y, int attributes, const char *format, ...) __attribute__((format(printf, 3, 4)));
