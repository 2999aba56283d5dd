#include "exchange/moca_export.h"

#include "base/array.h"
#include "base/bisect.h"
#include "base/map64.h"
#include "base/strtab.h"
#include "base/units.h"
#include "exchange/moca_notes.h"
#include "topology/topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_DIGITS = 16, ENTRIES_MOST = 1 << 20 };

struct entry {
    uint64_t start, end, page, physical;
    const char *mask; /* binary, without leading zeros */
    uint32_t reads, writes;
    uint32_t task; /* in notes.tasks */
    uint32_t order;
};

struct chunk {
    uint64_t id, start, end;
    size_t first, count; /* entries */
    const char *mask;    /* as it was written, or NULL: of its entries */
};

struct exporting {
    struct trace_reader *reader;
    size_t most; /* entries to hold; what is more takes another pass over the trace */
    FILE *out;
    struct moca_export *result;
    bool csv, imported;
    struct moca_notes notes;
    struct map64 task_of; /* event's pid << 32 | tid -> index in notes.tasks */
    struct strtab *masks;
    size_t highest;              /* digits of the widest mask */
    array_of(uint64_t) counts;   /* entries of each task */
    array_of(uint32_t) sequence; /* tasks as they are written */
    array_of(uint32_t) place;    /* of each task in that */
    array_of(struct entry) entries;
    array_of(struct chunk) chunks; /* of the task being written */
    uint64_t number, next_id;      /* of its next chunk, as notes count and as chunks are named */
    char *together;                /* mask of a chunk's entries, `highest` digits */
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
    if ((size_t)(at - text) > exporting->highest)
        exporting->highest = (size_t)(at - text);
    free(text);
    return kept;
}

