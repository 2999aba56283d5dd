#include "symbols/demangle.h"

#include "base/mem.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 8192, LONGEST_TEXT = 16384 };

/* Of libiberty, as in its demangle.h, which Fedora has not beside the library. */
enum { DMGL_PARAMS = 1, DMGL_ANSI = 2 };
typedef void take_bytes(const char *bytes, size_t length, void *opaque);
int rust_demangle_callback(const char *mangled, int options, take_bytes *take, void *opaque);
int cplus_demangle_v3_callback(const char *mangled, int options, take_bytes *take, void *opaque);

struct text {
    jmp_buf too_long;
    size_t length;
    char bytes[LONGEST_TEXT + 1];
};

/* libiberty's demanglers have no way to be stopped. They hold nothing but stack when they call back, so leaving by
 * longjmp loses nothing. */
static void append(const char *bytes, size_t length, void *opaque)
{
    struct text *text = opaque;
    if (length > LONGEST_TEXT - text->length)
        longjmp(text->too_long, 1);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static bool demangle_into(const char *name, struct text *text)
{
    enum { OPTIONS = DMGL_PARAMS | DMGL_ANSI };
    if (setjmp(text->too_long))
        return false;
    text->length = 0;
    if (rust_demangle_callback(name, OPTIONS, append, text))
        return true;
    text->length = 0;
    return strncmp(name, "_Z", 2) == 0 && cplus_demangle_v3_callback(name, OPTIONS, append, text);
}

/* gfortran: __module_MOD_name, and __module_MOD_name.12 for what is local to a compilation. */
static char *demangle_fortran(const char *name)
{
    if (strncmp(name, "__", 2) != 0)
        return NULL;
    const char *middle = strstr(name + 2, "_MOD_");
    if (!middle || middle == name + 2 || middle[5] == '\0')
        return NULL;
    for (const char *at = name + 2; at < middle; at++)
        if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) && *at != '_')
            return NULL;
    return mem_format("%.*s::%s", (int)(middle - name - 2), name + 2, middle + 5);
}

/* D: the parts of a qualified name, each behind its length, up to its type; one that is there already is a letter for the way back. Other
 * than libiberty's, which may take for ever, it reads nothing twice; of a template it takes the name. */
static char *demangle_d(const char *name)
{
    enum { MOST = 512 };
    char text[MOST];
    size_t used = 0;
    const char *at = name + 2;
    for (bool is_last = false; *at && !is_last;) {
        is_last = strncmp(at, "__T", 3) == 0; /* its arguments follow */
        at += is_last ? 3 : 0;
        const char *part = at, *next = NULL;
        if (*at == 'Q') { /* base 26, the last digit is small */
            size_t back = 0;
            for (part++; isupper((unsigned char)*part) && back < MOST; part++)
                back = back * 26 + (size_t)(*part - 'A');
            if (!islower((unsigned char)*part))
                break;
            back = back * 26 + (size_t)(*part - 'a');
            next = part + 1;
            if (back == 0 || back > (size_t)(at - name))
                break;
            part = at - back;
        }
        if (!isdigit((unsigned char)*part))
            break;
        size_t length = 0;
        for (; isdigit((unsigned char)*part) && length < MOST; part++)
            length = length * 10 + (size_t)(*part - '0');
        if (length == 0 || strnlen(part, length) < length || used + length + 2 > sizeof text)
            return NULL;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used ? "." : "", (int)length, part);
        at = next ? next : part + length;
    }
    return used ? mem_strdup(text) : NULL;
}

char *demangle(const char *name)
{
    if (name[0] != '_' || strnlen(name, LONGEST_NAME + 1) > LONGEST_NAME)
        return NULL;
    char *fortran = demangle_fortran(name);
    if (fortran)
        return fortran;
    if (name[1] == 'D' && isdigit((unsigned char)name[2]))
        return demangle_d(name);
    if (name[1] != 'Z' && name[1] != 'R')
        return NULL;
    struct text *text = mem_alloc(sizeof *text);
    char *result = NULL;
    if (demangle_into(name, text)) {
        text->bytes[text->length] = '\0';
        result = mem_strdup(text->bytes);
    }
    free(text);
    return result;
}
