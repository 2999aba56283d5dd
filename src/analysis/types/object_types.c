#include "analysis/types/object_types.h"

#include "base/map64.h"
#include "base/mem.h"
#include "flow/names/sources.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64, NAME_MOST = 200 };

struct object_types {
    const struct flow *flow;
    struct sources *sources;
    struct map64 of_site, of_static; /* site, object -> struct symbol_type, or 0 */
    struct map64 single;             /* sites whose line creates one item */
};

struct object_types *object_types_new(const struct flow *flow)
{
    struct object_types *types = mem_zalloc(sizeof *types);
    types->flow = flow;
    types->sources = sources_new();
    return types;
}

void object_types_free(struct object_types *types)
{
    if (!types)
        return;
    sources_free(types->sources);
    map64_free(&types->of_site);
    map64_free(&types->of_static);
    map64_free(&types->single);
    free(types);
}

/* What is between `<` and its `>`. */
static bool between(const char *open, char name[NAME_MOST])
{
    size_t used = 0;
    for (unsigned depth = 1; *open && used + 1 < NAME_MOST; open++) {
        depth += *open == '<';
        depth -= *open == '>';
        if (depth == 0) {
            name[used] = '\0';
            return used > 0;
        }
        name[used++] = *open;
    }
    return false;
}

/* alloc::raw_vec::RawVec<T,A>::with_capacity_in of each vector and boxed slice, alloc::boxed::Box<T>::new: the name has no more than T. */
static bool by_rust(const char *function)
{
    const char *box = strstr(function, "alloc::boxed::Box<");
    return strstr(function, "alloc::raw_vec::RawVec<") || (box && strstr(box, ">::new"));
}

/* std::__new_allocator<Particle>::allocate,
 * std::allocator_traits<std::allocator<Particle> >::allocate */
static const struct symbol_type *by_allocator(const struct flow_frame *frame)
{
    char name[NAME_MOST];
    if (frame->symbols && by_rust(frame->symbol.function))
        return symbols_parameter_type(frame->symbols, frame->addr, frame->level);
    const char *at = strstr(frame->symbol.function, "allocator<");
    return at && frame->symbols && between(at + strlen("allocator<"), name)
               ? symbols_named_type(frame->symbols, frame->addr, name)
               : NULL;
}

/* A name with its scopes and parameters at `at`: struct point,
 * ns::Grid<double>. */
static size_t type_name(const char *at, const char *end, char name[NAME_MOST])
{
    size_t used = 0;
    int depth = 0;
    const char *from = at;
    while (at < end && isspace((unsigned char)*at))
        at++;
    for (; at < end && used + 1 < NAME_MOST; at++) {
        bool blank = *at == ' ' && used &&
                     (depth > 0 || strncmp(name, "struct", used) == 0 || strncmp(name, "class", used) == 0 ||
                      strncmp(name, "unsigned", used) == 0);
        depth += *at == '<';
        if (!isalnum((unsigned char)*at) && *at != '_' && *at != ':' && !blank && depth == 0)
            break;
        name[used++] = *at;
        if (*at == '>' && --depth < 0)
            break;
    }
    name[used] = '\0';
    return used ? (size_t)(at - from) : 0;
}

/* The type that a line names behind `word`: behind new and sizeof. */
static const struct symbol_type *named_behind(const struct flow_frame *frame, const char *line, const char *end,
                                              const char *word)
{
    char name[NAME_MOST];
    size_t length = strlen(word);
    for (const char *at = line; at + length < end; at++) {
        bool inside = at > line && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (inside || strncmp(at, word, length) != 0 || !type_name(at + length, end, name))
            continue;
        const struct symbol_type *type = symbols_named_type(frame->symbols, frame->addr, name);
        if (type)
            return type;
    }
    return NULL;
}

/* Behind a bracket: (struct point *)malloc(n) */
static const struct symbol_type *cast_to(const struct flow_frame *frame, const char *line, const char *end)
{
    char name[NAME_MOST];
    for (const char *at = line; at < end; at++) {
        size_t length = *at == '(' || *at == '<' ? type_name(at + 1, end, name) : 0;
        const char *behind = at + 1 + length;
        while (length && behind < end && *behind == ' ')
            behind++;
        if (!length || behind + 1 >= end || *behind != '*' || (behind[1] != ')' && behind[1] != '>'))
            continue;
        const struct symbol_type *type = symbols_named_type(frame->symbols, frame->addr, name);
        if (type && (type->size > 1 || type->field_count))
            return type;
    }
    return NULL;
}

