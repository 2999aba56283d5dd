#include "capture/faults/faults.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/map64.h"
#include "base/mem.h"
#include "capture/faults/armer.h"
#include "capture/faults/instructions.h"
#include "capture/faults/mechanism.h"
#include "capture/faults/own_memory.h"
#include "capture/faults/page_use.h"
#include "capture/process/procfs.h"
#include "capture/perf/touched_pages.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FIRST_CREDIT_NS 2e8 /* of the program's time, before any has passed */

/* A fault in the midst of work finds cold caches and leaves them so: programs that go over much memory lose 1.4 to 1.5
 * times what one costs in a row (bench/faults). */
#define COLD 1.5

#define NO_LIMIT ((uint64_t)1 << 40) /* pages: more than there are */

enum { NO_LIMIT_PPM = 1000000, PENDING_MOST = 1 << 16, WATCHED_MOST = 4096 };

struct faulting_process { /* a process */
    uint32_t pid;
    bool lone;     /* never had a second thread */
    bool reported; /* by the kernel, which will report its end too */
    uint64_t since;
    uint64_t cpu_ns; /* of it, when last looked at */
};

struct pending { /* what arming found, until faults up to then are known */
    uint32_t pid;
    struct pagemap_range range;
};

struct faults {
    const struct capture_options *options;
    struct wire_region *region;
    struct sink *sink;
    struct page_use *use;
    struct instructions instructions;
    struct armer armers[2];
    unsigned armer_count;
    struct armer *protecting; /* the one of them that is write protection, or NULL */
    struct touched armed;
    struct own_memory own;
    array_of(struct faulting_process) watched;
    array_of(struct pending) pending;
    uint64_t begin, next, armed_at, armed_before, next_look;
    double credit_ns;
    double cost_ns;    /* of one provoked fault: see reckon() */
    uint64_t cpu_ns;   /* of this process, when that was last reckoned */
    uint64_t reckoned; /* faults until then */
    struct faults_totals totals;
};

#define each_armer(faults, name)                                                                                       \
    for (struct armer *name = (faults)->armers; name < (faults)->armers + (faults)->armer_count; name++)

static uint64_t own_cpu_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

struct faults *faults_new(const struct capture_options *options, struct wire_region *region, struct sink *sink)
{
    struct faults *faults = mem_zalloc(sizeof *faults);
    faults->options = options;
    faults->region = region;
    faults->sink = sink;
    return faults;
}

static int open_faults(void *context, struct error *err)
{
    struct faults *faults = context;
    const struct capture_options *options = faults->options;
    uint64_t now = clock_now_ns();
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    struct page_use_options use = {.interval_ns = options->interval_ns,
                                   .begin = now,
                                   .chunks = options->chunks,
                                   .chunk_pages = options->chunk_pages,
                                   .memory = options->memory / 8,
                                   .cpus = cpus > 0 ? (unsigned)cpus : 1};
    faults->begin = faults->armed_before = now;
    faults->next = now + options->interval_ns;
    faults->totals.fault_ns = mechanism_fault_ns();
    faults->cost_ns = COLD * (double)faults->totals.fault_ns;
    faults->cpu_ns = own_cpu_time();
    if (options->mechanism == MECHANISM_NUMA_HINT) {
        if (numa_hint_open(&faults->armers[0], options->interval_ns, err) < 0)
            return err->code;
        faults->armer_count++;
    }
    if (options->mechanism == MECHANISM_SOFT_DIRTY)
        soft_dirty_open(&faults->armers[faults->armer_count++]);
    if (options->mechanism == MECHANISM_UFFD_WP || options->write_protect) {
        faults->protecting = &faults->armers[faults->armer_count++];
        write_protect_open(faults->protecting, faults->region, options->fault_budget_ppm >= NO_LIMIT_PPM);
    }
    faults->use = page_use_new(faults->sink, &use);
    faults->credit_ns = FIRST_CREDIT_NS * options->fault_budget_ppm / 1e6;
    touched_init(&faults->armed, options->memory / 32);
    return 0;
}

static void close_faults(void *context)
{
    struct faults *faults = context;
    each_armer (faults, armer)
        armer->close(armer->context);
    page_use_free(faults->use);
    instructions_free(&faults->instructions);
    touched_free(&faults->armed);
    own_memory_free(&faults->own);
    array_free(&faults->watched);
    array_free(&faults->pending);
    free(faults);
}

