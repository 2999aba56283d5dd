/* fuzz_region.c - a target that writes anything at any time into the memory that it shares with the recorder.
 *
 * The input is a list of what it does: 4 bytes each say where, how much and what follows. Some are done before the recorder drains,
 * some while it does: whenever it hands on an event, the next one is done. As fuzz_region_beside a thread also writes all the time
 * beside it, so that bytes change between any two reads. */
#include "capture/agent/agent_source.h"
#include "capture/agent/custom_result.h"
#include "capture/describe.h"
#include "capture/rotate/carried.h"
#include "trace/event_rows.h"
#include "wire/record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifndef BESIDE
#define BESIDE 0
#endif

enum { RINGS = 3, RING_BYTES = 1024, MEMORY = 1 << 20, EVENTS_MOST = 3000, PID = 1 << 30 /* nobody's */ };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum where { HEADER, RING_HEADER, RING, SIGN, APPEND, DRAIN, TEND, REPLAY, WHERES };

struct target {
    struct capture_region region;
    const uint8_t *at, *end;
    struct agent_source *agents;
    unsigned events;
};

/* The thread beside it: bytes of the input, or any, to any place of the region, for as long as the program runs. */
static void *scribbler(void *context)
{
    const struct capture_region *region = context;
    uint64_t random = 88172645463325252u;
    for (;;) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        /* Heads and states of rings more often than records: they decide what is read at all. */
        size_t first = random & 256 ? region->rings_offset : 0,
               room = random & 256 ? RINGS * sizeof(struct wire_ring) : region->bytes;
        *((volatile uint8_t *)region->map + first + (random >> 32) % room) =
            random & 512 ? (uint8_t)random : random % 3;
    }
    return NULL;
}

/* As an agent does it, but for what it writes. */
static void append(struct target *target, uint32_t index, const uint8_t *bytes, size_t length)
{
    struct wire_ring *ring = capture_region_ring(&target->region, index);
    uint8_t *data = capture_region_ring_data(&target->region, index);
    uint64_t head = atomic_load(&ring->head);
    size_t words = length / 8 ? length / 8 : 1;
    uint32_t place = (uint32_t)head & (RING_BYTES - 8);
    if (place + words * 8 > RING_BYTES) {
        data[place] = WIRE_PAD;
        head += RING_BYTES - place;
        place = 0;
    }
    memset(data + place, 0, words * 8);
    memcpy(data + place, bytes, length < words * 8 ? length : words * 8);
    struct wire_head *record = (struct wire_head *)(void *)(data + place);
    if (record->words != 255) /* else: any length */
        record->words = (uint8_t)words;
    atomic_store(&ring->head, head + words * 8);
}

static void sign(struct target *target, uint32_t index, uint8_t who)
{
    struct wire_ring *ring = capture_region_ring(&target->region, index);
    ring->pid = PID + who % 4;
    ring->tid = ring->pid + who / 4 % 4;
    atomic_store(&ring->image, who >> 4);
    atomic_store(&ring->state, who & 128 ? WIRE_RING_CLOSED : WIRE_RING_CLAIMED);
}

/* The next thing that the target does; false at the input's end. What only the recorder does is returned in `*where`. */
static bool act(struct target *target, enum where *where)
{
    if (target->end - target->at < 4)
        return false;
    const uint8_t *step = target->at;
    uint8_t *base = (uint8_t *)target->region.map;
    size_t length = (size_t)(target->end - target->at - 4);
    *where = step[0] % WHERES;
    uint32_t index = step[0] / WHERES % RINGS;
    size_t offset = (size_t)step[2] << 3 | step[0] >> 5;
    length = step[1] < length ? step[1] : length;
    length = *where == SIGN || *where >= DRAIN ? 0 : length;
    const uint8_t *bytes = step + 4;
    target->at += 4 + length;
    uint64_t rings = target->region.rings_offset, ring_data = target->region.data_offset;
    if (*where == HEADER)
        memcpy(base + offset % (rings - length), bytes, length);
    else if (*where == RING_HEADER)
        memcpy(base + rings + offset % (RINGS * sizeof(struct wire_ring) - length), bytes, length);
    else if (*where == RING)
        memcpy(base + ring_data + ((size_t)step[3] << 8 | offset) % (RINGS * RING_BYTES - length), bytes, length);
    else if (*where == SIGN)
        sign(target, index, step[1]);
    else if (*where == APPEND)
        append(target, index, bytes, length);
    return true;
}

static void see(void *context, const struct event *event)
{
    struct target *target = context;
    enum where ignored;
    if (!event_row(event->kind))
        abort();
    if (++target->events < EVENTS_MOST && target->events % 4 == 0)
        act(target, &ignored);
}

static void put(void *context, const struct event *event)
{
    *(uint64_t *)context += event->time;
}

/* Once: making a region takes longer than all that is done in it. */
static struct capture_region *region(void)
{
    static struct capture_region made;
    if (made.map)
        return &made;
    made = (struct capture_region){.fd = -1, .ring_count = RINGS, .ring_bytes = RING_BYTES};
    made.rings_offset = (sizeof(struct wire_region) + sizeof(struct wire_custom) + 63) / 64 * 64;
    made.data_offset = made.rings_offset + RINGS * sizeof(struct wire_ring);
    made.bytes = made.data_offset + RINGS * RING_BYTES;
    made.map = aligned_alloc(64, made.bytes); /* a step beyond it is seen */
    return &made;
}

static void recorder(struct target *target)
{
    static struct trace_writer *writer;
    static struct counter_clock clock;
    static struct wire_custom custom = {.name = "custom"};
    static unsigned recordings;
    struct error err = {0};
    if (!writer) {
        struct trace_session *session = trace_session_new();
        writer = trace_writer_open("/dev/null", session, &err);
        trace_session_free(session);
        counter_clock_start(&clock, true); /* times are nanoseconds already */
    }
    struct carried *carried = carried_new(false);
    struct sink sink = {.writer = writer, .tap = see, .tap_context = target, .carried = carried};
    struct process_table processes;
    process_table_init(&processes, &sink, MEMORY);
    target->agents = agent_source_new(&target->region, &processes, &sink, &clock, NULL, MEMORY);
    uint64_t now = 1, sum = 0;
    enum where where;
    while (act(target, &where)) {
        now += 10000000;
        if (where == DRAIN)
            agent_source_drain(target->agents, now);
        else if (where == TEND)
            agent_source_tend(target->agents, now);
        else if (where == REPLAY)
            carried_replay(carried, &(struct carried_taker){&sum, put, 0, NULL});
    }
    struct source source = agent_source_events(target->agents);
    source.finish(source.context);
    struct trace_session *ending = trace_session_new();
    struct recorder_result result = {0};
    describe_stops(ending, target->region.map);
    custom_result_report(target->region.map, &(struct capture_options){.custom = &custom, .custom_count = 1}, now, PID,
                         &sink, &result);
    if (process_table_memory(&processes) > 2 * MEMORY || agent_source_memory(target->agents) > 2 * MEMORY)
        abort();
    trace_session_free(ending);
    agent_source_free(target->agents);
    process_table_free(&processes);
    carried_free(carried);
    if (++recordings % 64 == 0) /* it takes as long as all the rest */
        trace_writer_flush(writer, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pthread_t thread;
    struct target target = {.region = *region(), .at = data, .end = data + size};
    memset(target.region.map, 0, target.region.bytes);
    if (BESIDE && !thread)
        pthread_create(&thread, NULL, scribbler, region());
    recorder(&target);
    return 0;
}
