/* base/text.h - text from a target program is hostile: what a terminal or a JSON reader gets of it is made safe here. */
#ifndef NUMALENS_BASE_TEXT_H
#define NUMALENS_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The length (1-4) of the valid UTF-8 sequence at `text` and its code point, or 0 when there is none. A NUL ends the
 * text and is no sequence. */
unsigned text_utf8(const char *text, uint32_t *code);

/* `text` for a terminal: control characters, invalid UTF-8, and marks that turn the direction of writing come out as
 * \x1b or \u{202e}. The caller frees it. */
char *text_safe(const char *text);

/* How many columns a safe text takes. */
size_t text_width(const char *text);

/* Cuts a safe text to `width` columns at most, with "…" in place of the middle. The caller frees it. */
char *text_fit(const char *text, size_t width);

#endif
