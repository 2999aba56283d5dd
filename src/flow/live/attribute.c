/* flow/live/attribute.c - which object an address belongs to now.
 *
 * In this order: an object of a function that the user named; a thread-local variable; a malloc'd block; a map the program
 * asked for; a static object or section of a binary; a file map; a thread's stack; what is left of the break and of
 * anonymous maps. A stack that a living thread runs on wins over the block or map that the program had made for it before. */
#include "flow/state.h"

#include <stdio.h>
#include <string.h>

static uint32_t heap_at(struct flow *flow, const struct process *process, struct addrtree_spot spot, uint64_t addr)
{
    uint64_t key;
    uint32_t value;
    if (!addrtree_floor_near(&process->heap, spot, addr, &key, &value))
        return FLOW_NONE;
    return addr - key < pool_at(&flow->records, value)->size ? value : FLOW_NONE;
}

static uint32_t map_at(struct flow *flow, const struct process *process, uint64_t addr)
{
    uint64_t key;
    uint32_t value;
    if (!addrtree_floor(&process->maps, addr, &key, &value))
        return FLOW_NONE;
    const struct map_range *range = pool_at(&flow->ranges, value);
    return addr < range->end ? range->record : FLOW_NONE;
}

uint32_t live_named_at(struct flow *flow, const struct addrtree *tree, uint64_t addr)
{
    uint64_t key;
    uint32_t value;
    if (!addrtree_floor(tree, addr, &key, &value))
        return FLOW_NONE;
    return addr - key < pool_at(&flow->records, value)->size ? value : FLOW_NONE;
}

static uint32_t static_at(struct flow *flow, struct process *process, const struct module_place *place, uint64_t addr)
{
    uint32_t record = live_named_at(flow, &process->statics, addr);
    if (record != FLOW_NONE)
        return record;
    struct symbols_module *symbols = flow->modules.items[place->module].symbols;
    struct symbol_object object;
    if (!symbols || !symbols_object(symbols, addr - place->bias, &object) || object.size == 0)
        return FLOW_NONE;
    uint64_t start = object.start + place->bias;
    record = live_record_new(flow, process, OBJECT_STATIC, start, object.size, process->row.start);
    live_record_name(flow, record,
                     &(struct named){.name = object.name,
                                     .file = object.file,
                                     .line = object.line,
                                     .module = flow->modules.items[place->module].name,
                                     .path = flow->modules.items[place->module].path});
    addrtree_put(&process->statics, ADDRTREE_NOWHERE, start, record, 0, NULL, NULL);
    return record;
}

/* The section there; with `gaps`, what is between two sections is something too. */
static uint32_t section_at(struct flow *flow, struct process *process, const struct module_place *place, uint64_t addr,
                           bool gaps)
{
    uint32_t record = live_named_at(flow, &process->sections, addr);
    if (record != FLOW_NONE)
        return record;
    const struct module_info *module = &flow->modules.items[place->module];
    struct symbol_section section;
    char name[512];
    uint64_t start = place->start, size = place->end - place->start;
    if (module->symbols && symbols_section(module->symbols, addr - place->bias, &section) && section.size) {
        start = section.start + place->bias;
        size = section.size;
        snprintf(name, sizeof name, "%s %s", module->name, section.name);
    } else if (!gaps) {
        return FLOW_NONE;
    } else {
        /* No section is known there: the gap between two that are, so that neither is covered. */
        uint64_t key;
        uint32_t value;
        if (addrtree_floor(&process->sections, addr, &key, &value) && key >= start) {
            start = key + pool_at(&flow->records, value)->size;
            size = place->end - start;
        }
        if (addrtree_ceiling(&process->sections, addr, &key, &value) && key < place->end)
            size = key - start;
        snprintf(name, sizeof name, "%s", module->name);
    }
    record = live_record_new(flow, process, OBJECT_SECTION, start, size, process->row.start);
    live_record_name(
        flow, record,
        &(struct named){
            .name = strtab_intern(flow->texts, name), .file = "", .module = module->name, .path = module->path});
    addrtree_put(&process->sections, ADDRTREE_NOWHERE, start, record, 0, NULL, NULL);
    return record;
}

static struct stack_range *stack_range_at(struct flow *flow, const struct process *process, uint64_t addr,
                                          uint64_t *low)
{
    uint32_t value;
    if (!addrtree_floor(&process->stacks, addr, low, &value))
        return NULL;
    struct stack_range *range = pool_at(&flow->stack_ranges, value);
    return addr < range->high ? range : NULL;
}

