/* perf/events.c - the events of a recording, and which one a record belongs to. */
#include "perf/file_parts.h"

#include <errno.h>
#include <string.h>

enum { /* the flags of perf_event_attr as bits of one word, in the order of the kernel's header */
       FLAG_SAMPLE_ID_ALL = 18,
       FLAG_USE_CLOCKID = 25,
       FLAG_PRECISE = 15, /* two bits */
};

/* Field by field: what an older or newer perf lacks or adds costs nothing but itself. */
static struct perf_event_attr read_attr(struct perf_walk walk, struct perf_layout *layout)
{
    struct perf_event_attr attr = {0};
    attr.type = perf_walk32(&walk);
    attr.size = perf_walk32(&walk);
    attr.config = perf_walk64(&walk);
    attr.sample_period = perf_walk64(&walk);
    attr.sample_type = perf_walk64(&walk);
    attr.read_format = perf_walk64(&walk);
    uint64_t flags = perf_walk64(&walk);
    attr.sample_id_all = flags >> FLAG_SAMPLE_ID_ALL & 1;
    attr.use_clockid = flags >> FLAG_USE_CLOCKID & 1;
    attr.precise_ip = flags >> FLAG_PRECISE & 3;
    attr.wakeup_events = perf_walk32(&walk);
    attr.bp_type = perf_walk32(&walk);
    attr.config1 = perf_walk64(&walk);
    attr.config2 = perf_walk64(&walk);
    attr.branch_sample_type = perf_walk64(&walk);
    attr.sample_regs_user = perf_walk64(&walk);
    attr.sample_stack_user = perf_walk32(&walk);
    attr.clockid = (int32_t)perf_walk32(&walk);
    attr.sample_regs_intr = perf_walk64(&walk);
    *layout = (struct perf_layout){
        .sample_type = attr.sample_type,
        .read_format = attr.read_format,
        .branch_sample_type = attr.branch_sample_type,
        .sample_regs_user = attr.sample_regs_user,
        .sample_regs_intr = attr.sample_regs_intr,
        .sample_id_all = attr.sample_id_all,
    };
    return attr;
}

bool perf_events_add(struct perf_events *events, struct perf_walk attr, struct perf_walk ids, struct error *err)
{
    if (attr.end - attr.at < PERF_ATTR_SIZE_VER0 || (ids.end - ids.at) % 8 != 0) {
        error_set(err, -EBADMSG, "the description of an event is cut short");
        return false;
    }
    struct perf_file_event event = {.name = ""};
    event.attr = read_attr(attr, &event.layout);
    uint64_t number = events->items.count;
    array_push(&events->items, event);
    while (ids.at < ids.end) {
        uint64_t id = perf_walk64(&ids);
        if (id != MAP64_EMPTY)
            *map64_insert(&events->of_id, id, NULL) = number;
    }
    return true;
}

void perf_events_name(struct perf_events *events, uint64_t id, const char *name)
{
    uint64_t *number = id == MAP64_EMPTY ? NULL : map64_find(&events->of_id, id);
    if (number)
        events->items.items[*number].name = name;
}

/* Where a sample's id is, in 8-byte words from the header; -1 when it has none. */
static int id_place(uint64_t type)
{
    if (type & PERF_SAMPLE_IDENTIFIER)
        return 0;
    if (!(type & PERF_SAMPLE_ID))
        return -1;
    return __builtin_popcountll(type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR));
}

/* Counted back from a trailer's end. */
static int id_place_from_end(uint64_t type)
{
    if (type & PERF_SAMPLE_IDENTIFIER)
        return 1;
    if (!(type & PERF_SAMPLE_ID))
        return -1;
    return 1 + __builtin_popcountll(type & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
}

const struct perf_file_event *perf_events_of(const struct perf_events *events, const struct perf_event_header *header,
                                             const uint8_t *bytes, size_t size)
{
    if (events->items.count == 0)
        return NULL;
    const struct perf_file_event *first = events->items.items; /* perf puts the id in the same place for all of them */
    if (events->items.count == 1)
        return first;
    bool sample = header->type == PERF_RECORD_SAMPLE;
    uint64_t type = first->layout.sample_type;
    int place = sample ? id_place(type) : id_place_from_end(type);
    if (place < 0)
        return first;
    size_t offset = sizeof *header + (size_t)place * 8;
    if (!sample)
        offset = size - (size_t)place * 8;
    if ((size_t)place * 8 > size || offset + 8 > size || offset < sizeof *header)
        return NULL;
    struct perf_walk walk = {bytes + offset, bytes + size, false};
    uint64_t id = perf_walk64(&walk);
    uint64_t *number = id == MAP64_EMPTY ? NULL : map64_find(&events->of_id, id);
    if (number)
        return &events->items.items[*number];
    return id == 0 && !sample ? first : NULL; /* made up by perf itself for what ran before it started */
}

void perf_events_free(struct perf_events *events)
{
    array_free(&events->items);
    map64_free(&events->of_id);
}
