#include "exchange/moca_import.h"

#include "base/map64.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/units.h"
#include "exchange/moca_notes.h"
#include "exchange/moca_reader.h"
#include "trace/file.h"
#include "trace/writer.h"
#include "wire/event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ADDRESS_DIGITS = 16,     /* as the kernel prints pointers */
    MADE_UP_FIRST = 1 << 22, /* the kernel's own numbers of processes end here */
};

struct seen_chunk {
    uint32_t task;
    uint64_t line, id, count, start, end;
    char *mask;     /* as written, when it is not that of its accesses */
    uint64_t place; /* in the files */
};

struct importing {
    struct moca_import *result;
    struct moca_notes notes;
    struct map64 task_of;  /* id -> index in notes.tasks */
    struct map64 pid_used; /* pids of tasks */
    array_of(struct seen_chunk) chunks;
    struct moca_mask announced, together; /* of the chunk being read */
    bool styled, masked, by_task;
    uint32_t last_task;
    uint64_t last_start, first_time, last_time;
    struct trace_writer *writer;
};

typedef int take_item(struct importing *importing, const struct moca_item *item, const char *name, struct error *err);

static bool masks_equal(const struct moca_mask *one, const struct moca_mask *other)
{
    return one->words == other->words && memcmp(one->bits, other->bits, one->words * sizeof *one->bits) == 0;
}

static void mask_join(struct moca_mask *to, const struct moca_mask *from)
{
    for (; to->words < from->words; to->words++)
        to->bits[to->words] = 0;
    for (uint16_t i = 0; i < from->words; i++)
        to->bits[i] |= from->bits[i];
}

static char *mask_text(const struct moca_mask *mask)
{
    unsigned bits = mask->hexadecimal ? 4 : 1;
    char *text = mem_alloc(mask->digits + 3ul), *at = text;
    if (mask->hexadecimal)
        at = stpcpy(at, "0x");
    for (uint32_t i = mask->digits; i-- > 0;) {
        uint32_t bit = i * bits;
        uint64_t word = bit / 64 < mask->words ? mask->bits[bit / 64] : 0;
        *at++ = "0123456789abcdef"[word >> bit % 64 & ((1u << bits) - 1)];
    }
    *at = 0;
    return text;
}

/* The chunk before is complete: whether its mask is that of its accesses. */
static void end_chunk(struct importing *importing)
{
    if (importing->chunks.count == 0)
        return;
    struct seen_chunk *chunk = &importing->chunks.items[importing->chunks.count - 1];
    const struct moca_style *style = &importing->notes.style;
    const struct moca_mask *mask = &importing->announced;
    if (chunk->mask == NULL && (!masks_equal(mask, &importing->together) || mask->digits != style->mask_digits ||
                                mask->hexadecimal != style->mask_hexadecimal))
        chunk->mask = mask_text(mask);
    importing->together.words = importing->announced.words = 0;
    importing->announced.digits = style->mask_digits;
    importing->announced.hexadecimal = style->mask_hexadecimal;
}

static void learn_style(struct importing *importing, const struct moca_item *item)
{
    struct moca_style *style = &importing->notes.style;
    if (!importing->masked) {
        style->mask_digits = item->mask.digits;
        style->mask_hexadecimal = item->mask.hexadecimal;
        importing->masked = true;
    }
    if (importing->styled || item->kind != MOCA_ACCESS)
        return;
    style->address_prefix = item->address_prefix;
    style->address_digits = item->address_digits == ADDRESS_DIGITS ? ADDRESS_DIGITS : 0;
    importing->styled = true;
}

static int add_task(struct importing *importing, const struct moca_item *item, const char *name, struct error *err)
{
    struct moca_notes *notes = &importing->notes;
    bool is_new, is_free;
    uint64_t *place = map64_insert(&importing->task_of, item->task, &is_new);
    if (!is_new)
        return error_set(err, -EINVAL, "%s:%" PRIu64 ": task %u is there twice", name, item->line, item->task);
    *place = notes->tasks.count;
    map64_insert(&importing->pid_used, item->pid, &is_free);
    uint32_t first = notes->tasks.count ? notes->tasks.items[0].event_pid : item->pid ? item->pid : 1;
    struct moca_task task = {.id = item->task, .pid = item->pid, .event_pid = first, .event_tid = item->pid};
    if (!is_free && item->pid == 0) /* not known who: still another one */
        task.event_pid = MADE_UP_FIRST + item->task % MADE_UP_FIRST;
    else if (!is_free)
        task.event_tid = MADE_UP_FIRST + item->task % MADE_UP_FIRST;
    array_push(&notes->tasks, task);
    if (item->page_size)
        notes->style.page_size = item->page_size;
    return 0;
}

