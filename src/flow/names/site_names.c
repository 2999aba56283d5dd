#include "flow/names/site_names.h"

#include "base/order.h"
#include "base/text.h"
#include "flow/names/sources.h"
#include "flow/state.h"
#include "flow/wrappers.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MAX_SIZE = 512 };

struct naming {
    struct flow *flow;
    struct sources *sources;
    const struct site_step *steps;
    const uint32_t *first;
    uint32_t *sorted; /* sites, by what is called the same */
    size_t count;
};

static int by_place(const void *left, const void *right, void *context)
{
    const struct flow *flow = context;
    const struct flow_site *a = &flow->sites.items[*(const uint32_t *)left];
    const struct flow_site *b = &flow->sites.items[*(const uint32_t *)right];
    return strcmp(a->name, b->name) ?: strcmp(a->file, b->file) ?: strcmp(a->module, b->module)
           ?: ORDER(a->line, b->line) ?: ORDER(a->start, b->start) ?: ORDER(a->id, b->id);
}

static bool same_place(const struct flow_site *a, const struct flow_site *b)
{
    return a->line == b->line && strcmp(a->name, b->name) == 0 && strcmp(a->file, b->file) == 0 &&
           strcmp(a->module, b->module) == 0;
}

/* Calls `visit` for each group of sites that are called the same at one place, in order of time. */
static void each_group(struct naming *naming, void (*visit)(struct naming *naming, const uint32_t *sites, size_t count))
{
    const struct flow_site *sites = naming->flow->sites.items;
    for (uint32_t i = 0; i < naming->count; i++)
        naming->sorted[i] = i;
    qsort_r(naming->sorted, naming->count, sizeof *naming->sorted, by_place, naming->flow);
    for (size_t i = 0, next; i < naming->count; i = next) {
        for (next = i + 1; next < naming->count && same_place(&sites[naming->sorted[i]], &sites[naming->sorted[next]]);)
            next++;
        visit(naming, naming->sorted + i, next - i);
    }
}

static void set_name(struct naming *naming, uint32_t site, const char *name)
{
    naming->flow->sites.items[site].name = strtab_intern(naming->flow->texts, name);
}

/* --- out of the source --- */

static struct source_file file_of(const struct naming *naming, const struct flow_site *site,
                                  const struct symbol_frame *frame)
{
    const struct flow *flow = naming->flow;
    return (struct source_file){
        .path = frame->file,
        .directory = frame->directory,
        .module = site->process < flow->processes.count ? flow->processes.items[site->process]->row.exe : ""};
}

/* The code that the site is drawn at, for debug information; false where there is none to be asked. */
struct code {
    struct symbols_module *module;
    uint64_t addr;
    uint32_t level;
};

static bool code_of(const struct naming *naming, const struct site_step *step, struct code *code)
{
    const struct flow *flow = naming->flow;
    const struct frame *frame = &flow->frames.items[flow->trails.items[step->trail].frame];
    const struct module_info *module = &flow->modules.items[frame->module];
    if (module->wraps || !module->symbols || step->name < frame->first_name)
        return false;
    *code = (struct code){module->symbols, frame->addr, step->name - frame->first_name};
    return true;
}

/* Whether the step is in code of the program, not of a library that wraps. */
static bool is_own(const struct naming *naming, const struct site_step *step)
{
    const struct flow *flow = naming->flow;
    const struct symbol_frame *frame = &flow->names.items[step->name];
    return !flow->modules.items[flow->frames.items[flow->trails.items[step->trail].frame].module].wraps &&
           !wrapper_of_library(frame->function, frame->file);
}

/* Names it by its variable, a member with its class before it. */
static void call_by(struct naming *naming, uint32_t index, const char *variable, const struct symbol_variable *declared)
{
    struct flow_site *site = &naming->flow->sites.items[index];
    char name[NAME_MAX_SIZE];
    site->variable = strtab_intern(naming->flow->texts, variable);
    site->type = declared->type;
    const char *member = strncmp(variable, "this->", 6) == 0 ? variable + 6 : variable;
    snprintf(name, sizeof name, "%.200s%s%.200s", declared->owner, *declared->owner ? "::" : "",
             *declared->owner ? member : variable);
    set_name(naming, index, name);
}

/* Without source, or where it gives no name: the container that was looked through is the only one of its type in the function or
 * class. */
