#include "exchange/moca_import.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/units.h"
#include "exchange/moca_reader.h"
#include "trace/file.h"
#include "trace/writer.h"
#include "wire/event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_UP_FIRST = 1 << 22 }; /* the kernel's own numbers of processes end here */

struct task {
    uint32_t id;       /* as MOCA has it */
    uint32_t pid, tid; /* in events */
};

struct importing {
    struct moca_import *result;
    array_of(struct task) tasks;
    struct map64 task_of;  /* id -> index in tasks */
    struct map64 pid_used; /* pids of tasks */
    uint64_t page_size, first_time, last_time;
    struct trace_writer *writer;
};

typedef int take_item(struct importing *importing, const struct moca_item *item, const char *name, struct error *err);

static int add_task(struct importing *importing, const struct moca_item *item, const char *name, struct error *err)
{
    bool is_new, is_free;
    uint64_t *place = map64_insert(&importing->task_of, item->task, &is_new);
    if (!is_new)
        return error_set(err, -EINVAL, "%s:%" PRIu64 ": task %u is there twice", name, item->line, item->task);
    *place = importing->tasks.count;
    map64_insert(&importing->pid_used, item->pid, &is_free);
    uint32_t first = importing->tasks.count ? importing->tasks.items[0].pid : item->pid ? item->pid : 1;
    struct task task = {.id = item->task, .pid = first, .tid = item->pid};
    if (!is_free && item->pid == 0) /* not known who: still another one */
        task.pid = MADE_UP_FIRST + item->task % MADE_UP_FIRST;
    else if (!is_free)
        task.tid = MADE_UP_FIRST + item->task % MADE_UP_FIRST;
    array_push(&importing->tasks, task);
    if (item->page_size)
        importing->page_size = item->page_size;
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
    ++*(item->kind == MOCA_CHUNK ? &result->chunks : &result->accesses);
    return 0;
}

static int put(struct importing *importing, const struct moca_item *item, const char *name, struct error *err)
{
    (void)name;
    if (item->kind != MOCA_ACCESS)
        return 0;
    const struct task *task = &importing->tasks.items[*map64_find(&importing->task_of, item->task)];
    uint64_t size = importing->page_size;
    struct event event = {.time = item->start, .pid = task->pid, .tid = task->tid, .kind = EVENT_PAGE};
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

static struct trace_session *session_of(const char *path)
{
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "version", NUMALENS_VERSION);
    trace_session_setf(session, "command", "imported from %s", path);
    trace_session_set(session, "source", "faults");
    trace_session_set(session, "imported", "moca");
    trace_session_set(session, "homes", "unknown");
    trace_session_set(session, "homes_reason", "imported: the recording has no nodes");
    return session;
}

static int put_tasks(struct importing *importing, struct error *err)
{
    const struct task *first = importing->tasks.items;
    struct event start = {.time = importing->first_time, .pid = first->pid, .tid = first->pid};
    start.kind = EVENT_PROCESS_START;
    start.process = (struct event_process){.exe = "", .command = ""};
    int failed = trace_writer_append(importing->writer, &start, err);
    array_each (&importing->tasks, const struct task, task) {
        char name[32];
        snprintf(name, sizeof name, "task %u", task->id);
        struct event thread = {.time = importing->first_time,
                               .pid = task->pid,
                               .tid = task->tid,
                               .kind = EVENT_THREAD_START,
                               .thread = {.name = name}};
        if (failed == 0 && task->tid)
            failed = trace_writer_append(importing->writer, &thread, err);
    }
    return failed;
}

static int write_trace(struct importing *importing, const char *const *paths, size_t count, const char *output,
                       struct error *err)
{
    struct trace_session *session = session_of(paths[0]);
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
    struct importing importing = {.result = result};
    int failed = each_item(&importing, paths, count, look, err);
    result->tasks = importing.tasks.count;
    result->span = importing.last_time - importing.first_time;
    if (failed == 0 && result->tasks == 0)
        failed = error_set(err, -ENODATA, "%s has no task of MOCA's in it", paths[0]);
    if (failed == 0)
        failed = write_trace(&importing, paths, count, output, err);
    array_free(&importing.tasks);
    map64_free(&importing.task_of);
    map64_free(&importing.pid_used);
    return failed;
}
