#include "capture/hardware/hw_source.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "capture/kernel_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    AUX_SHARE = 4,
    DEFAULT_MLOCK_KB = 516,
    LEADERS_NONE = -1,
    TRIAL_NS = 50000000, /* of CPU time: then nothing will come any more */
    TRIAL_BYTES = 1 << 18,
    TRIALS = 4,
    TRIAL_STEP = 64,
};

struct member { /* an event whose records go to another's ring */
    int fd, leader;
    unsigned ring;
};

struct hw_source {
    struct perf_ring *rings; /* those that are open; their event and reader have the same index */
    struct hw_reader *readers;
    int *leaders; /* descriptors, or -1 */
    unsigned count, most;
    array_of(struct member) members;
    struct pmu_event events[PMU_EVENTS_MOST]; /* lowered to what the kernel took */
};

/* "0-15,32": whether `cpu` is in it. */
static bool in_list(const char *list, unsigned cpu)
{
    while (*list) {
        char *end;
        unsigned long low = strtoul(list, &end, 10), high = low;
        if (end == list)
            return false;
        if (*end == '-')
            high = strtoul(end + 1, &end, 10);
        if (cpu >= low && cpu <= high)
            return true;
        list = *end == ',' ? end + 1 : "";
    }
    return false;
}

static size_t power_of_two(size_t value)
{
    size_t power = 1;
    while (power * 2 <= value)
        power *= 2;
    return power;
}

/* The kernel lets a user lock perf_event_mlock_kb for each CPU, all rings together. */
static size_t ring_pages(const struct hw_target *target, unsigned cpus, size_t events)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (target->pages)
        return target->pages;
    size_t allowed = (size_t)small_file_number(DEFAULT_MLOCK_KB, "/proc/sys/kernel/perf_event_mlock_kb");
    size_t pages = allowed * 1024 / page / 2 / events;
    size_t share = target->memory / page / cpus / events;
    return power_of_two(share < pages ? share : pages);
}

/* Asks for less. False when nothing is left that could be done without. */
static bool lower(struct pmu_event *event, int code)
{
    struct perf_event_attr *attr = &event->attr;
    if (code != -EINVAL && code != -EOPNOTSUPP && code != -EACCES && code != -EPERM && code != -E2BIG)
        return false;
    if (attr->sample_type & PERF_SAMPLE_PHYS_ADDR) {
        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PHYS_ADDR; /* for the privileged only, and since Linux 4.14 */
        return true;
    }
    if (event->optional) {
        attr->config &= ~event->optional;
        event->optional = 0;
        return true;
    }
    if (code == -EACCES || code == -EPERM)
        return false;
    if (attr->sample_type & PERF_SAMPLE_WEIGHT_STRUCT) { /* since Linux 5.12 */
        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT;
        attr->sample_type |= PERF_SAMPLE_WEIGHT;
        return true;
    }
    if (attr->precise_ip > event->min_precise) {
        attr->precise_ip--;
        return true;
    }
    return false;
}

static int explain(const struct pmu_event *event, int code, struct error *err)
{
    switch (-code) {
    case EACCES:
    case EPERM:
        if (event->source == SOURCE_IBS && !event->attr.exclude_kernel)
            return error_set(err, code,
                             "%s refused: this kernel gives IBS only to CAP_PERFMON or with sysctl "
                             "kernel.perf_event_paranoid=1 or less",
                             event->name);
        return probe_explain_perf(code, err);
    case ENOSYS:
        return probe_explain_perf(code, err);
    case EBUSY:
        return error_set(err, code, "%s is in use by another profiler", event->name);
    case EMFILE:
        return error_set(err, code, "%s needs a descriptor for each CPU and thread: raise ulimit -n", event->name);
    default:
        return error_set(err, code, "the kernel cannot sample %s here: %s", event->name, strerror(-code));
    }
}

