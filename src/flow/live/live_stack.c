/* flow/live/live_stack.c - call chains: numbers of the trace to chains, chains to trails, frames to names. */
#include "flow/state.h"

#include <string.h>

void live_stack_define(struct flow *flow, struct process *process, const struct event_stack *event)
{
    if (event->id == 0)
        return;
    bool is_new;
    uint64_t *place = map64_insert(&process->stack_ids, event->id, &is_new);
    if (!is_new)
        return;
    *place = flow->stacks.count;
    process->trails[event->id % RECENT_STACKS].id = 0; /* its origin's may have been meant until now */
    array_push(&flow->stacks, (struct stack){.first = flow->chain.count,
                                             .id = event->id,
                                             .process = process->index,
                                             .trail = FLOW_NONE,
                                             .frame = FLOW_NONE,
                                             .tally = FLOW_NONE,
                                             .depth = event->depth});
    if (event->depth == 0)
        return; /* nothing to copy, and maybe from nowhere */
    array_reserve(&flow->chain, flow->chain.count + event->depth);
    memcpy(flow->chain.items + flow->chain.count, event->frames, event->depth * sizeof *event->frames);
    flow->chain.count += event->depth;
}

uint32_t live_stack_of(const struct process *process, uint32_t id)
{
    for (; process && id; process = process->origin) {
        uint64_t *place = map64_find(&process->stack_ids, id);
        if (place)
            return (uint32_t)*place;
    }
    return FLOW_NONE;
}

uint32_t live_frame_number(struct flow *flow, const struct process *process, uint64_t pc, uint64_t time)
{
    const struct module_place *place = live_module_at(process, pc);
    const struct runtime_code *code = place ? NULL : live_code_at(process, pc, time);
    if (code)
        return live_code_frame(flow, code);
    uint64_t key[2] = {place ? pc - place->bias : pc, place ? place->module : 0};
    uint32_t number = strtab_add_bytes(flow->frame_keys, (const char *)key, sizeof key);
    while (flow->frames.count <= number)
        array_push(&flow->frames, (struct frame){.addr = key[0], .module = (uint32_t)key[1], .plain_name = FLOW_NONE});
    return number;
}

/* `unlike`: 0, or what distinguishes it from others with that frame. */
static uint32_t trail_child(struct flow *flow, uint32_t parent, uint32_t frame, uint64_t unlike)
{
    uint32_t key[4] = {parent, frame, (uint32_t)unlike, (uint32_t)(unlike >> 32)};
    uint32_t number = strtab_add_bytes(flow->trail_keys, (const char *)key, unlike ? sizeof key : sizeof key / 2);
    while (flow->trails.count <= number) {
        uint32_t depth = flow->trails.count ? flow->trails.items[parent].depth + 1 : 0;
        uint32_t counted =
            depth <= TRAIL_COUNTED_DEPTH ? (uint32_t)flow->trails.count : flow->trails.items[parent].counted;
        array_push(
            &flow->trails,
            (struct trail){.parent = parent, .counted = counted, .frame = frame, .depth = depth, .site = FLOW_NONE});
    }
    return number;
}

uint32_t live_stack_trail(struct flow *flow, struct process *process, uint32_t stack_index, uint8_t fn, uint8_t kind,
                          uint64_t time, uint64_t unlike)
{
    uint32_t trail = 0;
    if (stack_index != FLOW_NONE) {
        struct stack *stack = &flow->stacks.items[stack_index];
        if (stack->trail != FLOW_NONE)
            return stack->trail;
        stack->allocates = true;
        stack->process = process->index;
        uint32_t depth = stack->depth < TRAIL_MAX_DEPTH ? stack->depth : TRAIL_MAX_DEPTH;
        for (uint32_t i = 0; i < depth; i++)
            trail =
                trail_child(flow, trail,
                            live_frame_number(flow, process, flow->chain.items[stack->first + i] - 1, stack->since), 0);
        stack->trail = trail;
    }
    /* Without a chain all there is to distinguish sites is the function that allocated, and what the caller knows. */
    if (trail == 0)
        trail = trail_child(flow, 0, FLOW_NONE - 1 - fn, unlike);
    for (uint32_t at = trail; at; at = flow->trails.items[at].parent) {
        struct trail *node = &flow->trails.items[at];
        if (!node->seen) {
            node->seen = true;
            node->fn = fn;
            node->kind = kind;
            node->stack = stack_index;
            node->start = time;
        }
    }
    return trail;
}

uint32_t live_stack_trail_of_block(struct flow *flow, struct process *process, const struct event *event)
{
    uint32_t id = event->alloc.stack, at = id % RECENT_STACKS;
    if (id && process->trails[at].id == id)
        return process->trails[at].trail;
    uint32_t stack = live_stack_at(flow, process, id, event->time);
    uint64_t unlike = 0;
    if (id == 0 && flow->unchained) /* of what was read from a heap: the large ones each, the others by their size */
        unlike = event->alloc.size >= LARGE_BLOCK ? event->alloc.addr ^ (uint64_t)process->index << 48
                                                  : event->alloc.size + 1;
    uint32_t trail = live_stack_trail(flow, process, stack, event->alloc.fn, OBJECT_HEAP, event->time, unlike);
    if (stack != FLOW_NONE && flow->stacks.items[stack].trail == trail && !process->code_changes) {
        process->trails[at].id = id;
        process->trails[at].trail = trail;
    }
    return trail;
}

void live_frame_names(struct flow *flow, uint32_t index)
{
    struct frame *frame = &flow->frames.items[index];
    if (frame->name_count)
        return;
    struct symbol_frame frames[SYMBOL_FRAMES];
    const struct module_info *module = &flow->modules.items[frame->module];
    size_t count = module->symbols ? symbols_frames(module->symbols, frame->addr, frames, SYMBOL_FRAMES) : 0;
    if (count == 0) {
        bool kernel = !module->symbols && frame->addr >> 63; /* no program has code there */
        frames[0] = (struct symbol_frame){.function = kernel ? "[kernel]" : "", .file = "", .offset = frame->addr};
        count = 1;
    }
    frame->first_name = (uint32_t)flow->names.count;
    frame->name_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        array_push(&flow->names, frames[i]);
}

void live_frame_plain_name(struct flow *flow, uint32_t index)
{
    struct frame *frame = &flow->frames.items[index];
    if (frame->plain_name != FLOW_NONE)
        return;
    frame->plain_name = (uint32_t)flow->names.count;
    array_push(&flow->names, symbols_function(flow->modules.items[frame->module].symbols, frame->addr));
}
