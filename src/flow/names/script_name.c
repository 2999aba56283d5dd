/* flow/names/script_name.c - names in a line of Python, JavaScript and their like, by the line alone: what stands before its `=`. */
#include "flow/names/sources.h"

#include <ctype.h>
#include <string.h>

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || (unsigned char)c >= 128;
}

static const char *skip_word(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - at) > length && strncmp(at, word, length) == 0 && at[length] == ' ' ? at + length + 1 : at;
}

bool source_script_name(const char *text, size_t size, uint32_t line, char name[SOURCE_NAME_MAX])
{
    static const char *const before[] = {"export", "const", "let", "mut", "var", "local", "static", "global"};
    const char *at = text, *end = text + size, *newline;
    for (uint32_t i = 1; i < line; i++) {
        if (!(newline = memchr(at, '\n', (size_t)(end - at))))
            return false;
        at = newline + 1;
    }
    newline = memchr(at, '\n', (size_t)(end - at));
    end = newline ? newline : end;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        at = skip_word(at, end, before[i]);
    const char *first = at;
    while (at < end && in_name(*at))
        at++;
    size_t length = (size_t)(at - first);
    if (at < end && *at == ':') { /* a type, up to the sign */
        at = memchr(at, '=', (size_t)(end - at));
        at = at ? at : end;
    }
    while (at < end && *at == ' ')
        at++;
    bool assigns = end - at > 1 && *at == '=' && at[1] != '=' && at[1] != '>';
    if (!assigns || length == 0 || length >= SOURCE_NAME_MAX || isdigit((unsigned char)*first))
        return false;
    memcpy(name, first, length);
    name[length] = '\0';
    return true;
}
