/* perf/sample.c - the fields of a sample in the order in which the kernel writes them. */
#include "perf/sample.h"

#include "perf/input.h"

#include <string.h>

static const uint8_t *take_words(struct perf_walk *walk, uint64_t count)
{
    if (count > (uint64_t)(walk->end - walk->at) / 8) {
        walk->short_of = true;
        return NULL;
    }
    return perf_walk_bytes(walk, count * 8);
}

static void skip_read(struct perf_walk *walk, uint64_t format)
{
    bool lost = format & PERF_FORMAT_LOST;
    uint64_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    if (!(format & PERF_FORMAT_GROUP)) {
        take_words(walk, 1 + times + !!(format & PERF_FORMAT_ID) + lost);
        return;
    }
    uint64_t count = perf_walk64(walk);
    take_words(walk, times);
    uint64_t each = 1 + !!(format & PERF_FORMAT_ID) + lost;
    if (count > (uint64_t)(walk->end - walk->at) / 8 / each)
        walk->short_of = true;
    else
        take_words(walk, count * each);
}

static void skip_branches(struct perf_walk *walk, uint64_t type)
{
    uint64_t count = perf_walk64(walk);
    if (type & PERF_SAMPLE_BRANCH_HW_INDEX)
        perf_walk64(walk);
    uint64_t words = type & (1U << 19) ? 4 : 3; /* with PERF_SAMPLE_BRANCH_COUNTERS: one more each */
    if (count > (uint64_t)(walk->end - walk->at) / 8 / words)
        walk->short_of = true;
    else
        take_words(walk, count * words);
}

static void skip_registers(struct perf_walk *walk, uint64_t mask)
{
    if (perf_walk64(walk) != PERF_SAMPLE_REGS_ABI_NONE)
        take_words(walk, (uint64_t)__builtin_popcountll(mask));
}

static void skip_user_stack(struct perf_walk *walk)
{
    uint64_t size = perf_walk64(walk);
    perf_walk_bytes(walk, size);
    if (size)
        perf_walk64(walk);
}

static void take_weight(struct perf_walk *walk, struct perf_sample *sample, uint64_t type)
{
    sample->weight = perf_walk64(walk);
    sample->latency = (uint32_t)sample->weight;
    if (type & PERF_SAMPLE_WEIGHT && sample->weight > UINT32_MAX)
        sample->latency = UINT32_MAX;
}

static void take_raw(struct perf_walk *walk, struct perf_sample *sample)
{
    sample->raw_size = perf_walk32(walk);
    sample->raw = perf_walk_bytes(walk, sample->raw_size);
}

/* Samples have these with the address between them, all other records one behind the other at their end. */
static inline void take_who_and_when(struct perf_walk *walk, struct perf_sample *sample, uint64_t type)
{
    if (type & PERF_SAMPLE_TID) {
        sample->pid = perf_walk32(walk);
        sample->tid = perf_walk32(walk);
    }
    if (type & PERF_SAMPLE_TIME)
        sample->time = perf_walk64(walk);
}

static inline void take_event_and_cpu(struct perf_walk *walk, struct perf_sample *sample, uint64_t type)
{
    if (type & PERF_SAMPLE_ID)
        sample->id = perf_walk64(walk);
    if (type & PERF_SAMPLE_STREAM_ID)
        perf_walk64(walk);
    if (type & PERF_SAMPLE_CPU) {
        sample->cpu = perf_walk32(walk);
        perf_walk32(walk);
    }
}

static struct perf_walk walk_of(const void *record, size_t size)
{
    const uint8_t *bytes = record;
    return (struct perf_walk){.at = bytes + sizeof(struct perf_event_header), .end = bytes + size};
}

bool perf_sample_parse(struct perf_sample *sample, const struct perf_layout *layout, const void *record, size_t size)
{
    if (size < sizeof(struct perf_event_header))
        return false;
    struct perf_walk walk = walk_of(record, size);
    uint64_t type = layout->sample_type;
    *sample = (struct perf_sample){.present = type};
    if (type & PERF_SAMPLE_IDENTIFIER)
        sample->id = perf_walk64(&walk);
    if (type & PERF_SAMPLE_IP)
        sample->ip = perf_walk64(&walk);
    take_who_and_when(&walk, sample, type);
    if (type & PERF_SAMPLE_ADDR)
        sample->addr = perf_walk64(&walk);
    take_event_and_cpu(&walk, sample, type);
    if (type & PERF_SAMPLE_PERIOD)
        sample->period = perf_walk64(&walk);
    if (type & PERF_SAMPLE_READ)
        skip_read(&walk, layout->read_format);
    if (type & PERF_SAMPLE_CALLCHAIN) {
        sample->callchain_count = perf_walk64(&walk);
        sample->callchain = take_words(&walk, sample->callchain_count);
    }
    if (type & PERF_SAMPLE_RAW)
        take_raw(&walk, sample);
    if (type & PERF_SAMPLE_BRANCH_STACK)
        skip_branches(&walk, layout->branch_sample_type);
    if (type & PERF_SAMPLE_REGS_USER)
        skip_registers(&walk, layout->sample_regs_user);
    if (type & PERF_SAMPLE_STACK_USER)
        skip_user_stack(&walk);
    if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
        take_weight(&walk, sample, type);
    if (type & PERF_SAMPLE_DATA_SRC)
        sample->data_src = perf_walk64(&walk);
    if (type & PERF_SAMPLE_TRANSACTION)
        perf_walk64(&walk);
    if (type & PERF_SAMPLE_REGS_INTR)
        skip_registers(&walk, layout->sample_regs_intr);
    if (type & PERF_SAMPLE_PHYS_ADDR)
        sample->physical = perf_walk64(&walk);
    if (type & PERF_SAMPLE_CGROUP)
        perf_walk64(&walk);
    if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
        perf_walk64(&walk);
    if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
        perf_walk64(&walk);
    if (type & PERF_SAMPLE_AUX)
        perf_walk_bytes(&walk, perf_walk64(&walk));
    return !walk.short_of;
}

uint64_t perf_sample_frame(const struct perf_sample *sample, uint64_t index)
{
    uint64_t frame;
    memcpy(&frame, sample->callchain + index * 8, 8);
    return frame;
}

bool perf_sample_parse_id(struct perf_sample *sample, const struct perf_layout *layout, const void *record, size_t size)
{
    const uint64_t trailing = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                              PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
    uint64_t type = layout->sample_type & trailing;
    size_t length = (size_t)__builtin_popcountll(type) * 8;
    *sample = (struct perf_sample){.present = type};
    if (!layout->sample_id_all || type == 0 || size < sizeof(struct perf_event_header) + length)
        return false;
    struct perf_walk walk = walk_of(record, size);
    walk.at = walk.end - length;
    take_who_and_when(&walk, sample, type);
    take_event_and_cpu(&walk, sample, type);
    if (type & PERF_SAMPLE_IDENTIFIER)
        sample->id = perf_walk64(&walk);
    return true;
}
