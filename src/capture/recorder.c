#include "capture/recorder.h"

#include "base/clock.h"
#include "base/mem.h"
#include "capture/agent/agent_source.h"
#include "capture/process/cpu_account.h"
#include "capture/agent/custom_result.h"
#include "capture/describe.h"
#include "capture/faults/faults.h"
#include "capture/faults/mechanism.h"
#include "capture/faults/settings.h"
#include "capture/agent/handover.h"
#include "capture/agent/heartbeat.h"
#include "capture/homes.h"
#include "capture/hardware/hw_record.h"
#include "capture/process/launch.h"
#include "capture/process/process_maps.h"
#include "capture/observer.h"
#include "capture/pause.h"
#include "capture/perf/perf_source.h"
#include "capture/kernel_probe.h"
#include "capture/process/program.h"
#include "capture/recorder_signals.h"
#include "trace/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PAUSED_NS = 1000000000, /* between two rounds: the recorder was stopped, suspended or starved */
    LITTLE_BYTES = 32 << 10,
    BUFFERS_WATCHED = 1024,
};

struct recorder {
    const struct capture_options *options; /* with a mechanism that was chosen */
    struct capture_options chosen;
    struct recorder_result *result;
    struct capture_region region;
    struct launch launch;
    struct counter_clock clock;
    struct sink sink;
    struct process_table processes;
    struct sources sources;
    struct source_listener listener;
    struct agent_source *agents;
    struct perf_source *perf;   /* NULL: refused, or not wanted */
    struct faults *faults;      /* NULL: not wanted */
    struct homes *homes;        /* NULL: nothing to ask, or no answer */
    struct capture_maps *maps;  /* NULL: nothing is kept */
    struct pmu_choice choice;   /* of hardware; count 0: none, or not wanted */
    struct capture_means means; /* what is in force */
    struct heartbeat heartbeat;
    struct handover handover;
    struct pause pause;
    struct cpu_account others; /* CPU time that is not in `usage` */
    uint64_t started, flushed;
    size_t drained; /* bytes since the writer's memory was looked at */
    int wait_status;
    struct rusage usage; /* of the target */
};

static void listen_sample(void *context, uint32_t pid, uint64_t addr, uint64_t time)
{
    struct recorder *recorder = context;
    if (recorder->homes)
        homes_sample(recorder->homes, pid, addr, time);
    if (recorder->maps)
        capture_maps_sample(recorder->maps, pid, addr, time);
}

/* A page of faults is reported with its frame: there is nothing to ask unless there are nodes. */
static void listen_fault(void *context, uint32_t pid, uint64_t addr, uint64_t time)
{
    struct recorder *recorder = context;
    if (recorder->means.homes)
        homes_sample(recorder->homes, pid, addr, time);
    if (recorder->maps)
        capture_maps_sample(recorder->maps, pid, addr, time);
}

/* Pages that faults report may have moved to another node since they were asked for; their frames are reported with them. */
static void listen_event(void *context, const struct event *event)
{
    struct recorder *recorder = context;
    const struct capture_observer *observer = recorder->options->observer;
    if (observer && observer->event)
        observer->event(observer->context, event);
    if (event->kind == EVENT_PAGE && recorder->means.homes)
        homes_sample(recorder->homes, event->pid, event->page.page, event->time);
}

static void listen_fresh(void *context, uint32_t pid, uint64_t addr, uint64_t size)
{
    struct recorder *recorder = context;
    perf_source_fresh(recorder->perf, pid, addr, size);
}

static int choose_mechanism(struct recorder *recorder, struct error *err)
{
    struct capture_means *means = &recorder->means;
    char repaired[256];
    /* A run that was killed may have left the system's settings changed, whatever this one is for. */
    if (settings_repair(repaired, sizeof repaired, err) < 0 && recorder->options->faults)
        return err->code;
    means->mechanism = MECHANISM_NONE;
    if (!recorder->options->faults)
        return 0;
    enum fault_mechanism wanted = recorder->options->mechanism;
    int code = mechanism_choose(wanted, recorder->options->topology, &recorder->chosen.mechanism,
                                means->mechanism_reason, sizeof means->mechanism_reason, err);
    /* Hints report little of programs with one thread, and of a page that is read first and written later. */
    struct error ignored = {0};
    recorder->chosen.write_protect = code == 0 && wanted == MECHANISM_AUTO &&
                                     recorder->chosen.mechanism == MECHANISM_NUMA_HINT &&
                                     mechanism_works(MECHANISM_UFFD_WP, &ignored);
    means->write_protect = recorder->chosen.write_protect;
    return code;
}

