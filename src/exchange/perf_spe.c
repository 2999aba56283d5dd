#include "exchange/perf_spe.h"

#include "base/array.h"
#include "base/bisect.h"
#include "base/map64.h"
#include "base/order.h"
#include "perf/input.h"
#include "perf/spe.h"

#include <stdlib.h>

enum { /* perf's own records, and what is in them (tools/perf/Documentation/perf.data-file-format.txt) */
       RECORD_AUXTRACE_INFO = 70,
       RECORD_AUXTRACE = 71,
       RECORD_TIME_CONV = 79,
       AUXTRACE_ARM_SPE = 4,
       INFO_VERSION_2 = 2,
       ANY_CPU = UINT32_MAX,
       STREAMS_MOST = 4096,
};

struct stretch { /* what one AUX record says of a buffer */
    uint32_t cpu, pid, tid;
    uint64_t offset, size, time;
    bool cut; /* the buffer was full: what was begun there does not go on */
};

struct stream { /* of one buffer */
    uint32_t cpu, tid;
    struct spe_stream packets;
};

struct perf_spe {
    bool present, sorted;
    struct spe_clock clock;
    struct map64 midrs; /* of CPUs */
    struct map64 pids;  /* of threads */
    array_of(struct stretch) stretches;
    array_of(struct stream) streams;
};

struct perf_spe *perf_spe_new(void)
{
    return mem_zalloc(sizeof(struct perf_spe));
}

void perf_spe_rewind(struct perf_spe *spe)
{
    array_each (&spe->streams, struct stream, stream)
        spe_stream_free(&stream->packets);
    spe->streams.count = 0;
}

void perf_spe_free(struct perf_spe *spe)
{
    if (!spe)
        return;
    perf_spe_rewind(spe);
    array_free(&spe->streams);
    array_free(&spe->stretches);
    map64_free(&spe->midrs);
    map64_free(&spe->pids);
    free(spe);
}

bool perf_spe_present(const struct perf_spe *spe)
{
    return spe->present;
}

/* Version 1 has two words; version 2 begins with its number and describes each CPU. */
static void learn_info(struct perf_spe *spe, struct perf_walk *walk)
{
    uint32_t type = perf_walk32(walk);
    perf_walk32(walk);
    if (walk->short_of || type != AUXTRACE_ARM_SPE)
        return;
    spe->present = true;
    uint64_t version = perf_walk64(walk), header_words = perf_walk64(walk);
    perf_walk64(walk); /* type of the PMU */
    uint64_t cpus = perf_walk64(walk);
    if (walk->short_of || version != INFO_VERSION_2 || header_words < 4 || header_words > 64)
        return;
    perf_walk_bytes(walk, (header_words - 4) * 8);
    while (cpus-- > 0 && !walk->short_of) {
        perf_walk64(walk); /* a magic number */
        uint64_t cpu = perf_walk64(walk), words = perf_walk64(walk), midr = perf_walk64(walk);
        if (walk->short_of || words == 0 || words > 64)
            return;
        perf_walk_bytes(walk, (words - 1) * 8);
        *map64_insert(&spe->midrs, cpu & UINT32_MAX, NULL) = midr;
    }
}

static void learn_clock(struct perf_spe *spe, struct perf_walk *walk)
{
    uint64_t shift = perf_walk64(walk), mult = perf_walk64(walk), zero = perf_walk64(walk);
    if (walk->short_of)
        return;
    spe->clock = (struct spe_clock){.zero = zero, .mult = mult, .shift = shift < 64 ? (uint16_t)shift : UINT16_MAX};
    uint64_t cycles = perf_walk64(walk), mask = perf_walk64(walk);
    const uint8_t *flags = perf_walk_bytes(walk, 2); /* whether zero, and whether cycles and mask are meant */
    if (flags && flags[1]) {
        spe->clock.cycles = cycles;
        spe->clock.mask = mask;
    }
}

static void learn_stretch(struct perf_spe *spe, const struct perf_file_record *record, struct perf_walk *walk)
{
    struct stretch stretch = {.cpu = ANY_CPU, .offset = perf_walk64(walk), .size = perf_walk64(walk)};
    stretch.cut = perf_walk64(walk) & PERF_AUX_FLAG_TRUNCATED;
    struct perf_sample id;
    if (walk->short_of || stretch.size == 0 || stretch.offset + stretch.size < stretch.offset || !record->event ||
        !perf_sample_parse_id(&id, &record->event->layout, record->bytes, record->size))
        return;
    if (id.present & PERF_SAMPLE_CPU)
        stretch.cpu = id.cpu;
    stretch.pid = id.pid;
    stretch.tid = id.tid;
    stretch.time = id.time;
    spe->sorted = false;
    array_push(&spe->stretches, stretch);
}

static void learn_thread(struct perf_spe *spe, struct perf_walk *walk, bool fork)
{
    uint32_t pid = perf_walk32(walk);
    if (fork)
        perf_walk32(walk); /* the parent's */
    uint32_t tid = perf_walk32(walk);
    if (!walk->short_of)
        *map64_insert(&spe->pids, tid, NULL) = pid;
}