static void name_by_type(struct naming *naming, uint32_t index, const struct code *code)
{
    struct symbol_variable declared;
    uint32_t last = naming->first[index + 1];
    if (last - naming->first[index] < 2)
        return;
    const struct symbol_frame *inside = &naming->flow->names.items[naming->steps[last - 2].name];
    char type[1024];
    if (wrapper_class(inside->function, type, sizeof type) &&
        symbols_variable_of_type(code->module, code->addr, code->level, type, &declared))
        call_by(naming, index, declared.name, &declared);
}

/* Whether a method of a class of this name is among what was looked through. */
static bool is_among(const struct naming *naming, uint32_t index, const char *class)
{
    char made_by[1024];
    for (uint32_t at = naming->first[index]; *class && at + 1 < naming->first[index + 1]; at++)
        if (wrapper_class(naming->flow->names.items[naming->steps[at].name].function, made_by, sizeof made_by) &&
            wrapper_is_class(made_by, class))
            return true;
    return false;
}

/* What a library allocates is held by an object of one of its classes. So where the text alone gives a variable that is none, or
 * nothing (`index[i] = i`, `Matrix product = a * b`, `resize(view, n)`), it is the first in the statement that is. */
static bool name_by_class(struct naming *naming, uint32_t index, const struct source_file *file,
                          const struct code *code, const struct symbol_variable *said)
{
    enum { MOST = 32 };
    char names[MOST][SOURCE_NAME_MAX];
    struct symbol_variable declared;
    if (is_among(naming, index, said->class_name) || (*said->name && !*said->class_name && !said->is_number))
        return false;
    size_t count = sources_names(naming->sources, file, naming->flow->sites.items[index].line, names, MOST);
    for (size_t i = 0; i < count; i++) {
        if (!symbols_variable(code->module, code->addr, code->level, names[i], &declared) ||
            !is_among(naming, index, declared.class_name))
            continue;
        call_by(naming, index, names[i], &declared);
        return true;
    }
    return false;
}

/* Whether it is what an algorithm of the C++ library sorts or merges in, whatever that works on. */
static bool is_temporary(const struct naming *naming, uint32_t index)
{
    for (uint32_t at = naming->first[index]; at + 1 < naming->first[index + 1]; at++)
        if (strstr(naming->flow->names.items[naming->steps[at].name].function, "emporary_buffer"))
            return true;
    return false;
}

/* What a library allocates for itself has the name of what it does: the copy of `qsort`, the halves of `std::stable_sort`. */
static void name_by_work(struct naming *naming, uint32_t index)
{
    char work[SOURCE_NAME_MAX];
    uint32_t last = naming->first[index + 1];
    if (last - naming->first[index] < 2 || !naming->flow->sites.items[index].line ||
        is_own(naming, &naming->steps[last - 2]))
        return;
    const struct symbol_frame *inside = &naming->flow->names.items[naming->steps[last - 2].name];
    bool is_std = strstr(inside->function, "std::");
    if ((is_std || !wrapper_by_name(inside->function, inside->file)) &&
        wrapper_algorithm(inside->function, work, sizeof work)) {
        struct flow_site *site = &naming->flow->sites.items[index];
        char label[NAME_MAX_SIZE];
        snprintf(label, sizeof label, "%s (%.400s:%u)", work, text_file_name(site->file), site->line);
        site->label = strtab_intern(naming->flow->texts, label);
        set_name(naming, index, work);
    }
}

