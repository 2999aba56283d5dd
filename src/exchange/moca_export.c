#include "exchange/moca_export.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/order.h"
#include "base/strtab.h"
#include "base/units.h"
#include "topology/topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MOST = 1 << 20 };

struct entry {
    uint64_t start, end, page, physical;
    const char *mask; /* binary, without leading zeros */
    uint32_t reads, writes;
    uint32_t task, order;
};

struct task {
    uint32_t pid;
    uint64_t entries, chunks; /* of the trace; written */
};

struct exporting {
    struct trace_reader *reader;
    size_t most; /* entries to hold; what is more takes another pass over the trace */
    FILE *out;
    struct moca_export *result;
    uint64_t page_size;
    array_of(struct task) tasks;
    struct map64 task_of; /* event's pid << 32 | tid -> index in tasks */
    struct strtab *masks;
    size_t width; /* digits of a mask: as many as the machine has CPUs, or the widest needs */
    array_of(struct entry) entries;
    char *together; /* mask of a chunk's entries */
};

/* Minimal binary text of a mask. */
static const char *mask_of(struct exporting *exporting, const struct event_page *page)
{
    size_t words = page->cpu_words;
    while (words && page->cpus[words - 1] == 0)
        words--;
    char *text = mem_alloc(words * 64 + 1), *at = text;
    for (size_t bit = words * 64; bit-- > 0;) {
        bool set = page->cpus[bit / 64] >> bit % 64 & 1;
        if (set || at != text)
            *at++ = set ? '1' : '0';
    }
    *at = 0;
    const char *kept = strtab_intern(exporting->masks, text);
    if ((size_t)(at - text) > exporting->width)
        exporting->width = (size_t)(at - text);
    free(text);
    return kept;
}

static uint32_t task_of(struct exporting *exporting, const struct event *event)
{
    bool is_new;
    uint64_t *place = map64_insert(&exporting->task_of, (uint64_t)event->pid << 32 | event->tid, &is_new);
    if (is_new) {
        *place = exporting->tasks.count;
        array_push(&exporting->tasks, (struct task){.pid = event->tid});
    }
    return (uint32_t)*place;
}

static struct entry entry_of(struct exporting *exporting, const struct event *event)
{
    const struct event_page *page = &event->page;
    return (struct entry){.start = event->time,
                          .end = page->until < event->time ? event->time : page->until,
                          .page = page->page,
                          .physical = page->physical,
                          .mask = mask_of(exporting, page),
                          .reads = page->reads,
                          .writes = page->writes,
                          .task = task_of(exporting, event)};
}

/* The first pass: which tasks there are and how much of each, how wide masks are. */
static int survey(struct exporting *exporting, bool imported, struct error *err)
{
    struct event event;
    int got;
    trace_reader_only(exporting->reader, UINT64_C(1) << EVENT_PAGE);
    while ((got = trace_reader_next(exporting->reader, &event, err)) > 0) {
        struct entry entry = entry_of(exporting, &event);
        exporting->tasks.items[entry.task].entries++;
        exporting->result->accesses++;
        exporting->result->without_thread += event.tid == 0;
        if (imported)
            exporting->page_size = event.page.size;
    }
    return got;
}

ORDER_BY(by_task, struct entry, ORDER(a->task, b->task) ?: ORDER(a->start, b->start) ?: ORDER(a->order, b->order))

/* `mask`: binary digits, leading zeros or not. */
static void put_mask(const struct exporting *exporting, const char *mask)
{
    for (size_t length = strlen(mask); length < exporting->width; length++)
        putc('0', exporting->out);
    fprintf(exporting->out, "%s\n", mask);
}

/* The mask of entries [first, end) together. */
static const char *mask_together(struct exporting *exporting, size_t first, size_t end)
{
    memset(exporting->together, '0', exporting->width);
    exporting->together[exporting->width] = 0;
    for (size_t i = first; i < end; i++) {
        const char *mask = exporting->entries.items[i].mask;
        size_t length = strlen(mask);
        for (size_t at = 0; at < length; at++) {
            if (mask[at] == '1')
                exporting->together[exporting->width - length + at] = '1';
        }
    }
    return exporting->together;
}

