#include "trace/writer.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/mem.h"
#include "trace/file.h"
#include "trace/lane.h"
#include "trace/pack.h"
#include "trace/redact.h"
#include "trace/run_append.h"
#include "trace/session_text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    BLOCK_EVENTS = 65536,
    BLOCK_SAMPLES = 8192, /* fewer: readers fetch single samples and unpack a whole block for one */
    BLOCK_BYTES = 1 << 20,
    BLOCK_RUNS = 4096,
    PACK_LEVEL = 1,
};

/* Whether the run can hold an event of this time: not before its last one, and not ages after. */
static inline bool run_takes(const struct trace_run *run, uint64_t time)
{
    return (int64_t)(time - run->state.time) >= 0;
}

/* A block in the making: one kind of one process. */
struct pending_block {
    uint32_t pid;
    uint8_t kind;
    uint32_t count, run_count;
    size_t bytes;
    struct trace_run *runs, *last;
    struct map64 run_of_tid; /* to struct trace_run *, the newest run of that thread */
};

struct trace_writer {
    int fd;
    int failed; /* the code of the first write error, or 0 */
    bool redacts;
    struct error failure;
    uint64_t bytes, unwritten;
    struct packer *packer;
    array_of(struct pending_block *) pending;
    struct map64 pending_of; /* pid << 8 | kind, to an index */
    struct trace_run *free_runs;
    struct pending_block *current;
};

static int fail(struct trace_writer *writer, int code, struct error *err)
{
    writer->failed = code;
    error_set(&writer->failure, code, "cannot write the trace: %s%s", strerror(-code),
              code == -ENOSPC ? "; make room on that disk or name another with -o" : "");
    if (err)
        *err = writer->failure;
    return code;
}

static int put_block(struct trace_writer *writer, const void *block, size_t size, struct error *err)
{
    int code = trace_file_append(writer->fd, writer->bytes, block, size);
    if (code < 0)
        return fail(writer, code, err);
    writer->bytes += size;
    return 0;
}

static int put_session(struct trace_writer *writer, uint16_t kind, const struct trace_session *session,
                       struct error *err)
{
    size_t length, size;
    struct trace_session *redacted = writer->redacts ? redact_session(session) : NULL;
    session = redacted ? redacted : session;
    uint32_t count = (uint32_t)trace_session_count(session);
    char *text = trace_session_to_text(session, &length);
    trace_session_free(redacted);
    if (length > TRACE_MAX_SESSION || count > TRACE_MAX_KEYS) {
        free(text);
        return error_set(err, -E2BIG, "cannot write the trace: %zu bytes of session data, more than the format allows",
                         length);
    }
    const void *block = packer_text(writer->packer, kind, text, length, count, &size);
    free(text);
    return put_block(writer, block, size, err);
}

struct trace_writer *trace_writer_open(const char *path, const struct trace_session *session, struct error *err)
{
    int fd = trace_file_create(path, err);
    if (fd < 0)
        return NULL;
    struct trace_writer *writer = mem_zalloc(sizeof *writer);
    writer->fd = fd;
    writer->redacts = trace_session_get(session, REDACT_KEY) != NULL;
    writer->packer = packer_new();
    struct trace_file_header header = {.version = TRACE_VERSION,
                                       .block_header_bytes = sizeof(struct trace_block_header)};
    memcpy(header.magic, TRACE_FILE_MAGIC, sizeof header.magic);
    if (put_block(writer, &header, sizeof header, err) == 0 &&
        put_session(writer, TRACE_BLOCK_SESSION, session, err) == 0)
        return writer;
    error_prefix(err, "%s", path);
    trace_writer_close(writer, NULL, NULL);
    return NULL;
}

static void recycle(struct trace_writer *writer, struct pending_block *pending)
{
    for (struct trace_run *run = pending->runs, *next; run; run = next) {
        next = run->next;
        if (run->holder)
            *run->holder = NULL;
        run->next = writer->free_runs;
        writer->free_runs = run;
    }
    pending->runs = pending->last = NULL;
    pending->count = pending->run_count = 0;
    pending->bytes = 0;
    map64_free(&pending->run_of_tid);
}

