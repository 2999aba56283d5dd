#include "capture/recorder_sources.h"

#include "capture/faults/mechanism.h"
#include "capture/faults/settings.h"
#include "capture/observer.h"

#include <stdio.h>

static void listen_sample(void *context, uint32_t pid, uint64_t addr, uint64_t time)
{
    struct recorder_sources *sources = context;
    if (sources->homes)
        homes_sample(sources->homes, pid, addr, time);
    if (sources->maps)
        capture_maps_sample(sources->maps, pid, addr, time);
}

/* A page of faults is reported with its frame: there is nothing to ask unless there are nodes. */
static void listen_fault(void *context, uint32_t pid, uint64_t addr, uint64_t time)
{
    struct recorder_sources *sources = context;
    if (sources->means.homes)
        homes_sample(sources->homes, pid, addr, time);
    if (sources->maps)
        capture_maps_sample(sources->maps, pid, addr, time);
}

/* Pages that faults report may have moved to another node since they were asked for; their frames are reported with them. */
static void listen_event(void *context, const struct event *event)
{
    struct recorder_sources *sources = context;
    const struct capture_observer *observer = sources->options.observer;
    if (observer && observer->event)
        observer->event(observer->context, event);
    if (event->kind == EVENT_PAGE && sources->means.homes)
        homes_sample(sources->homes, event->pid, event->page.page, event->time);
}

static void listen_fresh(void *context, uint32_t pid, uint64_t addr, uint64_t size)
{
    struct recorder_sources *sources = context;
    perf_source_fresh(sources->perf, pid, addr, size);
}

static void listen_mapped(void *context, uint32_t pid, const char *path)
{
    struct recorder_sources *sources = context;
    runtime_names_mapped(sources->runtimes, pid, path);
}

static int choose_mechanism(struct recorder_sources *sources, struct error *err)
{
    struct capture_means *means = &sources->means;
    char repaired[256];
    /* A run that was killed may have left the system's settings changed, whatever this one is for. */
    if (settings_repair(repaired, sizeof repaired, err) < 0 && sources->options.faults)
        return err->code;
    means->mechanism = MECHANISM_NONE;
    if (!sources->options.faults)
        return 0;
    enum fault_mechanism wanted = sources->options.mechanism;
    int code = mechanism_choose(wanted, sources->options.topology, &sources->options.mechanism, means->mechanism_reason,
                                sizeof means->mechanism_reason, err);
    /* Hints report little of programs with one thread, and of a page that is read first and written later. */
    struct error ignored = {0};
    sources->options.write_protect = code == 0 && wanted == MECHANISM_AUTO &&
                                     sources->options.mechanism == MECHANISM_NUMA_HINT &&
                                     mechanism_works(MECHANISM_UFFD_WP, &ignored);
    means->write_protect = sources->options.write_protect;
    return code;
}

int recorder_sources_find(struct recorder_sources *sources, struct error *err)
{
    const struct capture_options *options = &sources->options;
    struct capture_means *means = &sources->means;
    bool soft = options->samples == SAMPLES_AUTO || options->samples == SAMPLES_SOFT;
    struct error why = {0};
    int code = choose_mechanism(sources, err);
    if (code < 0)
        return code;
    means->mechanism = sources->options.mechanism;
    if (hw_record_possible(options) && hw_record_choose(options, &sources->choice, &why) < 0) {
        if (hw_record_named(options))
            return error_set(err, why.code, "%s", why.text);
        if (options->period)
            return error_set(err, why.code, "a period in events is for hardware: %s", why.text);
        snprintf(means->hardware_reason, sizeof means->hardware_reason, "%.319s", why.text);
    }
    why = (struct error){0};
    if (soft && options->tick != TICK_TIMER) {
        means->perf_tick = probe_perf_tick(&why);
        if (!means->perf_tick && options->tick == TICK_PERF)
            return error_set(err, why.code, "the tick cannot come from perf: %s; --tick timer needs none", why.text);
        if (!means->perf_tick)
            snprintf(means->tick_reason, sizeof means->tick_reason, "%.255s", why.text);
    }
    means->homes = homes_wanted(options->topology, &why) && options->output;
    means->homes_refused = why.code != 0;
    if (means->homes_refused)
        snprintf(means->homes_reason, sizeof means->homes_reason, "%.255s", why.text);
    probe_frames(means);
    return 0;
}

static void open_agents(struct recorder_sources *sources)
{
    size_t share = sources->options.memory / 16;
    counter_clock_start(&sources->clock, !(sources->region->map->config.flags & WIRE_COUNTER_IS_CPU));
    process_table_init(&sources->processes, sources->sink, share);
    sources->processes.first = (uint32_t)sources->pid;
    sources->agents = agent_source_new(sources->region, &sources->processes, sources->sink, &sources->clock,
                                       &sources->listener, share);
    sources_open(&sources->list, agent_source_events(sources->agents), NULL);
    sources->others.processes = &sources->processes;
    sources_open(&sources->list, cpu_account_source(&sources->others), NULL);
}

