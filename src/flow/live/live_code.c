/* flow/live/live_code.c - code that no file has (EVENT_RUNTIME_CODE): what it is called at an address and a time.
 *
 * A JIT moves code and puts other code in its place, while a call chain is numbered once, by its addresses. A chain through
 * such addresses gets a number of its own for each time in which all of them keep their names: an era. */
#include "base/bisect.h"
#include "base/order.h"
#include "flow/state.h"

#include <string.h>

enum {
    ERAS_MOST = 64,        /* of one chain; what comes later is in the last */
    OVER_ONE_MOST = 4096,  /* pieces of code that are looked at for one address */
    OWN_NUMBERS = 1u << 31 /* of chains of later eras: those of the trace are below */
};

void live_code_add(struct flow *flow, struct process *process, const struct event_runtime_code *event)
{
    if (event->size == 0 || event->addr + event->size < event->addr)
        return;
    array_push(&process->code, (struct runtime_code){.addr = event->addr,
                                                     .end = event->addr + event->size,
                                                     .since = event->since,
                                                     .name = strtab_intern(flow->texts, event->name ? event->name : ""),
                                                     .file = strtab_intern(flow->texts, event->file ? event->file : ""),
                                                     .line = event->line,
                                                     .order = (uint32_t)process->code.count});
    process->code_sorted = false;
}

ORDER_BY(by_address, struct runtime_code,
         ORDER(a->addr, b->addr) ?: ORDER(a->since, b->since) ?: ORDER(a->order, b->order))

static bool same_name(const struct runtime_code *a, const struct runtime_code *b)
{
    return a->name == b->name && a->file == b->file && a->line == b->line;
}

static void sort(struct process *process)
{
    uint64_t reach = 0;
    array_sort(&process->code, by_address);
    process->code_sorted = true;
    process->code_changes = false;
    array_each (&process->code, struct runtime_code, code) {
        process->code_changes |= code->addr < reach && code->since;
        reach = code->end > reach ? code->end : reach;
        code->reach = reach;
    }
}

/* The later of the two of which one is known at `time`; before all of them, the first. */
static const struct runtime_code *better(const struct runtime_code *a, const struct runtime_code *b, uint64_t time)
{
    if (!a)
        return b;
    bool early_a = a->since > time, early_b = b->since > time;
    if (early_a != early_b)
        return early_a ? b : a;
    bool later = b->since != a->since ? b->since > a->since : b->order > a->order;
    return later != early_a ? b : a;
}

const struct runtime_code *live_code_at(const struct process *const_process, uint64_t pc, uint64_t time)
{
    struct process *process = (struct process *)const_process; /* sorted when it is asked */
    for (; process; process = (struct process *)process->origin) {
        const struct runtime_code *found = NULL;
        if (!process->code_sorted)
            sort(process);
        size_t at = bisect(process->code.count, i, process->code.items[i].addr <= pc);
        for (unsigned looks = OVER_ONE_MOST; looks-- && at-- > 0 && process->code.items[at].reach > pc;)
            if (process->code.items[at].end > pc)
                found = better(found, &process->code.items[at], time);
        if (found)
            return found;
    }
    return NULL;
}

/* Notes when the name of the code at `pc` changes, in order of time, each time once. */
static uint32_t note_changes(const struct process *process, uint64_t pc, uint64_t *times, uint32_t count)
{
    size_t at = bisect(process->code.count, i, process->code.items[i].addr <= pc);
    for (unsigned looks = OVER_ONE_MOST; looks-- && at-- > 0 && process->code.items[at].reach > pc;) {
        const struct runtime_code *code = &process->code.items[at];
        if (code->end <= pc || code->since == 0 || same_name(code, live_code_at(process, pc, code->since - 1)))
            continue;
        size_t low = bisect(count, i, times[i] < code->since);
        if ((low < count && times[low] == code->since) || count == ERAS_MOST)
            continue;
        memmove(times + low + 1, times + low, (count - low) * sizeof *times);
        times[low] = code->since;
        count++;
    }
    return count;
}

/* The chains of all its eras but the first. */
static void draw_eras(struct flow *flow, struct process *process, uint32_t stack)
{
    uint64_t times[ERAS_MOST + 1];
    uint32_t count = 0;
    struct stack chain = flow->stacks.items[stack];
    for (uint32_t i = 0; i < chain.depth; i++) {
        uint64_t pc = flow->chain.items[chain.first + i];
        if (!live_module_at(process, pc))
            count = note_changes(process, pc, times, count);
    }
    *map64_insert(&flow->era_of, stack, NULL) = (uint64_t)flow->eras.count << 32 | count;
    for (uint32_t i = 0; i < count; i++) {
        struct stack later = chain;
        later.id = OWN_NUMBERS + (uint32_t)flow->eras.count;
        later.since = times[i];
        later.trail = later.frame = later.tally = FLOW_NONE;
        later.allocates = false;
        *map64_insert(&process->stack_ids, later.id, NULL) = flow->stacks.count;
        array_push(&flow->eras, (struct era){times[i], (uint32_t)flow->stacks.count});
        array_push(&flow->stacks, later);
    }
}

/* The one of `stack` at `time`, as far as they are drawn. */
static uint32_t era_at(const struct flow *flow, uint32_t stack, uint64_t time)
{
    const uint64_t *place = map64_find(&flow->era_of, stack);
    if (!place)
        return stack;
    const struct era *eras = &flow->eras.items[*place >> 32];
    size_t at = bisect((uint32_t)*place, i, eras[i].since <= time);
    return at ? eras[at - 1].stack : stack;
}

uint32_t live_stack_at(struct flow *flow, struct process *process, uint32_t id, uint64_t time)
{
    uint32_t stack = live_stack_of(process, id);
    if (process->code.count == 0 || stack == FLOW_NONE)
        return stack;
    if (!process->code_sorted)
        sort(process);
    if (!process->code_changes)
        return stack;
    if (!map64_find(&flow->era_of, stack))
        draw_eras(flow, process, stack);
    return era_at(flow, stack, time);
}

uint32_t live_stack_number_at(const struct flow *flow, uint32_t thread, uint32_t id, uint64_t time)
{
    if (flow->eras.count == 0 || thread >= flow->threads.count)
        return id;
    uint32_t stack = live_stack_of(flow->processes.items[flow->threads.items[thread].process], id);
    return stack == FLOW_NONE ? id : flow->stacks.items[era_at(flow, stack, time)].id;
}

uint32_t live_code_frame(struct flow *flow, const struct runtime_code *code)
{
    const char *module = code->addr >= RUNTIME_CODE_SCRIPT ? "[python]" : "[jit]";
    uint32_t module_number = strtab_add(flow->module_keys, module);
    while (flow->modules.count <= module_number)
        array_push(&flow->modules, (struct module_info){.path = "", .name = strtab_intern(flow->texts, module)});
    struct {
        uint64_t name, file, line, module;
    } key = {(uintptr_t)code->name, (uintptr_t)code->file, code->line, module_number};
    uint32_t number = strtab_add_bytes(flow->frame_keys, (const char *)&key, sizeof key);
    while (flow->frames.count <= number) { /* one at most: numbers count up */
        array_push(&flow->frames, (struct frame){.addr = code->addr,
                                                 .module = module_number,
                                                 .first_name = (uint32_t)flow->names.count,
                                                 .name_count = 1,
                                                 .plain_name = (uint32_t)flow->names.count});
        array_push(&flow->names, (struct symbol_frame){.function = code->name, .file = code->file, .line = code->line});
    }
    return number;
}
