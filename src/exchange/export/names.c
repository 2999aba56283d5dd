#include "exchange/export/names.h"

#include "analysis/names/object_name.h"
#include "base/array.h"
#include "base/map64.h"
#include "base/strtab.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

enum { DEPTH = 256 }; /* what is further out is cut, as in the page */

struct named_chain {
    uint32_t first, count; /* in members */
};

struct names {
    const struct flow *flow;
    struct object_names *object_names;
    struct strtab *texts; /* of all names that are made here */
    struct strtab *keys;  /* of frames: what distinguishes them */
    array_of(struct names_frame) frames;
    array_of(struct named_chain) chains;
    array_of(uint32_t) members;
    struct map64 chain_of; /* process << 32 | stack */
    uint64_t last_key;     /* accesses of a burst have few chains */
    uint32_t last_chain;
    array_of(struct names_thing) things;
    struct map64 thing_of; /* by what they belong to: see flow_object_thing */
    uint32_t *thing_of_object;
    uint32_t object_count;
    struct flow_frame *room;
};

struct names *names_new(const struct flow *flow)
{
    struct names *names = mem_zalloc(sizeof *names);
    names->flow = flow;
    names->object_names = object_names_new(flow);
    names->texts = strtab_new();
    names->keys = strtab_new();
    names->last_key = MAP64_EMPTY;
    names->room = mem_alloc(DEPTH * sizeof *names->room);
    names->object_count = (uint32_t)flow_sampled_object_count(flow);
    names->thing_of_object = mem_alloc((names->object_count + 1ul) * sizeof *names->thing_of_object);
    memset(names->thing_of_object, 0xff, (names->object_count + 1ul) * sizeof *names->thing_of_object);
    array_push(&names->chains, (struct named_chain){0});
    array_push(&names->things,
               (struct names_thing){
                   .name = "[unknown]", .label = "[unknown]", .site = "", .kind = "", .file = "", .first = FLOW_NONE});
    return names;
}

void names_free(struct names *names)
{
    object_names_free(names->object_names);
    strtab_free(names->texts);
    strtab_free(names->keys);
    array_free(&names->frames);
    array_free(&names->chains);
    array_free(&names->members);
    map64_free(&names->chain_of);
    array_free(&names->things);
    map64_free(&names->thing_of);
    free(names->thing_of_object);
    free(names->room);
    free(names);
}

static uint32_t add_frame(struct names *names, const struct flow_frame *frame)
{
    const struct symbol_frame *symbol = &frame->symbol;
    char *key = mem_format("%s\n%s\n%s\n%u%d %" PRIx64, symbol->function, symbol->file, frame->module, symbol->line,
                           symbol->inlined, frame->addr);
    uint32_t number = strtab_add(names->keys, key) - 1; /* "" is 0 */
    free(key);
    if (number < names->frames.count)
        return number;
    struct names_frame made = {.function = symbol->function,
                               .file = symbol->file,
                               .module = *frame->module ? frame->module : "?",
                               .addr = frame->addr,
                               .offset = symbol->offset,
                               .line = symbol->line,
                               .named = *symbol->function,
                               .inlined = symbol->inlined};
    if (!made.named) {
        char *text = mem_format("%s+0x%" PRIx64, made.module, frame->addr);
        made.function = strtab_intern(names->texts, text);
        free(text);
    }
    array_push(&names->frames, made);
    return number;
}

static uint32_t add_chain(struct names *names, uint32_t process, uint32_t stack)
{
    size_t count = flow_stack_places(names->flow, process, stack, names->room, DEPTH);
    if (count == 0)
        return 0;
    struct named_chain chain = {.first = (uint32_t)names->members.count, .count = (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        uint32_t frame = add_frame(names, &names->room[i]);
        array_push(&names->members, frame);
    }
    array_push(&names->chains, chain);
    return (uint32_t)names->chains.count - 1;
}

uint32_t names_chain(struct names *names, const struct flow_access *access)
{
    uint32_t process = names_process_of(names, access->thread);
    if (process == FLOW_NONE || access->stack == 0 || access->stack == FLOW_NONE)
        return 0;
    uint64_t key = (uint64_t)process << 32 | access->stack;
    if (key == names->last_key)
        return names->last_chain;
    bool is_new;
    uint64_t *place = map64_insert(&names->chain_of, key, &is_new);
    if (is_new)
        *place = add_chain(names, process, access->stack);
    names->last_key = key;
    return names->last_chain = (uint32_t)*place;
}

size_t names_frame_count(const struct names *names)
{
    return names->frames.count;
}

struct names_frame names_frame(const struct names *names, uint32_t frame)
{
    return names->frames.items[frame];
}

size_t names_chain_count(const struct names *names)
{
    return names->chains.count;
}

size_t names_chain_frames(const struct names *names, uint32_t chain, const uint32_t **frames)
{
    *frames = names->members.items + names->chains.items[chain].first;
    return names->chains.items[chain].count;
}

static struct names_thing thing_make(struct names *names, uint32_t index)
{
    struct flow_object object = flow_object_copy(names->flow, index);
    const struct flow_site *site = object.site == FLOW_NONE ? NULL : flow_site(names->flow, object.site);
    struct names_thing thing = {.name = object_name(names->object_names, index),
                                .site = site ? site->label : "",
                                .kind = object_kind_name(object.kind),
                                .file = site ? site->file : object.file,
                                .line = site ? site->line : object.line,
                                .first = index};
    char *label = thing.line ? mem_format("%s(%s:%u)", thing.name, text_file_name(thing.file), thing.line)
                             : mem_format("%s", thing.name);
    thing.label = strtab_intern(names->texts, label);
    free(label);
    return thing;
}

uint32_t names_thing_of(struct names *names, uint32_t object)
{
    if (object >= names->object_count)
        return 0;
    if (names->thing_of_object[object] != FLOW_NONE)
        return names->thing_of_object[object];
    bool is_new;
    uint64_t *place = map64_insert(&names->thing_of, flow_object_thing(names->flow, object), &is_new);
    if (is_new) {
        *place = names->things.count;
        array_push(&names->things, thing_make(names, object));
    }
    return names->thing_of_object[object] = (uint32_t)*place;
}

size_t names_thing_count(const struct names *names)
{
    return names->things.count;
}

struct names_thing names_thing(const struct names *names, uint32_t thing)
{
    return names->things.items[thing];
}

uint32_t names_process_of(const struct names *names, uint32_t thread)
{
    return thread == FLOW_NONE ? FLOW_NONE : flow_thread(names->flow, thread)->process;
}

const char *names_thread(struct names *names, uint32_t thread)
{
    if (thread == FLOW_NONE)
        return "[unknown]";
    const struct flow_thread *row = flow_thread(names->flow, thread);
    if (*row->name)
        return row->name;
    char *text = mem_format("thread %u", row->tid);
    const char *name = strtab_intern(names->texts, text);
    free(text);
    return name;
}

const char *names_process(struct names *names, uint32_t process)
{
    if (process == FLOW_NONE)
        return "[unknown]";
    const struct flow_process *row = flow_process(names->flow, process);
    const char *name = text_file_name(row->exe);
    if (*name)
        return name;
    char *text = mem_format("process %u", row->pid);
    name = strtab_intern(names->texts, text);
    free(text);
    return name;
}
