#include "base/small_file.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first line that begins with `field`, without its end; what is before it is skipped. */
static char *find_line(const char *path, const char *field)
{
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && getline(&line, &room, file) >= 0)
        found = strncmp(line, field, strlen(field)) == 0;
    if (file)
        fclose(file);
    if (!found) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static char *first_line(const char *format, va_list list)
{
    char *path = mem_vformat(format, list), *line = find_line(path, "");
    free(path);
    return line;
}

char *small_file_line(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *line = first_line(format, list);
    va_end(list);
    return line;
}

int64_t small_file_number(int64_t otherwise, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *line = first_line(format, list), *end = line;
    va_end(list);
    int64_t number = line ? strtoll(line, &end, 0) : 0;
    number = end != line ? number : otherwise;
    free(line);
    return number;
}

char *small_file_field(const char *path, const char *field)
{
    char *line = find_line(path, field);
    const char *colon = line ? strchr(line, ':') : NULL;
    char *text = colon ? mem_strdup(colon + 1 + strspn(colon + 1, " \t")) : NULL;
    free(line);
    return text;
}