/* Brings the block's count up to date. It is looked at only when a run needs room, not for every event. */
static bool pending_full(struct pending_block *pending, struct trace_run *run)
{
    uint32_t most = pending->kind == EVENT_SAMPLE ? BLOCK_SAMPLES : BLOCK_EVENTS;
    pending->count += run->count - run->counted;
    pending->bytes += run_bytes(run) - run->bytes_counted;
    run->counted = run->count;
    run->bytes_counted = run_bytes(run);
    return pending->count >= most || pending->run_count >= BLOCK_RUNS || pending->bytes >= BLOCK_BYTES;
}

static int write_pending(struct trace_writer *writer, struct pending_block *pending, struct error *err)
{
    if (!pending->runs)
        return 0;
    for (struct trace_run *run = pending->runs; run; run = run->next)
        pending_full(pending, run);
    int code = writer->failed;
    if (code == 0) {
        size_t size;
        const void *block = packer_runs(writer->packer, pending->kind, pending->pid, pending->runs, PACK_LEVEL, &size);
        code = put_block(writer, block, size, err);
    }
    if (code < 0)
        writer->unwritten += pending->count;
    recycle(writer, pending);
    return code;
}

static struct pending_block *pending_for(struct trace_writer *writer, uint32_t pid, uint8_t kind)
{
    if (writer->current && writer->current->pid == pid && writer->current->kind == kind)
        return writer->current;
    bool is_new;
    uint64_t *index = map64_insert(&writer->pending_of, (uint64_t)pid << 8 | kind, &is_new);
    if (is_new) {
        struct pending_block *pending = mem_zalloc(sizeof *pending);
        pending->pid = pid;
        pending->kind = kind;
        *index = writer->pending.count;
        array_push(&writer->pending, pending);
    }
    return writer->current = writer->pending.items[*index];
}

static struct trace_run *run_new(struct trace_writer *writer, struct pending_block *pending, const struct event *event)
{
    struct trace_run *run = writer->free_runs;
    if (run)
        writer->free_runs = run->next;
    else
        run = mem_zalloc(sizeof *run);
    run_begin(run, pending->kind, event->tid, event->time);
    run->pending = pending;
    *(pending->last ? &pending->last->next : &pending->runs) = run;
    pending->last = run;
    pending->run_count++;
    *map64_insert(&pending->run_of_tid, event->tid, NULL) = (uintptr_t)run;
    return run;
}

static int refuse(struct trace_writer *writer, struct error *err)
{
    writer->unwritten++;
    if (err)
        *err = writer->failure;
    return writer->failed;
}

/* Appends to a run that may need room; when its block is full by then, that is written first and `*run` is NULL. */
static int make_room(struct trace_writer *writer, struct trace_run **run, struct error *err)
{
    struct pending_block *pending = (*run)->pending;
    if (pending_full(pending, *run)) {
        *run = NULL;
        return write_pending(writer, pending, err);
    }
    run_make_room(*run);
    return 0;
}

/* The run that an event belongs to, when `run` (of its thread and kind, or NULL) is not it or is full. */
static int find_run(struct trace_writer *writer, struct trace_run **run, const struct event *event, struct error *err)
{
    if (run_columns(event->kind) == 0)
        return error_set(err, -EINVAL, "there is no event of kind %u", event->kind);
    int code = writer->failed ? refuse(writer, err) : 0;
    if (code == 0 && *run && (*run)->room == 0)
        code = make_room(writer, run, err);
    if (code < 0)
        return code;
    if (*run && run_takes(*run, event->time))
        return 0;
    struct pending_block *pending = pending_for(writer, event->pid, event->kind);
    /* Many threads with few events each, or one whose times go back with each event: none of their runs asks for room. */
    if (pending->run_count >= BLOCK_RUNS && (code = write_pending(writer, pending, err)) < 0)
        return code;
    *run = run_new(writer, pending, event);
    run_make_room(*run);
    return 0;
}

