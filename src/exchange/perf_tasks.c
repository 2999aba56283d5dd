#include "exchange/perf_tasks.h"

#include "base/order.h"
#include "capture/process/proc.h"
#include "perf/input.h"

#include <string.h>
#include <sys/mman.h>

void perf_tasks_init(struct perf_tasks *tasks)
{
    *tasks = (struct perf_tasks){.texts = strtab_new()};
}

void perf_tasks_free(struct perf_tasks *tasks)
{
    strtab_free(tasks->texts);
    array_free(&tasks->items);
    map64_free(&tasks->sampled);
    map64_free(&tasks->seen);
    map64_free(&tasks->threads);
}

void perf_tasks_sampled(struct perf_tasks *tasks, uint32_t pid)
{
    *map64_insert(&tasks->sampled, pid, NULL) = 1;
}

static uint32_t take_text(struct perf_tasks *tasks, const struct perf_walk *walk)
{
    size_t room = (size_t)(walk->end - walk->at);
    return strtab_add_bytes(tasks->texts, (const char *)walk->at, strnlen((const char *)walk->at, room));
}

static void take_map(struct perf_tasks *tasks, struct perf_task *task, struct perf_walk *walk, uint32_t type,
                     uint16_t misc)
{
    task->pid = perf_walk32(walk);
    task->tid = perf_walk32(walk);
    task->addr = perf_walk64(walk);
    task->size = perf_walk64(walk);
    task->offset = perf_walk64(walk);
    /* An old record reports by its kind whether it maps code. */
    task->prot = misc & PERF_RECORD_MISC_MMAP_DATA ? PROT_READ | PROT_WRITE : PROT_READ | PROT_EXEC;
    if (type == PERF_RECORD_MMAP2) {
        const uint8_t *inode = perf_walk_bytes(walk, 24); /* device, inode and generation, or the build id */
        if (inode && misc & PERF_RECORD_MISC_MMAP_BUILD_ID && inode[0] <= sizeof task->build_id) {
            task->build_id_size = inode[0];
            memcpy(task->build_id, inode + 4, inode[0]);
        }
        task->prot = perf_walk32(walk);
        task->flags = perf_walk32(walk);
    }
    task->text = take_text(tasks, walk);
    task->type = PERF_RECORD_MMAP;
}

void perf_tasks_keep(struct perf_tasks *tasks, const struct perf_file_record *record, uint64_t time)
{
    const struct perf_event_header *header = record->header;
    struct perf_walk walk = {record->bytes + sizeof *header, record->bytes + record->size, false};
    struct perf_task task = {.time = time, .order = (uint32_t)tasks->items.count, .type = (uint8_t)header->type};
    switch (header->type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        task.pid = perf_walk32(&walk);
        task.parent = perf_walk32(&walk);
        task.tid = perf_walk32(&walk);
        break;
    case PERF_RECORD_COMM:
        task.pid = perf_walk32(&walk);
        task.tid = perf_walk32(&walk);
        task.exec = header->misc & PERF_RECORD_MISC_COMM_EXEC;
        task.text = take_text(tasks, &walk);
        break;
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        take_map(tasks, &task, &walk, header->type, header->misc);
        break;
    default:
        return;
    }
    if (walk.short_of || task.pid == 0 || task.pid == UINT32_MAX) /* the idle task and the kernel's own mappings */
        return;
    *map64_insert(&tasks->seen, task.pid, NULL) = 1;
    array_push(&tasks->items, task);
}

ORDER_BY(by_time, struct perf_task, ORDER(a->time, b->time) ?: ORDER(a->order, b->order))

/* A sampled child that was forked during the recording begins with what its parent had. */
static void sample_parents(struct perf_tasks *tasks)
{
    for (size_t i = tasks->items.count; i-- > 0;) {
        const struct perf_task *task = &tasks->items.items[i];
        if (task->type == PERF_RECORD_FORK && task->time && task->pid != task->parent &&
            map64_find(&tasks->sampled, task->pid))
            perf_tasks_sampled(tasks, task->parent);
    }
}

struct reporting {
    struct perf_tasks *tasks;
    const struct perf_file *file;
    struct symbols *symbols;
    struct process_table *processes;
};

/* What the first mapping of code that comes before the next exec says the program is. */
static const char *exe_of(const struct perf_tasks *tasks, size_t at, uint32_t pid, const char *name)
{
    for (size_t i = at; i < tasks->items.count; i++) {
        const struct perf_task *task = &tasks->items.items[i];
        if (task->pid != pid)
            continue;
        if (i > at && task->type == PERF_RECORD_COMM && task->exec)
            break;
        const char *path = strtab_text(tasks->texts, task->text);
        if (task->type == PERF_RECORD_MMAP && task->prot & PROT_EXEC && path[0] == '/')
            return path;
    }
    return name;
}

static struct capture_process *start_process(struct process_table *processes, uint64_t time, uint32_t pid,
                                             const struct event_process *start)
{
    struct event event = {.time = time, .pid = pid, .tid = pid, .kind = EVENT_PROCESS_START, .process = *start};
    return process_start(processes, &event, 0);
}