static uint32_t stack_record(struct flow *flow, struct stack_range *range, uint64_t low)
{
    if (range->record == FLOW_NONE) {
        const struct flow_thread *thread = &flow->threads.items[range->thread];
        struct process *owner = flow->processes.items[range->process];
        range->record = live_record_new(flow, owner, OBJECT_STACK, low, range->high - low, thread->start);
        pool_at(&flow->records, range->record)->thread = range->thread;
        live_record_name(flow, range->record, &(struct named){.name = "stack", .file = "", .module = ""});
    }
    return range->record;
}

/* Whether a thread began to run on memory that the program had got before; not once it has ended. */
static bool runs_on(const struct flow *flow, const struct stack_range *range, uint32_t record)
{
    const struct flow_thread *thread = &flow->threads.items[range->thread];
    return thread->end == UINT64_MAX && pool_at(&flow->records, record)->start <= thread->start;
}

/* The kernel's own pages, which it may put between a library's segments. */
static bool is_of_kernel(const struct flow *flow, uint32_t map)
{
    const uint64_t *named = map64_find(&flow->named_of, map);
    return named && strncmp(flow->named.items[*named].name, "[v", 2) == 0;
}

static enum reason reason_at(const struct process *process, uint64_t addr)
{
    if (addr >> 55)
        return REASON_KERNEL;
    for (unsigned i = 0; i < RECENT_FREES; i++) {
        if (addr >= process->recent[i].addr && addr < process->recent[i].end)
            return REASON_FREED;
    }
    enum { CHUNK_HEADER = 16 };
    uint64_t key;
    uint32_t value;
    if (addrtree_ceiling(&process->heap, addr, &key, &value) && key - addr <= CHUNK_HEADER)
        return REASON_METADATA;
    return REASON_NO_MAP;
}

static uint32_t find(struct flow *flow, struct process *process, struct addrtree_spot spot, uint64_t addr)
{
    uint64_t low;
    uint32_t record;
    if (process->pooled.count && (record = live_named_at(flow, &process->pooled, addr)) != FLOW_NONE)
        return record;
    record = live_locals_at(flow, process, addr);
    if (record != FLOW_NONE)
        return record;
    struct stack_range *stack = stack_range_at(flow, process, addr, &low);
    uint32_t map = map_at(flow, process, addr);
    record = heap_at(flow, process, spot, addr);
    if (record == FLOW_NONE && map != FLOW_NONE && !(pool_at(&flow->records, map)->flags & RECORD_LEFTOVER))
        record = map;
    if (record != FLOW_NONE)
        return stack && runs_on(flow, stack, record) ? stack_record(flow, stack, low) : record;
    const struct module_place *place = live_module_at(process, addr);
    if (place) {
        record = static_at(flow, process, place, addr);
        if (record == FLOW_NONE)
            record = section_at(flow, process, place, addr, map == FLOW_NONE || !is_of_kernel(flow, map));
        return record != FLOW_NONE ? record : map;
    }
    if (map != FLOW_NONE && (pool_at(&flow->records, map)->flags & RECORD_KIND) == OBJECT_FILE)
        return map;
    return stack ? stack_record(flow, stack, low) : map;
}

/* Whether neither a stack nor thread-local variables are in [start, end). */
static bool is_plain(struct flow *flow, const struct process *process, uint64_t start, uint64_t end)
{
    uint64_t key;
    uint32_t value;
    if (process->pooled.count)
        return false;
    if (addrtree_floor(&process->stacks, end - 1, &key, &value) && pool_at(&flow->stack_ranges, value)->high > start)
        return false;
    return !addrtree_floor(&process->locals, end - 1, &key, &value) ||
           pool_at(&flow->local_blocks, value)->end <= start;
}

static void remember(struct flow *flow, const struct process *process, struct found *found, uint32_t record)
{
    const struct record *block = pool_at(&flow->records, record);
    found->process = NULL;
    if ((block->flags & RECORD_KIND) != OBJECT_HEAP || !is_plain(flow, process, block->addr, block->addr + block->size))
        return;
    *found = (struct found){flow->layout, process, block->addr, block->addr + block->size, record};
}

uint32_t live_attribute(struct flow *flow, struct process *process, struct addrtree_spot spot, uint64_t addr,
                        enum reason *reason)
{
    uint32_t record = find(flow, process, spot, addr);
    if (record == FLOW_NONE) {
        *reason = reason_at(process, addr);
        return FLOW_NONE;
    }
    return live_record_in(flow, process, record);
}

uint32_t live_attribute_sample(struct flow *flow, struct process *process, uint32_t tid, uint64_t addr,
                               enum reason *reason)
{
    struct found *found = &flow->last_found[tid % LAST_THREADS];
    if (found->process == process && found->layout == flow->layout && addr >= found->start && addr < found->end)
        return found->record;
    uint32_t record = live_attribute(flow, process, flow->spot, addr, reason);
    if (record == FLOW_NONE)
        return record;
    remember(flow, process, found, record);
    live_arena_note(flow, process, record, addr);
    return record;
}
