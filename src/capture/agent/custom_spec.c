#include "capture/agent/custom_spec.h"

#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The Apache Portable Runtime's pools. apr_pvsprintf and what calls it write their text into the pool directly. */
static const char *const apr_set[] = {
    "apr_palloc:alloc,pool=1,size=2",
    "apr_pcalloc:alloc,pool=1,size=2",
    "apr_pvsprintf:alloc,pool=1,size=text",
    "apr_pool_create_ex:create,out=1,ok=0,parent=2",
    "apr_pool_create_unmanaged_ex:create,out=1,ok=0",
    "apr_pool_clear:clear,pool=1",
    "apr_pool_destroy:destroy,pool=1",
    NULL,
};

static const struct {
    const char *name;
    const char *const *functions;
} ready_sets[] = {{"apr", apr_set}};

struct parsing {
    struct wire_custom *spec;
    bool has_role, has_ret, has_size, has_when;
    struct error *err;
    const char *text; /* the whole, for messages */
};

static int refuse(struct parsing *parsing, const char *what, const char *word)
{
    return error_set(parsing->err, -EINVAL, "'%.80s': %s%s%.40s%s", parsing->text, what, *word ? " '" : "", word,
                     *word ? "'" : "");
}

static int argument(struct parsing *parsing, const char *text, uint8_t *number)
{
    if (*number)
        return refuse(parsing, "said twice:", text);
    char *end;
    unsigned long value = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    if (value < 1 || value > WIRE_CUSTOM_ARGUMENTS || *end)
        return refuse(parsing, "an argument's number from 1 to 8 is wanted, not", text);
    *number = (uint8_t)value;
    return 0;
}

static int size(struct parsing *parsing, char *text)
{
    struct wire_custom *spec = parsing->spec;
    if (parsing->has_size)
        return refuse(parsing, "the size is said twice:", text);
    parsing->has_size = true;
    if (strcmp(text, "text") == 0) {
        spec->is_text = 1;
        return 0;
    }
    char *times = strchr(text, '*');
    if (!times)
        return argument(parsing, text, &spec->size);
    *times = '\0';
    int code = argument(parsing, text, &spec->size);
    return code < 0 ? code : argument(parsing, times + 1, &spec->count);
}

static int when(struct parsing *parsing, const char *text)
{
    parsing->has_when = true;
    parsing->spec->when = strcmp(text, "0") == 0 ? CUSTOM_WHEN_ZERO : CUSTOM_WHEN_NOT_ZERO;
    return strcmp(text, "0") == 0 || strcmp(text, "nonzero") == 0
               ? 0
               : refuse(parsing, "ok=0 or ok=nonzero is wanted, not", text);
}

static int role(struct parsing *parsing, const char *word)
{
    static const struct {
        const char *word;
        enum wire_custom_role role;
    } roles[] = {{"alloc", CUSTOM_ALLOC},
                 {"create", CUSTOM_POOL_CREATE},
                 {"clear", CUSTOM_POOL_CLEAR},
                 {"destroy", CUSTOM_POOL_DESTROY}};
    for (unsigned i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(word, roles[i].word) != 0)
            continue;
        parsing->spec->role = roles[i].role;
        parsing->has_role = true;
        return 0;
    }
    return refuse(parsing, "the first word must be alloc, create, clear or destroy, not", word);
}

static int word(struct parsing *parsing, char *text)
{
    struct wire_custom *spec = parsing->spec;
    if (!parsing->has_role)
        return role(parsing, text);
    enum wire_custom_role is = spec->role;
    bool gives = is == CUSTOM_ALLOC || is == CUSTOM_POOL_CREATE;
    char *value = strchr(text, '=');
    if (!value) {
        if (strcmp(text, "ret") != 0 || !gives)
            return refuse(parsing, "not understood:", text);
        parsing->has_ret = true;
        return 0;
    }
    size_t length = (size_t)(value++ - text);
#define IS(key) (length == strlen(key) && memcmp(text, key, length) == 0)
    if (IS("size") && is == CUSTOM_ALLOC)
        return size(parsing, value);
    if (IS("count") && is == CUSTOM_ALLOC)
        return argument(parsing, value, &spec->count);
    if (IS("old") && is == CUSTOM_ALLOC)
        return argument(parsing, value, &spec->pointer);
    if (IS("pool") && is != CUSTOM_FREE && is != CUSTOM_POOL_CREATE)
        return argument(parsing, value, &spec->pool);
    if (IS("parent") && is == CUSTOM_POOL_CREATE)
        return argument(parsing, value, &spec->parent);
    if (IS("ptr") && is == CUSTOM_FREE)
        return argument(parsing, value, &spec->pointer);
    if (IS("out") && gives)
        return argument(parsing, value, &spec->out);
    if (IS("ok") && gives)
        return when(parsing, value);
#undef IS
    return refuse(parsing, "not understood:", text);
}

