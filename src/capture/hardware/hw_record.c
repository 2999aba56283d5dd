#include "capture/hardware/hw_record.h"

#include "base/array.h"
#include "base/small_file.h"
#include "capture/process/proc.h"

#include <stdio.h>
#include <stdlib.h>

enum { USUAL_MHZ = 2500, MEMORY_SHARE = 8, TRIAL_FREQUENCY = 5000 };

struct hw_record {
    const struct pmu_choice *choice;
    const struct capture_options *options;
    pid_t child;
    struct hw_source *source; /* NULL: not open */
    struct sink *sink;
    struct process_table *processes;
    struct running *running; /* NULL: agents report processes */
    const struct source_listener *listener;
    const struct counter_clock *clock;
    uint32_t first; /* the target */
    bool follow, latency;
    uint32_t threshold; /* cycles */
};

bool hw_record_named(const struct capture_options *options)
{
    return options->samples >= SAMPLES_PEBS;
}

bool hw_record_possible(const struct capture_options *options)
{
    /* Live commands steer the soft sampler while it runs. */
    return hw_record_named(options) || (options->samples == SAMPLES_AUTO && options->output);
}

/* Latencies of hardware are in cycles of the core. */
static uint32_t cycles_of(uint32_t ns)
{
    int64_t khz = small_file_number(0, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    double mhz = khz ? (double)khz / 1000 : USUAL_MHZ;
    return (uint32_t)((double)ns * mhz / 1000);
}

static void choose_faults(struct pmu_choice *choice)
{
    struct pmu_event event = {.name = "page faults", .source = SOURCE_FAULTS, .attr = perf_attr_of_faults()};
    event.attr.disabled = 1;
    event.attr.exclude_kernel = 1;
    *choice = (struct pmu_choice){.events = {event}, .count = 1, .how = "page faults"};
}

int hw_record_choose(const struct capture_options *options, struct pmu_choice *choice, struct error *err)
{
    char cpuid[64];
    if (options->samples == SAMPLES_FAULTS) {
        choose_faults(choice);
        return 0;
    }
    enum pmu_kind kind =
        hw_record_named(options) ? (enum pmu_kind)(options->samples - SAMPLES_PEBS + PMU_PEBS) : PMU_ANY;
    struct pmu_request request = {
        .loads = options->loads,
        .stores = options->stores,
        .latency = cycles_of(options->latency_threshold),
        .period = options->period,
        /* As many samples as the soft sampler takes accesses. */
        .frequency = options->tick_ns ? 1000000000u * (uint64_t)options->burst / options->tick_ns : 0,
    };
    if (request.frequency == 0)
        request.frequency = 1;
    pmu_cpuid(cpuid, sizeof cpuid);
    const char *sysfs = options->sysfs ? options->sysfs : "/sys";
    int code = pmu_choose(choice, sysfs, cpuid, kind, &request, err);
    if (code < 0 || hw_record_named(options))
        return code;
    /* Tried with requests that are easy to fulfil: the program's may be for rare accesses. */
    struct pmu_choice trial;
    struct pmu_request easy = {.loads = request.loads, .stores = request.stores, .frequency = TRIAL_FREQUENCY};
    if ((code = pmu_choose(&trial, sysfs, cpuid, kind, &easy, err)) < 0 || (code = hw_source_try(&trial, err)) < 0)
        choice->count = 0;
    return code;
}

typedef array_of(pid_t) thread_list;

static void note_thread(uint32_t tid, void *context)
{
    thread_list *threads = context;
    array_push(threads, (pid_t)tid);
}

struct hw_record *hw_record_new(const struct pmu_choice *choice, pid_t child, const struct capture_options *options)
{
    struct hw_record *record = mem_zalloc(sizeof *record);
    *record = (struct hw_record){.choice = choice,
                                 .options = options,
                                 .child = child,
                                 .first = child == -1 ? 0 : (uint32_t)child,
                                 .follow = child == -1 || options->follow,
                                 .latency = options->latency,
                                 .threshold = cycles_of(options->latency_threshold)};
    return record;
}

static int open_record(void *context, struct error *err)
{
    struct hw_record *record = context;
    const struct capture_options *options = record->options;
    pid_t child = record->child;
    bool all = child == -1, attached = options->pid && child == (pid_t)options->pid;
    thread_list threads = {0};
    if (attached)
        proc_each_thread(options->pid, note_thread, &threads);
    struct hw_target target = {.pid = child,
                               .threads = threads.items,
                               .thread_count = threads.count,
                               .inherit = !all,
                               .enable_on_exec = !all && !attached,
                               .tasks = all || attached,
                               .cpus = all ? options->cpus : NULL,
                               .max_frames = options->max_frames,
                               .memory = options->memory / MEMORY_SHARE};
    record->source = hw_source_open(record->choice, &target, err);
    array_free(&threads);
    return record->source ? 0 : err->code;
}

static void close_record(void *context)
{
    struct hw_record *record = context;
    hw_source_close(record->source);
    free(record);
}

void hw_record_connect(struct hw_record *record, struct sink *sink, struct process_table *processes,
                       const struct source_listener *listener, const struct counter_clock *clock)
{
    record->sink = sink;
    record->processes = processes;
    record->listener = listener;
    record->clock = clock;
}

void hw_record_follow(struct hw_record *record, struct running *running)
{
    record->running = running;
}

static void put_sample(void *context, const struct hw_sample *sample)
{
    struct hw_record *record = context;
    const struct memory_access *access = &sample->access;
    if (!record->follow && access->pid != record->first)
        return;
    if (record->threshold && access->latency < record->threshold)
        return; /* not all of the hardware can be reported */
    struct capture_process *process = record->running
                                          ? running_process(record->running, access->pid, access->tid, access->time)
                                          : process_find(record->processes, access->pid);
    struct event event = {.time = access->time, .pid = access->pid, .tid = access->tid, .kind = EVENT_SAMPLE};
    event.sample = (struct event_sample){
        .addr = access->addr,
        .physical = access->physical,
        .latency = access->latency,
        .period = access->period,
        .stack = process ? process_stack(record->processes, process, sample->frames, sample->depth, sample->cut) : 0,
        .cpu = access->has_cpu ? access->cpu : UINT16_MAX,
        .size = access->size,
        .source = sample->source,
        .level = access->level,
        .flags = access->flags,
    };
    if (!record->latency) {
        event.sample.flags &= (uint8_t)~SAMPLE_HAS_LATENCY;
        event.sample.latency = 0;
    }
    sink_put(record->sink, &event);
    if (record->listener->sample)
        record->listener->sample(record->listener->context, access->pid, access->addr, access->time);
}

static void put_loss(void *context, uint64_t time, enum loss_cause cause, uint64_t count)
{
    struct hw_record *record = context;
    sink_loss(record->sink, time, record->first, 0, cause, count);
}

static void put_other(void *context, const struct perf_event_header *other, uint64_t time)
{
    struct hw_record *record = context;
    if (record->running)
        running_record(record->running, other, time);
}

static void drain(void *context, uint64_t until, struct source_level *level)
{
    struct hw_record *record = context;
    struct hw_listener listener = {record, put_sample, put_loss, record->clock, put_other};
    source_level_raise(level, hw_source_drain(record->source, until, &listener));
}

void hw_record_describe(const struct hw_record *record, struct capture_means *means)
{
    struct hw_totals totals = hw_source_totals(record->source);
    means->source = (enum sample_source)record->choice->events[0].source;
    snprintf(means->hardware, sizeof means->hardware, "%s, precise_ip %u, %s physical addresses", record->choice->how,
             totals.precise, totals.physical ? "with" : "without");
}

static int want(void *context, bool wanted)
{
    const struct hw_record *record = context;
    return hw_source_enable(record->source, wanted);
}

static void finish(void *context)
{
    struct source_level level = {0};
    drain(context, UINT64_MAX, &level);
}

struct source hw_record_source(struct hw_record *record)
{
    return (struct source){.kind = FROM_HARDWARE,
                           .context = record,
                           .open = open_record,
                           .want = want,
                           .drain = drain,
                           .finish = finish,
                           .close = close_record};
}