void perf_spe_learn(struct perf_spe *spe, const struct perf_file_record *record)
{
    struct perf_walk walk = {record->bytes + sizeof *record->header, record->bytes + record->size, false};
    switch (record->header->type) {
    case RECORD_AUXTRACE_INFO:
        learn_info(spe, &walk);
        break;
    case RECORD_TIME_CONV:
        learn_clock(spe, &walk);
        break;
    case PERF_RECORD_AUX:
        learn_stretch(spe, record, &walk);
        break;
    case PERF_RECORD_COMM:
    case PERF_RECORD_FORK:
        learn_thread(spe, &walk, record->header->type == PERF_RECORD_FORK);
        break;
    default:
        break;
    }
}

ORDER_BY(compare_stretches, struct stretch, ORDER(a->cpu, b->cpu) ?: ORDER(a->offset, b->offset))

static bool ends_by(const struct stretch *one, uint32_t cpu, uint64_t offset)
{
    return one->cpu < cpu || (one->cpu == cpu && one->offset + one->size <= offset);
}

/* The stretch of that buffer that holds `offset`, or the next one behind it; NULL when there is neither. */
static const struct stretch *stretch_at(const struct perf_spe *spe, uint32_t cpu, uint64_t offset)
{
    size_t low = bisect(spe->stretches.count, i, ends_by(&spe->stretches.items[i], cpu, offset));
    const struct stretch *found = low < spe->stretches.count ? &spe->stretches.items[low] : NULL;
    return found && found->cpu == cpu ? found : NULL;
}

static uint64_t midr_of(const struct perf_spe *spe, const struct perf_file *file, uint32_t cpu)
{
    const uint64_t *midr = map64_find(&spe->midrs, cpu);
    return midr ? *midr : strtoull(perf_file_facts(file)->cpuid, NULL, 16);
}

static struct stream *stream_of(struct perf_spe *spe, const struct perf_file *file, uint32_t cpu, uint32_t tid)
{
    array_each (&spe->streams, struct stream, known)
        if (known->cpu == cpu && (cpu != ANY_CPU || known->tid == tid))
            return known;
    if (spe->streams.count >= STREAMS_MOST)
        return NULL;
    array_push(&spe->streams, (struct stream){.cpu = cpu, .tid = tid});
    struct stream *stream = &spe->streams.items[spe->streams.count - 1];
    stream->packets.decoder.midr = midr_of(spe, file, cpu);
    stream->packets.decoder.clock = spe->clock;
    return stream;
}

struct buffer { /* one AUXTRACE record */
    uint64_t offset;
    uint32_t tid, cpu;
};

/* Whose it is: the context says it exactly, where the kernel wrote one; else the thread that ran when the stretch
 * ended. */
static void find_thread(const struct perf_spe *spe, const struct stretch *stretch, const struct buffer *buffer,
                        struct memory_access *access)
{
    uint32_t tids[] = {access->tid, stretch ? stretch->tid : 0, buffer->cpu == ANY_CPU ? buffer->tid : 0};
    access->tid = access->pid = 0;
    for (size_t i = 0; i < sizeof tids / sizeof *tids && access->pid == 0; i++) {
        const uint64_t *pid = tids[i] ? map64_find(&spe->pids, tids[i]) : NULL;
        if (pid) {
            access->tid = tids[i];
            access->pid = (uint32_t)*pid;
        }
    }
    if (access->pid == 0 && stretch) {
        access->tid = stretch->tid;
        access->pid = stretch->pid;
    }
}

void perf_spe_decode(struct perf_spe *spe, const struct perf_file *file, const struct perf_file_record *record,
                     void (*take)(void *context, const struct memory_access *access), void *context)
{
    struct perf_walk walk = {record->bytes + sizeof *record->header, record->bytes + record->size, false};
    struct buffer buffer = {0};
    perf_walk64(&walk); /* size */
    buffer.offset = perf_walk64(&walk);
    perf_walk64(&walk); /* reference */
    perf_walk32(&walk); /* index */
    buffer.tid = perf_walk32(&walk);
    buffer.cpu = perf_walk32(&walk);
    if (walk.short_of || !spe->present || !record->aux)
        return;
    if (!spe->sorted)
        array_sort(&spe->stretches, compare_stretches);
    spe->sorted = true;
    struct stream *stream = stream_of(spe, file, buffer.cpu, buffer.tid);
    for (size_t at = 0; stream && at < record->aux_size;) {
        const struct stretch *stretch = stretch_at(spe, buffer.cpu, buffer.offset + at);
        size_t size = record->aux_size - at;
        if (stretch) {
            bool inside = stretch->offset <= buffer.offset + at;
            uint64_t end = inside ? stretch->offset + stretch->size : stretch->offset;
            if (end - (buffer.offset + at) < size)
                size = end - (buffer.offset + at);
            stretch = inside ? stretch : NULL;
        }
        spe_stream_add(&stream->packets, record->aux + at, size);
        struct memory_access access;
        while (spe_stream_next(&stream->packets, &access)) {
            find_thread(spe, stretch, &buffer, &access);
            if (spe->clock.mult == 0)
                access.time = stretch ? stretch->time : 0;
            access.has_cpu = buffer.cpu != ANY_CPU;
            access.cpu = (uint16_t)buffer.cpu;
            take(context, &access);
        }
        at += size;
        if (stretch && stretch->cut && buffer.offset + at == stretch->offset + stretch->size)
            spe_stream_cut(&stream->packets);
    }
}
