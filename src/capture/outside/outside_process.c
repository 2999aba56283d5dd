#include "capture/outside/outside_process.h"

#include "base/clock.h"
#include "base/mem.h"
#include "capture/outside/attach_check.h"
#include "capture/outside/outside_burst.h"
#include "capture/process/proc.h"
#include "capture/process/runtime_names.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PROCESSES_MOST = 256,
    AWAITED_NS =
        500000000,      /* a thread that got no CPU for so long, or sleeps in a driver, may not stop for much longer */
    NEW_ACTIVE = 32,    /* threads that get ticks before it is known which run; of more, those that are found running */
    RESTARTS_MOST = 16, /* of a process's executor */
    HEAP_NS = 1000000000,     /* between looks at the heap, at least */
    IN_VAIN = 8,              /* asked looks that found nothing: the next ones come twice as rarely each time */
    CHUNK_BYTES = 64,         /* of memory for an object of the heap, with room for growth */
    HEAP_SHARE = 4,           /* of the recorder's memory */
    LAG_NS = 10000000,        /* the kernel adds up a running thread's CPU time 100 times a second or more often */
    LAG_TICKS = 4,            /* and what the distances of ticks make by chance: who owes more had too few */
    OWED_MOST_NS = 200000000, /* of CPU time at the rate that is asked for, in ticks */
};

/* Parts of the budget: of looks at the heap now and then, and where a sample is in no known object. The rest is for bursts. */
#define HEAP_PART    0.25
#define HEAP_AT_ONCE 0.5
#define PAUSE_MOST   10e9 /* ns: it may be allowed more by then */

uint64_t outside_random(struct outside *outside)
{
    outside->random ^= outside->random << 13;
    outside->random ^= outside->random >> 7;
    outside->random ^= outside->random << 17;
    return outside->random;
}

uint64_t outside_period(const struct outside *outside)
{
    return (uint64_t)((double)outside->options->tick_ns * outside->slow);
}

uint64_t outside_next_tick(struct outside *outside, uint64_t now)
{
    uint64_t period = outside_period(outside);
    return now + period / 2 + outside_random(outside) % (period + 1);
}

uint64_t outside_pause(const struct outside *outside, uint64_t took, double part)
{
    double share = outside->allowed * part, pause = (double)took / (share > 1e-6 ? share : 1e-6);
    return (uint64_t)(pause < PAUSE_MOST ? pause : PAUSE_MOST);
}

bool outside_is_quiet(const struct outside *outside)
{
    uint64_t now = outside->asked ? clock_now_ns() : 0;
    for (size_t i = 0; outside->asked && i < outside->processes.count; i++)
        array_each (&outside->processes.items[i]->threads, const struct outside_thread, thread)
            if (thread->asked && now - thread->asked < AWAITED_NS)
                return false;
    return true;
}

static void stop_executor(struct outside *outside, struct outside_process *process)
{
    if (process->executor)
        outside->ended_ns += executor_cpu_ns(process->executor);
    executor_stop(process->executor);
    process->executor = NULL;
}

/* A process is not looked for again. */
static void refuse(struct outside *outside, uint32_t pid)
{
    map64_insert(&outside->refused, pid, NULL);
    outside->totals.refused++;
}

static bool outside_start_executor(struct outside *outside, struct outside_process *process, struct error *err)
{
    process->starts = false;
    process->executor = executor_start(process->pid, err);
    if (process->executor) {
        remote_python_find(process->python);
        remote_rules_look(process->rules);
        process->rules_new = true;
    }
    if (!process->executor && kill((pid_t)process->pid, 0) == 0)
        refuse(outside, process->pid);
    process->ended |= !process->executor;
    return process->executor;
}

void outside_process_free(struct outside *outside, struct outside_process *process)
{
    stop_executor(outside, process);
    remote_python_free(process->python);
    remote_rules_free(process->rules);
    glibc_heap_free(process->heap);
    array_free(&process->threads);
    free(process);
}

static struct glibc_heap *heap_of(const struct outside *outside, uint32_t pid)
{
    return glibc_heap_new(pid, outside->options->memory / HEAP_SHARE / CHUNK_BYTES);
}

static struct remote_python *python_of(const struct outside *outside, uint32_t pid)
{
    return remote_python_new(pid, outside->options->memory / HEAP_SHARE / RUNTIME_NAME_BYTES);
}

static bool is_followed(const struct outside *outside, uint32_t pid)
{
    array_each (&outside->processes, struct outside_process *, known)
        if ((*known)->pid == pid && !(*known)->ended)
            return true;
    return false;
}