static int open_leader(const struct pmu_event *event, pid_t pid, int cpu)
{
    if (!event->has_leader)
        return LEADERS_NONE;
    struct perf_event_attr attr = event->leader;
    attr.inherit = event->attr.inherit;
    attr.enable_on_exec = event->attr.enable_on_exec;
    int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* One ring for one event. Lowers the event until the kernel takes it; so the next ring gets it right at once. */
static int open_ring(struct hw_source *source, struct pmu_event *event, pid_t pid, int cpu, size_t pages)
{
    struct perf_ring *ring = &source->rings[source->count];
    int leader = open_leader(event, pid, cpu);
    if (leader < LEADERS_NONE)
        return leader;
    int code;
    do {
        /* Woken up when half full and not for each sample; the recorder looks by itself anyway. */
        event->attr.watermark = 1;
        event->attr.wakeup_watermark = (uint32_t)(pages * (size_t)sysconf(_SC_PAGESIZE) / 2);
        code = perf_ring_open_in(ring, &event->attr, pid, cpu, leader, pages);
    } while (code < 0 && code != -ENODEV && lower(event, code));
    if (code == 0 && event->aux && (code = perf_ring_map_aux(ring, pages * AUX_SHARE)) < 0)
        perf_ring_close(ring);
    if (code < 0) {
        if (leader >= 0)
            close(leader);
        return code;
    }
    struct hw_reader *reader = &source->readers[source->count];
    *reader = (struct hw_reader){
        .layout = {.sample_type = event->attr.sample_type, .sample_id_all = true},
        .periods = perf_periods_of(&event->attr, event->source),
        .source = event->source,
        .flags = event->flags,
        .cpu = cpu < 0 ? UINT16_MAX : (uint16_t)cpu,
    };
    if (event->source == SOURCE_SPE)
        reader->spe.decoder.midr = pmu_midr("/sys", cpu < 0 ? 0 : (unsigned)cpu);
    source->leaders[source->count++] = leader;
    return 0;
}

/* One more thread, on the CPU of the last ring and into it. */
static int open_member(struct hw_source *source, struct pmu_event *event, pid_t pid, int cpu)
{
    unsigned ring = source->count - 1;
    int leader = open_leader(event, pid, cpu);
    if (leader < LEADERS_NONE)
        return leader;
    int fd = (int)syscall(SYS_perf_event_open, &event->attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
    int code = fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, source->rings[ring].fd) != 0 ? -errno : 0;
    if (code == 0) {
        array_push(&source->members, (struct member){fd, leader, ring});
        return 0;
    }
    if (fd >= 0)
        close(fd);
    if (leader >= 0)
        close(leader);
    return code;
}

static int open_threads(struct hw_source *source, struct pmu_event *event, const struct hw_target *target, int cpu,
                        size_t pages)
{
    int code = -ESRCH;
    for (size_t i = 0; i < target->thread_count; i++) {
        pid_t thread = target->threads[i];
        int result = code < 0 ? open_ring(source, event, thread, cpu, pages) : open_member(source, event, thread, cpu);
        if (result == -ESRCH)
            continue;
        if (result < 0)
            return result;
        code = 0;
    }
    return code;
}

/* Each kind of core needs one event that reports tasks, and two would report everything twice. */
static bool reports_tasks(const struct pmu_choice *choice, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (choice->events[i].attr.type == choice->events[index].attr.type)
            return false;
    return true;
}

static void prepare(struct pmu_event *event, const struct hw_target *target)
{
    struct perf_event_attr *attr = &event->attr;
    attr->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    attr->sample_type &= ~(uint64_t)(PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_IDENTIFIER);
    attr->sample_id_all = 1;
    attr->inherit = target->inherit;
    attr->enable_on_exec = target->enable_on_exec;
    if (target->max_frames && !event->aux) {
        attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
        attr->exclude_callchain_kernel = 1;
        attr->sample_max_stack = (uint16_t)(target->max_frames < HW_FRAMES_MOST ? target->max_frames : HW_FRAMES_MOST);
    }
}

static int open_event(struct hw_source *source, struct pmu_event *event, const struct hw_target *target, unsigned cpus,
                      size_t pages)
{
    if (target->pid != -1 && !target->inherit)
        return open_ring(source, event, target->pid, -1, pages);
    int code = -ENODEV;
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        if ((*event->cpus && !in_list(event->cpus, cpu)) || (target->cpus && !in_list(target->cpus, cpu)))
            continue;
        int result = target->thread_count ? open_threads(source, event, target, (int)cpu, pages)
                                          : open_ring(source, event, target->pid, (int)cpu, pages);
        if (result == -ENODEV)
            continue; /* offline */
        code = result;
        if (code < 0)
            break;
    }
    return code;
}

/* A ring takes a descriptor or two on each CPU. Only for a recorder, whose target is a process of its own and does not see
 * this. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

struct hw_source *hw_source_open(const struct pmu_choice *choice, const struct hw_target *target, struct error *err)
{
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    unsigned cpus = configured > 0 ? (unsigned)configured : 1;
    struct hw_source *source = mem_zalloc(sizeof *source);
    bool one = target->pid != -1 && !target->inherit; /* ring for each event */
    source->most = (one ? 1 : cpus) * (unsigned)choice->count;
    source->rings = mem_zalloc(source->most * sizeof *source->rings);
    source->readers = mem_zalloc(source->most * sizeof *source->readers);
    source->leaders = mem_zalloc(source->most * sizeof *source->leaders);
    memcpy(source->events, choice->events, sizeof source->events);
    size_t pages = ring_pages(target, cpus, choice->count);
    if (!one)
        allow_descriptors();
    for (size_t i = 0; i < choice->count; i++) {
        struct pmu_event *event = &source->events[i];
        prepare(event, target);
        perf_attr_count_lost(&event->attr);
        if (target->tasks && reports_tasks(choice, i))
            perf_attr_report_tasks(&event->attr);
        int code = open_event(source, event, target, cpus, pages);
        if (code < 0) {
            explain(event, code, err);
            hw_source_close(source);
            return NULL;
        }
    }
    char cpuid[64];
    pmu_cpuid(cpuid, sizeof cpuid);
    struct ibs_cpu ibs = {0};
    ibs_cpu_of(cpuid, &ibs);
    for (unsigned i = 0; i < source->count; i++)
        source->readers[i].ibs = ibs;
    return source;
}

