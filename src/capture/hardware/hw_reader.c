#include "capture/hardware/hw_reader.h"

#include <string.h>

enum {
    TIME_IN_SAMPLE = 24, /* behind header, IP and TID */
    TRAILER_BYTES = 24,  /* of all but samples: TID, TIME, CPU */
    FLAG_COLLISION = 8,  /* PERF_AUX_FLAG_COLLISION: Linux 4.15 */
    LOST_SAMPLES = 13,   /* PERF_RECORD_LOST_SAMPLES */
    KERNEL_BIT = 63,
};

uint64_t hw_reader_time(const struct perf_event_header *record)
{
    size_t at = record->type == PERF_RECORD_SAMPLE ? TIME_IN_SAMPLE : (size_t)record->size - TRAILER_BYTES + 8;
    uint64_t time = 0;
    if (record->size >= sizeof *record + TRAILER_BYTES)
        memcpy(&time, (const uint8_t *)record + at, sizeof time);
    return time;
}

static uint64_t word_of(const struct perf_event_header *record, unsigned index)
{
    uint64_t word = 0;
    size_t at = sizeof *record + index * sizeof word;
    if (at + sizeof word <= record->size)
        memcpy(&word, (const uint8_t *)record + at, sizeof word);
    return word;
}

/* The chain of the program. The kernel begins it where the interrupt came, which may be a little behind the access. */
static void take_frames(struct hw_sample *out, uint64_t frames[static HW_FRAMES_MOST], const struct perf_sample *sample)
{
    unsigned depth = 0;
    frames[depth++] = out->access.ip;
    bool first = true;
    for (uint64_t i = 0; i < sample->callchain_count; i++) {
        uint64_t frame = perf_sample_frame(sample, i);
        if (frame >> KERNEL_BIT) /* a marker */
            continue;
        if (first) {
            first = false;
            continue;
        }
        if (depth == HW_FRAMES_MOST) {
            out->cut = true;
            break;
        }
        frames[depth++] = frame;
    }
    out->depth = (uint16_t)depth;
    out->frames = frames;
}

static void report(struct hw_reader *reader, struct hw_sample *out, const struct hw_listener *listener)
{
    if (out->access.addr >> KERNEL_BIT || out->access.ip >> KERNEL_BIT) {
        reader->other++;
        return;
    }
    reader->samples++;
    listener->sample(listener->context, out);
}

static bool access_of(const struct hw_reader *reader, const struct perf_sample *sample, struct memory_access *access)
{
    if (reader->source == SOURCE_IBS && sample->raw)
        return memory_from_ibs(access, sample, &reader->ibs);
    if (reader->source == SOURCE_FAULTS)
        return memory_from_fault(access, sample);
    if (memory_from_sample(access, sample))
        return true;
    /* An event that the kernel does not know to be of memory says nothing of the direction: we know it. */
    if (!reader->flags || sample->addr == 0 || access->flags & (SAMPLE_READ | SAMPLE_WRITE))
        return false;
    access->flags |= reader->flags;
    if (sample->latency) {
        access->latency = sample->latency;
        access->flags |= SAMPLE_HAS_LATENCY;
    }
    return true;
}

static void take_sample(struct hw_reader *reader, const struct perf_event_header *record,
                        const struct hw_listener *listener)
{
    struct perf_sample sample;
    struct hw_sample out = {.source = reader->source};
    uint64_t frames[HW_FRAMES_MOST];
    if (!perf_sample_parse(&sample, &reader->layout, record, record->size)) {
        reader->unreadable++;
        return;
    }
    if (!access_of(reader, &sample, &out.access)) {
        reader->other++;
        return;
    }
    out.data_src = sample.data_src;
    out.access.period = perf_period(&reader->periods, &sample);
    take_frames(&out, frames, &sample);
    report(reader, &out, listener);
}

static void take_packets(struct hw_reader *reader, const struct perf_sample *id, const struct hw_listener *listener)
{
    struct hw_sample out = {.source = reader->source, .depth = 1};
    while (spe_stream_next(&reader->spe, &out.access)) {
        struct memory_access *access = &out.access;
        /* The event follows threads: the buffer is emptied when one is taken from the CPU. Contexts say the same, where
         * the kernel writes them, but in numbers of the outermost namespace. */
        access->pid = id->pid;
        access->tid = id->tid;
        access->cpu = (uint16_t)id->cpu;
        access->has_cpu = true;
        access->period = perf_period(&reader->periods, NULL);
        if (listener->clock && !listener->clock->identity)
            access->time = counter_clock_ns(listener->clock, access->time);
        else
            access->time = id->time;
        out.frames = &access->ip;
        report(reader, &out, listener);
    }
}

static void take_aux(struct hw_reader *reader, struct perf_ring *ring, const struct perf_event_header *record,
                     const struct hw_listener *listener)
{
    uint64_t offset = word_of(record, 0), size = word_of(record, 1), flags = word_of(record, 2);
    struct perf_sample id;
    if (!perf_sample_parse_id(&id, &reader->layout, record, record->size)) {
        reader->unreadable++;
        return;
    }
    if (flags & PERF_AUX_FLAG_TRUNCATED)
        listener->loss(listener->context, id.time, LOSS_AUX_FULL, 1);
    if (flags & FLAG_COLLISION)
        listener->loss(listener->context, id.time, LOSS_COLLISION, 1);
    if (!ring->aux || size > ring->aux_size)
        return;
    size_t at = offset & (ring->aux_size - 1), whole = ring->aux_size - at;
    if (whole > size)
        whole = size;
    spe_stream_add(&reader->spe, ring->aux + at, whole);
    take_packets(reader, &id, listener);
    if (size > whole) {
        spe_stream_add(&reader->spe, ring->aux, size - whole);
        take_packets(reader, &id, listener);
    }
    if (flags & PERF_AUX_FLAG_TRUNCATED)
        spe_stream_cut(&reader->spe);
    __atomic_store_n(&ring->header->aux_tail, offset + size, __ATOMIC_RELEASE);
}

void hw_reader_take(struct hw_reader *reader, struct perf_ring *ring, const struct perf_event_header *record,
                    const struct hw_listener *listener)
{
    uint64_t lost;
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        take_sample(reader, record, listener);
        break;
    case PERF_RECORD_AUX:
        take_aux(reader, ring, record, listener);
        break;
    case PERF_RECORD_LOST: /* id, lost */
        lost = perf_ring_lost_record(ring, word_of(record, 1));
        if (lost)
            listener->loss(listener->context, hw_reader_time(record), LOSS_PERF, lost);
        break;
    case LOST_SAMPLES:
        listener->loss(listener->context, hw_reader_time(record), LOSS_PERF, word_of(record, 0));
        break;
    case PERF_RECORD_THROTTLE:
        listener->loss(listener->context, hw_reader_time(record), LOSS_THROTTLED, 1);
        break;
    default:
        if (listener->other)
            listener->other(listener->context, record, hw_reader_time(record));
        break;
    }
}

void hw_reader_free(struct hw_reader *reader)
{
    spe_stream_free(&reader->spe);
}
