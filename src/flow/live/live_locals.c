/* flow/live/live_locals.c - thread-local variables: each thread has a block of its own for each module that has some. */
#include "flow/state.h"

#include <stdio.h>

void live_locals_map(struct flow *flow, struct process *process, const struct event *event)
{
    const struct event_map *map = &event->map;
    const struct module_place *place = live_module_at(process, map->offset);
    uint64_t key, end = map->addr + map->size;
    uint32_t value;
    /* A thread's place is taken by a later thread. */
    while (addrtree_floor(&process->locals, end - 1, &key, &value)) {
        uint64_t old_end = pool_at(&flow->local_blocks, value)->end;
        if (old_end <= map->addr)
            break;
        addrtree_remove(&process->locals, ADDRTREE_NOWHERE, key, &value);
        live_names_forget(flow, process, key, old_end, event->time);
    }
    if (!place)
        return;
    uint32_t block = pool_add(&flow->local_blocks, &flow->slab);
    *pool_at(&flow->local_blocks, block) = (struct local_block){
        .end = end,
        .thread = live_thread_of(flow, process, event->tid, event->time),
        .process = process->index,
        .module = place->module,
    };
    addrtree_put(&process->locals, ADDRTREE_NOWHERE, map->addr, block, 0, NULL, NULL);
}

static uint32_t name_variable(struct flow *flow, struct process *process, const struct local_block *block,
                              const struct symbol_object *object, uint64_t start)
{
    uint64_t room = block->end - start - object->start; /* a file that changed may claim more */
    uint32_t record =
        live_record_new(flow, process, OBJECT_STATIC, start + object->start, object->size < room ? object->size : room,
                        flow->threads.items[block->thread].start);
    pool_at(&flow->records, record)->thread = block->thread;
    live_record_name(flow, record,
                     &(struct named){.name = object->name,
                                     .file = object->file,
                                     .line = object->line,
                                     .module = flow->modules.items[block->module].name,
                                     .path = flow->modules.items[block->module].path});
    addrtree_put(&process->statics, ADDRTREE_NOWHERE, start + object->start, record, 0, NULL, NULL);
    return record;
}

static uint32_t name_block(struct flow *flow, struct process *process, const struct local_block *block, uint64_t start)
{
    char name[512];
    const char *module = flow->modules.items[block->module].name;
    snprintf(name, sizeof name, "%.400s thread-local data", module);
    uint32_t record = live_record_new(flow, process, OBJECT_SECTION, start, block->end - start,
                                      flow->threads.items[block->thread].start);
    pool_at(&flow->records, record)->thread = block->thread;
    live_record_name(flow, record,
                     &(struct named){.name = strtab_intern(flow->texts, name), .file = "", .module = module});
    addrtree_put(&process->sections, ADDRTREE_NOWHERE, start, record, 0, NULL, NULL);
    return record;
}

uint32_t live_locals_at(struct flow *flow, struct process *process, uint64_t addr)
{
    uint64_t start;
    uint32_t value;
    if (!addrtree_floor(&process->locals, addr, &start, &value))
        return FLOW_NONE;
    const struct local_block *block = pool_at(&flow->local_blocks, value);
    if (addr >= block->end)
        return FLOW_NONE;
    /* A fork's child goes on with the block, whatever becomes of the parent's thread. */
    if (block->process == process->index && flow->threads.items[block->thread].end != UINT64_MAX)
        return FLOW_NONE;
    uint32_t record = live_named_at(flow, &process->statics, addr);
    if (record != FLOW_NONE)
        return record;
    struct symbol_object object;
    struct symbols_module *symbols = flow->modules.items[block->module].symbols;
    if (symbols && symbols_thread_local(symbols, addr - start, &object) && object.size)
        return name_variable(flow, process, block, &object, start);
    record = live_named_at(flow, &process->sections, addr);
    return record != FLOW_NONE ? record : name_block(flow, process, block, start);
}
