#include "compare/profile_names.h"

#include "base/map64.h"
#include "base/strtab.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct profile_names {
    struct profile *profile;
    const struct accesses *accesses;
    const struct flow *flow;
    struct map64 entry_of[PROFILE_TABLES]; /* loose key and order -> entry */
    uint32_t *thing_object, *thing_site;   /* entries by thing, FLOW_NONE when not made yet */
    uint32_t *function_entry, *thread_entry;
    size_t functions, threads;
    struct map64 same_name; /* loose key of threads -> how many there are so far */
};

static uint32_t *blank(size_t count)
{
    uint32_t *items = mem_alloc((count + 1) * sizeof *items);
    memset(items, 0xff, (count + 1) * sizeof *items);
    return items;
}

/* The entry with that key, made when it is new. */
static uint32_t entry_with(struct profile_names *names, enum profile_table table, const struct profile_entry *model)
{
    bool is_new;
    uint64_t *place = map64_insert(&names->entry_of[table], (uint64_t)model->loose << 32 | model->order, &is_new);
    if (!is_new)
        return (uint32_t)*place;
    uint32_t index = (uint32_t)names->profile->tables[table].count;
    *place = index;
    array_push(&names->profile->tables[table], *model);
    return index;
}

/* What people call it: name first, then where the name is from: a file name without its folder, or a binary's. */
static struct profile_entry model_of(struct profile_names *names, unsigned kind, const char *name, const char *file,
                                     uint32_t line, const char *module)
{
    struct strtab *texts = names->profile->texts;
    const char *where = *file ? file : module;
    char *loose = mem_format("%u\n%s\n%s", kind, name, text_file_name(where));
    struct profile_entry model = {.name = strtab_intern(texts, name),
                                  .file = strtab_intern(texts, file),
                                  .module = strtab_intern(texts, module),
                                  .line = line,
                                  .order = line,
                                  .loose = strtab_add(texts, loose),
                                  .number = FLOW_NONE,
                                  .kind = (uint8_t)kind};
    free(loose);
    return model;
}

static const char *module_of(const struct profile_names *names, uint32_t process)
{
    const struct flow_process *row = flow_process(names->flow, process);
    return row ? row->exe : "";
}

static uint32_t make_site(struct profile_names *names, const struct thing *thing)
{
    const struct flow_site *site = thing->site != FLOW_NONE ? flow_site(names->flow, thing->site) : NULL;
    if (!site)
        return FLOW_NONE;
    struct profile_entry model = model_of(names, site->kind, site->name, site->file, site->line, site->module);
    return entry_with(names, PROFILE_SITES, &model);
}

static uint32_t make_object(struct profile_names *names, const struct thing *thing)
{
    const struct flow_object *object = flow_object(names->flow, thing->object);
    const struct flow_site *site = thing->site != FLOW_NONE ? flow_site(names->flow, thing->site) : NULL;
    struct profile_entry model;
    if (site && object->kind == OBJECT_FILE) {
        model = model_of(names, OBJECT_FILE, text_file_name(object->name), "", 0, "");
    } else if (site) {
        model = model_of(names, site->kind, site->name, site->file, site->line, site->module);
    } else if (object->kind == OBJECT_STACK) {
        model = model_of(names, OBJECT_STACK, "stack", "", 0, module_of(names, object->process));
    } else {
        model = model_of(names, object->kind, object->name, object->file, object->line, object->module);
    }
    uint64_t start = flow_start(names->flow), end = flow_end(names->flow);
    uint64_t life[2] = {site ? site->start : object->start, site ? site->end : object->end};
    double length = end > start ? (double)(end - start) : 1;
    model.bytes = site ? site->peak_bytes : object->size;
    model.from = life[0] > start ? (double)(life[0] - start) / length : 0;
    model.until = life[1] < end ? (double)(life[1] - start) / length : 1;
    return entry_with(names, PROFILE_OBJECTS, &model);
}

static uint32_t make_thread(struct profile_names *names, uint32_t index)
{
    const struct flow_thread *thread = flow_thread(names->flow, index);
    struct profile_entry model = model_of(names, OBJECT_KINDS, thread->name, "", 0, module_of(names, thread->process));
    model.order = (uint32_t)(*map64_insert(&names->same_name, model.loose, NULL))++;
    return entry_with(names, PROFILE_THREADS, &model);
}

