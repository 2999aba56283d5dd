/* base/text.h - text from a target program is hostile: what a terminal or a JSON reader gets of it is made safe here. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The length (1-4) of the valid UTF-8 sequence at `text` and its code point, or 0 when there is none. A NUL ends the
 * text and is no sequence. */
unsigned text_utf8(const char *text, uint32_t *code);

/* Whether a character changes how its neighbours are shown and not more: it reverses the direction of writing, ends
 * lines, or cannot be seen. */
bool text_deceives(uint32_t code);

/* `text` for a terminal: control characters, invalid UTF-8, characters that deceive, and more than a few marks on one
 * letter come out as \x1b or \u{202e}. The caller frees it. */
char *text_safe(const char *text);
char *text_safe_format(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* The same, cut by text_fit where `columns` is not 0. The caller frees it. */
char *text_safe_fit(const char *text, size_t columns);

/* A word as a shell reads it: in quotes where it has letters that mean something there. The caller frees it. */
char *text_shell(const char *word);

/* Whether `text` begins with `with`; has `wanted` in it, in letters of any case (NULL has nothing). */
static inline bool text_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}
bool text_contains(const char *text, const char *wanted);

/* "" or "s" */
const char *text_plural(uint64_t count);

/* Of a path, what is behind its last slash. */
const char *text_file_name(const char *path);

/* The same without its ending: "switches" of ".../switches.c". The caller frees it. */
char *text_file_stem(const char *path);

/* How many columns a safe text takes. */
size_t text_width(const char *text);

/* Cuts a safe text to `width` columns at most, with text_cut() in place of the middle. The caller frees it. */
char *text_fit(const char *text, size_t width);

/* What stands for what was cut out, one column wide: "…", or "~" once the output is to have ASCII letters only. Say so before
 * anything is printed. */
const char *text_cut(void);
void text_ascii_only(void);