/* Finds out what can be had here, before the target exists. */
static int find_means(struct recorder *recorder, struct error *err)
{
    const struct capture_options *options = recorder->options;
    struct capture_means *means = &recorder->means;
    bool soft = options->samples == SAMPLES_AUTO || options->samples == SAMPLES_SOFT;
    struct error why = {0};
    int code = choose_mechanism(recorder, err);
    if (code < 0)
        return code;
    means->mechanism = recorder->chosen.mechanism;
    if (hw_record_possible(options) && hw_record_choose(options, &recorder->choice, &why) < 0) {
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

static void open_agents(struct recorder *recorder)
{
    size_t share = recorder->options->memory / 16;
    counter_clock_start(&recorder->clock, !(recorder->region.map->config.flags & WIRE_COUNTER_IS_CPU));
    process_table_init(&recorder->processes, &recorder->sink, share);
    recorder->processes.first = (uint32_t)recorder->launch.pid;
    recorder->agents = agent_source_new(&recorder->region, &recorder->processes, &recorder->sink, &recorder->clock,
                                        &recorder->listener, share);
    sources_open(&recorder->sources, agent_source_events(recorder->agents), NULL);
    recorder->others.processes = &recorder->processes;
    sources_open(&recorder->sources, cpu_account_source(&recorder->others), NULL);
}

/* Hardware samples if it can; before perf, while there is still memory that may be locked. */
static int open_hardware(struct recorder *recorder, struct error *err)
{
    struct capture_means *means = &recorder->means;
    struct error why = {0};
    if (recorder->choice.count == 0)
        return 0;
    struct hw_record *record = hw_record_new(&recorder->choice, recorder->launch.pid, recorder->options);
    struct source source = hw_record_source(record);
    source.needed = hw_record_named(recorder->options) || recorder->options->period;
    int code = sources_open(&recorder->sources, source, &why);
    if (code < 0)
        return error_set(err, code, "%s; --source soft needs no PMU", why.text);
    if (code > 0) {
        snprintf(means->hardware_reason, sizeof means->hardware_reason, "%.319s",
                 recorder->sources.refusals[FROM_HARDWARE].text);
        return 0;
    }
    hw_record_connect(record, &recorder->sink, &recorder->processes, &recorder->listener, &recorder->clock);
    hw_record_describe(record, means);
    capture_region_hardware(&recorder->region);
    return 0;
}

static int open_perf(struct recorder *recorder, struct error *err)
{
    const struct capture_options *options = recorder->options;
    struct capture_means *means = &recorder->means;
    struct error why = {0};
    struct perf_source *perf = perf_source_new(recorder->launch.pid, options);
    struct source source = perf_source_events(perf);
    source.needed = options->samples == SAMPLES_FAULTS && options->mechanism != MECHANISM_UFFD_WP;
    int code = sources_open(&recorder->sources, source, &why);
    if (code < 0)
        return error_set(err, code, "page faults cannot be recorded: %s", why.text);
    if (code > 0)
        snprintf(means->faults_reason, sizeof means->faults_reason, "%.255s",
                 recorder->sources.refusals[FROM_PERF].text);
    means->faults = code == 0;
    recorder->perf = code == 0 ? perf : NULL;
    return 0;
}

static int open_faults(struct recorder *recorder, struct error *err)
{
    if (!recorder->options->faults)
        return 0;
    struct faults *faults = faults_new(recorder->options, recorder->region.map, &recorder->sink);
    struct source source = faults_source(faults);
    source.needed = true;
    int code = sources_open(&recorder->sources, source, err);
    recorder->faults = code == 0 ? faults : NULL;
    return code;
}

/* Those that are asked about pages which the others report. */
static void open_askers(struct recorder *recorder)
{
    size_t memory = recorder->options->memory;
    const struct capture_means *means = &recorder->means;
    if (means->homes || (means->frames && recorder->options->output)) {
        recorder->homes =
            homes_new(&recorder->sink, recorder->faults ? memory / 2 : memory / 32, means->homes, means->frames);
        sources_open(&recorder->sources, homes_source(recorder->homes), NULL);
    }
    if (recorder->options->output) {
        recorder->maps = capture_maps_new(&recorder->sink, &recorder->processes, memory / 32);
        sources_open(&recorder->sources, capture_maps_source(recorder->maps), NULL);
    }
}

/* All sources, on the child that waits. */
static int open_sources(struct recorder *recorder, struct error *err)
{
    const struct capture_options *options = recorder->options;
    bool touches = options->output || options->topology->simulated || options->samples == SAMPLES_FAULTS;
    int code;
    recorder->sources.spacing_ns = SOURCE_HURRY_NS;
    open_agents(recorder);
    if ((code = open_hardware(recorder, err)) < 0)
        return code;
    /* Else first touch is of no use to anyone. */
    if (touches && ((code = open_perf(recorder, err)) < 0 || (code = open_faults(recorder, err)) < 0))
        return code;
    open_askers(recorder);
    return 0;
}

static int open_trace(struct recorder *recorder, struct error *err)
{
    if (!recorder->options->output)
        return 0;
    struct trace_session *session = describe_session(recorder->options, &recorder->means);
    recorder->sink.writer = trace_writer_open(recorder->options->output, session, err);
    trace_session_free(session);
    return recorder->sink.writer ? 0 : err->code;
}

/* Who hears of what sources report. */
static void connect_sources(struct recorder *recorder)
{
    struct source_listener *listener = &recorder->listener;
    const struct capture_observer *observer = recorder->options->observer;
    if (observer) {
        recorder->sink.tap = observer->event;
        recorder->sink.tap_context = observer->context;
    }
    if (recorder->homes && recorder->faults) {
        recorder->sink.tap = listen_event;
        recorder->sink.tap_context = recorder;
    }
    *listener = (struct source_listener){.context = recorder};
    if (recorder->homes || recorder->maps) {
        listener->sample = listen_sample;
        listener->fault = listen_fault;
    }
    if (recorder->perf) {
        listener->fresh = listen_fresh;
        perf_source_connect(recorder->perf, &recorder->sink, &recorder->processes, recorder->faults, listener,
                            recorder->region.map);
    }
}

static int start(struct recorder *recorder, struct error *err)
{
    const struct capture_options *options = recorder->options;
    struct recorder_result *result = recorder->result;
    char *agent = NULL;
    sigset_t mask;
    int code = program_check(options->command[0], &result->exit_status, err);
    if (code < 0)
        return code;
    result->exit_status = PROGRAM_REFUSED;
    if (!(agent = program_agent_path(err)))
        return err->code;
    signals_take(&mask);
    if ((code = find_means(recorder, err)) < 0 ||
        (code = capture_region_make(&recorder->region, options, recorder->means.perf_tick, err)) < 0 ||
        (code = launch_prepare_placed(&recorder->launch, options->command, recorder->region.environment, agent, &mask,
                                      options->placement, err)) < 0 ||
        (code = open_sources(recorder, err)) < 0 || (code = open_trace(recorder, err)) < 0)
        goto cleanup;
    connect_sources(recorder);
    pause_start(&recorder->pause, options, recorder->region.map);
    int buffers[BUFFERS_WATCHED];
    unsigned count = recorder->perf ? perf_source_descriptors(recorder->perf, buffers, BUFFERS_WATCHED) : 0;
    capture_region_hold(&recorder->region);
    heartbeat_start(&recorder->heartbeat, recorder->region.map, buffers, count);
    handover_start(&recorder->handover, &recorder->region);
    signals_ready(recorder->agents, &mask);
    recorder->started = recorder->sources.tended = recorder->flushed = clock_now_ns();
    code = launch_go(&recorder->launch, options->command[0], &result->exit_status, err);
    if (code < 0 && recorder->sink.writer) {
        trace_writer_close(recorder->sink.writer, NULL, NULL);
        recorder->sink.writer = NULL;
        trace_file_remove(options->output);
    }
    result->ran = code == 0;
cleanup:
    free(agent);
    return code;
}

/* Whether the target's end was seen. */
static bool target_ended(struct recorder *recorder)
{
    if (!signals_child())
        return false;
    pid_t pid;
    do
        pid = wait4(recorder->launch.pid, &recorder->wait_status, WNOHANG, &recorder->usage);
    while (pid < 0 && errno == EINTR);
    return pid != 0;
}

static void flush(struct recorder *recorder)
{
    if (recorder->sink.writer)
        trace_writer_flush(recorder->sink.writer, recorder->sink.failure.code ? NULL : &recorder->sink.failure);
}

static void tend(struct recorder *recorder, uint64_t now)
{
    counter_clock_renew(&recorder->clock, now);
    if (sources_tend(&recorder->sources, now)) {
        sink_loss(&recorder->sink, now, (uint32_t)recorder->launch.pid, 0, LOSS_STACK_TABLE,
                  recorder->processes.stacks_lost);
        recorder->processes.stacks_lost = 0;
    }
    bool full = recorder->sink.writer && recorder->drained >= recorder->options->memory / 16 &&
                trace_writer_pending(recorder->sink.writer) >= recorder->options->memory / 8;
    if (full || now - recorder->flushed >= SOURCE_FLUSH_NS) {
        recorder->flushed = now;
        flush(recorder);
    }
    if (recorder->drained >= recorder->options->memory / 16)
        recorder->drained = 0;
}

static void call_observer(struct recorder *recorder, uint64_t now)
{
    const struct capture_observer *observer = recorder->options->observer;
    struct capture_live live = {&recorder->sink, &recorder->sources, recorder->region.map};
    if (observer && observer->round)
        observer->round(observer->context, now, &live);
}

static void look_at_pause(struct recorder *recorder, uint64_t now)
{
    bool before = recorder->pause.begun && !recorder->pause.ended;
    bool wanted = pause_round(&recorder->pause, recorder->options, recorder->region.map, (uint32_t)recorder->launch.pid,
                              recorder->started, now);
    if ((!wanted || !before) && recorder->pause.wanted)
        sources_want(&recorder->sources, wanted);
}

/* What was lost for want of a recorder. */
static uint64_t lost_by_waiting(const struct recorder *recorder)
{
    const uint64_t *lost = recorder->sink.lost;
    return lost[LOSS_RING_FULL] + lost[LOSS_SAMPLE_FULL] + lost[LOSS_NO_RING] + lost[LOSS_PERF] + lost[LOSS_AUX_FULL];
}

/* The recorder did not run between `from` and now; when something was lost by it, that is the time it was of. */
static void note_pause(struct recorder *recorder, uint64_t from, uint64_t now, uint64_t lost_before)
{
    agent_source_tend(recorder->agents, now);
    if (lost_by_waiting(recorder) == lost_before)
        return;
    struct event event = {.time = from, .pid = (uint32_t)recorder->launch.pid, .kind = EVENT_LOSS};
    event.loss.cause = LOSS_PAUSED;
    sink_put(&recorder->sink, &event);
    sink_loss(&recorder->sink, now, event.pid, 0, LOSS_PAUSED, 1);
}

static void drain_until_end(struct recorder *recorder)
{
    uint64_t last = clock_now_ns();
    for (bool ended = false; !ended;) {
        uint64_t now = clock_now_ns(), from = last, lost = lost_by_waiting(recorder);
        last = now;
        atomic_store_explicit(&recorder->region.map->heartbeat_ns, now, memory_order_relaxed);
        ended = target_ended(recorder);
        if (recorder->faults)
            faults_serve(recorder->faults, now);
        struct source_level level;
        sources_drain(&recorder->sources, now, &level);
        recorder->drained += level.bytes;
        if (now - from >= PAUSED_NS)
            note_pause(recorder, from, now, lost);
        tend(recorder, now);
        call_observer(recorder, now);
        look_at_pause(recorder, now);
        signals_forward(recorder->launch.pid, now);
        if (!ended && level.bytes < LITTLE_BYTES)
            agent_source_sleep(recorder->agents, source_sleep_ns(&level));
    }
    /* The program is no more; what its children do from now on is not part of it. */
    atomic_store(&recorder->region.map->recording, 0);
    sources_finish(&recorder->sources);
    if (recorder->perf)
        recorder->result->untracked = perf_source_untracked(recorder->perf);
}

static void finish(struct recorder *recorder)
{
    struct recorder_result *result = recorder->result;
    uint64_t now = clock_now_ns();
    struct capture_process *process = process_find(&recorder->processes, (uint32_t)recorder->launch.pid);
    if (process)
        process_end(&recorder->processes, process, now, recorder->wait_status);
    result->duration_ns = now - recorder->started;
    result->signal = WIFSIGNALED(recorder->wait_status) ? WTERMSIG(recorder->wait_status) : 0;
    result->exit_status = result->signal ? 128 + result->signal : WEXITSTATUS(recorder->wait_status);
    custom_result_report(recorder->region.map, recorder->options, now, (uint32_t)recorder->launch.pid, &recorder->sink,
                         result);
    flush(recorder);
    describe_result(result, &recorder->sink, agent_source_totals(recorder->agents), &recorder->usage);
    result->target_cpu_ns += cpu_account_total(&recorder->others);
    result->tracking_ns = describe_tracking_ns(agent_source_totals(recorder->agents), &recorder->region.map->config);
    result->processes = recorder->processes.started;
    describe_means(result, recorder->options, &recorder->means);
    describe_losses(result, &recorder->sink);
    if (recorder->faults) {
        struct faults_totals totals = faults_totals(recorder->faults);
        describe_faults(result, &recorder->means, &totals);
    }
    struct trace_session *ending = describe_ending(result, &recorder->sink, agent_source_totals(recorder->agents));
    describe_stops(ending, recorder->region.map);
    if (recorder->faults) {
        struct faults_totals totals = faults_totals(recorder->faults);
        describe_fault_totals(ending, &totals);
    }
    if (recorder->pause.wanted) {
        uint64_t until = recorder->pause.stopped ? recorder->pause.stopped : now;
        trace_session_setf(ending, "sampled_from_ns", "%" PRIu64,
                           recorder->pause.began ? recorder->pause.began - recorder->started : result->duration_ns);
        trace_session_setf(ending, "sampled_until_ns", "%" PRIu64, until - recorder->started);
        result->never_sampled = !recorder->pause.began;
    }
    sources_close_one(&recorder->sources, FROM_AGENTS); /* whose rings have lanes of the writer */
    recorder->agents = NULL;
    if (recorder->sink.writer)
        trace_writer_close(recorder->sink.writer, ending, recorder->sink.failure.code ? NULL : &recorder->sink.failure);
    recorder->sink.writer = NULL;
    trace_session_free(ending);
    result->write_failure = recorder->sink.failure;
}

int recorder_run(const struct capture_options *options, struct recorder_result *result, struct error *err)
{
    struct recorder recorder = {.chosen = *options, .result = result, .region.fd = -1, .launch = {-1, -1, -1}};
    recorder.options = &recorder.chosen;
    *result = (struct recorder_result){0};
    int code = start(&recorder, err);
    if (code == 0) {
        drain_until_end(&recorder);
        finish(&recorder);
    } else {
        launch_cancel(&recorder.launch);
    }
    signals_release();
    handover_stop(&recorder.handover);
    heartbeat_stop(&recorder.heartbeat);
    sources_close(&recorder.sources);
    process_table_free(&recorder.processes);
    capture_region_free(&recorder.region);
    return code;
}
