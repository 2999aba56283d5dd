#include "view/paragraph.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void paragraph(FILE *out, unsigned indent, unsigned width, const char *color, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    char *safe = text_safe(length < 0 ? "" : text);
    if (length >= 0)
        free(text);
    size_t column = 0;
    for (char *word = safe; *word;) {
        size_t size = strcspn(word, " ");
        char *next = word + size + (word[size] == ' ');
        word[size] = '\0';
        char *fit = width > indent ? text_fit(word, width - indent) : mem_strdup(word);
        size_t columns = text_width(fit);
        if (column && width && column + 1 + columns > width) {
            fputc('\n', out);
            column = 0;
        }
        fprintf(out, "%*s%s%s%s", column ? 1 : (int)indent, "", color, fit, *color ? "\033[0m" : "");
        column = column ? column + 1 + columns : indent + columns;
        color = "";
        word = next;
        free(fit);
    }
    fputc('\n', out);
    free(safe);
}