/* Its executor is started with its first stop: of many processes most may sleep. */
static struct outside_process *add_process(struct outside *outside, uint32_t pid, struct error *err)
{
    if (attach_check(pid, err) < 0)
        return NULL;
    struct outside_process *process = mem_zalloc(sizeof *process);
    process->pid = pid;
    process->heap = heap_of(outside, pid);
    process->python = python_of(outside, pid);
    process->rules = remote_rules_new(pid, outside->rule_files);
    array_push(&outside->processes, process);
    outside->scanned = 0;
    return process;
}

int outside_follow(struct outside *outside, uint32_t pid, bool child, struct error *err)
{
    struct outside_process *process = is_followed(outside, pid) ? NULL : add_process(outside, pid, err);
    if (process) {
        process->child = child;
        process->active = true;
        outside_start_executor(outside, process, err);
    }
    return err->code;
}

void outside_follow_found(uint32_t pid, void *context)
{
    struct outside *outside = context;
    struct error why = {0};
    if (is_followed(outside, pid) || map64_find(&outside->refused, pid))
        return;
    if (outside->processes.count >= PROCESSES_MOST ||
        (!add_process(outside, pid, &why) && (why.code == -EPERM || why.code == -EBUSY)))
        refuse(outside, pid);
}

struct scan {
    struct outside *outside;
    struct outside_process *process;
    uint64_t now;
    bool any;
};

void outside_charge(struct outside *outside, const struct outside_process *process, struct outside_thread *thread)
{
    uint64_t cpu = outside_thread_cpu(process->pid, thread->tid),
             used = cpu > thread->cpu_ns ? cpu - thread->cpu_ns : 0;
    outside->totals.cpu_ns += used;
    thread->cpu_ns = cpu;
    thread->owed += (double)used / (double)outside_period(outside);
}

/* Where a thread owes many ticks, and more and more, all threads' ticks become rarer: those that have most would have too few. */
static void check_owed(struct outside *outside, struct outside_thread *thread)
{
    double base = (double)outside->options->tick_ns, most = LAG_TICKS + OWED_MOST_NS / base;
    bool much = thread->owed > LAG_TICKS + LAG_NS / base;
    outside->behind |= much;
    outside->too_quick |= much && thread->owed > thread->scanned_owed;
    thread->scanned_owed = thread->owed = thread->owed > most ? most : thread->owed;
}

static void scan_thread(uint32_t tid, void *argument)
{
    struct scan *scan = argument;
    struct outside_process *process = scan->process;
    struct outside_thread *found = NULL;
    scan->any = true;
    array_each (&process->threads, struct outside_thread, thread)
        if (thread->tid == tid)
            found = thread;
    if (!found) {
        array_push(&process->threads,
                   ((struct outside_thread){.tid = tid, .next = outside_next_tick(scan->outside, scan->now)}));
        found = &process->threads.items[process->threads.count - 1];
        found->cpu_ns = found->scanned_ns = outside_thread_cpu(process->pid, tid);
        found->owed = -(double)(outside_random(scan->outside) % 1024) / 1024;
        found->active = process->threads.count <= NEW_ACTIVE || outside_thread_runs(process->pid, found);
        found->seen = scan->now;
        process->active |= found->active;
        return;
    }
    found->seen = scan->now;
    bool was_active = found->active;
    outside_charge(scan->outside, process, found);
    check_owed(scan->outside, found);
    found->active = found->cpu_ns > found->scanned_ns;
    found->scanned_ns = found->cpu_ns;
    process->active |= found->active;
    if (found->active && !was_active)
        found->next = outside_next_tick(scan->outside, scan->now);
}

/* A list of threads that is read while some end may lack one that lives: what was asked to stop is kept until it has been let go. */
static void forget_thread(struct outside *outside, struct outside_process *process, size_t i)
{
    struct outside_thread *thread = &process->threads.items[i];
    if (thread->asked)
        outside_take_stop(outside, process, thread);
    if (!thread->asked)
        *thread = process->threads.items[--process->threads.count];
}

void outside_scan_process(struct outside *outside, struct outside_process *process, uint64_t now)
{
    struct scan scan = {outside, process, now, false};
    process->active = false;
    proc_each_thread(process->pid, scan_thread, &scan);
    for (size_t i = process->threads.count; i > 0; i--)
        if (process->threads.items[i - 1].seen != now)
            forget_thread(outside, process, i - 1);
    bool last = process->threads.count == 1 && !process->active; /* of a process that nobody waits for, one stays */
    process->ended |= !scan.any || (last && outside_thread_is_zombie(process->pid, process->pid));
}

