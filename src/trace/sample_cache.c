#include "trace/sample_cache.h"

#include "base/mem.h"
#include "trace/pack.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOTS = 12 };

/* As much of an event as a sample has: a third smaller than struct event. */
struct kept_sample {
    uint64_t time;
    uint32_t tid;
    struct event_sample sample;
};

struct slot {
    uint32_t block; /* number in the cache's list; UINT32_MAX: none */
    uint64_t used;
    struct kept_sample *samples;
};

struct sample_cache {
    int fd;
    const struct trace_index *index;
    array_of(uint32_t) blocks; /* index numbers of the blocks with samples, by first ordinal */
    struct slot slots[SLOTS];
    struct slot *last;
    uint64_t clock;
};

struct sample_cache *sample_cache_new(int fd, const struct trace_index *index)
{
    struct sample_cache *cache = mem_zalloc(sizeof *cache);
    cache->fd = fd;
    cache->index = index;
    for (uint32_t i = 0; i < index->blocks.count; i++)
        if (index->blocks.items[i].header.kind == EVENT_SAMPLE)
            array_push(&cache->blocks, i);
    for (unsigned i = 0; i < SLOTS; i++)
        cache->slots[i].block = UINT32_MAX;
    return cache;
}

void sample_cache_free(struct sample_cache *cache)
{
    if (!cache)
        return;
    for (unsigned i = 0; i < SLOTS; i++)
        free(cache->slots[i].samples);
    array_free(&cache->blocks);
    free(cache);
}

static const struct index_block *block_at(const struct sample_cache *cache, uint32_t number)
{
    return &cache->index->blocks.items[cache->blocks.items[number]];
}

static bool decode_runs(const struct index_block *from, const struct block_run *runs, struct kept_sample *samples)
{
    for (uint32_t i = 0; i < from->header.runs; i++) {
        struct run_cursor cursor;
        for (unsigned column = 0; column < TRACE_MAX_COLUMNS; column++) {
            cursor.at[column] = runs[i].at[column];
            cursor.end[column] = runs[i].end[column];
        }
        if (!run_cursor_begin(&cursor, EVENT_SAMPLE, from->header.pid, runs[i].tid, runs[i].count, runs[i].first_time))
            return false;
        for (uint32_t left = runs[i].count; left; left--) {
            struct event event;
            if (!run_cursor_event(&cursor, &event) || (left > 1 && !run_cursor_step(&cursor)))
                return false;
            *samples++ = (struct kept_sample){event.time, event.tid, event.sample};
        }
    }
    return true;
}

static bool load(struct sample_cache *cache, struct slot *slot, uint32_t number)
{
    const struct index_block *from = block_at(cache, number);
    const struct trace_block_header *header = &from->header;
    uint8_t *packed = mem_alloc(header->packed_bytes + 1), *raw = mem_alloc(header->raw_bytes + 1);
    struct block_run *runs = mem_zalloc((header->runs + 1) * sizeof *runs);
    bool good = trace_read_at(cache->fd, from->payload, packed, header->packed_bytes) &&
                block_unpack(header, packed, raw) && block_find_runs(header, raw, runs);
    free(slot->samples);
    slot->samples = NULL;
    slot->block = UINT32_MAX;
    /* A sample takes at least one byte, so the count is bounded by what was really read. */
    if (good && header->count <= header->raw_bytes) {
        slot->samples = mem_alloc(header->count * sizeof *slot->samples);
        good = decode_runs(from, runs, slot->samples);
    } else {
        good = false;
    }
    if (good)
        slot->block = number;
    free(packed);
    free(raw);
    free(runs);
    return good;
}

static uint32_t find_block(const struct sample_cache *cache, uint64_t ordinal)
{
    uint32_t low = 0, high = (uint32_t)cache->blocks.count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (block_at(cache, middle)->first_sample <= ordinal)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct slot *slot_of(struct sample_cache *cache, uint32_t number)
{
    struct slot *oldest = &cache->slots[0];
    for (unsigned i = 0; i < SLOTS; i++) {
        if (cache->slots[i].block == number)
            return &cache->slots[i];
        if (cache->slots[i].used < oldest->used)
            oldest = &cache->slots[i];
    }
    return load(cache, oldest, number) ? oldest : NULL;
}

int sample_cache_get(struct sample_cache *cache, uint64_t ordinal, struct event *event)
{
    if (ordinal >= cache->index->counts[EVENT_SAMPLE])
        return -ERANGE;
    const struct index_block *block = cache->last ? block_at(cache, cache->last->block) : NULL;
    if (!block || ordinal < block->first_sample || ordinal - block->first_sample >= block->header.count) {
        uint32_t number = find_block(cache, ordinal);
        cache->last = slot_of(cache, number);
        if (!cache->last)
            return -EILSEQ;
        cache->last->used = ++cache->clock;
        block = block_at(cache, number);
    }
    const struct kept_sample *kept = &cache->last->samples[ordinal - block->first_sample];
    event->time = kept->time;
    event->pid = block->header.pid;
    event->tid = kept->tid;
    event->kind = EVENT_SAMPLE;
    event->sample = kept->sample;
    event->sample.ordinal = ordinal;
    return 0;
}