static struct faulting_process *find(struct faults *faults, uint32_t pid)
{
    array_each (&faults->watched, struct faulting_process, watched)
        if (watched->pid == pid)
            return watched;
    return NULL;
}

static uint64_t cpu_time(uint32_t pid)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid((pid_t)pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void watch(struct faults *faults, uint32_t pid, bool reported)
{
    struct faulting_process *watched = find(faults, pid);
    if (watched)
        watched->reported |= reported;
    else if (faults->watched.count < WATCHED_MOST)
        array_push(
            &faults->watched,
            (struct faulting_process){
                .pid = pid, .lone = true, .reported = reported, .since = clock_now_ns(), .cpu_ns = cpu_time(pid)});
}

void faults_process(struct faults *faults, uint32_t pid)
{
    watch(faults, pid, true);
}

void faults_fork(struct faults *faults, uint32_t pid, uint32_t parent)
{
    own_memory_fork(&faults->own, pid, parent);
    code_files_fork(&faults->instructions.files, pid, parent);
    faults_process(faults, pid);
}

void faults_thread(struct faults *faults, uint32_t pid)
{
    struct faulting_process *watched = find(faults, pid);
    if (watched)
        watched->lone = false;
}

/* What is known of its memory; `since` is that of an armer's forget(). */
static struct faulting_process *forget_memory(struct faults *faults, uint32_t pid, uint64_t time, uint64_t since)
{
    page_use_report_process(faults->use, pid, time);
    instructions_forget(&faults->instructions, pid);
    touched_forget_process(&faults->armed, pid);
    own_memory_forget(&faults->own, pid);
    each_armer (faults, armer)
        armer->forget(armer->context, pid, since);
    return find(faults, pid);
}

void faults_exec(struct faults *faults, uint32_t pid, uint64_t time)
{
    struct faulting_process *watched = forget_memory(faults, pid, time, time);
    if (watched)
        watched->lone = true;
}

void faults_exit(struct faults *faults, uint32_t pid, uint64_t time)
{
    struct faulting_process *watched = forget_memory(faults, pid, time, UINT64_MAX);
    if (!watched)
        return;
    faults->totals.lone += watched->lone;
    *watched = faults->watched.items[--faults->watched.count];
}

void faults_map(struct faults *faults, uint32_t pid, const struct code_map *map)
{
    own_memory_map(&faults->own, pid, map->addr, map->size, map->path);
    code_files_map(&faults->instructions.files, pid, map);
}

void faults_fresh(struct faults *faults, uint32_t pid, uint64_t addr, uint64_t size)
{
    touched_forget(&faults->armed, pid, addr, size);
    if (faults->protecting)
        write_protect_fresh(faults->protecting, pid, addr, size);
}

/* Whether the process is of the recorded tree: known from the kernel, or a descendant of one that is. What the target writes
 * about processes counts for nothing. */
static bool is_ours(void *context, uint32_t pid)
{
    enum { DEEPEST = 256 };
    struct faults *faults = context;
    for (unsigned i = 0; i < DEEPEST && pid > 1; i++) {
        const struct faulting_process *watched = find(faults, pid);
        uint32_t parent = procfs_parent(pid);
        if ((watched && watched->reported) || parent == (uint32_t)getpid())
            return true;
        pid = parent;
    }
    return false;
}

void faults_serve(struct faults *faults, uint64_t now)
{
    uint32_t pid = faults->protecting ? write_protect_pass(faults->protecting, now, is_ours, faults) : 0;
    if (pid)
        watch(faults, pid, false);
}

static void collect(void *context, uint32_t pid, const struct pagemap_range *range)
{
    struct faults *faults = context;
    if (faults->pending.count < PENDING_MOST)
        array_push(&faults->pending, (struct pending){pid, *range});
    else
        sink_loss(faults->sink, clock_now_ns(), pid, 0, LOSS_MEMORY, (range->end - range->start) / pagemap_page());
}

/* A page that arming found, was armed before, and is marked written, was written since. When no fault has reported so,
 * because its record was lost or the kernel wrote it, it is reported here, without its thread unless there is only one. */
static void settle(struct faults *faults)
{
    uint64_t begin =
        faults->begin + page_use_interval(faults->use, faults->armed_before) * faults->options->interval_ns;
    const struct faulting_process *watched = NULL;
    array_each (&faults->pending, struct pending, pending) {
        if (!watched || watched->pid != pending->pid)
            watched = find(faults, pending->pid);
        struct page_written written = {.pid = pending->pid,
                                       .tid = watched && watched->lone ? pending->pid : 0,
                                       .begin = begin,
                                       .until = faults->armed_at,
                                       .mechanism = faults->armers[faults->armer_count - 1].mechanism};
        bool marked = pending->range.categories & (PAGEMAP_WRITTEN | PAGEMAP_SOFT_DIRTY) &&
                      !(pending->range.categories & PAGEMAP_ZERO);
        for (uint64_t page = pending->range.start; page < pending->range.end; page += pagemap_page()) {
            if (touched_add(&faults->armed, pending->pid, page) || !marked || !watched ||
                own_memory_has(&faults->own, pending->pid, page))
                continue;
            faults->totals.unseen++;
            page_use_written(faults->use, &written, page);
        }
    }
    page_use_written_over(faults->use);
    faults->pending.count = 0;
}

/* Whether the profiler used the page, not the program: in memory of the agent's own, and what its code uses or reads
 * elsewhere. But its frames are on the program's stack, which the program will use as well; and where it samples too,
 * it may carry out the program's own accesses. */
static bool is_own(struct faults *faults, const struct faults_fault *fault)
{
    enum { NEAR = 1 << 16 };
    if (own_memory_has(&faults->own, fault->pid, fault->addr))
        return true;
    if (faults->options->samples != SAMPLES_FAULTS || !fault->registers ||
        !own_memory_has(&faults->own, fault->pid, fault->ip))
        return false;
    uint64_t low = fault->registers->stack - NEAR;
    return fault->addr - low >= 2 * NEAR;
}

/* Beside samples, the agent's own load may be the timed one before an access of the program's, which may be a write. */
static enum direction direction_of(struct faults *faults, const struct faults_fault *fault)
{
    if (faults->options->samples != SAMPLES_FAULTS && own_memory_has(&faults->own, fault->pid, fault->ip))
        return DIRECTION_UNKNOWN;
    return instructions_direction(&faults->instructions, fault->pid, fault->ip, fault->registers, fault->addr);
}

void faults_fault(struct faults *faults, const struct faults_fault *fault)
{
    struct page_access access = {.time = fault->time,
                                 .addr = fault->addr,
                                 .ip = fault->ip >> 63 ? 0 : fault->ip,
                                 .pid = fault->pid,
                                 .tid = fault->tid,
                                 .cpu = fault->cpu,
                                 .mechanism = PAGE_FIRST_TOUCH};
    /* Pages were armed again since then: what arming found must be judged by what was known before. */
    if (faults->pending.count && fault->time > faults->armed_at)
        settle(faults);
    /* With hints and write protection, a write may be due to either. */
    if (!fault->first && faults->armed_at)
        access.mechanism = faults->armers[0].mechanism;
    if (access.mechanism != PAGE_FIRST_TOUCH)
        faults->totals.cost_ns += (uint64_t)(COLD * (double)faults->totals.fault_ns);
    if (access.mechanism == PAGE_NUMA_HINT)
        faults->credit_ns -= faults->cost_ns;
    access.direction = direction_of(faults, fault);
    /* A page that was protected is not any more: nothing to report at the next look unless it is written again. */
    if (access.direction == DIRECTION_WRITE && faults->armer_count)
        touched_forget(&faults->armed, fault->pid, fault->addr & ~(pagemap_page() - 1), pagemap_page());
    if (is_own(faults, fault)) {
        faults->totals.own++;
        return;
    }
    page_use_add(faults->use, &access);
    faults->totals.faults++;
}

static bool unlimited(const struct faults *faults)
{
    return faults->options->fault_budget_ppm >= NO_LIMIT_PPM;
}

/* Adds to the credit and returns what was added: a share of the CPU time since the last pass. */
static double earn(struct faults *faults)
{
    double share = faults->options->fault_budget_ppm / 1e6, most = 1e9 * share;
    double earned = 0;
    array_each (&faults->watched, struct faulting_process, watched) {
        uint64_t cpu = cpu_time(watched->pid);
        earned += cpu > watched->cpu_ns ? (double)(cpu - watched->cpu_ns) * share : 0;
        watched->cpu_ns = cpu;
    }
    faults->credit_ns = faults->credit_ns + earned > most ? most : faults->credit_ns + earned;
    return earned;
}

static uint64_t affordable(const struct faults *faults)
{
    if (unlimited(faults))
        return NO_LIMIT;
    return faults->credit_ns > 0 ? (uint64_t)(faults->credit_ns / faults->cost_ns) : 0;
}

/* What a fault costs is also this recorder's work for it: as much as it had for each one lately, but not more than the
 * fault itself, since it has other work too. */
static void reckon(struct faults *faults)
{
    enum { ENOUGH = 1000 };
    uint64_t count = faults->totals.faults - faults->reckoned, cpu = own_cpu_time();
    double fault = (double)faults->totals.fault_ns;
    if (count < ENOUGH)
        return;
    double each = (double)(cpu - faults->cpu_ns) / (double)count;
    faults->cost_ns = COLD * fault + (each < fault ? each : fault);
    faults->cpu_ns = cpu;
    faults->reckoned = faults->totals.faults;
}

static void arm(struct faults *faults)
{
    reckon(faults);
    double earned = earn(faults);
    faults->armed_before = faults->armed_at ? faults->armed_at : faults->begin;
    each_armer (faults, armer) {
        uint64_t share = affordable(faults) / faults->armer_count;
        /* The kernel arms for hints by itself, at a pace: that of what is earned, and what is seen is paid for. */
        uint64_t pace = (uint64_t)(earned / faults->cost_ns);
        if (armer->mechanism == PAGE_NUMA_HINT && !unlimited(faults) && share > pace)
            share = pace;
        uint64_t remaining = share;
        array_each (&faults->watched, struct faulting_process, watched) {
            uint64_t armed = armer->arm(armer->context, watched->pid, remaining, collect, faults);
            faults->totals.armed += armed;
            faults->totals.skipped += armed >= remaining;
            faults->credit_ns -= (double)armed * faults->cost_ns;
            remaining = unlimited(faults) ? share : armed < remaining ? remaining - armed : 0;
        }
        armer->pass(armer->context, share);
    }
    faults->armed_at = clock_now_ns();
}

/* A program may end before its interval does: sizes and frames of pages are asked for soon while it is young, as far as
 * that takes a small part of the time. */
static void look(struct faults *faults, uint64_t now)
{
    enum { EVERY_NS = 5000000, YOUNG_NS = 1000000000, PART = 50 };
    if (now < faults->next_look)
        return;
    uint64_t began = clock_now_ns();
    array_each (&faults->watched, const struct faulting_process, watched)
        if (now < watched->since + YOUNG_NS)
            page_use_look(faults->use, watched->pid);
    uint64_t took = clock_now_ns() - began;
    faults->next_look = now + (took * PART > EVERY_NS ? took * PART : EVERY_NS);
}

static void drain(void *context, uint64_t now, struct source_level *level)
{
    struct faults *faults = context;
    (void)level;
    if (faults->pending.count && now >= faults->armed_at)
        settle(faults);
    page_use_reach(faults->use, now);
    look(faults, now);
    if (now < faults->next)
        return;
    faults->next = now + faults->options->interval_ns - (now - faults->begin) % faults->options->interval_ns;
    if (faults->armer_count)
        arm(faults);
}

static void finish(void *context)
{
    struct faults *faults = context;
    uint64_t now = clock_now_ns();
    if (faults->pending.count)
        settle(faults);
    page_use_report_all(faults->use, now);
}

struct source faults_source(struct faults *faults)
{
    return (struct source){.kind = FROM_FAULTS,
                           .context = faults,
                           .open = open_faults,
                           .drain = drain,
                           .finish = finish,
                           .close = close_faults};
}

struct faults_totals faults_totals(const struct faults *faults)
{
    struct faults_totals totals = faults->totals;
    totals.pages = page_use_totals(faults->use).pages;
    array_each (&faults->watched, const struct faulting_process, watched)
        totals.lone += watched->lone;
    totals.unguarded = faults->protecting ? write_protect_without(faults->protecting) : 0;
    return totals;
}
