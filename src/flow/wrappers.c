#include "flow/wrappers.h"
#include "base/text.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The qualified name in a demangled signature: without return type, parameters and the last template arguments.
 * Returns its length. */
static size_t bare_name(const char *function, const char **name)
{
    const char *begin = function, *end = NULL;
    int angle = 0, parens = 0;
    for (const char *at = function; *at && !end; at++) {
        if (text_begins(at, "operator")) /* its own brackets and blanks are part of the name */
            break;
        if (*at == '<')
            angle++;
        else if (*at == '>')
            angle--;
        else if (*at == '(' && angle == 0 && at != function && !text_begins(at, "(anonymous"))
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

/* Begins of the last two parts of a qualified name, template arguments aside: `Grid<int>` and `Grid` of `Grid<int>::Grid`. */
static const char *last_part(const char *name, size_t length, const char **scope)
{
    const char *last = NULL;
    int angle = 0;
    *scope = name;
    for (size_t i = 0; i + 1 < length; i++) {
        if (angle == 0 && text_begins(name + i, "operator")) /* its parameters follow */
            break;
        angle += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
        if (angle == 0 && name[i] == ':' && name[i + 1] == ':') {
            if (last)
                *scope = last;
            last = name + i + 2;
        }
    }
    return last;
}

/* Grid::Grid: the last two parts are the same word (template arguments aside). */
static bool is_constructor(const char *name, size_t length)
{
    const char *scope, *last = last_part(name, length, &scope);
    if (!last)
        return false;
    size_t part = strcspn(last, "<(");
    if (part > (size_t)(name + length - last))
        part = (size_t)(name + length - last);
    return strncmp(scope, last, part) == 0 && strchr("<:", scope[part]);
}

/* Constructors and assignments of class templates, and what else makes room in them, are a container's: what it is called is where
 * it is used. */
static bool of_class_template(const char *name, size_t length)
{
    static const char *const growing[] = {"resize",  "reserve",   "grow",   "push_back", "emplace_back",
                                          "insert",  "emplace",   "assign", "allocate",  "alloc",
                                          "realloc", "operator=", "append", "fill"};
    const char *scope, *last = last_part(name, length, &scope);
    if (!last || last - name < 3 || last[-3] != '>') /* "::name" has nothing before it */
        return false;
    if (is_constructor(name, length))
        return true;
    size_t part = (size_t)(name + length - last);
    for (size_t i = 0; i < sizeof growing / sizeof *growing; i++)
        if (strncasecmp(last, growing[i], strlen(growing[i])) == 0 &&
            (part == strlen(growing[i]) || !isalpha((unsigned char)last[strlen(growing[i])])))
            return true;
    return false;
}

bool wrapper_of_library(const char *function, const char *file)
{
    static const char *const places[] = {"/usr/include/",        "/usr/local/include/", "/include/c++/",
                                         "/libstdc++",           "/library/core/src/", /* Rust */
                                         "/library/alloc/src/",  "/library/std/src/",   "/rust/deps/",
                                         "/.cargo/registry/src/"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strstr(file, places[i]))
            return true;
    if (!*function)
        return false;
    const char *name;
    bare_name(function, &name);
    static const char *const libraries[] = {"operator new", "std::",   "__gnu_cxx::", "__gnu_debug::", "_gfortran_",
                                            "boost::",      "Eigen::", "Kokkos::",    "tbb::",         "oneapi::",
                                            "thrust::",     "absl::",  "folly::",     "arma::",        "blaze::",
                                            "xt::",         "blitz::", "eastl::",     "cub::",         "RAJA::",
                                            "umpire::",     "hpx::",   "alloc::",     "core::",        "hashbrown::"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (text_begins(name, libraries[i]))
            return true;
    return strstr(function, "::operator new");
}

bool wrapper_by_name(const char *function, const char *file)
{
    if (wrapper_of_library(function, file))
        return true;
    const char *name;
    size_t length = bare_name(function, &name);
    if (of_class_template(name, length))
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

bool wrapper_class(const char *function, char *text, size_t size)
{
    const char *name, *scope;
    size_t length = bare_name(function, &name);
    const char *last = last_part(name, length, &scope);
    if (!last || (size_t)(last - 2 - name) >= size)
        return false;
    memcpy(text, name, (size_t)(last - 2 - name));
    text[last - 2 - name] = '\0';
    return true;
}

bool wrapper_is_class(const char *class, const char *name)
{
    const char *scope, *last = last_part(class, strlen(class), &scope);
    last = last ? last : class;
    size_t length = strlen(name);
    return length && strcspn(last, "<") == length && strncmp(last, name, length) == 0;
}

bool wrapper_algorithm(const char *function, char *text, size_t size)
{
    const char *name, *scope;
    size_t length = bare_name(function, &name);
    const char *last = text_begins(name, "std::") ? last_part(name, length, &scope) : name;
    if (!last || memchr(name, '<', (size_t)(last - name)) || !islower((unsigned char)*last) ||
        text_begins(last, "operator") || text_begins(last, "make_") || (last == name && memchr(name, ':', length)))
        return false;
    size_t part = strcspn(last, "<(");
    return part < size && snprintf(text, size, "%.*s", (int)part, last) > 0;
}

bool wrapper_by_module(const char *module)
{
    static const char *const starts[] = {"libc.so",     "libc-2",      "ld-linux",    "ld-musl",     "libstdc++.so",
                                         "libc++.so",   "libc++abi",   "libpthread",  "libgcc_s",    "libgfortran.so",
                                         "libjemalloc", "libtcmalloc", "libmimalloc", "libnumalens", "libquadmath.so",
                                         "libgomp.so",  "libomp.so",   "libiomp5.so"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (text_begins(module, starts[i]))
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
    const char *scope, *last = last_part(name, length, &scope);
    if (is_constructor(name, length))
        return true;
    if (last) {
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
