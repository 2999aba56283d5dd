#include "view/paragraph.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
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

/* How much of a line goes into `room` columns: up to a blank that is in no quotes, or all of it where there is none. */
static size_t code_fits(const char *line, size_t room)
{
    size_t fits = 0, begins = strspn(line, " ");
    char quote = '\0';
    if (text_width(line) <= room)
        return strlen(line);
    for (size_t i = begins; line[i]; i++) {
        if (quote ? line[i] == quote : line[i] == '\'' || line[i] == '"')
            quote = quote ? '\0' : line[i];
        else if (line[i] == ' ' && !quote && (fits == 0 || i + 2 <= room)) /* two columns for " \" */
            fits = i;
    }
    return fits ? fits : strlen(line);
}

void paragraph_code(FILE *out, unsigned indent, unsigned width, const char *code)
{
    enum { DEEPER = 4 };
    size_t room = width > indent + DEEPER && *code != '!' ? width - indent : SIZE_MAX;
    while (*code) {
        size_t size = strcspn(code, "\n");
        char *line = mem_format("%.*s", (int)size, code), *safe = text_safe(line);
        size_t at = 0, used = code_fits(safe, room);
        fprintf(out, "%*s%.*s", (int)indent, "", (int)used, safe);
        while (safe[at += used + 1 - !safe[at + used]]) {
            used = code_fits(safe + at, room - DEEPER);
            fprintf(out, " \\\n%*s%.*s", (int)indent + DEEPER, "", (int)used, safe + at);
        }
        fputc('\n', out);
        free(safe);
        free(line);
        code += size + (code[size] == '\n');
    }
}