int trace_writer_append(struct trace_writer *writer, const struct event *event, struct error *err)
{
    struct redacted redacted;
    if (writer->redacts)
        event = redact_event(&redacted, event);
    struct pending_block *pending = pending_for(writer, event->pid, event->kind);
    uint64_t *known = map64_find(&pending->run_of_tid, event->tid);
    struct trace_run *run = known ? (struct trace_run *)(uintptr_t)*known : NULL;
    if (!run || run->room == 0 || !run_takes(run, event->time) || writer->failed) {
        int code = find_run(writer, &run, event, err);
        if (code < 0)
            return code;
    }
    run_append_fast(run, event);
    return 0;
}

/* The lane's run for the event is not there, full, or ahead of it; or nothing can be written any more. */
static __attribute__((noinline)) int append_lane_again(struct trace_writer *writer, struct trace_run **held,
                                                       const struct event *event, struct error *err)
{
    struct trace_run *run = *held;
    int code = find_run(writer, &run, event, err);
    if (code < 0)
        return code;
    if (*held != run) { /* NULL by now if its block was written */
        if (*held)
            (*held)->holder = NULL;
        *held = run;
        run->holder = held;
    }
    run_append_fast(run, event);
    return 0;
}

int trace_writer_append_lane(struct trace_writer *writer, struct trace_lane *lane, const struct event *event,
                             struct error *err)
{
    struct trace_run **held = &lane->runs[event->kind], *run = *held;
    struct redacted redacted;
    if (__builtin_expect(writer->redacts, 0))
        event = redact_event(&redacted, event);
    if (__builtin_expect(!run || run->room == 0 || !run_takes(run, event->time) || writer->failed, 0))
        return append_lane_again(writer, held, event, err);
    run_append_fast(run, event);
    return 0;
}

void trace_lane_drop(struct trace_lane *lane)
{
    for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
        if (lane->runs[kind])
            lane->runs[kind]->holder = NULL;
        lane->runs[kind] = NULL;
    }
}

int trace_writer_flush(struct trace_writer *writer, struct error *err)
{
    int code = 0;
    array_each (&writer->pending, struct pending_block *, pending) {
        int result = write_pending(writer, *pending, code ? NULL : err);
        if (code == 0)
            code = result;
        free(*pending);
    }
    /* Processes and threads come and go: what the last ones needed is not kept for the next. */
    array_free(&writer->pending);
    map64_free(&writer->pending_of);
    writer->current = NULL;
    for (struct trace_run *run = writer->free_runs, *next; run; run = next) {
        next = run->next;
        run_release(run);
        free(run);
    }
    writer->free_runs = NULL;
    return code;
}

int trace_writer_carried(struct trace_writer *writer, struct error *err)
{
    struct trace_session *nothing = trace_session_new();
    int code = trace_writer_flush(writer, err);
    if (code == 0 && writer->failed)
        code = writer->failed; /* a part of it is missing: the mark would say that it is all there */
    if (code == 0)
        code = put_session(writer, TRACE_BLOCK_CARRIED, nothing, err);
    trace_session_free(nothing);
    return code;
}

int trace_writer_close(struct trace_writer *writer, const struct trace_session *ending, struct error *err)
{
    int code = trace_writer_flush(writer, err);
    if (code == 0)
        code = writer->failed;
    if (ending) {
        /* Also after an error: what was lost is worth reporting, and a small block may fit where a large one did not. */
        int result = put_session(writer, TRACE_BLOCK_ENDING, ending, code ? NULL : err);
        if (code == 0)
            code = result;
    }
    if (close(writer->fd) < 0 && code == 0)
        code = error_set(err, -errno, "cannot write the trace: %s", strerror(errno));
    packer_free(writer->packer);
    free(writer);
    return code;
}

uint64_t trace_writer_bytes(const struct trace_writer *writer)
{
    return writer->bytes;
}

uint64_t trace_writer_unwritten(const struct trace_writer *writer)
{
    return writer->unwritten;
}

size_t trace_writer_pending(const struct trace_writer *writer)
{
    size_t total = packer_memory(writer->packer);
    array_each (&writer->pending, struct pending_block *, pending) {
        total += sizeof **pending + (*pending)->run_of_tid.capacity * 16;
        for (const struct trace_run *run = (*pending)->runs; run; run = run->next)
            total += run_memory(run);
    }
    for (const struct trace_run *run = writer->free_runs; run; run = run->next)
        total += run_memory(run);
    return total;
}