static uint32_t task_of(struct exporting *exporting, const struct event *event)
{
    bool is_new;
    uint64_t *place = map64_insert(&exporting->task_of, (uint64_t)event->pid << 32 | event->tid, &is_new);
    if (is_new) {
        *place = exporting->notes.tasks.count;
        uint32_t id = (uint32_t)exporting->notes.tasks.count;
        array_push(&exporting->notes.tasks, (struct moca_task){id, event->tid, event->pid, event->tid});
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
static int survey(struct exporting *exporting, struct error *err)
{
    struct event event;
    int got;
    for (size_t i = 0; i < exporting->notes.tasks.count; i++)
        array_push(&exporting->counts, 0);
    trace_reader_only(exporting->reader, UINT64_C(1) << EVENT_PAGE);
    while ((got = trace_reader_next(exporting->reader, &event, err)) > 0) {
        struct entry entry = entry_of(exporting, &event);
        while (exporting->counts.count <= entry.task)
            array_push(&exporting->counts, 0);
        exporting->counts.items[entry.task]++;
        exporting->result->accesses++;
        exporting->result->without_thread += event.tid == 0;
    }
    return got;
}

static int by_task(const void *left, const void *right, void *context)
{
    const struct entry *a = left, *b = right;
    const struct exporting *exporting = context;
    bool by_time = exporting->csv && exporting->notes.style.order == MOCA_BY_TIME;
    if (by_time && a->start != b->start)
        return a->start < b->start ? -1 : 1;
    /* Tasks of the CSV are in order of their ids, those of lines as they came. */
    uint32_t x = a->task, y = b->task;
    if (exporting->csv) {
        x = exporting->notes.tasks.items[x].id;
        y = exporting->notes.tasks.items[y].id;
    }
    if (x != y)
        return x < y ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void put_address(const struct exporting *exporting, uint64_t address)
{
    const struct moca_style *style = &exporting->notes.style;
    fprintf(exporting->out, "%s%0*" PRIx64, style->address_prefix ? "0x" : "",
            style->address_digits ? (int)style->address_digits : 1, address);
}

/* `mask`: binary digits, leading zeros or not. */
static void put_mask(const struct exporting *exporting, const char *mask)
{
    const struct moca_style *style = &exporting->notes.style;
    FILE *out = exporting->out;
    size_t length = strlen(mask), bits = style->mask_hexadecimal ? 4 : 1;
    size_t min_digits = style->mask_digits ? style->mask_digits : 1;
    size_t digits = (length + bits - 1) / bits < min_digits ? min_digits : (length + bits - 1) / bits;
    if (style->mask_hexadecimal)
        fputs("0x", out);
    for (size_t i = digits; i-- > 0;) {
        unsigned digit = 0;
        for (size_t bit = bits; bit-- > 0;) {
            size_t at = i * bits + bit;
            digit = digit << 1 | (at < length && mask[length - 1 - at] == '1');
        }
        putc("0123456789abcdef"[digit], out);
    }
}

static void put_row(const struct exporting *exporting, const struct entry *entry)
{
    FILE *out = exporting->out;
    put_address(exporting, entry->page);
    fputs(", ", out);
    put_address(exporting, entry->physical);
    fprintf(out, ", %u, %u, ", entry->reads, entry->writes);
    put_mask(exporting, entry->mask);
    fprintf(out, ", %" PRIu64 ", %" PRIu64 ", %u\n", entry->start, entry->end,
            exporting->notes.tasks.items[entry->task].id);
}

static void put_access(const struct exporting *exporting, const struct entry *entry)
{
    FILE *out = exporting->out;
    fputs("A ", out);
    put_address(exporting, entry->page);
    putc(' ', out);
    put_address(exporting, entry->physical);
    fprintf(out, " %u %u ", entry->reads, entry->writes);
    put_mask(exporting, entry->mask);
    putc('\n', out);
}

static int by_id(const void *left, const void *right)
{
    const struct chunk *a = left, *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static bool comes_before(const struct moca_chunk_note *note, uint32_t task, uint64_t number)
{
    return note->task < task || (note->task == task && note->number < number);
}

static const struct moca_chunk_note *note_of(const struct exporting *exporting, uint32_t task, uint64_t number)
{
    size_t low =
        bisect(exporting->notes.chunks.count, i, comes_before(&exporting->notes.chunks.items[i], task, number));
    if (low == exporting->notes.chunks.count)
        return NULL;
    const struct moca_chunk_note *note = &exporting->notes.chunks.items[low];
    return note->task == task && note->number == number ? note : NULL;
}

static bool has_notes(const struct exporting *exporting, uint32_t task)
{
    uint32_t id = exporting->notes.tasks.items[task].id;
    array_each (&exporting->notes.chunks, const struct moca_chunk_note, note)
        if (note->task == id)
            return true;
    return false;
}

/* Entries [first, end) are the task's, by time. */
static void draw_chunks(struct exporting *exporting, uint32_t task, size_t first, size_t end)
{
    exporting->chunks.count = 0;
    for (;; exporting->number++) {
        const struct moca_chunk_note *note =
            note_of(exporting, exporting->notes.tasks.items[task].id, exporting->number);
        if (first == end && !(note && note->is_empty))
            return;
        struct chunk chunk = {.first = first, .id = note && note->has_id ? note->id : exporting->next_id};
        chunk.mask = note && note->has_mask ? note->mask : NULL;
        if (note && note->is_empty) {
            chunk.start = note->start;
            chunk.end = note->end;
        } else {
            chunk.start = exporting->entries.items[first].start;
            chunk.end = exporting->entries.items[first].end;
            while (first < end && exporting->entries.items[first].start == chunk.start &&
                   exporting->entries.items[first].end == chunk.end &&
                   !(note && note->has_count && chunk.count == note->count)) {
                first++;
                chunk.count++;
            }
        }
        exporting->next_id = chunk.id + 1;
        array_push(&exporting->chunks, chunk);
    }
}

static const char *mask_together(struct exporting *exporting, const struct chunk *chunk)
{
    size_t width = exporting->highest;
    memset(exporting->together, '0', width);
    exporting->together[width] = 0;
    for (size_t i = chunk->first; i < chunk->first + chunk->count; i++) {
        const char *mask = exporting->entries.items[i].mask;
        size_t length = strlen(mask);
        for (size_t at = 0; at < length; at++) {
            if (mask[at] == '1')
                exporting->together[width - length + at] = '1';
        }
    }
    return exporting->together + strspn(exporting->together, "0");
}

static void put_chunks(struct exporting *exporting, uint32_t index, size_t first, size_t end)
{
    FILE *out = exporting->out;
    draw_chunks(exporting, index, first, end);
    array_sort(&exporting->chunks, by_id);
    array_each (&exporting->chunks, const struct chunk, chunk) {
        fprintf(out, "C %" PRIu64 " %zu %" PRIu64 " %" PRIu64 " ", chunk->id, chunk->count, chunk->start, chunk->end);
        if (chunk->mask)
            fputs(chunk->mask, out);
        else
            put_mask(exporting, mask_together(exporting, chunk));
        putc('\n', out);
        for (size_t i = chunk->first; i < chunk->first + chunk->count; i++)
            put_access(exporting, &exporting->entries.items[i]);
    }
    exporting->result->chunks += exporting->chunks.count;
}

static void put_task(struct exporting *exporting, uint32_t index)
{
    const struct moca_task *task = &exporting->notes.tasks.items[index];
    fprintf(exporting->out, "T %u %u", task->id, task->pid);
    if (task->id == 0 && exporting->notes.style.page_size)
        fprintf(exporting->out, " %" PRIu64, exporting->notes.style.page_size);
    putc('\n', exporting->out);
    exporting->number = exporting->next_id = 0;
}

/* Writes and forgets what is held of the tasks from place `first` to `end`. `begun`: the first one's head is written. */
static void put_held(struct exporting *exporting, size_t first, size_t end, bool begun)
{
    struct entry *entries = exporting->entries.items;
    size_t count = exporting->entries.count, at = 0;
    if (count)
        qsort_r(entries, count, sizeof *entries, by_task, exporting);
    for (size_t i = 0; i < count && exporting->csv; i++)
        put_row(exporting, &entries[i]);
    for (size_t place = first; place < end && !exporting->csv; place++) {
        uint32_t task = exporting->sequence.items[place];
        size_t from = at;
        while (at < count && entries[at].task == task)
            at++;
        if (place > first || !begun)
            put_task(exporting, task);
        put_chunks(exporting, task, from, at);
    }
    exporting->entries.count = 0;
}

/* One pass over the trace: the tasks from place `first` to `end`. They are held until all of them are there; one that is
 * too large alone is written piece by piece, since the trace is in order of time. */
static int put_some(struct exporting *exporting, size_t first, size_t end, bool by_time, struct error *err)
{
    struct event event;
    int got;
    bool begun = false,
         in_pieces = by_time || (end == first + 1 && !has_notes(exporting, exporting->sequence.items[first]));
    trace_reader_rewind(exporting->reader);
    while ((got = trace_reader_next(exporting->reader, &event, err)) > 0) {
        struct entry entry = entry_of(exporting, &event);
        size_t place = exporting->place.items[entry.task], held = exporting->entries.count;
        if (place < first || place >= end)
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

static int by_task_id(const void *left, const void *right, void *context)
{
    const struct moca_task *tasks = ((const struct exporting *)context)->notes.tasks.items;
    const uint32_t *a = left, *b = right;
    if (tasks[*a].id != tasks[*b].id)
        return tasks[*a].id < tasks[*b].id ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

static int put_all(struct exporting *exporting, struct error *err)
{
    size_t tasks = exporting->notes.tasks.count;
    for (uint32_t task = 0; task < tasks; task++) {
        array_push(&exporting->sequence, task);
        array_push(&exporting->place, 0);
    }
    if (exporting->csv && tasks)
        qsort_r(exporting->sequence.items, tasks, sizeof *exporting->sequence.items, by_task_id, exporting);
    for (uint32_t place = 0; place < tasks; place++)
        exporting->place.items[exporting->sequence.items[place]] = place;
    if (exporting->csv)
        fputs("@Virt, @Phy, Nreads, Nwrites, CPUMask, Start, End, TaskId\n", exporting->out);
    if (exporting->csv && exporting->notes.style.order == MOCA_BY_TIME)
        return put_some(exporting, 0, tasks, true, err);
    exporting->together = mem_alloc(exporting->highest + 1);
    int failed = 0;
    for (size_t first = 0, end; first < tasks && failed == 0; first = end) {
        uint64_t held = exporting->counts.items[exporting->sequence.items[first]];
        for (end = first + 1; end < tasks; end++) {
            held += exporting->counts.items[exporting->sequence.items[end]];
            if (held > exporting->most)
                break;
        }
        failed = put_some(exporting, first, end, false, err);
    }
    free(exporting->together);
    return failed;
}

/* How MOCA itself writes: masks as wide as the machine has CPUs. */
static void choose_style(struct exporting *exporting, const struct trace_session *session)
{
    struct moca_style *style = &exporting->notes.style;
    const char *imported = session ? trace_session_get(session, "imported") : NULL;
    bool same = imported && strcmp(imported, exporting->csv ? "moca-csv" : "moca") == 0;
    if (!exporting->imported)
        *style = (struct moca_style){.address_digits = ADDRESS_DIGITS, .page_size = PAGE_UNIT, .order = MOCA_BY_TIME};
    if (!same) {
        style->address_prefix = !exporting->csv;
        style->order = MOCA_BY_TIME;
    }
    const char *text = session ? trace_session_get(session, "topology") : NULL;
    struct topology *topology = !style->mask_digits && text ? topology_from_text(text, NULL) : NULL;
    if (topology)
        style->mask_digits = topology->cpu_count;
    topology_free(topology);
}

int moca_export(struct trace_reader *reader, bool csv, size_t most, FILE *out, struct moca_export *result,
                struct error *err)
{
    *result = (struct moca_export){0};
    const struct trace_session *session = trace_reader_session(reader);
    struct exporting exporting = {.reader = reader,
                                  .most = most ? most : ENTRIES_MOST,
                                  .out = out,
                                  .result = result,
                                  .csv = csv,
                                  .masks = strtab_new()};
    exporting.imported = moca_notes_find(&exporting.notes, session);
    choose_style(&exporting, session);
    for (uint32_t i = 0; i < exporting.notes.tasks.count; i++) {
        const struct moca_task *task = &exporting.notes.tasks.items[i];
        *map64_insert(&exporting.task_of, (uint64_t)task->event_pid << 32 | task->event_tid, NULL) = i;
    }
    int failed = survey(&exporting, err);
    if (failed == 0 && result->accesses == 0 && exporting.notes.tasks.count == 0)
        failed = error_set(err, -ENODATA,
                           "the trace has no pages: record with 'numalens record --source faults -- program'");
    if (failed == 0) {
        result->tasks = exporting.notes.tasks.count;
        failed = put_all(&exporting, err);
    }
    if (failed == 0 && (fflush(out) != 0 || ferror(out)))
        failed = error_set(err, -EIO, "cannot write: %s", strerror(errno));
    moca_notes_free(&exporting.notes);
    map64_free(&exporting.task_of);
    strtab_free(exporting.masks);
    array_free(&exporting.counts);
    array_free(&exporting.sequence);
    array_free(&exporting.place);
    array_free(&exporting.entries);
    array_free(&exporting.chunks);
    return failed;
}

int moca_export_lines(struct trace_reader *reader, FILE *out, struct moca_export *result, struct error *err)
{
    return moca_export(reader, false, 0, out, result, err);
}

int moca_export_csv(struct trace_reader *reader, FILE *out, struct moca_export *result, struct error *err)
{
    return moca_export(reader, true, 0, out, result, err);
}