/* What single words do not show. */
static int check(struct parsing *parsing)
{
    const struct wire_custom *spec = parsing->spec;
    if (!parsing->has_role)
        return refuse(parsing, "the first word must be alloc, create, clear or destroy", "");
    if (spec->role == CUSTOM_ALLOC && !parsing->has_size)
        return refuse(parsing, "which argument is the size? size=N is missing", "");
    if (spec->is_text && spec->count)
        return refuse(parsing, "size=text has no count", "");
    if (spec->role == CUSTOM_FREE && !spec->pointer)
        return refuse(parsing, "which argument is freed? ptr=N is missing", "");
    if ((spec->role == CUSTOM_POOL_CLEAR || spec->role == CUSTOM_POOL_DESTROY) && !spec->pool)
        return refuse(parsing, "which argument is the pool? pool=N is missing", "");
    if (parsing->has_ret && spec->out)
        return refuse(parsing, "ret and out= exclude each other", "");
    if (parsing->has_when && !spec->out)
        return refuse(parsing, "ok= is for functions with out=", "");
    return 0;
}

static int add_ready_set(struct custom_specs *specs, const char *text, struct error *err)
{
    for (unsigned i = 0; i < sizeof ready_sets / sizeof *ready_sets; i++) {
        if (strcmp(ready_sets[i].name, text) != 0)
            continue;
        int code = 0;
        for (const char *const *each = ready_sets[i].functions; *each && code == 0; each++)
            code = custom_spec_add(specs, CUSTOM_POOL_FN, *each, err);
        return code;
    }
    return error_set(err, -EINVAL, "'%.80s': neither NAME:WORDS nor a ready set (apr)", text);
}

int custom_spec_add(struct custom_specs *specs, enum custom_option option, const char *text, struct error *err)
{
    static const enum wire_custom_role roles[] = {CUSTOM_ALLOC, CUSTOM_FREE, CUSTOM_ALLOC};
    const char *colon = strrchr(text, ':');
    if (!colon && option == CUSTOM_POOL_FN)
        return add_ready_set(specs, text, err);
    struct wire_custom spec = {.role = (uint8_t)roles[option]};
    struct parsing parsing = {.spec = &spec, .has_role = option != CUSTOM_POOL_FN, .err = err, .text = text};
    if (!colon || colon == text)
        return refuse(&parsing, "NAME:WORDS is wanted", "");
    size_t length = (size_t)(colon - text);
    if (length >= sizeof spec.name)
        return refuse(&parsing, "the name is too long", "");
    for (const char *at = text; at < colon; at++)
        if (!isgraph((unsigned char)*at))
            return refuse(&parsing, "a name has no blanks", "");
    memcpy(spec.name, text, length);
    for (uint32_t i = 0; i < specs->count; i++)
        if (strcmp(specs->items[i].name, spec.name) == 0)
            return refuse(&parsing, "this function is named twice", "");
    if (specs->count == WIRE_CUSTOM_MOST)
        return refuse(&parsing, "more than 64 functions", "");
    char *words = mem_strdup(colon + 1), *rest = words, *one;
    int code = 0;
    while (code == 0 && (one = strsep(&rest, ",")))
        code = *one ? word(&parsing, one) : refuse(&parsing, "an empty word", "");
    free(words);
    if (code == 0)
        code = check(&parsing);
    if (code == 0)
        specs->items[specs->count++] = spec;
    return code;
}

char *custom_spec_names(const struct wire_custom *specs, uint32_t count)
{
    char *names = mem_strdup("");
    for (uint32_t i = 0; i < count; i++) {
        char *longer = mem_format("%s%s%s", names, i ? " " : "", specs[i].name);
        free(names);
        names = longer;
    }
    return names;
}
