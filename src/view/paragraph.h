/* view/paragraph.h - sentences that fit the width. */
#pragma once

#include <stdio.h>

/* Prints a text, made safe for terminals, with `indent` blanks before each line and broken between words where it would
 * go beyond `width` (0: never). `color`, an escape sequence or "", is for the first word. */
void paragraph(FILE *out, unsigned indent, unsigned width, const char *color, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Likewise, with a label (plain letters) at `indent` on the first line and the text from column `hang` on. */
void paragraph_labelled(FILE *out, const char *label, unsigned indent, unsigned hang, unsigned width,
                        const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Lines of code as they stand. What is too long goes on behind a backslash, which C and the shell read over; Fortran does not, and keeps its lines. */
void paragraph_code(FILE *out, unsigned indent, unsigned width, const char *code);
