#include "capture/perf/perf_source.h"

#include "base/mem.h"
#include "base/own_files.h"
#include "capture/perf/perf_records.h"
#include "capture/perf/perf_ring.h"
#include "capture/kernel_probe.h"
#include "capture/process/proc.h"
#include "capture/process/procfs.h"
#include "capture/perf/tasks.h"
#include "capture/perf/touched_pages.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGES_ALLOWED = 128, /* with its head just what perf_event_mlock_kb allows everybody */
    PAGES_MOST = 1024,   /* a program may touch a gigabyte for the first time in a fifth of a second */
    WAKE_PART = 8,       /* the recorder is woken when so much of a buffer is filled */
    KERNEL_BIT = 63,
};

struct perf_source {
    const struct capture_options *options;
    struct perf_ring *rings;
    unsigned ring_count;
    struct wire_region *region;
    struct sink *sink;
    struct process_table *processes;
    struct tasks tasks;
    struct touched touched;
    uint32_t first;
    uint64_t latest;             /* time of the last record taken */
    uint64_t ahead;              /* what the recorder's clock is ahead of the records', modulo 2^64 */
    uint64_t records, record_ns; /* taken, but for provoked faults; what one costs the target */
    bool follow;
    struct faults *faults; /* or NULL: only first touches are of interest */
    const struct source_listener *listener;
    bool registers; /* are in the records */
};

struct fault_record { /* as it is in the buffer with our sample_type */
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time, addr;
    uint32_t cpu, reserved;
    uint64_t abi, registers[]; /* abi 0: none */
};

static int open_ring(struct perf_ring *ring, struct perf_event_attr *attr, pid_t child, int cpu, size_t pages)
{
    int code = perf_ring_open(ring, attr, child, cpu, pages);
    if (code == -EACCES && !attr->exclude_kernel) {
        attr->exclude_kernel = 1; /* perf_event_paranoid 2: faults that system calls take stay unseen */
        code = perf_ring_open(ring, attr, child, cpu, pages);
    }
    return code;
}

/* The stack pointer, and those that distinguish the reading from the writing half of x86-64's string instructions. */
#if defined(__x86_64__)
enum { SI = 4, DI = 5, SP = 7, REGISTERS = 1 << SI | 1 << DI | 1 << SP, REGISTER_COUNT = 3 }; /* of asm/perf_regs.h */
#elif defined(__aarch64__)
#define REGISTERS (1u << 31) /* SP */
enum { REGISTER_COUNT = 1 };
#else
#error "perf_source: this architecture is not supported"
#endif

static void ask_for_registers(struct perf_event_attr *attr)
{
    attr->sample_type |= PERF_SAMPLE_REGS_USER;
    attr->sample_regs_user = REGISTERS;
}

static struct direction_registers registers_of(const struct fault_record *fault)
{
    const uint64_t *registers = fault->registers;
    if (REGISTER_COUNT == 1)
        return (struct direction_registers){.stack = registers[0]};
    return (struct direction_registers){registers[0], registers[1], registers[2]};
}

/* Of each CPU's buffer. */
static size_t buffer_pages(const struct capture_options *options, unsigned cpus)
{
    size_t pages = self_may(CAP_IPC_LOCK) ? PAGES_MOST : PAGES_ALLOWED, page = (size_t)sysconf(_SC_PAGESIZE);
    while (pages > 1 && pages * page * cpus > options->memory / (options->faults ? 8 : 16))
        pages /= 2;
    return pages;
}

struct perf_source *perf_source_new(pid_t child, const struct capture_options *options)
{
    struct perf_source *source = mem_zalloc(sizeof *source);
    source->options = options;
    source->first = (uint32_t)child;
    source->follow = options->follow;
    source->ahead = (uint64_t)procfs_clock_ahead();
    return source;
}

