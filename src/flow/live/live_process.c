/* flow/live/live_process.c - processes and threads as they come and go; what a fork inherits. */
#include "flow/state.h"

#include <string.h>

/* Threads, or processes, with the same number one after the other: each knows the one before, and one further back, so that the one
 * of a time is found in few steps among very many. The distances are those of a skew-binary list: Myers, "An applicative
 * random-access stack" (1983). */
static struct former_life former_life(const struct former_life *lives, uint32_t before)
{
    struct former_life former = {.before = before, .further = before};
    if (before != FLOW_NONE) {
        const struct former_life *one = &lives[before];
        const struct former_life *two = one->further == FLOW_NONE ? NULL : &lives[one->further];
        former.number = one->number + 1;
        if (two && two->further != FLOW_NONE && one->number - two->number == two->number - lives[two->further].number)
            former.further = two->further;
    }
    return former;
}

static struct process *process_new(struct flow *flow, uint32_t pid, uint64_t time)
{
    struct process *process = mem_zalloc(sizeof *process);
    process->index = (uint32_t)flow->processes.count;
    process->last_thread = FLOW_NONE;
    process->brk = FLOW_NONE;
    process->heap.nodes = process->pooled.nodes = process->maps.nodes = process->statics.nodes =
        process->sections.nodes = process->stacks.nodes = process->locals.nodes = &flow->nodes;
    process->row = (struct flow_process){
        .pid = pid, .start = time, .end = UINT64_MAX, .exe = "", .command = "", .exit_status = -1};
    array_push(&flow->processes, process);
    bool is_new;
    uint64_t *place = map64_insert(&flow->process_of_pid, pid, &is_new);
    array_push(&flow->former_processes,
               former_life(flow->former_processes.items, is_new ? FLOW_NONE : (uint32_t)*place));
    *place = process->index;
    flow->last_process = process;
    return process;
}

struct process *live_process_find(struct flow *flow, uint32_t pid, uint64_t time)
{
    uint64_t *place = map64_find(&flow->process_of_pid, pid);
    if (place)
        return flow->last_process = flow->processes.items[*place];
    struct process *process = process_new(flow, pid, time);
    process->implicit = true;
    return process;
}

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
    return (uint64_t)pid << 32 | tid;
}

static uint32_t thread_new(struct flow *flow, struct process *process, uint32_t tid, uint64_t time)
{
    uint32_t index = (uint32_t)flow->threads.count, ordinal = flow->next_ordinal;
    bool is_new;
    uint64_t *place = map64_insert(&flow->thread_of_tid, thread_key(process->row.pid, tid), &is_new);
    array_push(&flow->former_lives, former_life(flow->former_lives.items, is_new ? FLOW_NONE : (uint32_t)*place));
    if (!is_new && flow->threads.items[*place].end == UINT64_MAX)
        ordinal = flow->threads.items[*place].ordinal; /* exec: another image, the same thread */
    else
        flow->next_ordinal++;
    *place = index;
    flow->last_threads[tid % LAST_THREADS] = index;
    array_push(&flow->threads, (struct flow_thread){.process = process->index,
                                                    .pid = process->row.pid,
                                                    .tid = tid,
                                                    .ordinal = ordinal,
                                                    .name = "",
                                                    .start = time,
                                                    .end = UINT64_MAX});
    int node = flow->topology->node_count == 1 ? 0 : -1;
    if (flow->topology->simulated)
        node = topology_node_of_cpu(flow->topology, topology_assign_cpu(flow->topology, ordinal));
    array_push(&flow->thread_nodes, (int16_t)node);
    array_push(&flow->thread_votes, 0);
    array_push(&flow->thread_sibling, process->last_thread);
    process->last_thread = index;
    return index;
}

uint32_t live_thread_of(struct flow *flow, struct process *process, uint32_t tid, uint64_t time)
{
    uint32_t *last = &flow->last_threads[tid % LAST_THREADS];
    const struct flow_thread *thread = *last < flow->threads.count ? &flow->threads.items[*last] : NULL;
    if (thread && thread->tid == tid && thread->process == process->index)
        return *last;
    uint64_t *place = map64_find(&flow->thread_of_tid, thread_key(process->row.pid, tid));
    if (place && flow->threads.items[*place].process == process->index)
        return *last = (uint32_t)*place;
    return thread_new(flow, process, tid, time);
}

