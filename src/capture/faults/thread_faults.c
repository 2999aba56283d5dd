/* capture/faults/thread_faults.c - one software event per thread counts page faults with their addresses; no privilege is needed
 * for a process of the same user.
 *
 * A page that is mapped does not fault again by itself. Two things make it: NUMA balancing, when the administrator has
 * switched it on, unmaps pages now and then to see who uses them; and clearing the soft-dirty bits of a process
 * (/proc/PID/clear_refs) write-protects its pages, so that the next write to each faults. The latter is done at the start of
 * an interval, as often as the budget allows: each fault costs the process about a microsecond. */
#include "capture/faults/thread_faults.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "capture/faults/soft_dirty.h"
#include "capture/perf/perf_records.h"
#include "capture/perf/perf_ring.h"
#include "capture/kernel_probe.h"
#include "capture/process/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RING_PAGES = 16, FAULT_NS = 1000 };

struct faulting_thread {
    uint32_t tid;
    struct perf_ring ring;
};

struct thread_faults {
    uint32_t pid;
    double budget;
    struct sink *sink;
    struct thread_faults_means means;
    bool arms;  /* soft-dirty works */
    bool armed; /* in this interval */
    array_of(struct faulting_thread) threads;
    uint64_t seen, lost, seen_before; /* faults */
    uint64_t cpu_before;
    double credit_ns; /* that arming may cost before the next one */
};

struct fault_record {
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time, addr;
    uint32_t cpu, reserved;
};

static int watch(void *context, uint32_t tid, struct error *err)
{
    struct thread_faults *faults = context;
    struct perf_event_attr attr = perf_attr_of_faults();
    attr.exclude_kernel = 1;
    struct faulting_thread watched = {.tid = tid};
    int code = perf_ring_open(&watched.ring, &attr, (pid_t)tid, -1, RING_PAGES);
    if (code == -ESRCH)
        return 0;
    if (code < 0)
        return probe_explain_perf(code, err);
    array_push(&faults->threads, watched);
    return 0;
}

static void unwatch(void *context, uint32_t tid)
{
    struct thread_faults *faults = context;
    for (size_t i = 0; i < faults->threads.count; i++) {
        if (faults->threads.items[i].tid != tid)
            continue;
        perf_ring_close(&faults->threads.items[i].ring);
        faults->threads.items[i] = faults->threads.items[--faults->threads.count];
        return;
    }
}

static void take_fault(struct thread_faults *faults, const struct fault_record *record)
{
    struct event event = {.time = record->time, .pid = record->pid, .tid = record->tid, .kind = EVENT_SAMPLE};
    event.sample = (struct event_sample){
        .addr = record->addr,
        .cpu = (uint16_t)record->cpu,
        .source = SOURCE_FAULTS,
        .flags = faults->armed ? SAMPLE_WRITE : SAMPLE_READ,
    };
    faults->seen++;
    sink_put(faults->sink, &event);
}

static void take_lost(struct thread_faults *faults, const struct lost_record *record)
{
    faults->lost += record->lost;
    sink_loss(faults->sink, clock_now_ns(), faults->pid, 0, LOSS_PERF, record->lost);
}

static void take_all(void *context)
{
    struct thread_faults *faults = context;
    array_each (&faults->threads, struct faulting_thread, watched) {
        const struct perf_event_header *record;
        while ((record = perf_ring_peek(&watched->ring))) {
            if (record->type == PERF_RECORD_SAMPLE && record->size >= sizeof(struct fault_record))
                take_fault(faults, (const struct fault_record *)record);
            else if (record->type == PERF_RECORD_LOST && record->size >= sizeof(struct lost_record))
                take_lost(faults, (const struct lost_record *)record);
            perf_ring_next(&watched->ring, record);
        }
        perf_ring_release(&watched->ring);
    }
}

/* A thread's faults are its own story: what came in since `until` may as well be taken now. */
static void drain(void *context, uint64_t until, struct source_level *level)
{
    (void)until;
    (void)level;
    take_all(context);
}

/* What the process may lose to faults grows with its CPU time, and is spent by those that were seen. */
static int want(void *context, bool wanted)
{
    struct thread_faults *faults = context;
    uint64_t cpu = procfs_cpu_ns(faults->pid), all = faults->seen + faults->lost;
    faults->credit_ns += (double)(cpu > faults->cpu_before ? cpu - faults->cpu_before : 0) * faults->budget;
    faults->credit_ns -= faults->armed ? (double)(all - faults->seen_before) * FAULT_NS : 0;
    faults->cpu_before = cpu;
    faults->seen_before = all;
    if (faults->credit_ns > 1e9 * faults->budget)
        faults->credit_ns = 1e9 * faults->budget;
    faults->armed = wanted && faults->arms && faults->credit_ns >= 0 && soft_dirty_clear(faults->pid);
    return 0;
}

static uint64_t cost_ns(void *context)
{
    const struct thread_faults *faults = context;
    return (faults->seen + faults->lost) * FAULT_NS;
}

static void close_faults(void *context)
{
    struct thread_faults *faults = context;
    array_each (&faults->threads, struct faulting_thread, watched)
        perf_ring_close(&watched->ring);
    array_free(&faults->threads);
    free(faults);
}

static int open_faults(void *context, struct error *err)
{
    struct thread_faults *faults = context;
    struct thread_faults_means *means = &faults->means;
    faults->cpu_before = procfs_cpu_ns(faults->pid);
    faults->arms = soft_dirty_works() && soft_dirty_clear(faults->pid);
    bool hints = procfs_numa_balancing() > 0;
    if (watch(faults, faults->pid, err) < 0)
        return err->code;
    unwatch(faults, faults->pid); /* its threads are reported by the caller, this one among them */
    snprintf(means->sees, sizeof means->sees, "page faults: first touches%s%s",
             faults->arms ? ", the first write to a page in an interval" : "",
             hints ? ", and the kernel's NUMA hinting faults" : "");
    if (!faults->arms && !hints)
        snprintf(means->lacks, sizeof means->lacks,
                 "this kernel shows only first touches of a running process: it has no soft-dirty tracking, and "
                 "kernel.numa_balancing is off. Start the program with numalens migrate -- PROGRAM instead, or let an "
                 "administrator run sysctl kernel.numa_balancing=1");
    return 0;
}

struct thread_faults *thread_faults_new(uint32_t pid, double budget, struct sink *sink)
{
    struct thread_faults *faults = mem_zalloc(sizeof *faults);
    faults->pid = pid;
    faults->budget = budget;
    faults->sink = sink;
    return faults;
}

struct source thread_faults_source(struct thread_faults *faults)
{
    return (struct source){.kind = FROM_FAULTS,
                           .context = faults,
                           .open = open_faults,
                           .watch = watch,
                           .unwatch = unwatch,
                           .want = want,
                           .drain = drain,
                           .cost_ns = cost_ns,
                           .finish = take_all,
                           .close = close_faults};
}

const struct thread_faults_means *thread_faults_means(const struct thread_faults *faults)
{
    return &faults->means;
}
