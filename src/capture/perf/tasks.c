#include "capture/perf/tasks.h"

#include "base/array.h"
#include "base/mem.h"
#include "capture/process/procfs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAPS_MOST = 128, TASKS_MOST = 20000 };

struct kept_map {
    uint64_t time;
    struct event_map map; /* .path is owned */
};

struct task {
    uint32_t pid, parent, threads;
    uint64_t start; /* fork, then exec */
    bool executed;
    bool apart; /* in a network namespace where the recorder's socket is not */
    char name[32];
    array_of(struct kept_map) maps;
};

void tasks_init(struct tasks *tasks, uint32_t first, bool follow)
{
    *tasks = (struct tasks){.first = first, .follow = follow};
    tasks_fork(tasks, 0, first, 0, false);
}

static void forget_maps(struct task *task)
{
    array_each (&task->maps, struct kept_map, kept)
        free((char *)kept->map.path);
    array_free(&task->maps);
}

static void forget(struct tasks *tasks, struct task *task)
{
    map64_remove(&tasks->by_pid, task->pid);
    forget_maps(task);
    free(task);
}

void tasks_free(struct tasks *tasks)
{
    map64_each (&tasks->by_pid, i) {
        struct task *task = (struct task *)(uintptr_t)tasks->by_pid.values[i];
        forget_maps(task);
        free(task);
    }
    map64_free(&tasks->by_pid);
}

static struct task *find(const struct tasks *tasks, uint32_t pid)
{
    uint64_t *place = map64_find(&tasks->by_pid, pid);
    return place ? (struct task *)(uintptr_t)*place : NULL;
}

void tasks_fork(struct tasks *tasks, uint64_t time, uint32_t pid, uint32_t parent, bool thread)
{
    struct task *task = find(tasks, pid);
    if (thread) {
        if (task)
            task->threads++;
        return;
    }
    if ((!tasks->follow && pid != tasks->first) || tasks->by_pid.count >= TASKS_MOST)
        return;
    if (task)
        forget(tasks, task); /* its end got lost */
    task = mem_zalloc(sizeof *task);
    *task = (struct task){.pid = pid, .parent = parent, .threads = 1, .start = time};
    *map64_insert(&tasks->by_pid, pid, NULL) = (uintptr_t)task;
}

/* Whether an agent has introduced the program that runs in this process now. */
static bool spoken_for(const struct tasks *tasks, const struct task *task)
{
    const struct capture_process *process = process_find(tasks->processes, task->pid);
    return process && process->start >= task->start;
}

static bool is_module(const struct event_map *map)
{
    return (map->prot & PROT_EXEC) && map->path[0] == '/' && strncmp(map->path, "//anon", 6) != 0;
}

static void report(struct tasks *tasks, struct task *task)
{
    if (!task->executed || spoken_for(tasks, task))
        return;
    const char *exe = task->name;
    array_each (&task->maps, struct kept_map, first) {
        if (is_module(&first->map)) {
            exe = first->map.path; /* the first mapping that exec makes is the program */
            break;
        }
    }
    struct event event = {.time = task->start, .pid = task->pid, .tid = task->pid, .kind = EVENT_PROCESS_START};
    event.process = (struct event_process){task->parent, false, exe, task->name};
    process_start(tasks->processes, &event, 0);
    event.kind = EVENT_THREAD_START;
    event.thread = (struct event_thread){.name = task->name};
    sink_put(tasks->sink, &event);
    array_each (&task->maps, struct kept_map, kept) {
        event.time = kept->time;
        event.kind = EVENT_MAP;
        event.map = kept->map;
        sink_put(tasks->sink, &event);
        if (!is_module(&kept->map))
            continue;
        event.kind = EVENT_MODULE_LOAD;
        event.module = (struct event_module){.bias = kept->map.addr - kept->map.offset,
                                             .start = kept->map.addr,
                                             .end = kept->map.addr + kept->map.size,
                                             .path = kept->map.path};
        sink_put(tasks->sink, &event);
    }
    if (task->apart) {
        sink_loss(tasks->sink, task->start, task->pid, task->pid, LOSS_UNREACHABLE, 1);
        return;
    }
    tasks->untracked++;
    tasks->untracked_pid = task->pid;
    tasks->untracked_time = task->start;
}

void tasks_exec(struct tasks *tasks, uint64_t time, uint32_t pid, const char *name)
{
    struct task *task = find(tasks, pid);
    if (!task)
        return;
    report(tasks, task);
    forget_maps(task);
    task->executed = true;
    task->apart = procfs_is_apart(pid, "net");
    task->start = time;
    task->threads = 1;
    strncpy(task->name, name, sizeof task->name - 1);
}

void tasks_map(struct tasks *tasks, uint64_t time, uint32_t pid, const struct event_map *map)
{
    struct task *task = find(tasks, pid);
    if (!task || !task->executed || task->maps.count >= MAPS_MOST)
        return;
    if (spoken_for(tasks, task)) {
        forget_maps(task);
        return;
    }
    struct kept_map kept = {time, *map};
    kept.map.path = mem_strdup(map->path);
    array_push(&task->maps, kept);
}

bool tasks_exit(struct tasks *tasks, uint64_t time, uint32_t pid)
{
    struct task *task = find(tasks, pid);
    if (!task || --task->threads > 0)
        return false;
    report(tasks, task);
    struct capture_process *process = process_find(tasks->processes, pid);
    if (process && pid != tasks->processes->first)
        process_end(tasks->processes, process, time, -1);
    forget(tasks, task);
    return true;
}

void tasks_finish(struct tasks *tasks, uint64_t explained)
{
    map64_each (&tasks->by_pid, i)
        report(tasks, (struct task *)(uintptr_t)tasks->by_pid.values[i]);
    tasks->untracked -= explained < tasks->untracked ? explained : tasks->untracked;
    /* Agents that saw them leave have counted them, some with the cause: nobody counts twice. */
    const uint64_t *lost = tasks->sink->lost;
    uint64_t counted = lost[LOSS_CHILD_UNTRACKED] + lost[LOSS_CHILD_PRELOAD] + lost[LOSS_SANITIZED] + lost[LOSS_TRACED];
    if (tasks->untracked > counted)
        sink_loss(tasks->sink, tasks->untracked_time, tasks->untracked_pid, tasks->untracked_pid, LOSS_CHILD_UNTRACKED,
                  tasks->untracked - counted);
}