uint32_t live_thread_at(const struct flow *flow, uint32_t pid, uint32_t tid, uint64_t time)
{
    /* What is kept there of a thread is its latest life, as in the map. */
    uint32_t index = flow->last_threads[tid % LAST_THREADS];
    const struct flow_thread *thread = index < flow->threads.count ? &flow->threads.items[index] : NULL;
    if (!thread || thread->tid != tid || thread->pid != pid) {
        uint64_t *place = map64_find(&flow->thread_of_tid, thread_key(pid, tid));
        if (!place)
            return FLOW_NONE;
        index = (uint32_t)*place;
    }
    while (flow->threads.items[index].start > time && flow->former_lives.items[index].before != FLOW_NONE) {
        const struct former_life *former = &flow->former_lives.items[index];
        index = flow->threads.items[former->further].start > time ? former->further : former->before;
    }
    return index;
}

/* A fork begins with all that its parent has; nothing is copied before one of them changes it. */
static void inherit(struct process *child, struct process *parent, uint64_t time)
{
    child->heap = addrtree_share(&parent->heap);
    child->pooled = addrtree_share(&parent->pooled);
    child->pools = live_pools_share(parent->pools);
    child->maps = addrtree_share(&parent->maps);
    child->statics = addrtree_share(&parent->statics);
    child->sections = addrtree_share(&parent->sections);
    child->stacks = addrtree_share(&parent->stacks);
    child->locals = addrtree_share(&parent->locals);
    child->modules = parent->modules;
    if (child->modules)
        child->modules->refs++;
    child->origin = parent;
    child->pages.parent = &parent->pages;
    child->touches.parent = &parent->touches;
    child->brk = parent->brk;
    parent->last_fork = time;
    child->last_fork = time;
}

struct ending {
    struct flow *flow;
    struct process *process;
};

static void end_block(void *context, uint32_t record)
{
    struct ending *ending = context;
    live_record_end(ending->flow, ending->process, record, UINT64_MAX);
}

static void end_map(void *context, uint32_t range)
{
    struct ending *ending = context;
    live_maps_end(ending->flow, ending->process, pool_at(&ending->flow->ranges, range)->record);
}

/* Objects that were never freed end with their process: `end` stays open, but they no longer count as live. What a fork
 * only inherited is not looked at: there may be very many forks, each with all of its parent's blocks. */
static void end_lives(struct flow *flow, struct process *process)
{
    struct ending ending = {flow, process};
    live_pages_end_process(flow, process);
    addrtree_each_own(&process->heap, end_block, &ending);
    addrtree_each_own(&process->pooled, end_block, &ending);
    addrtree_each_own(&process->maps, end_map, &ending);
    addrtree_free(&process->heap);
    addrtree_free(&process->pooled);
    addrtree_free(&process->maps);
    addrtree_free(&process->statics);
    addrtree_free(&process->sections);
    addrtree_free(&process->stacks);
    addrtree_free(&process->locals);
    map64_free(&process->clones); /* modules stay: chains are named at the end */
    process->ended = true;
}

void live_process_start(struct flow *flow, const struct event *event)
{
    uint64_t *place = map64_find(&flow->process_of_pid, event->pid);
    struct process *former = place ? flow->processes.items[*place] : NULL;
    struct process *process = former;
    if (!former || !former->implicit) {
        if (former && !former->ended) { /* exec: the image is another, the threads but one have ended */
            end_lives(flow, former);
            former->row.end = event->time;
            former->row.replaced = true;
        }
        process = process_new(flow, event->pid, event->time);
        process->origin = former; /* chains may have been reported before the image began */
    }
    process->implicit = false;
    process->row.start = event->time;
    process->row.parent = event->process.parent;
    process->row.exe = strtab_intern(flow->texts, event->process.exe ? event->process.exe : "");
    process->row.command = strtab_intern(flow->texts, event->process.command ? event->process.command : "");
    if (event->process.forked && event->process.parent != event->pid) {
        struct process *parent = live_process_of(flow, event->process.parent, event->time);
        if (parent != process && !parent->ended && process->heap.count == 0)
            inherit(process, parent, event->time);
        if (!*process->row.exe)
            process->row.exe = parent->row.exe;
        if (!*process->row.command)
            process->row.command = parent->row.command;
    }
    live_thread_of(flow, process, event->pid, event->time);
}

