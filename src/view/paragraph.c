#include "view/paragraph.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Puts a safe text's words, from `column` on, with `indent` blanks before each new line. */
static void put_words(FILE *out, char *safe, size_t column, unsigned indent, unsigned width, const char *color)
{
    bool begun = false;
    for (char *word = safe; *word;) {
        size_t size = strcspn(word, " ");
        char *next = word + size + (word[size] == ' ');
        word[size] = '\0';
        char *fit = width > indent ? text_fit(word, width - indent) : mem_strdup(word);
        size_t columns = text_width(fit);
        if (begun && width && column + 1 + columns > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            begun = false;
        }
        fprintf(out, "%s%s%s%s", begun ? " " : "", color, fit, *color ? "\033[0m" : "");
        column += begun + columns;
        begun = true;
        color = "";
        word = next;
        free(fit);
    }
    fputc('\n', out);
}

void paragraph(FILE *out, unsigned indent, unsigned width, const char *color, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *safe = text_safe_format(format, args);
    va_end(args);
    fprintf(out, "%*s", (int)indent, "");
    put_words(out, safe, indent, indent, width, color);
    free(safe);
}

void paragraph_labelled(FILE *out, const char *label, unsigned indent, unsigned hang, unsigned width,
                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *safe = text_safe_format(format, args);
    va_end(args);
    int column = fprintf(out, "%*s%s", (int)indent, "", label);
    if (column < (int)hang)
        column += fprintf(out, "%*s", (int)hang - column, "");
    put_words(out, safe, (size_t)column, hang, width, "");
    free(safe);
}