static uint32_t make_function(struct profile_names *names, uint32_t index)
{
    const struct flow_function *function = flow_function(names->flow, index);
    struct profile_entry model =
        model_of(names, OBJECT_KINDS, function->function, function->file, function->line, function->module);
    model.order = 0; /* the line is its hottest one */
    return entry_with(names, PROFILE_FUNCTIONS, &model);
}

/* Threads are numbered in order of creation, also those without samples: what comes first is the same in both runs. */
static void make_threads(struct profile_names *names)
{
    for (uint32_t i = 0; i < names->threads; i++)
        names->thread_entry[i] = make_thread(names, i);
}

struct profile_names *profile_names_new(struct profile *profile, const struct accesses *accesses)
{
    struct profile_names *names = mem_zalloc(sizeof *names);
    names->profile = profile;
    names->accesses = accesses;
    names->flow = accesses->flow;
    names->functions = flow_function_count(names->flow);
    names->threads = flow_thread_count(names->flow);
    names->thing_object = blank(accesses->things.count);
    names->thing_site = blank(accesses->things.count);
    names->function_entry = blank(names->functions);
    names->thread_entry = blank(names->threads);
    make_threads(names);
    return names;
}

void profile_names_free(struct profile_names *names)
{
    for (unsigned table = 0; table < PROFILE_TABLES; table++)
        map64_free(&names->entry_of[table]);
    map64_free(&names->same_name);
    free(names->thing_object);
    free(names->thing_site);
    free(names->function_entry);
    free(names->thread_entry);
    free(names);
}

void profile_names_of(struct profile_names *names, const struct one_access *access, uint32_t entries[PROFILE_TABLES])
{
    uint32_t thing = access_thing(names->accesses, access), function = FLOW_NONE;
    entries[PROFILE_OBJECTS] = entries[PROFILE_SITES] = entries[PROFILE_FUNCTIONS] = entries[PROFILE_THREADS] =
        FLOW_NONE;
    if (thing != FLOW_NONE) {
        const struct thing *row = &names->accesses->things.items[thing];
        if (names->thing_object[thing] == FLOW_NONE) {
            names->thing_object[thing] = make_object(names, row);
            names->thing_site[thing] = make_site(names, row);
        }
        entries[PROFILE_OBJECTS] = names->thing_object[thing];
        entries[PROFILE_SITES] = names->thing_site[thing];
    }
    if (access->thread >= names->threads)
        return;
    entries[PROFILE_THREADS] = names->thread_entry[access->thread];
    function = flow_stack_function(names->flow, flow_thread(names->flow, access->thread)->process, access->stack);
    if (function >= names->functions)
        return;
    if (names->function_entry[function] == FLOW_NONE)
        names->function_entry[function] = make_function(names, function);
    entries[PROFILE_FUNCTIONS] = names->function_entry[function];
}

uint32_t profile_names_object(const struct profile_names *names, uint32_t object)
{
    uint32_t thing = object < names->accesses->object_count ? names->accesses->thing_of[object] : FLOW_NONE;
    return thing == FLOW_NONE ? FLOW_NONE : names->thing_object[thing];
}

static uint64_t samples_of(const struct flow *flow, enum profile_table table, uint32_t number)
{
    return table == PROFILE_OBJECTS     ? flow_object_totals(flow, number).samples
           : table == PROFILE_SITES     ? flow_site(flow, number)->totals.samples
           : table == PROFILE_FUNCTIONS ? flow_function(flow, number)->totals.samples
                                        : flow_thread(flow, number)->totals.samples;
}

static void number_entry(const struct profile_names *names, enum profile_table table, uint32_t entry, uint32_t number)
{
    if (entry == FLOW_NONE || number == FLOW_NONE)
        return;
    uint32_t *known = &names->profile->tables[table].items[entry].number;
    if (*known == FLOW_NONE || samples_of(names->flow, table, number) > samples_of(names->flow, table, *known))
        *known = number;
}

void profile_names_number(const struct profile_names *names)
{
    for (uint32_t i = 0; i < names->accesses->object_count; i++)
        number_entry(names, PROFILE_OBJECTS, profile_names_object(names, i), i);
    for (uint32_t i = 0; i < names->accesses->things.count; i++)
        number_entry(names, PROFILE_SITES, names->thing_site[i], names->accesses->things.items[i].site);
    for (uint32_t i = 0; i < names->functions; i++)
        number_entry(names, PROFILE_FUNCTIONS, names->function_entry[i], i);
    for (uint32_t i = 0; i < names->threads; i++)
        number_entry(names, PROFILE_THREADS, names->thread_entry[i], i);
}