static void start_thread(struct perf_tasks *tasks, struct process_table *processes, uint64_t time, uint32_t pid,
                         uint32_t tid, const char *name)
{
    bool is_new;
    map64_insert(&tasks->threads, (uint64_t)pid << 32 | tid, &is_new);
    struct event event = {.time = time, .pid = pid, .tid = tid};
    event.kind = is_new ? EVENT_THREAD_START : EVENT_THREAD_NAME;
    event.thread = (struct event_thread){.name = name};
    if (is_new || *name)
        sink_put(processes->sink, &event);
}

struct capture_process *perf_tasks_process(struct perf_tasks *tasks, struct process_table *processes, uint64_t time,
                                           uint32_t pid, uint32_t tid)
{
    struct capture_process *process = process_find(processes, pid);
    if (!process)
        process = start_process(processes, time, pid, &(struct event_process){.exe = "", .command = ""});
    if (!map64_find(&tasks->threads, (uint64_t)pid << 32 | tid))
        start_thread(tasks, processes, time, pid, tid, "");
    return process;
}

static void report_comm(struct reporting *reporting, size_t at)
{
    struct perf_tasks *tasks = reporting->tasks;
    const struct perf_task *task = &tasks->items.items[at];
    const char *name = strtab_text(tasks->texts, task->text);
    struct capture_process *process = process_find(reporting->processes, task->pid);
    if ((task->exec && task->pid == task->tid) || !process)
        start_process(reporting->processes, task->time, task->pid,
                      &(struct event_process){.exe = exe_of(tasks, at, task->pid, name), .command = name});
    start_thread(tasks, reporting->processes, task->time, task->pid, task->tid, name);
}

static void report_fork(struct reporting *reporting, size_t at)
{
    const struct perf_task *task = &reporting->tasks->items.items[at];
    struct capture_process *parent = process_find(reporting->processes, task->parent);
    if (task->pid != task->parent && parent && !process_find(reporting->processes, task->pid))
        start_process(reporting->processes, task->time, task->pid,
                      &(struct event_process){.parent = task->parent, .forked = true, .exe = "", .command = ""});
    perf_tasks_process(reporting->tasks, reporting->processes, task->time, task->pid, task->tid);
}

static void report_exit(struct reporting *reporting, const struct perf_task *task)
{
    if (!map64_find(&reporting->tasks->threads, (uint64_t)task->pid << 32 | task->tid))
        return;
    struct event event = {.time = task->time, .pid = task->pid, .tid = task->tid, .kind = EVENT_THREAD_EXIT};
    event.thread = (struct event_thread){.name = ""};
    sink_put(reporting->processes->sink, &event);
    struct capture_process *process = process_find(reporting->processes, task->pid);
    if (process && task->pid == task->tid)
        process_end(reporting->processes, process, task->time, -1);
}

static void report_map(struct reporting *reporting, const struct perf_task *task)
{
    const char *path = strtab_text(reporting->tasks->texts, task->text);
    perf_tasks_process(reporting->tasks, reporting->processes, task->time, task->pid, task->pid);
    uint8_t kind = (uint8_t)proc_map_kind(path, task->flags);
    struct event event = {.time = task->time, .pid = task->pid, .tid = task->tid, .kind = EVENT_MAP};
    event.map = (struct event_map){
        .addr = task->addr,
        .size = task->size,
        .offset = task->offset,
        .prot = task->prot,
        .flags = task->flags,
        .map_kind = kind,
        .path = kind == MAP_KIND_ANONYMOUS || kind == MAP_KIND_SHARED ? "" : path,
    };
    sink_put(reporting->processes->sink, &event);
    if (kind != MAP_KIND_FILE || !(task->prot & PROT_EXEC))
        return;
    struct event_module module = {.path = path, .build_id_size = task->build_id_size};
    memcpy(module.build_id, task->build_id, task->build_id_size);
    if (module.build_id_size == 0)
        module.build_id_size = (uint8_t)perf_file_build_id(reporting->file, path, module.build_id);
    proc_place_module(reporting->symbols, &module, &event.map);
    event.kind = EVENT_MODULE_LOAD;
    event.module = module;
    sink_put(reporting->processes->sink, &event);
}

void perf_tasks_report(struct perf_tasks *tasks, uint64_t start, const struct perf_file *file, struct symbols *symbols,
                       struct process_table *processes)
{
    struct reporting reporting = {tasks, file, symbols, processes};
    array_sort(&tasks->items, by_time);
    sample_parents(tasks);
    for (size_t i = 0; i < tasks->items.count; i++) {
        struct perf_task *task = &tasks->items.items[i];
        if (!map64_find(&tasks->sampled, task->pid))
            continue;
        bool before = task->time < start;
        task->time = before ? start : task->time;
        if (task->type == PERF_RECORD_COMM)
            report_comm(&reporting, i);
        else if (task->type == PERF_RECORD_MMAP)
            report_map(&reporting, task);
        else if (task->type == PERF_RECORD_EXIT)
            report_exit(&reporting, task);
        else if (before) /* who ran already has no parent in the recording */
            perf_tasks_process(tasks, processes, task->time, task->pid, task->tid);
        else
            report_fork(&reporting, i);
    }
}
