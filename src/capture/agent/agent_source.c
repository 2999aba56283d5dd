#include "capture/agent/agent_records.h"
#include "capture/process/proc.h"

#include "base/clock.h"
#include "base/mem.h"
#include "capture/process/procfs.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    PATIENCE = 8,           /* drains to wait for a process to introduce itself */
    SCAN_NS = 2000000,      /* between looks for rings that got an owner, while there is much to do */
    NESTED_MOST = 16,       /* parents of parents that are drained before their children: each level takes stack */
    KEEP_RINGS = 64,        /* memory of rings above is given back when they are free */
    KEEP_PROCESSES = 10000, /* known ones, with those that ended */
    ENOUGH_BYTES = 64 << 10,
    LAST_DRAINS = 16, /* more than PATIENCE */
};

struct agent_source *agent_source_new(const struct capture_region *region, struct process_table *processes,
                                      struct sink *sink, struct counter_clock *clock,
                                      const struct source_listener *listener, size_t memory)
{
    static const struct source_listener nobody = {0};
    struct agent_source *source = mem_zalloc(sizeof *source);
    source->region = region;
    source->processes = processes;
    source->sink = sink;
    source->clock = clock;
    source->listener = listener ? listener : &nobody;
    source->ring_count = region->ring_count;
    source->ring_bytes = region->ring_bytes;
    source->stack_entries_most = memory / sizeof(uint32_t);
    source->idle = true;
    source->rings = mem_zalloc(source->ring_count * sizeof *source->rings);
    source->active = mem_zalloc(source->ring_count * sizeof *source->active);
    for (uint32_t i = 0; i < source->ring_count; i++) {
        source->rings[i].ring = capture_region_ring(region, i);
        source->rings[i].data = capture_region_ring_data(region, i);
    }
    return source;
}

void agent_source_stop_samples(struct agent_source *source, uint64_t at)
{
    source->samples_until = at;
}

void agent_source_free(struct agent_source *source)
{
    if (!source)
        return;
    for (uint32_t i = 0; i < source->ring_count; i++) {
        trace_lane_drop(&source->rings[i].lane);
        free(source->rings[i].stacks);
    }
    free(source->active);
    free(source->rings);
    free(source);
}