void live_process_exit(struct flow *flow, const struct event *event)
{
    struct process *process = live_process_of(flow, event->pid, event->time);
    if (process->row.exit_status == -1)
        process->row.exit_status = event->exit_status; /* its parent may learn it later */
    if (process->ended)
        return;
    process->row.end = event->time;
    for (uint32_t i = process->last_thread; i != FLOW_NONE; i = flow->thread_sibling.items[i]) {
        struct flow_thread *thread = &flow->threads.items[i];
        if (thread->end == UINT64_MAX)
            thread->end = event->time;
    }
    end_lives(flow, process);
}

static void stack_known(struct flow *flow, struct process *process, uint32_t thread, const struct event *event)
{
    enum { MAIN_STACK = 8 << 20 }; /* the usual limit: the main stack is mapped piece by piece as it grows */
    uint64_t low = event->thread.stack_low, high = event->thread.stack_high;
    if (low == 0 || high <= low)
        return;
    if (event->tid == event->pid && high > MAIN_STACK && high - low < MAIN_STACK)
        low = high - MAIN_STACK;
    uint64_t key;
    uint32_t value;
    while (addrtree_floor(&process->stacks, high - 1, &key, &value)) {
        if (pool_at(&flow->stack_ranges, value)->high <= low)
            break;
        addrtree_remove(&process->stacks, ADDRTREE_NOWHERE, key, &value);
    }
    uint32_t range = pool_add(&flow->stack_ranges, &flow->slab);
    *pool_at(&flow->stack_ranges, range) =
        (struct stack_range){.high = high, .thread = thread, .process = process->index, .record = FLOW_NONE};
    addrtree_put(&process->stacks, ADDRTREE_NOWHERE, low, range, 0, NULL, NULL);
}

void live_thread_start(struct flow *flow, const struct event *event)
{
    struct process *process = live_process_of(flow, event->pid, event->time);
    uint64_t *place = map64_find(&flow->thread_of_tid, thread_key(event->pid, event->tid));
    uint32_t index = place ? (uint32_t)*place : FLOW_NONE;
    if (index == FLOW_NONE || flow->threads.items[index].end != UINT64_MAX ||
        flow->threads.items[index].process != process->index)
        index = thread_new(flow, process, event->tid, event->time);
    struct flow_thread *thread = &flow->threads.items[index];
    if (event->thread.name && *event->thread.name)
        thread->name = strtab_intern(flow->texts, event->thread.name);
    thread->entry = event->thread.entry;
    stack_known(flow, process, index, event);
}

void live_thread_name(struct flow *flow, const struct event *event)
{
    struct process *process = live_process_of(flow, event->pid, event->time);
    uint32_t thread = live_thread_of(flow, process, event->tid, event->time);
    if (event->thread.name && *event->thread.name)
        flow->threads.items[thread].name = strtab_intern(flow->texts, event->thread.name);
}

void live_thread_exit(struct flow *flow, const struct event *event)
{
    uint64_t *place = map64_find(&flow->thread_of_tid, thread_key(event->pid, event->tid));
    if (place && flow->threads.items[*place].end == UINT64_MAX)
        flow->threads.items[*place].end = event->time;
}

void live_thread_waited(struct flow *flow, struct process *process, const struct event *event)
{
    uint32_t thread = live_thread_of(flow, process, event->tid, event->time);
    if (live_counts(flow, process))
        array_push(&flow->barrier_waits,
                   (struct flow_barrier_wait){.time = event->time, .waited = event->barrier.waited, .thread = thread});
}

void live_process_free(struct process *process)
{
    addrtree_free(&process->heap);
    addrtree_free(&process->pooled);
    live_pools_drop(process->pools);
    addrtree_free(&process->maps);
    addrtree_free(&process->statics);
    addrtree_free(&process->sections);
    addrtree_free(&process->stacks);
    addrtree_free(&process->locals);
    live_module_list_drop(process->modules);
    map64_free(&process->stack_ids);
    array_free(&process->code);
    map64_free(&process->frames);
    map64_free(&process->waiting);
    map64_free(&process->clones);
    pages_free(&process->pages);
    touches_free(&process->touches);
    free(process);
}
