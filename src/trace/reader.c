#include "trace/reader.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "trace/event_rows.h"
#include "trace/index.h"
#include "trace/pack.h"
#include "trace/sample_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What blocks take that are open at the same time, since their times overlap. A recorder's take a few MiB for each kind of event;
 * a file that was made to harm could have any number of them, each unpacked to thousands of times its size. */
#define HELD_MOST ((size_t)512 << 20)

/* A block whose runs are being read. */
struct open_block {
    size_t held; /* bytes, with its runs */
    uint8_t *raw;
    struct block_run *runs;
    uint32_t live; /* runs not read to their end */
};

struct open_run {
    struct run_cursor cursor;
    struct open_block *block;
    uint64_t ordinal; /* EVENT_SAMPLE: of the current event */
};

/* Sources are in a heap by what comes first: time, then kind, then place in the file. */
struct heap_entry {
    uint64_t time, tie;
    struct open_run *source;
};

struct trace_reader {
    int fd;
    char *name;
    struct trace_index index;
    uint32_t *order; /* block numbers by first time */
    size_t next_block;
    uint64_t due;   /* no block that is not open yet has an event before that time */
    uint64_t rival; /* nor has any source but the first */
    uint64_t kinds;
    uint64_t serial;
    array_of(struct heap_entry) heap;
    array_of(struct open_run *) spare;
    size_t held;               /* by open blocks */
    struct open_run *finished; /* gave its last event; texts in it are good until the next call */
    struct sample_cache *samples, *pages;
    bool windowed;
    uint64_t since, until; /* of a window */
    bool shared;           /* file, index and order belong to another reader */
};

static int compare_blocks(const void *left, const void *right, void *context)
{
    const struct index_block *blocks = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t first_a = blocks[a].header.first_time, first_b = blocks[b].header.first_time;
    return ORDER(first_a, first_b) ?: ORDER(blocks[a].header.kind, blocks[b].header.kind) ?: ORDER(a, b);
}

struct trace_reader *trace_reader_open(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        error_set(err, -errno, "cannot open %s: %s%s", path, strerror(errno),
                  errno == ENOENT ? "; 'numalens record -- program' makes one" : "");
        return NULL;
    }
    struct trace_reader *reader = mem_zalloc(sizeof *reader);
    reader->fd = fd;
    reader->name = mem_strdup(path);
    reader->kinds = UINT64_MAX;
    if (trace_index_build(&reader->index, fd, path, err) < 0) {
        trace_reader_close(reader);
        return NULL;
    }
    size_t count = reader->index.blocks.count;
    reader->order = mem_alloc((count + 1) * sizeof *reader->order);
    for (uint32_t i = 0; i < count; i++)
        reader->order[i] = i;
    qsort_r(reader->order, count, sizeof *reader->order, compare_blocks, reader->index.blocks.items);
    reader->samples = sample_cache_new(fd, &reader->index, EVENT_SAMPLE);
    reader->pages = sample_cache_new(fd, &reader->index, EVENT_PAGE);
    return reader;
}

struct trace_reader *trace_reader_share(const struct trace_reader *reader)
{
    struct trace_reader *shared = mem_zalloc(sizeof *shared);
    shared->fd = reader->fd;
    shared->name = reader->name;
    shared->index = reader->index;
    shared->order = reader->order;
    shared->windowed = reader->windowed;
    shared->since = reader->since;
    shared->until = reader->until;
    shared->shared = true;
    shared->samples = sample_cache_new(shared->fd, &shared->index, EVENT_SAMPLE);
    shared->pages = sample_cache_new(shared->fd, &shared->index, EVENT_PAGE);
    return shared;
}

static void block_release(struct trace_reader *reader, struct open_block *block)
{
    if (--block->live)
        return;
    reader->held -= block->held;
    free(block->raw);
    free(block->runs);
    free(block);
}

static void source_done(struct trace_reader *reader, struct open_run *source)
{
    block_release(reader, source->block);
    source->block = NULL;
    array_push(&reader->spare, source);
}