/* Of every thread; a kernel without CONFIG_PROC_CHILDREN names none. One that may not be looked at is skipped. */
void outside_follow_children(struct outside *outside, size_t number)
{
    for (size_t i = 0; i < outside->processes.items[number]->threads.count; i++) {
        const struct outside_process *process = outside->processes.items[number];
        char path[64];
        uint32_t pid;
        snprintf(path, sizeof path, "/proc/%u/task/%u/children", process->pid, process->threads.items[i].tid);
        FILE *file = fopen(path, "re");
        while (file && fscanf(file, "%u", &pid) == 1)
            outside_follow_found(pid, outside);
        if (file)
            fclose(file);
    }
}

/* `asked`: for a sample that is in no known object. */
static void look_at_heap(struct outside *outside, struct outside_process *process, uint64_t now, bool asked)
{
    process->heap_due = process->heap_wants = false;
    process->heap_next = now + HEAP_NS;
    if (!running_process(outside->running, process->pid, process->pid, now))
        return;
    uint64_t began = clock_now_ns();
    bool found = glibc_heap_look(process->heap, outside->sink, now);
    if (process->executor)
        executor_find_devices(process->executor, process->pid);
    remote_python_find(process->python); /* a program may load one later */
    if (!process->rules_new)
        remote_rules_look(process->rules);
    process->rules_new = false;
    uint64_t end = clock_now_ns(), took = end - began;
    process->heap_in_vain = found ? 0 : process->heap_in_vain + asked;
    unsigned vain = process->heap_in_vain < IN_VAIN ? 0 : process->heap_in_vain - IN_VAIN;
    uint64_t pause = outside_pause(outside, took, HEAP_PART);
    process->heap_asked = end + (outside_pause(outside, took, HEAP_AT_ONCE) << (vain < 10 ? vain : 10));
    process->heap_next = end + (pause > HEAP_NS ? pause : HEAP_NS);
}

void outside_look_for_objects(struct outside *outside, struct outside_process *process,
                              const struct outside_thread *thread, uint64_t time)
{
    const volatile struct executor_job *job = executor_job(process->executor);
    uint32_t answered = job->count, count = answered < outside->options->burst ? answered : outside->options->burst;
    for (uint32_t i = 0; i < count && time >= process->heap_asked; i++) {
        uint64_t addr = job->accesses[i].addr;
        if ((addr >= thread->stack_low && addr < thread->stack_high) || glibc_heap_knows(process->heap, addr))
            continue;
        process->heap_due = process->heap_wants = true;
        if (!outside_is_quiet(outside))
            return;
        look_at_heap(outside, process, time, true);
    }
}

bool outside_work(struct outside *outside, uint64_t now)
{
    struct error ignored = {0};
    array_each (&outside->processes, struct outside_process *, each) {
        struct outside_process *process = *each;
        if (process->ended || !(process->starts || process->heap_due))
            continue;
        if (!outside_is_quiet(outside))
            return false;
        if (process->starts)
            outside_start_executor(outside, process, &ignored);
        if (process->heap_due)
            look_at_heap(outside, process, now, process->heap_wants);
    }
    return true;
}

void outside_forget_ended(struct outside *outside)
{
    for (size_t i = outside->processes.count; i > 0; i--) {
        struct outside_process *process = outside->processes.items[i - 1];
        bool asked = !process->ended;
        array_each (&process->threads, struct outside_thread, thread)
            asked |= thread->asked != 0;
        if (asked)
            continue;
        outside_process_free(outside, process);
        outside->processes.items[i - 1] = outside->processes.items[--outside->processes.count];
    }
}

void outside_restart(struct outside *outside, struct outside_process *process)
{
    stop_executor(outside, process);
    if (process->restarts++ >= RESTARTS_MOST) {
        process->ended = true;
        refuse(outside, process->pid);
    }
}

void outside_renew(struct outside *outside, struct outside_process *process, uint64_t now)
{
    process->blind = 0;
    stop_executor(outside, process);
    glibc_heap_free(process->heap);
    process->heap = heap_of(outside, process->pid);
    remote_python_free(process->python);
    process->python = python_of(outside, process->pid);
    process->heap_due = true;
    array_each (&process->threads, struct outside_thread, thread) {
        thread->has_stack = false;
        thread->python_state = thread->python_skip = thread->python_wait = 0;
    }
    running_renew(outside->running, process->pid, now);
}