static void note_time(struct importing *importing, const struct moca_item *item)
{
    if (importing->result->accesses + importing->result->chunks == 0 || item->start < importing->first_time)
        importing->first_time = item->start;
    if (item->end > importing->last_time)
        importing->last_time = item->end;
}

static int look(struct importing *importing, const struct moca_item *item, const char *name, struct error *err)
{
    struct moca_import *result = importing->result;
    if (item->kind == MOCA_TASK)
        return add_task(importing, item, name, err);
    note_time(importing, item);
    learn_style(importing, item);
    if (item->kind == MOCA_CHUNK) {
        end_chunk(importing);
        importing->announced = item->mask;
        array_push(&importing->chunks, (struct seen_chunk){.task = item->task,
                                                           .line = item->line,
                                                           .id = item->chunk,
                                                           .count = item->count,
                                                           .start = item->start,
                                                           .end = item->end,
                                                           .place = result->chunks});
        result->chunks++;
        return 0;
    }
    mask_join(&importing->together, &item->mask);
    if (result->csv) {
        struct moca_item task = {.line = item->line, .task = item->task, .pid = item->task + 1};
        if (!map64_find(&importing->task_of, item->task) && add_task(importing, &task, name, err) < 0)
            return -EINVAL;
        if (result->accesses && (item->task < importing->last_task ||
                                 (item->task == importing->last_task && item->start < importing->last_start)))
            importing->by_task = false;
        importing->last_task = item->task;
        importing->last_start = item->start;
    }
    result->accesses++;
    return 0;
}

static int by_start(const void *left, const void *right)
{
    const struct seen_chunk *a = left, *b = right;
    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Whether the accesses of the next chunk that has any look like this one's. */
static bool runs_on(const struct importing *importing, size_t at)
{
    const struct seen_chunk *chunk = &importing->chunks.items[at], *next = chunk + 1;
    const struct seen_chunk *end = importing->chunks.items + importing->chunks.count;
    while (next < end && next->task == chunk->task && next->count == 0)
        next++;
    return next < end && next->task == chunk->task && next->start == chunk->start && next->end == chunk->end;
}

/* What of the chunks cannot be worked out again from their accesses. */
static void note_chunks(struct importing *importing)
{
    uint64_t number = 0, expected = 0;
    array_sort(&importing->chunks, by_start);
    for (size_t i = 0; i < importing->chunks.count; i++) {
        struct seen_chunk *chunk = &importing->chunks.items[i];
        if (i == 0 || chunk[-1].task != chunk->task)
            number = expected = 0;
        struct moca_chunk_note note = {.task = chunk->task,
                                       .number = number,
                                       .has_id = chunk->id != expected,
                                       .id = chunk->id,
                                       .is_empty = chunk->count == 0,
                                       .start = chunk->start,
                                       .end = chunk->end,
                                       .count = chunk->count,
                                       .has_count = chunk->count && runs_on(importing, i),
                                       .has_mask = chunk->mask != NULL,
                                       .mask = chunk->mask};
        chunk->mask = NULL;
        number++;
        expected = chunk->id + 1;
        if (note.has_id || note.is_empty || note.has_count || note.has_mask)
            array_push(&importing->notes.chunks, note);
        else
            free(note.mask);
    }
}

static int put(struct importing *importing, const struct moca_item *item, const char *name, struct error *err)
{
    (void)name;
    if (item->kind != MOCA_ACCESS)
        return 0;
    const struct moca_task *task = &importing->notes.tasks.items[*map64_find(&importing->task_of, item->task)];
    uint64_t size = importing->notes.style.page_size;
    struct event event = {.time = item->start, .pid = task->event_pid, .tid = task->event_tid, .kind = EVENT_PAGE};
    event.page = (struct event_page){.page = item->virtual,
                                     .size = size ? size : PAGE_UNIT,
                                     .physical = item->physical,
                                     .until = item->end,
                                     .reads = item->reads,
                                     .writes = item->writes,
                                     .unknown = item->reads == 0 && item->writes == 0,
                                     .mechanism = PAGE_IMPORTED,
                                     .cpu_words = item->mask.words,
                                     .cpus = item->mask.bits};
    return trace_writer_append(importing->writer, &event, err);
}

static int each_item(struct importing *importing, const char *const *paths, size_t count, take_item *take,
                     struct error *err)
{
    struct moca_item *item = mem_alloc(sizeof *item);
    int got = 0;
    progress_begin("reading", count);
    for (size_t i = 0; i < count && got >= 0; i++) {
        progress_set(i);
        FILE *in = fopen(paths[i], "re");
        if (!in) {
            got = error_set(err, -errno, "%s: %s", paths[i], strerror(errno));
            break;
        }
        struct moca_reader *reader = moca_reader_new(in, paths[i]);
        while ((got = moca_reader_next(reader, item, err)) > 0) {
            importing->result->csv = moca_reader_csv(reader);
            got = take(importing, item, paths[i], err);
            if (got < 0)
                break;
        }
        moca_reader_free(reader);
        fclose(in);
    }
    free(item);
    return got;
}

static struct trace_session *session_of(struct importing *importing, const char *path)
{
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "version", NUMALENS_VERSION);
    trace_session_setf(session, "command", "imported from %s", path);
    trace_session_set(session, "source", "faults");
    trace_session_set(session, "imported", importing->result->csv ? "moca-csv" : "moca");
    trace_session_set(session, "homes", "unknown");
    trace_session_set(session, "homes_reason", "imported: the recording has no nodes");
    importing->result->renumbered = !moca_notes_keep(&importing->notes, session);
    return session;
}