static int open_rings(void *context, struct error *err)
{
    struct perf_source *source = context;
    const struct capture_options *options = source->options;
    struct perf_event_attr attr = perf_attr_of_faults();
    attr.disabled = attr.enable_on_exec = 1;
    attr.inherit = 1;
    perf_attr_report_tasks(&attr);
    perf_attr_count_lost(&attr);
    if (options->faults)
        ask_for_registers(&attr);
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    unsigned count = cpus > 0 ? (unsigned)cpus : 1;
    size_t pages = buffer_pages(options, count);
    attr.watermark = 1;
    attr.wakeup_watermark = (uint32_t)(pages * (size_t)sysconf(_SC_PAGESIZE) / WAKE_PART);
    source->rings = mem_zalloc(count * sizeof *source->rings);
    int code = -ENODEV;
    for (unsigned cpu = 0; cpu < count; cpu++) {
        struct perf_ring *ring = &source->rings[source->ring_count];
        int result = open_ring(ring, &attr, (pid_t)source->first, (int)cpu, pages);
        if (result == -ENODEV)
            continue;
        code = result;
        if (code < 0)
            break;
        source->ring_count++;
    }
    if (code < 0)
        return probe_explain_perf(code, err);
    source->registers = attr.sample_type & PERF_SAMPLE_REGS_USER;
    source->record_ns = perf_record_cost_ns();
    touched_init(&source->touched, options->memory / 32);
    tasks_init(&source->tasks, source->first, options->follow);
    return 0;
}

static void close_rings(void *context)
{
    struct perf_source *source = context;
    for (unsigned i = 0; i < source->ring_count; i++)
        perf_ring_close(&source->rings[i]);
    touched_free(&source->touched);
    tasks_free(&source->tasks);
    free(source->rings);
    free(source);
}

void perf_source_connect(struct perf_source *source, struct sink *sink, struct process_table *processes,
                         struct faults *faults, const struct source_listener *listener, struct wire_region *region)
{
    source->region = region;
    source->faults = faults;
    source->listener = listener;
    if (faults)
        faults_process(faults, source->first);
    source->sink = source->tasks.sink = sink;
    source->processes = source->tasks.processes = processes;
}

static uint64_t time_of(const struct perf_event_header *record)
{
    if (record->type == PERF_RECORD_SAMPLE)
        return ((const struct fault_record *)record)->time;
    uint64_t time;
    memcpy(&time, (const char *)record + record->size - TRAILER_BYTES + 8, sizeof time);
    return time;
}

static void report_fault(struct perf_source *source, const struct fault_record *fault, uint64_t time, bool first)
{
    struct direction_registers registers;
    struct faults_fault seen = {.time = time,
                                .addr = fault->addr,
                                .ip = fault->ip,
                                .pid = fault->pid,
                                .tid = fault->tid,
                                .cpu = (int)fault->cpu,
                                .first = first};
    if (source->registers && fault->abi &&
        fault->header.size >= sizeof *fault + REGISTER_COUNT * sizeof *fault->registers) {
        registers = registers_of(fault);
        seen.registers = &registers;
    }
    faults_fault(source->faults, &seen);
    if (first && source->listener->fault)
        source->listener->fault(source->listener->context, fault->pid, fault->addr, time);
}

static void take_fault(struct perf_source *source, const struct fault_record *fault, uint64_t time)
{
    if (fault->addr >> KERNEL_BIT || (!source->follow && fault->pid != source->first))
        return;
    bool first = touched_add(&source->touched, fault->pid, fault->addr);
    source->records += first || !source->faults;
    if (source->faults)
        report_fault(source, fault, time, first);
    if (!first)
        return;
    struct event event = {.time = time, .pid = fault->pid, .tid = fault->tid, .kind = EVENT_TOUCH};
    event.touch = (struct event_touch){.addr = fault->addr, .ip = fault->ip, .cpu = (uint16_t)fault->cpu};
    sink_put(source->sink, &event);
}

static void take_map(struct perf_source *source, const struct map_record *map, uint64_t time)
{
    struct event_map kept = {
        .addr = map->addr,
        .size = map->size,
        .offset = map->offset,
        .prot = map->prot,
        .flags = map->flags,
        .map_kind = (uint8_t)proc_map_kind(map->path, map->flags),
        .path = strncmp(map->path, "//anon", 6) == 0 ? "" : map->path,
    };
    perf_source_fresh(source, map->pid, map->addr, map->size);
    if (source->faults)
        faults_map(source->faults, map->pid,
                   &(struct code_map){map->addr, map->size, map->offset, map->inode, map->prot & PROT_EXEC, map->path});
    tasks_map(&source->tasks, time, map->pid, &kept);
}

static void report_lost(struct perf_source *source, uint64_t time, uint64_t count)
{
    if (count)
        sink_loss(source->sink, time, source->first, 0, LOSS_PERF, count);
}