static void wake_producer(struct wire_ring *ring)
{
    /* Pairs with the producer, which says that it waits and then looks at tail once more. */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&ring->waiting, memory_order_relaxed) == 0)
        return;
    /* Or it would look as if it waited until it gets to run again. */
    atomic_store(&ring->waiting, 0);
    atomic_fetch_add(&ring->tail_word, 1);
    syscall(SYS_futex, &ring->tail_word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* A thread in another PID namespace that knows only its number there. When no thread has it any more, it stands for
 * itself, and the ring is freed when it is drained. */
static void find_number(struct ring_state *state, uint32_t local)
{
    int64_t tid = procfs_thread(state->pid, local);
    state->tid = tid > 0 ? (uint32_t)tid : local;
    state->nameless = tid <= 0;
}

static void adopt(struct agent_source *source, struct ring_state *state)
{
    state->owned = true;
    state->pid = state->ring->pid;
    state->tid = state->ring->tid;
    if (state->ring->local_tid)
        find_number(state, state->ring->local_tid);
    /* Agents count from 1: a process without one is never looked for again, and would be kept for ever. */
    uint32_t image = atomic_load(&state->ring->image);
    state->image = image ? image : 1;
    state->last_time = clock_now_ns();
    source->active[source->active_count++] = state;
    source->totals.rings++;
}

/* A process whose first ring does not begin with its introduction: /proc knows it too. */
static void introduce(struct agent_source *source, struct ring_state *state, uint64_t head)
{
    struct proc_program program;
    struct event event = {.pid = state->pid, .tid = state->tid, .kind = EVENT_PROCESS_START};
    event.time = agent_first_time(source, state, head, clock_now_ns());
    proc_program(state->pid, "", &program);
    event.process.exe = program.exe;
    event.process.command = program.command;
    state->process = process_start(source->processes, &event, state->image);
    state->process->rings++;
}

/* Whether the ring's process is known, so that its records can be taken. */
static bool find_process(struct agent_source *source, struct ring_state *state, uint64_t head)
{
    struct capture_process *process = process_find(source->processes, state->pid);
    if (process && process->image >= state->image) {
        state->process = process;
        process->rings++;
        return true;
    }
    if (agent_first_type(source, state) == WIRE_PROCESS)
        return true; /* and if it is another by then, agent_take_records refuses it */
    if (state->patience++ < PATIENCE)
        return false;
    introduce(source, state, head);
    return true;
}

static size_t drain_ring(struct agent_source *source, struct ring_state *state)
{
    uint64_t head = atomic_load_explicit(&state->ring->head, memory_order_acquire);
    if (head == state->tail || state->busy)
        return 0;
    if (state->refused) {
        state->tail = head;
        wire_ring_release(state->ring, head);
        wake_producer(state->ring);
        return 0;
    }
    if (!state->process && !find_process(source, state, head))
        return 0;
    size_t bytes = head - state->tail;
    state->busy = true;
    if (!agent_take_records(source, state, head)) {
        state->refused = true;
        source->totals.corrupt++;
        bytes = 0;
    }
    state->busy = false;
    wake_producer(state->ring);
    return bytes;
}

void agent_drain_process(struct agent_source *source, uint32_t pid, uint32_t image)
{
    if (source->nested == NESTED_MOST)
        return;
    source->nested++;
    for (uint32_t i = 0; i < source->active_count; i++)
        if (source->active[i]->pid == pid && source->active[i]->image < image)
            drain_ring(source, source->active[i]);
    source->nested--;
}

static void pass_counter(uint64_t *total, uint64_t *reported, const _Atomic uint64_t *counter)
{
    uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
    if (value > *reported)
        *total += value - *reported;
    *reported = value;
}

static void pass_losses(struct agent_source *source, const struct wire_counters *counters, uint64_t *reported,
                        uint64_t now, uint32_t pid, uint32_t tid)
{
    for (unsigned cause = 0; cause < LOSS_CAUSES; cause++) {
        uint64_t value = atomic_load_explicit(&counters->lost[cause], memory_order_relaxed);
        if (value > reported[cause])
            sink_loss(source->sink, now, pid, tid, cause, value - reported[cause]);
        reported[cause] = value;
    }
}

static void pass_counters(struct agent_source *source, struct ring_state *state, uint64_t now)
{
    const struct wire_counters *counters = &state->ring->counters;
    pass_counter(&source->totals.ticks, &state->reported.ticks, &counters->ticks);
    pass_counter(&source->totals.bursts, &state->reported.bursts, &counters->bursts);
    pass_counter(&source->totals.steps, &state->reported.steps, &counters->steps);
    pass_counter(&source->totals.accesses, &state->reported.accesses, &counters->accesses);
    pass_counter(&source->totals.handler_ns, &state->reported.handler_ns, &counters->handler_ns);
    pass_counter(&source->totals.hook_calls, &state->reported.hook_calls, &counters->hook_calls);
    pass_counter(&source->totals.hook_timed, &state->reported.hook_timed, &counters->hook_timed);
    pass_counter(&source->totals.hook_time, &state->reported.hook_time, &counters->hook_time);
    pass_counter(&source->totals.hook_rare_time, &state->reported.hook_rare_time, &counters->hook_rare_time);
    pass_losses(source, counters, state->lost_reported, now, state->pid, state->tid);
}

/* The ring's thread has ended and its records are taken: ready for another. */
static void free_ring(struct agent_source *source, struct ring_state *state, uint64_t now)
{
    struct wire_ring *ring = state->ring;
    uint32_t index = (uint32_t)(state - source->rings);
    pass_counters(source, state, now);
    trace_lane_drop(&state->lane);
    source->stack_entries -= state->stack_room;
    free(state->stacks);
    if (state->process)
        state->process->rings--;
    for (uint32_t i = 0; i < source->active_count; i++)
        if (source->active[i] == state)
            source->active[i] = source->active[--source->active_count];
    if (index >= KEEP_RINGS)
        capture_region_drop_ring(source->region, index);
    uint64_t tail = state->tail;
    if (state->refused) { /* its head may be any number */
        tail = 0;
        atomic_store(&ring->head, tail);
        wire_ring_release(ring, tail);
    }
    *state = (struct ring_state){.ring = ring, .data = state->data, .tail = tail};
    memset((void *)&ring->counters, 0, sizeof ring->counters);
    ring->pid = ring->tid = 0;
    atomic_store(&ring->waiting, 0);
    /* Low ones first: what was used before is in memory already. */
    if (index < atomic_load(&source->region->map->claim_hint))
        atomic_store(&source->region->map->claim_hint, index);
    atomic_store_explicit(&ring->state, WIRE_RING_FREE, memory_order_release);
}

/* Rings that got an owner since the last look. */
static void find_owners(struct agent_source *source)
{
    for (uint32_t i = 0; i < source->ring_count; i++) {
        struct ring_state *state = &source->rings[i];
        uint32_t now = atomic_load_explicit(&state->ring->state, memory_order_acquire);
        if (state->owned || now == WIRE_RING_FREE)
            continue;
        /* Whose it is can be read once something was written: a thread claims first and signs then. */
        if (now == WIRE_RING_CLOSED || atomic_load_explicit(&state->ring->head, memory_order_acquire) != state->tail)
            adopt(source, state);
    }
}

size_t agent_source_drain(struct agent_source *source, uint64_t now)
{
    size_t bytes = 0;
    if (source->idle || now - source->scanned >= SCAN_NS) {
        source->scanned = now;
        find_owners(source);
    }
    for (uint32_t i = source->active_count; i-- > 0;) {
        struct ring_state *state = source->active[i];
        bool closed = atomic_load_explicit(&state->ring->state, memory_order_acquire) == WIRE_RING_CLOSED;
        bytes += drain_ring(source, state);
        if (closed && state->tail == atomic_load(&state->ring->head))
            free_ring(source, state, now);
    }
    source->idle = bytes < ENOUGH_BYTES;
    return bytes;
}

static bool thread_ended(const struct agent_source *source, const struct ring_state *state)
{
    const struct capture_process *process = process_find(source->processes, state->pid);
    if (process && process->image > state->image)
        return true; /* exec: the old program's threads are no more */
    if (state->nameless)
        return kill((pid_t)state->pid, 0) < 0 ? errno == ESRCH : procfs_thread(state->pid, state->ring->local_tid) == 0;
    return syscall(SYS_tgkill, state->pid, state->tid, 0) < 0 && errno == ESRCH;
}

static void end_thread(struct agent_source *source, struct ring_state *state)
{
    struct event event = {.time = state->last_time, .pid = state->pid, .tid = state->tid, .kind = EVENT_THREAD_EXIT};
    event.thread.name = "";
    sink_put_lane(source->sink, &state->lane, &event);
}

static void end_processes(struct agent_source *source, uint64_t now)
{
    struct map64 *map = &source->processes->by_pid;
    map64_each (map, i) {
        struct capture_process *process = (struct capture_process *)(uintptr_t)map->values[i];
        if (process->pid != source->processes->first && !process->ended && process->rings == 0 && process->image &&
            kill((pid_t)process->pid, 0) < 0 && errno == ESRCH)
            process_end(source->processes, process, now, -1);
    }
    if (map->count > KEEP_PROCESSES)
        process_table_prune(source->processes);
}

void agent_source_tend(struct agent_source *source, uint64_t now)
{
    for (uint32_t i = 0; i < source->ring_count; i++) {
        struct ring_state *state = &source->rings[i];
        if (atomic_load(&state->ring->state) != WIRE_RING_CLAIMED)
            continue; /* one that was closed is freed as soon as it is drained */
        if (!state->owned && state->ring->pid && state->ring->tid)
            adopt(source, state); /* claimed, and nothing written: its thread may have ended all the same */
        if (!state->owned)
            continue;
        bool ended = thread_ended(source, state);
        pass_counters(source, state, now);
        if (!ended)
            continue;
        drain_ring(source, state);
        if (state->tail != atomic_load(&state->ring->head) && !state->process && state->patience <= PATIENCE)
            continue; /* its process is still to be introduced */
        if (state->process)
            end_thread(source, state);
        free_ring(source, state, now);
    }
    pass_losses(source, &source->region->map->shared, source->shared_reported, now, 0, 0);
    end_processes(source, now);
}

void agent_source_sleep(struct agent_source *source, uint64_t timeout_ns)
{
    struct wire_region *region = source->region->map;
    uint32_t word = atomic_load(&region->wake_word);
    atomic_store(&region->recorder_sleeps, 1);
    /* Pairs with a producer that writes its head and then looks whether we sleep. */
    atomic_thread_fence(memory_order_seq_cst);
    bool busy = atomic_load_explicit(&region->offer, memory_order_relaxed) != 0;
    for (uint32_t i = 0; i < source->active_count && !busy; i++) {
        struct ring_state *state = source->active[i];
        uint64_t filled = atomic_load_explicit(&state->ring->head, memory_order_relaxed) - state->tail;
        busy = filled >= ENOUGH_BYTES || (filled && atomic_load_explicit(&state->ring->waiting, memory_order_relaxed));
    }
    if (!busy) {
        struct timespec timeout = {(time_t)(timeout_ns / 1000000000), (long)(timeout_ns % 1000000000)};
        syscall(SYS_futex, &region->wake_word, FUTEX_WAIT, word, &timeout, NULL, 0);
    }
    atomic_store(&region->recorder_sleeps, 0);
}

void agent_source_wake(struct agent_source *source)
{
    capture_region_wake(source->region->map);
}

static void drain(void *context, uint64_t until, struct source_level *level)
{
    level->bytes += agent_source_drain(context, until);
}

static void tend(void *context, uint64_t now)
{
    agent_source_tend(context, now);
}

static uint64_t cost_ns(void *context)
{
    return ((const struct agent_source *)context)->totals.handler_ns;
}

static void finish(void *context)
{
    for (int drain = 0; drain < LAST_DRAINS; drain++)
        agent_source_drain(context, clock_now_ns());
    agent_source_tend(context, clock_now_ns());
}

static void close_agents(void *context)
{
    agent_source_free(context);
}

struct source agent_source_events(struct agent_source *source)
{
    return (struct source){.kind = FROM_AGENTS,
                           .context = source,
                           .drain = drain,
                           .tend = tend,
                           .cost_ns = cost_ns,
                           .finish = finish,
                           .close = close_agents};
}

const struct agent_totals *agent_source_totals(const struct agent_source *source)
{
    return &source->totals;
}

size_t agent_source_memory(const struct agent_source *source)
{
    return source->ring_count * sizeof *source->rings + source->stack_entries * sizeof(uint32_t);
}
