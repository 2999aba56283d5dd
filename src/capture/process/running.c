#include "capture/process/running.h"

#include "base/clock.h"
#include "capture/perf/perf_records.h"
#include "capture/process/proc.h"

void running_init(struct running *running, struct process_table *processes)
{
    *running = (struct running){.processes = processes};
}

void running_free(struct running *running)
{
    symbols_free(running->symbols);
    map64_free(&running->threads);
    map64_free(&running->looked);
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

struct capture_process *running_process(struct running *running, uint32_t pid, uint32_t tid, uint64_t time)
{
    struct capture_process *process = process_find(running->processes, pid);
    if (!running->symbols)
        running->symbols = symbols_new();
    if (!process || process->ended) {
        *map64_insert(&running->looked, pid, NULL) = clock_now_ns();
        process = proc_report(running->processes, running->symbols, pid, time);
    }
    if (!map64_find(&running->threads, key_of(pid, tid))) {
        char name[32];
        proc_thread_name(pid, tid, name);
        report_thread(running, pid, tid, time, name);
    }
    return process;
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
        proc_report_map(running->processes->sink, running->symbols, map->pid, time,
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
