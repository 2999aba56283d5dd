#include "trace/sample_cache.h"

#include "base/mem.h"
#include "trace/pack.h"
#include "trace/page_access.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOTS = 12, NO_ACCESS = UINT8_MAX /* as a source */ };

/* As much of an event as a sample has: a third smaller than struct event. */
struct kept_sample {
    uint64_t time;
    uint32_t tid;
    struct event_sample sample;
};

struct cached_block {
    uint32_t block; /* number in the cache's list; UINT32_MAX: none */
    uint64_t used;
    struct kept_sample *samples;
    size_t room; /* for that many: blocks are about alike, so their memory is used again */
};

struct sample_cache {
    int fd;
    enum event_kind kind;
    unsigned accesses; /* of one event */
    const struct trace_index *index;
    array_of(uint32_t) blocks; /* index numbers of the blocks of its kind, by first ordinal */
    struct cached_block slots[SLOTS];
    struct cached_block *last;
    uint64_t clock;
};

struct sample_cache *sample_cache_new(int fd, const struct trace_index *index, enum event_kind kind)
{
    struct sample_cache *cache = mem_zalloc(sizeof *cache);
    cache->fd = fd;
    cache->index = index;
    cache->kind = kind;
    cache->accesses = kind == EVENT_PAGE ? 2 : 1;
    for (uint32_t i = 0; i < index->blocks.count; i++)
        if (index->blocks.items[i].header.kind == kind)
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

/* `context`: where the next one goes. */
static inline void keep(void *context, struct event *event)
{
    struct kept_sample **to = context;
    if (event->kind == EVENT_SAMPLE) {
        *(*to)++ = (struct kept_sample){event->time, event->tid, event->sample};
        return;
    }
    for (unsigned write = 0; write < 2; write++) {
        **to = (struct kept_sample){event->time, event->tid, {.source = NO_ACCESS}};
        page_access(&event->page, write, &(*to)->sample);
        (*to)++;
    }
}

/* Hands out the events of a block in order of their ordinals. */
static inline bool decode_runs(const struct index_block *from, const struct block_run *runs, uint64_t *words,
                               void (*take)(void *context, struct event *event), void *context)
{
    for (uint32_t i = 0; i < from->header.runs; i++) {
        struct run_cursor cursor;
        cursor.words = words;
        for (unsigned column = 0; column < TRACE_MAX_COLUMNS; column++) {
            cursor.at[column] = runs[i].at[column];
            cursor.end[column] = runs[i].end[column];
        }
        if (!run_cursor_begin(&cursor, (uint8_t)from->header.kind, from->header.pid, runs[i].tid, runs[i].count,
                              runs[i].first_time))
            return false;
        for (uint32_t remaining = runs[i].count; remaining; remaining--) {
            struct event event;
            if (!run_cursor_event(&cursor, &event) || (remaining > 1 && !run_cursor_step(&cursor)))
                return false;
            take(context, &event);
        }
    }
    return true;
}

struct unpacked {
    uint8_t *raw;
    struct block_run *runs;
};

static bool unpack(const struct sample_cache *cache, const struct index_block *from, struct unpacked *unpacked)
{
    const struct trace_block_header *header = &from->header;
    uint8_t *packed = mem_alloc(header->packed_bytes + 1);
    unpacked->raw = mem_alloc(header->raw_bytes + 1);
    unpacked->runs = mem_zalloc((header->runs + 1) * sizeof *unpacked->runs);
    bool good = trace_read_at(cache->fd, from->payload, packed, header->packed_bytes) &&
                block_unpack(header, packed, unpacked->raw) && block_find_runs(header, unpacked->raw, unpacked->runs);
    free(packed);
    /* A sample takes at least one byte, so the count is bounded by what was really read. */
    return good && header->count <= header->raw_bytes;
}

static void unpacked_free(struct unpacked *unpacked)
{
    free(unpacked->raw);
    free(unpacked->runs);
}

static bool load(struct sample_cache *cache, struct cached_block *slot, uint32_t number)
{
    const struct index_block *from = block_at(cache, number);
    struct unpacked unpacked;
    bool good = unpack(cache, from, &unpacked);
    slot->block = UINT32_MAX;
    if (good) {
        uint64_t *words = cache->kind == EVENT_PAGE ? mem_alloc(TRACE_MAX_FRAMES * sizeof *words) : NULL;
        size_t wanted = (size_t)from->header.count * cache->accesses;
        if (wanted > slot->room) {
            free(slot->samples);
            slot->samples = mem_alloc(wanted * sizeof *slot->samples);
            slot->room = wanted;
        }
        struct kept_sample *to = slot->samples;
        good = decode_runs(from, unpacked.runs, words, keep, &to);
        free(words);
    }
    if (good)
        slot->block = number;
    unpacked_free(&unpacked);
    return good;
}

static uint32_t find_block(const struct sample_cache *cache, uint64_t ordinal)
{
    uint32_t low = 0, high = (uint32_t)cache->blocks.count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (block_at(cache, middle)->first_ordinal <= ordinal)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t sample_cache_block(const struct sample_cache *cache, uint64_t ordinal, uint64_t *first_time,
                            uint64_t *last_time)
{
    *first_time = 0;
    *last_time = UINT64_MAX;
    if (ordinal >= cache->index->counts[cache->kind])
        return ordinal + 1;
    const struct index_block *block = block_at(cache, find_block(cache, ordinal));
    *first_time = block->header.first_time;
    *last_time = block->header.last_time;
    return block->first_ordinal + block->header.count;
}

static struct cached_block *slot_of(struct sample_cache *cache, uint32_t number)
{
    struct cached_block *oldest = &cache->slots[0];
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
    uint64_t number = ordinal / cache->accesses;
    if (number >= cache->index->counts[cache->kind])
        return -ERANGE;
    const struct index_block *block = cache->last ? block_at(cache, cache->last->block) : NULL;
    if (!block || number < block->first_ordinal || number - block->first_ordinal >= block->header.count) {
        uint32_t found = find_block(cache, number);
        cache->last = slot_of(cache, found);
        if (!cache->last)
            return -EILSEQ;
        cache->last->used = ++cache->clock;
        block = block_at(cache, found);
    }
    const struct kept_sample *kept = &cache->last->samples[ordinal - block->first_ordinal * cache->accesses];
    if (cache->kind == EVENT_PAGE && kept->sample.source == NO_ACCESS)
        return -ERANGE;
    event->time = kept->time;
    event->pid = block->header.pid;
    event->tid = kept->tid;
    event->kind = EVENT_SAMPLE;
    event->sample = kept->sample;
    event->sample.ordinal = ordinal;
    return 0;
}

struct visitor {
    void (*visit)(void *context, const struct event *event);
    void *context;
    uint64_t ordinal;
};

static inline void hand_out(void *context, struct event *event)
{
    struct visitor *visitor = context;
    event->sample.ordinal = visitor->ordinal++;
    visitor->visit(visitor->context, event);
}

int sample_cache_each(struct sample_cache *cache, void (*visit)(void *context, const struct event *event),
                      void *context, uint64_t *ordinal)
{
    struct visitor visitor = {visit, context, 0};
    if (cache->blocks.count <= SLOTS) { /* small: it may be asked for again */
        struct event event;
        for (*ordinal = 0; *ordinal < cache->index->counts[EVENT_SAMPLE]; (*ordinal)++) {
            int failed = sample_cache_get(cache, *ordinal, &event);
            if (failed < 0)
                return failed;
            visit(context, &event);
        }
        return 0;
    }
    for (uint32_t number = 0; number < cache->blocks.count; number++) {
        const struct index_block *from = block_at(cache, number);
        struct unpacked unpacked;
        visitor.ordinal = *ordinal = from->first_ordinal;
        bool good = unpack(cache, from, &unpacked) && decode_runs(from, unpacked.runs, NULL, hand_out, &visitor);
        unpacked_free(&unpacked);
        if (!good)
            return -EILSEQ;
    }
    return 0;
}