void hw_source_close(struct hw_source *source)
{
    if (!source)
        return;
    for (unsigned i = 0; i < source->count; i++) {
        perf_ring_close(&source->rings[i]);
        hw_reader_free(&source->readers[i]);
        if (source->leaders[i] >= 0)
            close(source->leaders[i]);
    }
    array_each (&source->members, struct member, member) {
        close(member->fd);
        if (member->leader >= 0)
            close(member->leader);
    }
    array_free(&source->members);
    free(source->rings);
    free(source->readers);
    free(source->leaders);
    free(source);
}

static int enable(int fd, int leader, bool on)
{
    unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
    if ((leader >= 0 && ioctl(leader, request, 0) != 0) || ioctl(fd, request, 0) != 0)
        return -errno;
    return 0;
}

int hw_source_enable(struct hw_source *source, bool on)
{
    int code = 0;
    for (unsigned i = 0; i < source->count && code == 0; i++)
        code = enable(source->rings[i].fd, source->leaders[i], on);
    for (size_t i = 0; i < source->members.count && code == 0; i++)
        code = enable(source->members.items[i].fd, source->members.items[i].leader, on);
    return code;
}

struct draining {
    struct hw_source *source;
    const struct hw_listener *listener;
};

static void take(void *context, unsigned ring, const struct perf_event_header *record)
{
    struct draining *draining = context;
    hw_reader_take(&draining->source->readers[ring], &draining->source->rings[ring], record, draining->listener);
}

static void report_lost(struct hw_source *source, const struct hw_listener *listener)
{
    for (unsigned i = 0; i < source->count; i++) {
        uint64_t lost = perf_event_lost(source->rings[i].fd);
        array_each (&source->members, struct member, member)
            lost += member->ring == i ? perf_event_lost(member->fd) : 0;
        uint64_t news = perf_ring_lost(&source->rings[i], lost);
        if (news)
            listener->loss(listener->context, clock_now_ns(), LOSS_PERF, news);
    }
}

double hw_source_drain(struct hw_source *source, uint64_t until, const struct hw_listener *listener)
{
    double fullest = 0;
    for (unsigned i = 0; i < source->count; i++) {
        double filled = perf_ring_filled(&source->rings[i]);
        fullest = filled > fullest ? filled : fullest;
    }
    perf_ring_merge(source->rings, source->count, hw_reader_time, until, take, &(struct draining){source, listener});
    for (unsigned i = 0; i < source->count; i++) {
        uint64_t corrupt = perf_ring_corrupt(&source->rings[i]);
        if (corrupt)
            listener->loss(listener->context, clock_now_ns(), LOSS_PERF, corrupt);
    }
    if (until == UINT64_MAX)
        report_lost(source, listener);
    return fullest;
}

static void ignore_sample(void *context, const struct hw_sample *sample)
{
    (void)context, (void)sample;
}

static void ignore_loss(void *context, uint64_t time, enum loss_cause cause, uint64_t count)
{
    (void)context, (void)time, (void)cause, (void)count;
}

/* Loads and stores, in memory that is new each time. */
static void work(void)
{
    volatile char *memory = mmap(NULL, TRIAL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    for (size_t trial = 0; trial < TRIALS; trial++)
        for (size_t i = 0; i < TRIAL_BYTES; i += TRIAL_STEP)
            memory[i]++;
    munmap((void *)memory, TRIAL_BYTES);
}

int hw_source_try(const struct pmu_choice *choice, struct error *err)
{
    struct error unwanted = {0};
    err = err ? err : &unwanted;
    struct hw_source *source = hw_source_open(choice, &(struct hw_target){.pages = 2, .memory = 1 << 20}, err);
    struct hw_listener listener = {NULL, ignore_sample, ignore_loss, NULL};
    struct timespec start, now;
    if (!source)
        return err->code;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    int code = hw_source_enable(source, true);
    do {
        work();
        hw_source_drain(source, UINT64_MAX, &listener);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (code == 0 && hw_source_totals(source).samples == 0 &&
             (now.tv_sec - start.tv_sec) * 1000000000l + now.tv_nsec - start.tv_nsec < TRIAL_NS);
    hw_source_enable(source, false);
    hw_source_drain(source, UINT64_MAX, &listener); /* a buffer of packets is reported when it stops */
    if (code == 0 && hw_source_totals(source).samples == 0)
        code = -ENODATA;
    if (code < 0)
        error_set(err, code, "%s can be opened, but reported no access", choice->events[0].name);
    hw_source_close(source);
    return code;
}

struct hw_totals hw_source_totals(const struct hw_source *source)
{
    struct hw_totals totals = {.rings = source->count};
    for (unsigned i = 0; i < source->count; i++) {
        totals.samples += source->readers[i].samples;
        totals.other += source->readers[i].other;
        totals.unreadable += source->readers[i].unreadable;
        totals.bytes += source->rings[i].size + source->rings[i].aux_size;
    }
    const struct pmu_event *first = &source->events[0];
    totals.precise = first->attr.precise_ip;
    totals.physical = first->attr.sample_type & PERF_SAMPLE_PHYS_ADDR || first->optional;
    return totals;
}
