/* symbols/runtime/perf_map.c - lines "ADDRESS SIZE NAME" of perf's map; V8 puts a function's file and line into its name. */
#include "base/text.h"
#include "symbols/runtime/runtime_code.h"

#include <string.h>

static bool hex(const char **at, const char *end, uint64_t *value)
{
    const char *from = *at;
    *value = 0;
    if (end - from > 2 && from[0] == '0' && (from[1] | 32) == 'x')
        from += 2;
    const char *first = from;
    for (; from < end && from - first <= 16; from++) {
        char c = *from;
        unsigned digit = c >= '0' && c <= '9'                 ? (unsigned)(c - '0')
                         : (c | 32) >= 'a' && (c | 32) <= 'f' ? (unsigned)((c | 32) - 'a') + 10
                                                              : 16;
        if (digit == 16)
            break;
        *value = *value << 4 | digit;
    }
    *at = from;
    return from > first && from - first <= 16;
}

static bool blank(const char **at, const char *end)
{
    const char *from = *at;
    while (*at < end && **at == ' ')
        ++*at;
    return *at > from;
}

/* ":12:5" at the end: cut off; the line, or 0. */
static uint32_t cut_line(char *text)
{
    uint32_t line = 0;
    for (unsigned i = 0; i < 2; i++) {
        char *colon = strrchr(text, ':');
        if (!colon || colon[1] == '\0' || strlen(colon + 1) > 9 || strspn(colon + 1, "0123456789") != strlen(colon + 1))
            break;
        line = 0;
        for (const char *digit = colon + 1; *digit; digit++)
            line = line * 10 + (uint32_t)(*digit - '0');
        *colon = '\0';
    }
    return line;
}

bool runtime_name_split(char *text, struct runtime_name *name)
{
    static const char *const kinds[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
    char *function = NULL;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds && !function; i++)
        if (text_begins(text, kinds[i]))
            function = text + strlen(kinds[i]);
    if (!function)
        return false;
    function += strspn(function, "*~^+");
    char *space = strrchr(function, ' ');
    char *file = space ? space + 1
                 : text_begins(function, "/") || text_begins(function, "file:") || text_begins(function, "node:")
                     ? function
                     : NULL;
    name->name = function;
    if (!file)
        return true;
    bool first = strlen(file) > 4 && strcmp(file + strlen(file) - 4, ":1:1") == 0;
    name->line = cut_line(file);
    name->file = text_begins(file, "file://") ? file + strlen("file://") : file;
    if (space)
        *space = '\0';
    if (!space || space == function)
        name->name = first ? "(top level)" : "(anonymous)";
    return true;
}

size_t perf_map_read(const char *bytes, size_t size, runtime_visit visit, void *context)
{
    const char *at = bytes, *end = bytes + size, *newline;
    while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        struct runtime_name name = {.file = ""};
        char text[RUNTIME_NAME_MOST];
        const char *from = at;
        at = newline + 1;
        if (!hex(&from, newline, &name.addr) || !blank(&from, newline) || !hex(&from, newline, &name.size) ||
            !blank(&from, newline) || from == newline || name.size == 0 || name.size > RUNTIME_CODE_MOST ||
            name.addr + name.size < name.addr)
            continue;
        size_t length = (size_t)(newline - from) < sizeof text ? (size_t)(newline - from) : sizeof text - 1;
        for (size_t i = 0; i < length; i++)
            text[i] = (unsigned char)from[i] < ' ' || from[i] == 127 ? '?' : from[i];
        text[length] = '\0';
        name.name = text;
        runtime_name_split(text, &name);
        visit(context, &name);
    }
    return (size_t)(at - bytes);
}
