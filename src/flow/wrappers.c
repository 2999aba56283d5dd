#include "flow/wrappers.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The qualified name in a demangled signature: without return type, parameters and the last template arguments.
 * Returns its length. */
static size_t bare_name(const char *function, const char **name)
{
    const char *begin = function, *end = NULL;
    int angle = 0, parens = 0;
    for (const char *at = function; *at && !end; at++) {
        if (starts_with(at, "operator")) /* its own brackets and blanks are part of the name */
            break;
        if (*at == '<')
            angle++;
        else if (*at == '>')
            angle--;
        else if (*at == '(' && angle == 0 && at != function && !starts_with(at, "(anonymous"))
            end = at;
        else if (*at == '(')
            parens++;
        else if (*at == ')')
            parens--;
        else if (*at == ' ' && angle == 0 && parens == 0)
            begin = at + 1;
    }
    *name = begin;
    return end ? (size_t)(end - begin) : strlen(begin);
}

static bool ends_with(const char *name, size_t length, const char *end)
{
    size_t size = strlen(end);
    return length >= size && strncasecmp(name + length - size, end, size) == 0;
}

bool wrapper_by_name(const char *function, const char *file)
{
    if (strstr(file, "/include/c++/") || strstr(file, "/libstdc++"))
        return true;
    if (!*function)
        return false;
    const char *name;
    size_t length = bare_name(function, &name);
    if (starts_with(name, "operator new") || starts_with(name, "std::") || starts_with(name, "__gnu_cxx::") ||
        starts_with(name, "__gnu_debug::") || starts_with(name, "_gfortran_") || starts_with(name, "boost::"))
        return true;
    if (strstr(function, "::operator new"))
        return true;
    static const char *const whole[] = {"strdup",
                                        "strndup",
                                        "wcsdup",
                                        "asprintf",
                                        "vasprintf",
                                        "g_new",
                                        "g_new0",
                                        "g_memdup",
                                        "g_memdup2",
                                        "g_slice_alloc",
                                        "g_strdup",
                                        "g_strndup",
                                        "xstrdup",
                                        "xstrndup",
                                        "xnmalloc",
                                        "xzalloc",
                                        "xalloc",
                                        "zalloc",
                                        "kzalloc",
                                        "palloc",
                                        "palloc0",
                                        "apr_palloc",
                                        "apr_pcalloc",
                                        "apr_pmemdup",
                                        "apr_psprintf",
                                        "apr_pstrcat",
                                        "apr_pstrdup",
                                        "apr_pstrmemdup",
                                        "apr_pstrndup",
                                        "av_mallocz",
                                        "g_malloc0",
                                        "g_malloc_n",
                                        "g_malloc0_n",
                                        "g_realloc_n",
                                        "g_try_malloc",
                                        "PyMem_RawMalloc",
                                        "numa_alloc",
                                        "numa_alloc_onnode",
                                        "numa_alloc_local",
                                        "numa_alloc_interleaved",
                                        "mmap",
                                        "mmap64",
                                        "mremap",
                                        "sbrk",
                                        "brk",
                                        "valloc",
                                        "pvalloc",
                                        "malloc0",
                                        "mallocz",
                                        "xcharalloc"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (strlen(whole[i]) == length && strncmp(name, whole[i], length) == 0)
            return true;
    }
    static const char *const ends[] = {"malloc",   "calloc",        "realloc",       "reallocarray",
                                       "memalign", "aligned_alloc", "malloc_usable", "calloc_usable"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (ends_with(name, length, ends[i]))
            return true;
    }
    return false;
}

bool wrapper_by_module(const char *module)
{
    static const char *const starts[] = {"libc.so",     "libc-2",      "ld-linux",    "ld-musl",     "libstdc++.so",
                                         "libc++.so",   "libc++abi",   "libpthread",  "libgcc_s",    "libgfortran.so",
                                         "libjemalloc", "libtcmalloc", "libmimalloc", "libnumalens", "libquadmath.so"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (starts_with(module, starts[i]))
            return true;
    }
    return false;
}

/* Whether `word` stands in the name as a word of its own: between underscores, or as a hump of a camelCase name. */
static bool has_word(const char *name, size_t length, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= length; i++) {
        if (strncasecmp(name + i, word, size) != 0)
            continue;
        bool begins = i == 0 || !isalpha((unsigned char)name[i - 1]) ||
                      (isupper((unsigned char)name[i]) && islower((unsigned char)name[i - 1]));
        bool ends = i + size == length || !islower((unsigned char)name[i + size]);
        if (begins && ends)
            return true;
    }
    return false;
}

bool wrapper_like_constructor(const char *function)
{
    const char *name;
    size_t length = bare_name(function, &name);
    /* Grid::Grid: the last two parts are the same word (template arguments aside). */
    const char *last = NULL;
    int angle = 0;
    size_t scope = 0;
    for (size_t i = 0; i + 1 < length; i++) {
        angle += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
        if (angle == 0 && name[i] == ':' && name[i + 1] == ':') {
            if (last)
                scope = (size_t)(last - name);
            last = name + i + 2;
        }
    }
    if (last) {
        size_t part = strcspn(last, "<(");
        if (part > (size_t)(name + length - last))
            part = (size_t)(name + length - last);
        if (strncmp(name + scope, last, part) == 0 && strchr("<:", name[scope + part]))
            return true;
        length = (size_t)(name + length - last);
        name = last;
    }
    static const char *const words[] = {"alloc",   "allocate", "new",       "create",  "make",   "init",
                                        "dup",     "clone",    "copy",      "build",   "ctor",   "get",
                                        "reserve", "grow",     "resize",    "buffer",  "array",  "matrix",
                                        "vector",  "acquire",  "construct", "alloc2d", "alloc3d"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (has_word(name, length, words[i]))
            return true;
    }
    return false;
}