/* The line of the site, and up to two behind it: a statement may be long. */
static const char *line_at(const char *text, size_t size, uint32_t line, const char **end)
{
    const char *at = text, *last = text + size;
    for (uint32_t number = 1; at && at < last && number < line; number++) {
        at = memchr(at, '\n', (size_t)(last - at));
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return NULL;
    *end = at;
    for (unsigned lines = 0; *end < last && lines < 3; lines++) {
        const char *newline = memchr(*end, '\n', (size_t)(last - *end));
        const char *over = memchr(*end, ';', (size_t)((newline ? newline : last) - *end));
        *end = newline ? newline + 1 : last;
        if (over)
            break;
    }
    return at;
}

/* `new Grid(n)` creates one; what is larger at that line is memory that its
 * constructor takes. */
static bool creates_one(const char *line, const char *end)
{
    const char *at = memmem(line, (size_t)(end - line), "new ", 4);
    return at && !memchr(at, '[', (size_t)(end - at));
}

static const struct symbol_type *find_type(struct object_types *types, const struct flow_site *site)
{
    struct flow_frame frames[DEPTH];
    const struct symbol_type *type = NULL;
    size_t count = site->stack ? flow_stack_places(types->flow, site->process, site->stack, frames, DEPTH) : 0, i = 0;
    for (; i < count; i++) {
        if (!type)
            type = by_allocator(&frames[i]);
        if (frames[i].symbol.line == site->line && strcmp(frames[i].symbol.function, site->function) == 0)
            break;
    }
    if (type || i == count || !frames[i].symbols || !site->line)
        return type;
    size_t size;
    const struct flow_process *process = flow_process(types->flow, site->process);
    struct source_file file = {site->file, site->directory, process ? process->exe : ""};
    const char *text = sources_text(types->sources, &file, &size), *end = NULL;
    const char *line = text ? line_at(text, size, site->line, &end) : NULL;
    if (line && creates_one(line, end))
        map64_insert(&types->single, site->id, NULL);
    if (*site->variable)
        type = symbols_expression_type(frames[i].symbols, frames[i].addr, frames[i].level, site->variable);
    if (!type && line)
        type = named_behind(&frames[i], line, end, "new ");
    if (!type && line)
        type = cast_to(&frames[i], line, end);
    if (!type && line)
        type = named_behind(&frames[i], line, end, "sizeof(");
    return type;
}

static const struct symbol_type *static_type(struct object_types *types, uint32_t index)
{
    struct flow_object object = flow_object_copy(types->flow, index);
    struct symbols_module *module = *object.path ? flow_module_symbols(types->flow, object.path) : NULL;
    return module ? symbols_variable_type(module, object.name, object.line) : NULL;
}

const struct symbol_type *object_type(struct object_types *types, uint32_t object, uint64_t *base)
{
    enum {
        COOKIE = 8
    }; /* operator new[] keeps the number of items before them when they have
        destructors */
    const struct flow *flow = types->flow;
    enum object_kind kind = flow_object_kind(flow, object);
    uint32_t site = flow_object_site(flow, object);
    bool is_new;
    *base = 0;
    if (kind != OBJECT_STATIC && kind != OBJECT_HEAP && kind != OBJECT_MAP)
        return NULL;
    if (site == FLOW_NONE && kind != OBJECT_STATIC)
        return NULL;
    uint64_t *known = site != FLOW_NONE ? map64_insert(&types->of_site, site, &is_new)
                                        : map64_insert(&types->of_static, object, &is_new);
    if (is_new)
        *known = (uint64_t)(uintptr_t)(site != FLOW_NONE ? find_type(types, flow_site(flow, site))
                                                         : static_type(types, object));
    const struct symbol_type *type = (const struct symbol_type *)(uintptr_t)*known;
    uint64_t size = type ? flow_object_copy(flow, object).size : 0;
    if (!type || type->size == 0 || type->size > size)
        return NULL;
    if (kind == OBJECT_HEAP && size % type->size && (size - COOKIE) % type->size == 0)
        *base = COOKIE;
    bool whole = (size - *base) % type->size == 0 || kind == OBJECT_MAP; /* maps are rounded up to pages */
    bool single = site != FLOW_NONE && map64_find(&types->single, site);
    return whole && (!single || size == type->size) ? type : NULL;
}

uint32_t type_field_at(const struct symbol_type *type, uint64_t offset)
{
    uint32_t found = FLOW_NONE;
    for (uint32_t i = 0; i < type->field_count && type->fields[i].offset <= offset; i++)
        if (type->fields[i].inside == 0 && offset - type->fields[i].offset < type->fields[i].size)
            found = i;
    return found;
}