void trace_reader_rewind(struct trace_reader *reader)
{
    array_each (&reader->heap, struct heap_entry, entry)
        source_done(reader, entry->source);
    if (reader->finished)
        source_done(reader, reader->finished);
    reader->finished = NULL;
    reader->heap.count = 0;
    reader->next_block = 0;
    reader->due = reader->rival = 0;
    reader->serial = 0;
}

void trace_reader_only(struct trace_reader *reader, uint64_t kinds)
{
    trace_reader_rewind(reader);
    reader->kinds = kinds;
}

void trace_reader_close(struct trace_reader *reader)
{
    if (!reader)
        return;
    trace_reader_rewind(reader);
    array_each (&reader->spare, struct open_run *, source) {
        free((*source)->cursor.words);
        free(*source);
    }
    array_free(&reader->spare);
    array_free(&reader->heap);
    sample_cache_free(reader->samples);
    sample_cache_free(reader->pages);
    if (!reader->shared) {
        trace_index_free(&reader->index);
        close(reader->fd);
        free(reader->order);
        free(reader->name);
    }
    free(reader);
}

static inline bool before(const struct heap_entry *left, const struct heap_entry *right)
{
    return left->time != right->time ? left->time < right->time : left->tie < right->tie;
}

static void sift_up(struct heap_entry *heap, size_t at)
{
    struct heap_entry entry = heap[at];
    while (at && before(&entry, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = entry;
}

static inline void sift_down(struct heap_entry *heap, size_t count)
{
    struct heap_entry entry = heap[0];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &entry))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

/* After a change of the heap. */
static inline void find_rival(struct trace_reader *reader)
{
    const struct heap_entry *heap = reader->heap.items;
    size_t count = reader->heap.count;
    uint64_t first = count > 1 ? heap[1].time : UINT64_MAX, second = count > 2 ? heap[2].time : UINT64_MAX;
    reader->rival = first < second ? first : second;
}

static int damaged(const struct trace_reader *reader, const struct index_block *from, struct error *err)
{
    return error_set(err, -EILSEQ, "%s: the block at byte %llu does not hold what its header says", reader->name,
                     (unsigned long long)(from->payload - sizeof from->header));
}

static struct open_run *source_new(struct trace_reader *reader, uint8_t kind)
{
    struct open_run *source;
    if (reader->spare.count)
        source = reader->spare.items[--reader->spare.count];
    else
        source = mem_zalloc(sizeof *source);
    if (!source->cursor.words && event_keeps_words(kind))
        source->cursor.words = mem_alloc(TRACE_MAX_FRAMES * sizeof *source->cursor.words);
    return source;
}

/* What a block takes once it is open. */
static size_t held_by(const struct trace_block_header *header)
{
    size_t run = sizeof(struct block_run) + sizeof(struct open_run);
    if (event_keeps_words((uint8_t)header->kind))
        run += TRACE_MAX_FRAMES * sizeof(uint64_t);
    return sizeof(struct open_block) + header->raw_bytes + header->runs * run;
}

/* Unpacks a block and puts each of its runs into the heap. */
static int open_block(struct trace_reader *reader, const struct index_block *from, struct error *err)
{
    const struct trace_block_header *header = &from->header;
    uint64_t ordinal = from->first_ordinal;
    if (reader->held + held_by(header) > HELD_MOST)
        return error_set(
            err, -E2BIG,
            "%s: blocks of more than %zu MiB are of the same time, which no recorder writes: it is damaged",
            reader->name, HELD_MOST >> 20);
    struct open_block *block = mem_zalloc(sizeof *block);
    reader->held += block->held = held_by(header);
    uint8_t *packed = mem_alloc(header->packed_bytes + 1);
    block->raw = mem_alloc(header->raw_bytes + 1);
    block->runs = mem_zalloc((header->runs + 1) * sizeof *block->runs);
    bool good = trace_read_at(reader->fd, from->payload, packed, header->packed_bytes) &&
                block_unpack(header, packed, block->raw) && block_find_runs(header, block->raw, block->runs);
    free(packed);
    block->live = 1; /* held until all runs are in */
    for (uint32_t i = 0; good && i < header->runs; i++) {
        const struct block_run *run = &block->runs[i];
        struct open_run *source = source_new(reader, (uint8_t)header->kind);
        memcpy(source->cursor.at, run->at, sizeof run->at);
        memcpy(source->cursor.end, run->end, sizeof run->end);
        source->block = block;
        source->ordinal = ordinal;
        ordinal += run->count;
        block->live++;
        good = run_cursor_begin(&source->cursor, (uint8_t)header->kind, header->pid, run->tid, run->count,
                                run->first_time);
        if (!good) {
            source_done(reader, source);
            break;
        }
        uint64_t tie = (uint64_t)header->kind << 56 | reader->serial++;
        array_push(&reader->heap, (struct heap_entry){source->cursor.time, tie, source});
        sift_up(reader->heap.items, reader->heap.count - 1);
    }
    block_release(reader, block);
    return good ? 0 : damaged(reader, from, err);
}

static int open_due_blocks(struct trace_reader *reader, struct error *err)
{
    const struct index_block *blocks = reader->index.blocks.items;
    reader->due = UINT64_MAX;
    while (reader->next_block < reader->index.blocks.count) {
        const struct index_block *block = &blocks[reader->order[reader->next_block]];
        reader->due = block->header.first_time;
        if (reader->heap.count && block->header.first_time > reader->heap.items[0].time)
            break;
        /* At the same time a smaller kind comes first; an equal one waits until it is needed. */
        if (reader->heap.count && block->header.first_time == reader->heap.items[0].time &&
            block->header.kind >= reader->heap.items[0].tie >> 56)
            break;
        reader->next_block++;
        reader->due = UINT64_MAX;
        if (!(reader->kinds & UINT64_C(1) << block->header.kind))
            continue;
        int code = open_block(reader, block, err);
        if (code < 0) {
            reader->due = reader->rival = 0; /* not known: whoever goes on looks again */
            return code;
        }
    }
    find_rival(reader);
    return 0;
}

/* Takes the first source out of the heap; it is let go with the next call. */
static void finish_first(struct trace_reader *reader)
{
    struct heap_entry *heap = reader->heap.items;
    reader->finished = heap[0].source;
    heap[0] = heap[--reader->heap.count];
    if (reader->heap.count)
        sift_down(heap, reader->heap.count);
    find_rival(reader);
}

static int next_event(struct trace_reader *reader, struct event *event, struct error *err)
{
    if (reader->finished) {
        source_done(reader, reader->finished);
        reader->finished = NULL;
    }
    struct heap_entry *top = reader->heap.items;
    if (reader->heap.count == 0 || top->time >= reader->due) {
        int code = open_due_blocks(reader, err);
        if (code < 0)
            return code;
        if (reader->heap.count == 0)
            return 0;
        top = reader->heap.items;
    }
    struct open_run *source = top->source;
    struct run_cursor *cursor = &source->cursor;
    bool good = run_cursor_event(cursor, event);
    if (event->kind == EVENT_SAMPLE)
        event->sample.ordinal = source->ordinal++;
    else if (event->kind == EVENT_PAGE)
        event->page.ordinal = source->ordinal++;
    if (good && cursor->remaining == 0) {
        finish_first(reader);
        return 1;
    }
    if (!good || !run_cursor_step(cursor)) {
        finish_first(reader);
        return error_set(err, -EILSEQ, "%s: a block of process %u does not hold what its header says", reader->name,
                         cursor->pid);
    }
    top->time = cursor->time;
    if (cursor->time >= reader->rival) {
        sift_down(reader->heap.items, reader->heap.count);
        find_rival(reader);
    }
    return 1;
}

/* Whether an event is one of those that a window skips. */
static bool outside(const struct trace_reader *reader, const struct event *event)
{
    return reader->windowed && event_rows[event->kind].carry == CARRY_NONE &&
           (event->time < reader->since || event->time >= reader->until);
}

int trace_reader_next(struct trace_reader *reader, struct event *event, struct error *err)
{
    int code;
    do
        code = next_event(reader, event, err);
    while (__builtin_expect(code > 0 && outside(reader, event), 0));
    return code;
}

void trace_reader_window(struct trace_reader *reader, uint64_t since, uint64_t until)
{
    trace_reader_rewind(reader);
    reader->windowed = true;
    reader->since = since;
    reader->until = until;
}

void trace_reader_span(const struct trace_reader *reader, uint64_t *start, uint64_t *end)
{
    const struct trace_index *index = &reader->index;
    *start = trace_session_number(index->session, "part_start_ns", index->first_time);
    *end = index->last_time;
    if (reader->windowed && reader->since > *start)
        *start = reader->since;
    if (reader->windowed && reader->until < *end)
        *end = reader->until;
    if (*start > *end)
        *start = *end;
}

bool trace_reader_windowed(const struct trace_reader *reader)
{
    return reader->windowed;
}

bool trace_reader_partial(const struct trace_reader *reader)
{
    return reader->windowed || reader->index.has_carried;
}

uint64_t trace_reader_sample_block(const struct trace_reader *reader, uint64_t ordinal, uint64_t *first_time,
                                   uint64_t *last_time)
{
    return sample_cache_block(reader->samples, ordinal, first_time, last_time);
}

static int sample_lost(const struct trace_reader *reader, int code, uint64_t ordinal, struct error *err)
{
    if (code == -ERANGE)
        return error_set(err, code, "%s has no sample number %llu", reader->name, (unsigned long long)ordinal);
    return error_set(err, code, "%s: the block of sample number %llu cannot be read", reader->name,
                     (unsigned long long)ordinal);
}

int trace_reader_sample(struct trace_reader *reader, uint64_t ordinal, struct event *event, struct error *err)
{
    int code = sample_cache_get(reader->samples, ordinal, event);
    return code < 0 ? sample_lost(reader, code, ordinal, err) : 0;
}

struct inside {
    const struct trace_reader *reader;
    void (*visit)(void *context, const struct event *event);
    void *context;
};

static void visit_inside(void *context, const struct event *event)
{
    const struct inside *inside = context;
    if (!outside(inside->reader, event))
        inside->visit(inside->context, event);
}

int trace_reader_each_sample(struct trace_reader *reader, void (*visit)(void *context, const struct event *event),
                             void *context, struct error *err)
{
    uint64_t ordinal;
    struct inside inside = {reader, visit, context};
    int code = reader->windowed ? sample_cache_each(reader->samples, visit_inside, &inside, &ordinal)
                                : sample_cache_each(reader->samples, visit, context, &ordinal);
    return code < 0 ? sample_lost(reader, code, ordinal, err) : 0;
}

int trace_reader_page_access(struct trace_reader *reader, uint64_t ordinal, struct event *event, struct error *err)
{
    int code = sample_cache_get(reader->pages, ordinal, event);
    if (code == 0 && outside(reader, event))
        return -ERANGE;
    if (code < 0)
        return error_set(err, code, "%s: access %llu of a page cannot be read", reader->name,
                         (unsigned long long)ordinal);
    return 0;
}

const struct trace_session *trace_reader_session(const struct trace_reader *reader)
{
    return reader->index.session;
}

const struct trace_session *trace_reader_ending(const struct trace_reader *reader)
{
    return reader->index.ending;
}

uint64_t trace_reader_count(const struct trace_reader *reader, enum event_kind kind)
{
    return (unsigned)kind < EVENT_KINDS ? reader->index.counts[kind] : 0;
}

const char *trace_reader_damage(const struct trace_reader *reader)
{
    return reader->index.damage;
}
