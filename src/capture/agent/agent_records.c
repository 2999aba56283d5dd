/* capture/agent/agent_records.c - the recorder's hot path: what two threads of the target write, this one must read.
 *
 * The bytes are the target's to change at any time: a record is copied once, and what is checked is the copy. */
#include "capture/agent/agent_records.h"

#include "base/mem.h"
#include "trace/event_copy.h"

#include <stdlib.h>
#include <string.h>

/* Shows the producer progress now and then, so that it need not wait for the whole batch. */
enum { RELEASE_BYTES = 16 << 10, BIG_BLOCK = 128 << 10 };

static inline uint64_t time_of(const struct agent_source *source, uint64_t counter)
{
    return counter_clock_ns(source->clock, counter);
}

/* Times of allocations and releases are rounded down to steps of 16 ns, which pack better: a block
 * cannot get from one thread to another, or from a release to an allocation, in less. Beside a thread's other events the
 * time stays as it is, so that their order does. */
enum { HEAP_TIME_STEP = 16 };

static inline uint64_t heap_time_of(const struct agent_source *source, const struct ring_state *state, uint64_t counter)
{
    uint64_t time = time_of(source, counter), rounded = time & ~(uint64_t)(HEAP_TIME_STEP - 1);
    return __builtin_expect(rounded > state->last_time, 1) ? rounded : time;
}

static inline uint32_t stack_of(const struct ring_state *state, uint32_t number)
{
    return __builtin_expect(number - 1 < state->stack_count, 1) ? state->stacks[number - 1] : 0;
}

static inline void put(struct agent_source *source, struct ring_state *state, struct event *event)
{
    event->pid = state->pid;
    event->tid = state->tid;
    state->last_time = event->time;
    sink_put_lane(source->sink, &state->lane, event);
}

static void take_stack(struct agent_source *source, struct ring_state *state, uint32_t value,
                       const struct wire_stack *stack, unsigned words)
{
    uint32_t number =
        process_stack(source->processes, state->process, stack->frames, (uint16_t)(words - 1), value >> 31);
    state->stacks_seen++;
    if (state->stack_count + 1 < state->stacks_seen)
        return; /* the table was full before: later ones have no place */
    if (state->stack_count == state->stack_room) {
        uint32_t room = state->stack_room ? state->stack_room * 2 : 64;
        if (source->stack_entries + room - state->stack_room > source->stack_entries_most) {
            source->processes->stacks_lost++;
            return;
        }
        source->stack_entries += room - state->stack_room;
        state->stacks = mem_resize(state->stacks, room * sizeof *state->stacks);
        state->stack_room = room;
    }
    state->stacks[state->stack_count++] = number;
}