/* Entries [first, end) are one task's, by time. */
static void put_chunks(struct exporting *exporting, struct task *task, size_t first, size_t end)
{
    const struct entry *entries = exporting->entries.items;
    for (size_t next; first < end; first = next) {
        const struct entry *chunk = &entries[first];
        for (next = first + 1; next < end && entries[next].start == chunk->start && entries[next].end == chunk->end;)
            next++;
        fprintf(exporting->out, "C %" PRIu64 " %zu %" PRIu64 " %" PRIu64 " ", task->chunks++, next - first,
                chunk->start, chunk->end);
        put_mask(exporting, mask_together(exporting, first, next));
        for (const struct entry *entry = chunk; entry < &entries[next]; entry++) {
            fprintf(exporting->out, "A 0x%016" PRIx64 " 0x%016" PRIx64 " %u %u ", entry->page, entry->physical,
                    entry->reads, entry->writes);
            put_mask(exporting, entry->mask);
        }
        exporting->result->chunks++;
    }
}

static void put_task(const struct exporting *exporting, size_t index)
{
    fprintf(exporting->out, "T %zu %u", index, exporting->tasks.items[index].pid);
    if (index == 0)
        fprintf(exporting->out, " %" PRIu64, exporting->page_size);
    putc('\n', exporting->out);
}

/* Writes and forgets what is held of the tasks from `first` to `end`. `begun`: the first one's head is written. */
static void put_held(struct exporting *exporting, size_t first, size_t end, bool begun)
{
    size_t count = exporting->entries.count, at = 0;
    array_sort(&exporting->entries, by_task);
    for (size_t task = first; task < end; task++) {
        size_t from = at;
        while (at < count && exporting->entries.items[at].task == task)
            at++;
        if (task > first || !begun)
            put_task(exporting, task);
        put_chunks(exporting, &exporting->tasks.items[task], from, at);
    }
    exporting->entries.count = 0;
}

/* One pass over the trace: the tasks from `first` to `end`. They are held until all of them are there; one that is too
 * large alone is written piece by piece, since the trace is in order of time. */
static int put_some(struct exporting *exporting, size_t first, size_t end, struct error *err)
{
    struct event event;
    int got;
    bool begun = false, in_pieces = end == first + 1;
    trace_reader_rewind(exporting->reader);
    while ((got = trace_reader_next(exporting->reader, &event, err)) > 0) {
        struct entry entry = entry_of(exporting, &event);
        size_t held = exporting->entries.count;
        if (entry.task < first || entry.task >= end)
            continue;
        if (in_pieces && held >= exporting->most && exporting->entries.items[held - 1].start != entry.start) {
            put_held(exporting, first, end, begun);
            begun = true;
        }
        entry.order = (uint32_t)exporting->entries.count;
        array_push(&exporting->entries, entry);
    }
    if (got == 0)
        put_held(exporting, first, end, begun);
    return got;
}

static int put_all(struct exporting *exporting, struct error *err)
{
    size_t tasks = exporting->tasks.count;
    int failed = 0;
    exporting->together = mem_alloc(exporting->width + 1);
    for (size_t first = 0, end; first < tasks && failed == 0; first = end) {
        uint64_t held = exporting->tasks.items[first].entries;
        for (end = first + 1; end < tasks; end++) {
            held += exporting->tasks.items[end].entries;
            if (held > exporting->most)
                break;
        }
        failed = put_some(exporting, first, end, err);
    }
    free(exporting->together);
    return failed;
}

static size_t cpus_of(const struct trace_session *session)
{
    const char *text = trace_session_get(session, "topology");
    struct topology *topology = text ? topology_from_text(text, NULL) : NULL;
    size_t cpus = topology ? topology->cpu_count : 1;
    topology_free(topology);
    return cpus;
}

int moca_export(struct trace_reader *reader, size_t most, FILE *out, struct moca_export *result, struct error *err)
{
    *result = (struct moca_export){0};
    const struct trace_session *session = trace_reader_session(reader);
    struct exporting exporting = {.reader = reader,
                                  .most = most ? most : ENTRIES_MOST,
                                  .out = out,
                                  .result = result,
                                  .page_size = PAGE_UNIT,
                                  .width = cpus_of(session),
                                  .masks = strtab_new()};
    int failed = survey(&exporting, trace_session_get(session, "imported") != NULL, err);
    result->tasks = exporting.tasks.count;
    if (failed == 0 && result->accesses == 0)
        failed = error_set(err, -ENODATA,
                           "the trace has no pages: record with 'numalens record --source faults -- program'");
    if (failed == 0)
        failed = put_all(&exporting, err);
    if (failed == 0 && (fflush(out) != 0 || ferror(out)))
        failed = error_set(err, -EIO, "cannot write: %s", strerror(errno));
    array_free(&exporting.tasks);
    map64_free(&exporting.task_of);
    strtab_free(exporting.masks);
    array_free(&exporting.entries);
    return failed;
}

int moca_export_lines(struct trace_reader *reader, FILE *out, struct moca_export *result, struct error *err)
{
    return moca_export(reader, 0, out, result, err);
}
