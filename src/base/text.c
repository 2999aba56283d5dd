#include "base/text.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned text_utf8(const char *text, uint32_t *code)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned length = bytes[0] < 0x80   ? 1
                      : bytes[0] < 0xc2 ? 0
                      : bytes[0] < 0xe0 ? 2
                      : bytes[0] < 0xf0 ? 3
                      : bytes[0] < 0xf5 ? 4
                                        : 0;
    if (length == 0 || bytes[0] == 0)
        return 0;
    uint32_t value = length == 1 ? bytes[0] : bytes[0] & (0x7f >> length);
    for (unsigned i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return 0;
    *code = value;
    return length;
}

bool text_deceives(uint32_t code)
{
    /* Joiners and variation selectors (U+200C, U+200D, U+FE00 on) are not here: honest names have them. */
    static const uint32_t ranges[][2] = {
        {0xad, 0xad},     {0x61c, 0x61c},   {0x115f, 0x1160}, {0x180e, 0x180e},   {0x200b, 0x200b},
        {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfeff, 0xfeff},
        {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xffa0, 0xffa0}, {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    }
    return false;
}

/* Good enough for tables: combining marks take no column, East Asian scripts and emoji two. */
static unsigned columns_of(uint32_t code)
{
    if ((code >= 0x300 && code < 0x370) || (code >= 0x200b && code <= 0x200d) || (code >= 0xfe00 && code < 0xfe10))
        return 0;
    if ((code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) || (code >= 0xac00 && code < 0xd7a4) ||
        (code >= 0xf900 && code < 0xfb00) || (code >= 0xff00 && code < 0xff61) || (code >= 0x1f300 && code < 0x1fb00) ||
        (code >= 0x20000 && code < 0x40000))
        return 2;
    return 1;
}

char *text_safe(const char *text)
{
    enum { LONGEST = 10, MARKS = 4 }; /* what one byte or sequence may become: \u{10ffff}; marks on one letter */
    unsigned marks = 0;
    char *safe = mem_alloc(strlen(text) * LONGEST + 1), *out = safe;
    while (*text) {
        uint32_t code = 0;
        unsigned length = text_utf8(text, &code);
        if (length == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
            for (unsigned i = 0; i < (length ? length : 1); i++)
                out += sprintf(out, "\\x%02x", (unsigned char)text[i]);
            text += length ? length : 1;
            marks = 0;
            continue;
        }
        marks = columns_of(code) ? 0 : marks + 1;
        if (text_deceives(code) || marks > MARKS) {
            out += sprintf(out, "\\u{%x}", code);
            text += length;
        } else {
            memcpy(out, text, length);
            out += length;
            text += length;
        }
    }
    *out = '\0';
    return mem_resize(safe, (size_t)(out - safe) + 1);
}

size_t text_width(const char *text)
{
    size_t width = 0;
    uint32_t code;
    for (unsigned length; *text; text += length) {
        length = text_utf8(text, &code);
        width += length ? columns_of(code) : 1;
        length += length == 0;
    }
    return width;
}

/* The byte after the last whole character that ends within `width` columns. */
static size_t prefix_within(const char *text, size_t width)
{
    size_t used = 0, at = 0;
    while (text[at]) {
        uint32_t code = 'x';
        unsigned length = text_utf8(text + at, &code);
        if (used + columns_of(code) > width)
            break;
        used += columns_of(code);
        at += length ? length : 1;
    }
    return at;
}

char *text_safe_format(const char *format, va_list args)
{
    char *text = mem_vformat(format, args), *safe = text_safe(text);
    free(text);
    return safe;
}

char *text_safe_fit(const char *text, size_t columns)
{
    char *safe = text_safe(text);
    if (!columns)
        return safe;
    char *fit = text_fit(safe, columns);
    free(safe);
    return fit;
}

static bool ascii_only;

void text_ascii_only(void)
{
    ascii_only = true;
}

const char *text_cut(void)
{
    return ascii_only ? "~" : "…";
}

char *text_fit(const char *text, size_t width)
{
    size_t whole = text_width(text);
    if (whole <= width)
        return mem_strdup(text);
    if (width < 2)
        return mem_strdup(width ? text_cut() : "");
    size_t head = (width - 1 + 1) / 2, tail = width - 1 - head;
    size_t cut = prefix_within(text, head), rest = prefix_within(text, whole - tail);
    if (text_width(text + rest) > tail) /* a wide character stands across the cut */
        rest = prefix_within(text, whole - tail + 1);
    return mem_format("%.*s%s%s", (int)cut, text, text_cut(), text + rest);
}

char *text_shell(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
    size_t used = 0;
    if (*word && strspn(word, plain) == strlen(word))
        return mem_strdup(word);
    char *text = mem_alloc(4 * strlen(word) + 3); /* a quote in it becomes four letters */
    text[used++] = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(text + used, "'\\'", 3);
            used += 3;
        }
        text[used++] = *word;
    }
    text[used++] = '\'';
    text[used] = '\0';
    return text;
}

bool text_contains(const char *text, const char *wanted)
{
    return text && strcasestr(text, wanted);
}

const char *text_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

const char *text_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *text_file_stem(const char *path)
{
    char *name = mem_strdup(text_file_name(path)), *dot = strrchr(name, '.');
    if (dot && dot != name)
        *dot = '\0';
    return name;
}