static int put_tasks(struct importing *importing, struct error *err)
{
    const struct moca_task *first = importing->notes.tasks.items;
    struct event start = {.time = importing->first_time, .pid = first->event_pid, .tid = first->event_pid};
    start.kind = EVENT_PROCESS_START;
    start.process = (struct event_process){.exe = "", .command = ""};
    int failed = trace_writer_append(importing->writer, &start, err);
    array_each (&importing->notes.tasks, const struct moca_task, task) {
        char name[32];
        snprintf(name, sizeof name, "task %u", task->id);
        struct event thread = {.time = importing->first_time,
                               .pid = task->event_pid,
                               .tid = task->event_tid,
                               .kind = EVENT_THREAD_START,
                               .thread = {.name = name}};
        if (failed == 0 && task->event_tid)
            failed = trace_writer_append(importing->writer, &thread, err);
    }
    return failed;
}

static int write_trace(struct importing *importing, const char *const *paths, size_t count, const char *output,
                       struct error *err)
{
    struct trace_session *session = session_of(importing, paths[0]);
    importing->writer = trace_writer_open(output, session, err);
    trace_session_free(session);
    if (!importing->writer)
        return -1;
    int failed = put_tasks(importing, err);
    if (failed == 0)
        failed = each_item(importing, paths, count, put, err);
    struct trace_session *ending = trace_session_new();
    trace_session_setf(ending, "duration_ns", "%" PRIu64, importing->last_time - importing->first_time);
    trace_session_setf(ending, "samples", "%d", 0);
    int closed = trace_writer_close(importing->writer, failed < 0 ? NULL : ending, failed < 0 ? NULL : err);
    trace_session_free(ending);
    if (failed < 0 || closed < 0) {
        trace_file_remove(output);
        return -1;
    }
    return 0;
}

int moca_import(const char *const *paths, size_t count, const char *output, struct moca_import *result,
                struct error *err)
{
    *result = (struct moca_import){0};
    struct importing *importing = mem_zalloc(sizeof *importing);
    importing->result = result;
    importing->by_task = true;
    int failed = each_item(importing, paths, count, look, err);
    if (failed == 0) {
        end_chunk(importing);
        note_chunks(importing);
        importing->notes.style.order = importing->by_task ? MOCA_BY_TASK : MOCA_BY_TIME;
        result->tasks = importing->notes.tasks.count;
        result->span = importing->last_time - importing->first_time;
        if (result->tasks == 0)
            failed = error_set(err, -ENODATA, "%s has no task of MOCA's in it", paths[0]);
    }
    if (failed == 0)
        failed = write_trace(importing, paths, count, output, err);
    array_each (&importing->chunks, struct seen_chunk, chunk)
        free(chunk->mask);
    array_free(&importing->chunks);
    moca_notes_free(&importing->notes);
    map64_free(&importing->task_of);
    map64_free(&importing->pid_used);
    free(importing);
    return failed;
}
