#include "capture/process/running.h"

#include "base/clock.h"
#include "base/mem.h"
#include "capture/perf/perf_records.h"
#include "capture/process/proc.h"
#include "capture/process/procfs.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    AGAIN_NS = 20000000,
    AGAIN_PART = 100
}; /* between looks for new code, and so many times what the last one took */

struct running_code {
    struct proc_code known;
    uint64_t next; /* look for more: not before */
};

void running_init(struct running *running, struct process_table *processes)
{
    *running = (struct running){.processes = processes};
}

void running_free(struct running *running)
{
    symbols_free(running->symbols);
    map64_each (&running->code, i) {
        struct running_code *code = (struct running_code *)(uintptr_t)running->code.values[i];
        array_free(&code->known.ranges);
        free(code);
    }
    map64_free(&running->code);
    map64_free(&running->threads);
    map64_free(&running->looked);
    map64_free(&running->roots);
    *running = (struct running){0};
}

static uint64_t key_of(uint32_t pid, uint32_t tid)
{
    return (uint64_t)pid << 32 | tid;
}

void running_knows(struct running *running, uint32_t pid, uint32_t tid)
{
    map64_insert(&running->threads, key_of(pid, tid), NULL);
}

static void report_thread(struct running *running, uint32_t pid, uint32_t tid, uint64_t time, const char *name)
{
    bool is_new;
    map64_insert(&running->threads, key_of(pid, tid), &is_new);
    struct event event = {.time = time, .pid = pid, .tid = tid};
    event.kind = is_new ? EVENT_THREAD_START : EVENT_THREAD_NAME;
    event.thread = (struct event_thread){.name = name};
    sink_put(running->processes->sink, &event);
}

/* Where its files are, seen from here. */
static const char *root_of(struct running *running, uint32_t pid, char root[static 32])
{
    uint64_t files = procfs_files(pid), *known = files ? map64_insert(&running->roots, files, NULL) : NULL;
    *root = '\0';
    if (known && (!*known || procfs_files((uint32_t)*known) != files))
        *known = pid;
    if (known)
        snprintf(root, 32, "/proc/%u/root", (uint32_t)*known);
    return root;
}

static struct running_code *code_of(struct running *running, uint32_t pid)
{
    uint64_t *place = map64_insert(&running->code, pid, NULL);
    if (!*place)
        *place = (uintptr_t)mem_zalloc(sizeof(struct running_code));
    return (struct running_code *)(uintptr_t)*place;
}

static struct capture_process *report(struct running *running, uint32_t pid, uint64_t time)
{
    char root[32];
    return proc_report(running->processes, running->symbols, root_of(running, pid, root), pid, time,
                       &code_of(running, pid)->known);
}

void running_runs(struct running *running, uint32_t pid, uint64_t pc, uint64_t time)
{
    char root[32];
    struct running_code *code = code_of(running, pid);
    if (!running->symbols || time < code->next || proc_code_has(&code->known, pc))
        return;
    uint64_t began = clock_now_ns();
    proc_report_code(running->processes->sink, running->symbols, root_of(running, pid, root), pid, time, &code->known);
    uint64_t end = clock_now_ns(), wait = (end - began) * AGAIN_PART;
    code->next = end + (wait > AGAIN_NS ? wait : AGAIN_NS);
}

struct capture_process *running_process(struct running *running, uint32_t pid, uint32_t tid, uint64_t time)
{
    struct capture_process *process = process_find(running->processes, pid);
    if (!running->symbols)
        running->symbols = symbols_new();
    if (!process || process->ended) {
        *map64_insert(&running->looked, pid, NULL) = clock_now_ns();
        process = report(running, pid, time);
    }
    if (!map64_find(&running->threads, key_of(pid, tid))) {
        char name[32];
        proc_thread_name(pid, tid, name);
        report_thread(running, pid, tid, time, name);
    }
    return process;
}

void running_renew(struct running *running, uint32_t pid, uint64_t time)
{
    map64_remove(&running->threads, key_of(pid, pid));
    if (running->symbols)
        report(running, pid, time);
}

/* Another program in the same process: what it maps comes as records of its own. */
static void take_exec(struct running *running, const struct comm_record *comm, uint64_t time)
{
    struct proc_program program;
    proc_program(comm->pid, comm->name, &program);
    struct event event = {.time = time, .pid = comm->pid, .tid = comm->pid, .kind = EVENT_PROCESS_START};
    event.process = (struct event_process){.exe = program.exe, .command = program.command};
    process_start(running->processes, &event, 0);
    map64_remove(&running->threads, key_of(comm->pid, comm->tid));
}

static void take_exit(struct running *running, struct capture_process *process, const struct task_record *task,
                      uint64_t time)
{
    if (!map64_remove(&running->threads, key_of(task->pid, task->tid)))
        return;
    struct event event = {.time = time, .pid = task->pid, .tid = task->tid, .kind = EVENT_THREAD_EXIT};
    event.thread = (struct event_thread){.name = ""};
    sink_put(running->processes->sink, &event);
    if (task->pid == task->tid)
        process_end(running->processes, process, time, -1);
}

void running_record(struct running *running, const struct perf_event_header *record, uint64_t time)
{
    const struct task_record *task = (const struct task_record *)record;
    const struct comm_record *comm = (const struct comm_record *)record;
    const struct map_record *map = (const struct map_record *)record;
    char root[32];
    /* Each of these kinds begins with the process's number. */
    struct capture_process *process = process_find(running->processes, task->pid);
    if (!process || process->ended)
        return; /* without samples so far: it is looked at when it has some */
    const uint64_t *looked = map64_find(&running->looked, task->pid);
    if (looked && time < *looked && record->type != PERF_RECORD_EXIT)
        return;
    switch (record->type) {
    case PERF_RECORD_COMM:
        if (record->misc & PERF_RECORD_MISC_COMM_EXEC && comm->pid == comm->tid)
            take_exec(running, comm, time);
        if (record->misc & PERF_RECORD_MISC_COMM_EXEC || map64_find(&running->threads, key_of(comm->pid, comm->tid)))
            report_thread(running, comm->pid, comm->tid, time, comm->name);
        break;
    case PERF_RECORD_MMAP2:
        proc_report_map(running->processes->sink, running->symbols, root_of(running, map->pid, root), map->pid, time,
                        (struct event_map){.addr = map->addr,
                                           .size = map->size,
                                           .offset = map->offset,
                                           .prot = map->prot,
                                           .flags = map->flags,
                                           .path = map->path});
        break;
    case PERF_RECORD_EXIT:
        take_exit(running, process, task, time);
        break;
    default:
        break;
    }
}