static void name_group(struct naming *naming, const uint32_t *sites, size_t count)
{
    static const struct symbol_frame none = {.function = "", .file = ""};
    static const struct symbol_variable unknown = {.name = "", .owner = "", .type = "", .class_name = ""};
    for (uint32_t i = 0; i < count; i++) {
        const struct flow_site *site = &naming->flow->sites.items[sites[i]];
        uint32_t first = naming->first[sites[i]], last = naming->first[sites[i] + 1];
        const struct symbol_frame *frame =
            last > first ? &naming->flow->names.items[naming->steps[last - 1].name] : NULL;
        struct source_place place = {.line = site->line,
                                     .column = frame && frame->line == site->line ? frame->column : 0,
                                     .twin = i,
                                     .twins = (uint32_t)count};
        char name[SOURCE_NAME_MAX], filled[SOURCE_NAME_MAX];
        struct symbol_variable declared = unknown;
        struct code code = {0};
        bool has_code = last > first && code_of(naming, &naming->steps[last - 1], &code);
        place.library = last - first > 1 && !is_own(naming, &naming->steps[last - 2]);
        struct source_file file = file_of(naming, site, frame ? frame : &none);
        file.path = site->file;
        bool is_work = is_temporary(naming, sites[i]);
        bool of_class = has_code && !is_work && place.library;
        if (is_work || !sources_name(naming->sources, &file, &place, name)) {
            if (of_class && name_by_class(naming, sites[i], &file, &code, &unknown))
                continue;
            if (has_code && !is_work)
                name_by_type(naming, sites[i], &code);
            if (!*site->variable)
                name_by_work(naming, sites[i]);
            continue;
        }
        if (has_code && !symbols_variable(code.module, code.addr, code.level, name, &declared))
            declared = unknown;
        if (of_class && *declared.name && name_by_class(naming, sites[i], &file, &code, &declared))
            continue;
        place.filled = declared.is_number; /* status = buffer_create(&b, n): not in a number */
        if (place.filled && sources_name(naming->sources, &file, &place, filled)) {
            if (!symbols_variable(code.module, code.addr, code.level, filled, &declared))
                declared = unknown;
            call_by(naming, sites[i], filled, &declared);
        } else {
            call_by(naming, sites[i], name, &declared);
        }
    }
}

/* --- what distinguishes several that one statement makes --- */

/* The member that a frame inside stores it in, and its type, without the object there: `data` of `m->data`, of `this->data` and of `data` in a
 * method. `library`: what that frame called is of a library. */
static bool inner_name(struct naming *naming, struct flow_site *site, const struct site_step *step, bool library,
                       char name[SOURCE_NAME_MAX])
{
    const struct symbol_frame *frame = &naming->flow->names.items[step->name];
    struct source_place place = {
        .line = frame->line, .column = frame->column, .library = library, .twin = 0, .twins = 1};
    struct source_file file = file_of(naming, site, frame);
    if (!frame->line || wrapper_of_library(frame->function, frame->file) ||
        !sources_name(naming->sources, &file, &place, name))
        return false;
    const char *part = strstr(name, "->"), *dot = strchr(name, '.');
    if (!part && !dot && !strstr(frame->function, "::")) /* a variable of its own, which becomes its caller's */
        return false;
    struct symbol_variable declared;
    struct code code;
    bool is_known =
        code_of(naming, step, &code) && symbols_variable(code.module, code.addr, code.level, name, &declared);
    site->type = is_known ? declared.type : "";
    if (part)
        memmove(name, part + 2, strlen(part + 2) + 1);
    else if (dot)
        memmove(name, dot + 1, strlen(dot + 1) + 1);
    return *name;
}

static void name_by_parts(struct naming *naming, const uint32_t *sites, size_t count)
{
    for (size_t i = 0; i < count && count > 1; i++) {
        struct flow_site *site = &naming->flow->sites.items[sites[i]];
        uint32_t at = naming->first[sites[i]], last = naming->first[sites[i] + 1];
        char part[SOURCE_NAME_MAX], name[NAME_MAX_SIZE];
        for (; *site->variable && at + 1 < last; at++) {
            bool library = at > naming->first[sites[i]] && !is_own(naming, &naming->steps[at - 1]);
            if (!inner_name(naming, site, &naming->steps[at], library, part))
                continue;
            snprintf(name, sizeof name, "%.255s.%s", site->name, part);
            set_name(naming, sites[i], name);
            break;
        }
    }
}

static void number(struct naming *naming, const uint32_t *sites, size_t count)
{
    for (size_t i = 0; i < count && count > 1; i++) {
        char name[NAME_MAX_SIZE];
        snprintf(name, sizeof name, "%.480s #%zu", naming->flow->sites.items[sites[i]].name, i + 1);
        set_name(naming, sites[i], name);
    }
}

void site_names_make(struct flow *flow, const struct site_step *steps, const uint32_t *first)
{
    struct naming naming = {.flow = flow,
                            .sources = sources_new(),
                            .steps = steps,
                            .first = first,
                            .count = flow->sites.count,
                            .sorted = mem_alloc((flow->sites.count + 1) * sizeof(uint32_t))};
    array_each (&flow->sites, struct flow_site, site)
        site->name = *site->function ? site->function : site->label;
    each_group(&naming, name_group);
    each_group(&naming, name_by_parts);
    each_group(&naming, number);
    free(naming.sorted);
    sources_free(naming.sources);
}