/* A text that begins in a record; it ends at a NUL or at the record's end. */
static const char *take_text(char *copy, size_t room, const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    if (length >= room)
        length = room - 1;
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

static void take_process(struct agent_source *source, struct ring_state *state, uint32_t parent,
                         const struct wire_process *process, unsigned words)
{
    char exe[WIRE_MAX_WORDS * 8], command[WIRE_MAX_WORDS * 8];
    if (state->process)
        return; /* said twice, or made up when it had not been said: once is enough */
    agent_drain_process(source, process->forked ? parent : state->pid, state->image);
    size_t size = words * 8u - sizeof *process;
    struct event event = {
        .time = time_of(source, process->time), .pid = state->pid, .tid = state->tid, .kind = EVENT_PROCESS_START};
    event.process.parent = parent;
    event.process.forked = process->forked != 0;
    event.process.exe = take_text(exe, sizeof exe, process->texts, size);
    size_t used = strlen(exe) + 1 < size ? strlen(exe) + 1 : size;
    event.process.command = take_text(command, sizeof command, process->texts + used, size - used);
    state->process = process_start(source->processes, &event, state->image);
    state->process->local = (uint32_t)process->local;
    state->process->rings++;
    state->last_time = event.time;
}

static void take_thread(struct agent_source *source, struct ring_state *state, uint8_t type,
                        const struct wire_head *record)
{
    char name[16 + 1] = "";
    struct event event = {.thread.name = name};
    if (type == WIRE_THREAD) {
        const struct wire_thread *thread = (const struct wire_thread *)record;
        event.kind = EVENT_THREAD_START;
        event.time = time_of(source, thread->time);
        event.thread.stack_low = thread->stack_low;
        event.thread.stack_high = thread->stack_high;
        event.thread.entry = thread->entry;
        take_text(name, sizeof name, thread->name, sizeof thread->name);
    } else if (type == WIRE_THREAD_NAME) {
        const struct wire_thread_name *named = (const struct wire_thread_name *)record;
        event.kind = EVENT_THREAD_NAME;
        event.time = time_of(source, named->time);
        take_text(name, sizeof name, named->name, sizeof named->name);
    } else {
        event.kind = EVENT_THREAD_EXIT;
        event.time = time_of(source, ((const struct wire_thread_exit *)record)->time);
    }
    put(source, state, &event);
}

static void take_module(struct agent_source *source, struct ring_state *state, uint8_t type, uint32_t build_id_size,
                        const struct wire_module *module, unsigned words)
{
    char path[WIRE_MAX_WORDS * 8];
    struct event event = {.time = time_of(source, module->time),
                          .kind = type == WIRE_MODULE ? EVENT_MODULE_LOAD : EVENT_MODULE_UNLOAD};
    event.module.bias = module->bias;
    event.module.start = module->start;
    event.module.end = module->end;
    event.module.build_id_size = build_id_size <= sizeof event.module.build_id ? (uint8_t)build_id_size : 0;
    memcpy(event.module.build_id, module->build_id, event.module.build_id_size);
    event.module.path = take_text(path, sizeof path, module->path, words * 8u - sizeof *module);
    put(source, state, &event);
}

static void take_map(struct agent_source *source, struct ring_state *state, uint32_t stack, const struct wire_map *map,
                     unsigned words)
{
    char path[WIRE_MAX_WORDS * 8];
    struct event event = {.time = time_of(source, map->time), .kind = EVENT_MAP};
    event.map = (struct event_map){
        .addr = map->addr,
        .size = map->size,
        .offset = map->offset,
        .stack = stack_of(state, stack),
        .prot = map->prot,
        .flags = map->flags,
        .map_kind = (uint8_t)map->map_kind,
        .path = take_text(path, sizeof path, map->path, words * 8u - sizeof *map),
    };
    put(source, state, &event);
    if (source->listener->fresh)
        source->listener->fresh(source->listener->context, state->pid, event.map.addr, event.map.size);
    if (source->listener->mapped && *path)
        source->listener->mapped(source->listener->context, state->pid, path);
}

static void take_unmap(struct agent_source *source, struct ring_state *state, const struct wire_unmap *unmap)
{
    struct event event = {.time = time_of(source, unmap->time), .kind = EVENT_UNMAP};
    event.map.addr = unmap->addr;
    event.map.size = unmap->size;
    event.map.path = "";
    put(source, state, &event);
    if (source->listener->fresh)
        source->listener->fresh(source->listener->context, state->pid, event.map.addr, event.map.size);
}

static inline void take_alloc(struct agent_source *source, struct ring_state *state, struct wire_head head,
                              const struct wire_alloc *alloc)
{
    struct event event;
    uint64_t size_fn = alloc->size_fn;
    event.kind = EVENT_ALLOC;
    event.time = heap_time_of(source, state, alloc->time);
    event.alloc.addr = alloc->addr;
    event.alloc.size = size_fn & (((uint64_t)1 << WIRE_FN_SHIFT) - 1);
    event.alloc.fn = (uint8_t)(size_fn >> WIRE_FN_SHIFT);
    event.alloc.stack = stack_of(state, head.value);
    event.alloc.cpu = head.cpu;
    put(source, state, &event);
    if (event.alloc.size >= BIG_BLOCK && source->listener->fresh)
        source->listener->fresh(source->listener->context, state->pid, event.alloc.addr, event.alloc.size);
}

static inline void take_free(struct agent_source *source, struct ring_state *state, struct wire_head head,
                             const struct wire_free *release)
{
    struct event event;
    event.kind = EVENT_FREE;
    event.time = heap_time_of(source, state, release->time);
    event.free.addr = release->addr;
    event.free.fn = (uint8_t)head.value;
    event.free.cpu = head.cpu;
    put(source, state, &event);
}

static void take_pool_alloc(struct agent_source *source, struct ring_state *state, struct wire_head head,
                            const struct wire_pool_alloc *alloc)
{
    uint64_t size_fn = alloc->size_fn;
    struct event event = {.kind = EVENT_POOL_ALLOC, .time = time_of(source, alloc->time)};
    event.alloc = (struct event_alloc){
        .addr = alloc->addr,
        .size = size_fn & (((uint64_t)1 << WIRE_FN_SHIFT) - 1),
        .fn = (uint8_t)(size_fn >> WIRE_FN_SHIFT),
        .stack = stack_of(state, head.value),
        .cpu = head.cpu,
        .pool = alloc->pool,
    };
    put(source, state, &event);
}

static void take_pool(struct agent_source *source, struct ring_state *state, struct wire_head head,
                      const struct wire_pool *pool)
{
    struct event event = {.kind = EVENT_POOL, .time = time_of(source, pool->time)};
    event.pool = (struct event_pool){
        .handle = pool->handle,
        .parent = pool->parent,
        .change = (uint8_t)head.value,
        .fn = (uint8_t)(head.value >> 8),
    };
    put(source, state, &event);
}

static inline void take_sample(struct agent_source *source, struct ring_state *state, struct wire_head head,
                               const struct wire_sample *sample)
{
    struct event event;
    event.kind = EVENT_SAMPLE;
    event.time = time_of(source, sample->time);
    if (source->samples_until && event.time > source->samples_until)
        return;
    event.sample = (struct event_sample){
        .addr = sample->addr,
        .latency = sample->latency,
        .size = sample->size,
        .flags = sample->flags,
        .stack = stack_of(state, head.value),
        .cpu = head.cpu,
        .source = SOURCE_SOFT,
    };
    put(source, state, &event);
    if (source->listener->sample)
        source->listener->sample(source->listener->context, state->pid, event.sample.addr, event.time);
}

static void take_barrier(struct agent_source *source, struct ring_state *state, const struct wire_barrier *barrier)
{
    struct event event = {.kind = EVENT_BARRIER, .time = time_of(source, barrier->time)};
    uint64_t since = time_of(source, barrier->since);
    event.barrier.waited = since < event.time ? event.time - since : 0;
    put(source, state, &event);
}

/* A line of an interpreted program. Like a chain it gets the time of the image's start. */
static void take_code(struct agent_source *source, struct ring_state *state, uint32_t line,
                      const struct wire_code *code, unsigned words)
{
    char name[WIRE_MAX_WORDS * 8], file[WIRE_MAX_WORDS * 8];
    size_t size = words * 8u - sizeof *code;
    struct event event = {
        .time = state->process->start, .pid = state->pid, .tid = state->pid, .kind = EVENT_RUNTIME_CODE};
    event.code = (struct event_runtime_code){.addr = RUNTIME_CODE_SCRIPT + (uint32_t)code->id * 16ul,
                                             .size = 16,
                                             .line = line,
                                             .name = take_text(name, sizeof name, code->texts, size)};
    size_t used = strlen(name) + 1 < size ? strlen(name) + 1 : size;
    event.code.file = take_text(file, sizeof file, code->texts + used, size - used);
    sink_put(source->sink, &event);
}

/* Of any kind that the agent writes as it is. */
static bool take_event(struct agent_source *source, struct ring_state *state, uint32_t kind,
                       const struct wire_event *record, unsigned words)
{
    struct event event;
    if (!event_from_ring(&event, kind, record->body, words * 8u - sizeof *record))
        return false;
    event.time = time_of(source, record->time);
    put(source, state, &event);
    return true;
}

/* How a child ended. When it ended is reported by others too; a child that is not recorded is of no interest. */
static void take_waited(struct agent_source *source, struct ring_state *state, uint32_t pid,
                        const struct wire_waited *waited)
{
    struct event event = {.time = time_of(source, waited->time), .kind = EVENT_PROCESS_EXIT};
    event.exit_status = (int32_t)(uint32_t)waited->status;
    state->last_time = event.time;
    if (state->process->local) { /* the number that the parent knows it by */
        const struct capture_process *child = process_child(source->processes, state->pid, pid);
        pid = child ? child->pid : 0;
    }
    event.pid = event.tid = pid;
    if (process_find(source->processes, pid))
        sink_put(source->sink, &event);
}

static bool take(struct agent_source *source, struct ring_state *state, struct wire_head head,
                 const struct wire_head *record)
{
    static const uint8_t min_words[WIRE_TYPES] = {
        [WIRE_PROCESS] = sizeof(struct wire_process) / 8,
        [WIRE_THREAD] = sizeof(struct wire_thread) / 8,
        [WIRE_THREAD_NAME] = sizeof(struct wire_thread_name) / 8,
        [WIRE_THREAD_EXIT] = sizeof(struct wire_thread_exit) / 8,
        [WIRE_MODULE] = sizeof(struct wire_module) / 8,
        [WIRE_MODULE_UNLOADED] = sizeof(struct wire_module) / 8,
        [WIRE_MAP] = sizeof(struct wire_map) / 8,
        [WIRE_UNMAP] = sizeof(struct wire_unmap) / 8,
        [WIRE_STACK] = sizeof(struct wire_stack) / 8,
        [WIRE_ALLOC] = sizeof(struct wire_alloc) / 8,
        [WIRE_FREE] = sizeof(struct wire_free) / 8,
        [WIRE_SAMPLE] = sizeof(struct wire_sample) / 8,
        [WIRE_WAITED] = sizeof(struct wire_waited) / 8,
        [WIRE_POOL] = sizeof(struct wire_pool) / 8,
        [WIRE_POOL_ALLOC] = sizeof(struct wire_pool_alloc) / 8,
        [WIRE_BARRIER] = sizeof(struct wire_barrier) / 8,
        [WIRE_EVENT] = sizeof(struct wire_event) / 8,
        [WIRE_CODE] = sizeof(struct wire_code) / 8,
    };
    if (head.words < min_words[head.type] || (!state->process && head.type != WIRE_PROCESS))
        return false;
    switch (head.type) {
    case WIRE_ALLOC:
        take_alloc(source, state, head, (const struct wire_alloc *)record);
        break;
    case WIRE_FREE:
        take_free(source, state, head, (const struct wire_free *)record);
        break;
    case WIRE_SAMPLE:
        take_sample(source, state, head, (const struct wire_sample *)record);
        break;
    case WIRE_WAITED:
        take_waited(source, state, head.value, (const struct wire_waited *)record);
        break;
    case WIRE_BARRIER:
        take_barrier(source, state, (const struct wire_barrier *)record);
        break;
    case WIRE_EVENT:
        return take_event(source, state, head.value, (const struct wire_event *)record, head.words);
    case WIRE_STACK:
        take_stack(source, state, head.value, (const struct wire_stack *)record, head.words);
        break;
    case WIRE_CODE:
        take_code(source, state, head.value, (const struct wire_code *)record, head.words);
        break;
    case WIRE_PROCESS:
        take_process(source, state, head.value, (const struct wire_process *)record, head.words);
        break;
    case WIRE_THREAD:
    case WIRE_THREAD_NAME:
    case WIRE_THREAD_EXIT:
        take_thread(source, state, head.type, record);
        break;
    case WIRE_MODULE:
    case WIRE_MODULE_UNLOADED:
        take_module(source, state, head.type, head.value, (const struct wire_module *)record, head.words);
        break;
    case WIRE_MAP:
        take_map(source, state, head.value, (const struct wire_map *)record, head.words);
        break;
    case WIRE_UNMAP:
        take_unmap(source, state, (const struct wire_unmap *)record);
        break;
    case WIRE_POOL_ALLOC:
        take_pool_alloc(source, state, head, (const struct wire_pool_alloc *)record);
        break;
    case WIRE_POOL:
        take_pool(source, state, head, (const struct wire_pool *)record);
        break;
    default:
        return false;
    }
    return true;
}

/* The record at `tail` as far as its head says, or false when it cannot be one. `*size` is what it takes up. */
static inline bool look_at(const struct agent_source *source, const struct ring_state *state, uint64_t tail,
                           uint64_t head, struct wire_head *copy, uint64_t *size)
{
    uint32_t at = (uint32_t)tail & (source->ring_bytes - 1);
    uint64_t filled = head - tail, to_end = source->ring_bytes - at;
    memcpy(copy, state->data + at, sizeof *copy);
    if (copy->type == WIRE_PAD) {
        *size = to_end;
        return to_end <= filled;
    }
    *size = (uint64_t)copy->words * 8;
    return copy->type > WIRE_PAD && copy->type < WIRE_TYPES && *size && *size <= filled && *size <= to_end;
}

uint8_t agent_first_type(const struct agent_source *source, const struct ring_state *state)
{
    struct wire_head copy;
    memcpy(&copy, state->data + ((uint32_t)state->tail & (source->ring_bytes - 1)), sizeof copy);
    return copy.type;
}

uint64_t agent_first_time(const struct agent_source *source, const struct ring_state *state, uint64_t head,
                          uint64_t otherwise)
{
    struct wire_head copy;
    uint64_t size, time;
    if (head - state->tail > source->ring_bytes || (head & 7))
        return otherwise;
    for (uint64_t tail = state->tail; tail != head; tail += size) {
        if (!look_at(source, state, tail, head, &copy, &size))
            return otherwise;
        if (copy.type == WIRE_PAD || copy.type == WIRE_STACK || copy.words < 2)
            continue;
        memcpy(&time, state->data + ((uint32_t)tail & (source->ring_bytes - 1)) + sizeof copy, sizeof time);
        return time_of(source, time);
    }
    return otherwise;
}

/* Each word once. A loop: most records have three or four, for which a call or a string instruction costs more than the rest. */
static inline void copy_words(uint64_t *to, const uint8_t *ring, unsigned words)
{
    const volatile uint64_t *from = (const volatile uint64_t *)(const void *)ring;
    for (unsigned i = 0; i < words; i++)
        to[i] = from[i];
}

bool agent_take_records(struct agent_source *source, struct ring_state *state, uint64_t head)
{
    uint32_t bytes = source->ring_bytes;
    uint64_t tail = state->tail, released = tail;
    bool good = head - tail <= bytes && (head & 7) == 0;
    while (good && tail != head) {
        struct wire_head copy;
        uint64_t size = 0, record[WIRE_MAX_WORDS];
        good = look_at(source, state, tail, head, &copy, &size);
        if (good && copy.type != WIRE_PAD) {
            copy_words(record, state->data + (tail & (bytes - 1)), copy.words);
            good = take(source, state, copy, (const struct wire_head *)(const void *)record);
        }
        tail += size;
        if (tail - released >= RELEASE_BYTES) {
            wire_ring_release(state->ring, tail);
            released = tail;
        }
    }
    /* What cannot be read is skipped as a whole, so that its producer is not stuck. */
    state->tail = good ? tail : head;
    wire_ring_release(state->ring, state->tail);
    return good;
}