static void take(void *context, unsigned ring, const struct perf_event_header *record)
{
    struct perf_source *source = context;
    const struct task_record *task = (const struct task_record *)record;
    const struct comm_record *comm = (const struct comm_record *)record;
    uint64_t time = time_of(record) + source->ahead;
    source->latest = time;
    source->records += record->type != PERF_RECORD_SAMPLE;
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        take_fault(source, (const struct fault_record *)record, time);
        break;
    case PERF_RECORD_MMAP2:
        take_map(source, (const struct map_record *)record, time);
        break;
    case PERF_RECORD_COMM:
        if (record->misc & PERF_RECORD_MISC_COMM_EXEC) {
            touched_forget_process(&source->touched, comm->pid);
            tasks_exec(&source->tasks, time, comm->pid, comm->name);
            if (source->faults)
                faults_exec(source->faults, comm->pid, time);
        }
        break;
    case PERF_RECORD_FORK:
        tasks_fork(&source->tasks, time, task->pid, task->parent_pid, task->pid != task->tid);
        if (source->faults && task->pid != task->tid)
            faults_thread(source->faults, task->pid);
        else if (source->faults && source->follow)
            faults_fork(source->faults, task->pid, task->parent_pid);
        break;
    case PERF_RECORD_EXIT:
        if (!tasks_exit(&source->tasks, time, task->pid))
            break;
        touched_forget_process(&source->touched, task->pid);
        if (source->faults)
            faults_exit(source->faults, task->pid, time);
        break;
    case PERF_RECORD_LOST:
        report_lost(source, time,
                    perf_ring_lost_record(&source->rings[ring], ((const struct lost_record *)record)->lost));
        break;
    case PERF_RECORD_THROTTLE:
        sink_loss(source->sink, time, source->first, 0, LOSS_THROTTLED, 1);
        break;
    default:
        break;
    }
}

/* A buffer without room for a record: the kernel says how many it lost when it writes there again, which may be much later.
 * That some were lost must be known before the samples that come next are looked at. */
static void report_full(struct perf_source *source)
{
    struct event event = {.time = source->latest, .pid = source->first, .kind = EVENT_LOSS};
    event.loss = (struct event_loss){LOSS_PERF, 0};
    sink_put(source->sink, &event);
}

static void drain(void *context, uint64_t until, struct source_level *level)
{
    struct perf_source *source = context;
    enum { LARGEST_RECORD = 128 }; /* of the frequent ones */
    bool full = false;
    for (unsigned i = 0; i < source->ring_count; i++) {
        double filled = perf_ring_filled(&source->rings[i]);
        source_level_raise(level, filled);
        full |= filled > 1 - (double)LARGEST_RECORD / (double)source->rings[i].size;
    }
    /* Processes fork on one CPU and end on another: only in order of time does that make sense. */
    uint64_t kernels = until == UINT64_MAX ? until : until - source->ahead;
    perf_ring_merge(source->rings, source->ring_count, time_of, kernels, take, source);
    if (full)
        report_full(source);
    for (unsigned i = 0; i < source->ring_count; i++)
        report_lost(source, source->latest, perf_ring_corrupt(&source->rings[i]));
    for (unsigned i = 0; i < source->ring_count && until == UINT64_MAX; i++) /* the end */
        report_lost(source, source->latest, perf_ring_lost(&source->rings[i], perf_event_lost(source->rings[i].fd)));
}

static void finish(void *context)
{
    struct perf_source *source = context;
    struct source_level level = {0};
    drain(source, UINT64_MAX, &level);
    tasks_finish(&source->tasks, atomic_load(&source->region->explained));
}

void perf_source_fresh(struct perf_source *source, uint32_t pid, uint64_t addr, uint64_t size)
{
    touched_forget(&source->touched, pid, addr, size);
    if (source->faults)
        faults_fresh(source->faults, pid, addr, size);
}

uint64_t perf_source_cost_ns(const struct perf_source *source)
{
    return source->records * source->record_ns;
}

unsigned perf_source_descriptors(const struct perf_source *source, int *fds, unsigned most)
{
    unsigned count = source->ring_count < most ? source->ring_count : most;
    for (unsigned i = 0; i < count; i++)
        fds[i] = source->rings[i].fd;
    return count;
}

struct source perf_source_events(struct perf_source *source)
{
    return (struct source){.kind = FROM_PERF,
                           .context = source,
                           .open = open_rings,
                           .drain = drain,
                           .finish = finish,
                           .close = close_rings};
}

uint64_t perf_source_untracked(const struct perf_source *source)
{
    return source->tasks.untracked;
}