/* Hardware samples if it can; before perf, while there is still memory that may be locked. */
static int open_hardware(struct recorder_sources *sources, struct error *err)
{
    struct capture_means *means = &sources->means;
    struct error why = {0};
    if (sources->choice.count == 0)
        return 0;
    struct hw_record *record = hw_record_new(&sources->choice, sources->pid, &sources->options);
    struct source source = hw_record_source(record);
    source.needed = hw_record_named(&sources->options) || sources->options.period;
    int code = sources_open(&sources->list, source, &why);
    if (code < 0)
        return error_set(err, code, "%s; --source soft needs no PMU", why.text);
    if (code > 0) {
        snprintf(means->hardware_reason, sizeof means->hardware_reason, "%.319s",
                 sources->list.refusals[FROM_HARDWARE].text);
        return 0;
    }
    hw_record_connect(record, sources->sink, &sources->processes, &sources->listener, &sources->clock);
    hw_record_describe(record, means);
    capture_region_hardware(sources->region);
    return 0;
}

/* With hardware samples, what memory controllers count stands beside them. A tree of sysfs in another place is a whole machine's. */
static void open_counters(struct recorder_sources *sources)
{
    const struct capture_options *options = &sources->options;
    struct count_recorded *counters = &sources->counters;
    sources->counting = options->traffic && options->output && sources->means.source >= SOURCE_PEBS &&
                        sources->means.source <= SOURCE_SPE;
    if (!sources->counting)
        return;
    if (options->sysfs) {
        snprintf(sources->counters_root, sizeof sources->counters_root, "%.200s/..", options->sysfs);
        counters->root = sources->counters_root;
    }
    if (options->rotate_ns)
        snprintf(counters->reason, sizeof counters->reason, "they are not kept with --rotate");
    else
        sources_open(&sources->list, count_recorded_source(counters), NULL);
    snprintf(sources->means.counters_reason, sizeof sources->means.counters_reason, "%s", counters->reason);
}

static int open_perf(struct recorder_sources *sources, struct error *err)
{
    const struct capture_options *options = &sources->options;
    struct capture_means *means = &sources->means;
    struct error why = {0};
    struct perf_source *perf = perf_source_new(sources->pid, options);
    struct source source = perf_source_events(perf);
    source.needed = options->samples == SAMPLES_FAULTS && options->mechanism != MECHANISM_UFFD_WP;
    int code = sources_open(&sources->list, source, &why);
    if (code < 0)
        return error_set(err, code, "page faults cannot be recorded: %s", why.text);
    if (code > 0)
        snprintf(means->faults_reason, sizeof means->faults_reason, "%.255s", sources->list.refusals[FROM_PERF].text);
    means->faults = code == 0;
    sources->perf = code == 0 ? perf : NULL;
    return 0;
}

static int open_faults(struct recorder_sources *sources, struct error *err)
{
    if (!sources->options.faults)
        return 0;
    struct faults *faults = faults_new(&sources->options, sources->region->map, sources->sink);
    struct source source = faults_source(faults);
    source.needed = true;
    int code = sources_open(&sources->list, source, err);
    sources->faults = code == 0 ? faults : NULL;
    return code;
}

/* Those that are asked about pages which the others report. */
static void open_askers(struct recorder_sources *sources)
{
    size_t memory = sources->options.memory;
    const struct capture_means *means = &sources->means;
    if (means->homes || (means->frames && sources->options.output)) {
        sources->homes =
            homes_new(sources->sink, sources->faults ? memory / 2 : memory / 32, means->homes, means->frames);
        sources_open(&sources->list, homes_source(sources->homes), NULL);
    }
    if (sources->options.output) {
        sources->maps = capture_maps_new(sources->sink, &sources->processes, memory / 32);
        sources_open(&sources->list, capture_maps_source(sources->maps), NULL);
        sources->runtimes = runtime_names_new(sources->sink, &sources->processes, memory / RUNTIME_NAME_BYTES);
        sources_open(&sources->list, runtime_names_source(sources->runtimes), NULL);
    }
}

/* Who hears of what sources report. */
static void connect_sources(struct recorder_sources *sources)
{
    struct source_listener *listener = &sources->listener;
    const struct capture_observer *observer = sources->options.observer;
    if (observer) {
        sources->sink->tap = observer->event;
        sources->sink->tap_context = observer->context;
    }
    if (sources->homes && sources->faults) {
        sources->sink->tap = listen_event;
        sources->sink->tap_context = sources;
    }
    *listener = (struct source_listener){.context = sources};
    if (sources->homes || sources->maps) {
        listener->sample = listen_sample;
        listener->fault = listen_fault;
    }
    if (sources->runtimes)
        listener->mapped = listen_mapped;
    if (sources->perf) {
        listener->fresh = listen_fresh;
        perf_source_connect(sources->perf, sources->sink, &sources->processes, sources->faults, listener,
                            sources->region->map);
    }
}

int recorder_sources_open(struct recorder_sources *sources, pid_t child, struct capture_region *region,
                          struct sink *sink, struct error *err)
{
    const struct capture_options *options = &sources->options;
    bool touches = options->output || options->topology->simulated || options->samples == SAMPLES_FAULTS;
    int code;
    sources->pid = child;
    sources->region = region;
    sources->sink = sink;
    sources->list.spacing_ns = SOURCE_HURRY_NS;
    open_agents(sources);
    if ((code = open_hardware(sources, err)) < 0)
        return code;
    /* Else first touch is of no use to anyone. */
    if (touches && ((code = open_perf(sources, err)) < 0 || (code = open_faults(sources, err)) < 0))
        return code;
    open_askers(sources);
    open_counters(sources);
    connect_sources(sources);
    return 0;
}

void recorder_sources_close(struct recorder_sources *sources)
{
    sources_close(&sources->list);
    process_table_free(&sources->processes);
}
