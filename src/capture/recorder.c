#include "capture/recorder.h"

#include "base/clock.h"
#include "base/sandbox.h"
#include "capture/agent/custom_result.h"
#include "capture/describe.h"
#include "capture/agent/handover.h"
#include "capture/agent/heartbeat.h"
#include "capture/memory_limit.h"
#include "capture/process/launch.h"
#include "capture/observer.h"
#include "capture/pause.h"
#include "capture/process/program.h"
#include "capture/recorder_signals.h"
#include "capture/process/procfs.h"
#include "capture/recorder_sources.h"
#include "capture/rotate/rotation.h"
#include "trace/file.h"
#include "trace/part_figures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PAUSED_NS = 1000000000, /* between two passes: the recorder was stopped, suspended or starved */
    LITTLE_BYTES = 32 << 10,
    BUFFERS_WATCHED = 1024,
};

struct recorder {
    const struct capture_options *options; /* those of the sources */
    struct recorder_result *result;
    struct capture_region region;
    struct launch launch;
    struct sink sink;
    struct recorder_sources sources;
    struct heartbeat heartbeat;
    struct handover handover;
    struct pause pause;
    struct rotation rotation;
    struct trace_session *before; /* figures of the run up to this file's start, with rotation; else NULL */
    uint64_t started, flushed;
    size_t drained; /* bytes since the writer's memory was looked at */
    int wait_status;
    struct rusage usage; /* of the target */
};

static int open_trace(struct recorder *recorder, struct error *err)
{
    if (!recorder->options->output)
        return 0;
    struct trace_session *session = describe_session(recorder->options, &recorder->sources.means);
    if (recorder->options->rotate_ns) {
        recorder->sink.carried = carried_new(recorder->options->topology->simulated);
        return rotation_start(&recorder->rotation, recorder->options, session, &recorder->sink, clock_now_ns(), err);
    }
    recorder->sink.writer = trace_writer_open(recorder->options->output, session, err);
    trace_session_free(session);
    return recorder->sink.writer ? 0 : err->code;
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
    enum loss_cause apart = program_apart(options->command[0]);
    if (!(agent = program_agent_path(err)))
        return err->code;
    signals_take(&mask);
    if ((code = memory_limit_fit(&recorder->sources.options.memory, recorder->sources.means.memory_note,
                                 sizeof recorder->sources.means.memory_note, err)) < 0 ||
        (code = recorder_sources_find(&recorder->sources, err)) < 0 ||
        (code = capture_region_make(&recorder->region, options, recorder->sources.means.perf_tick, err)) < 0 ||
        (code = launch_prepare_placed(&recorder->launch, options->command, recorder->region.environment,
                                      apart == LOSS_CAUSES ? agent : NULL, &mask, options->placement, err)) < 0 ||
        (code = recorder_sources_open(&recorder->sources, recorder->launch.pid, &recorder->region, &recorder->sink,
                                      err)) < 0 ||
        (code = open_trace(recorder, err)) < 0)
        goto cleanup;
    if (options->restrict_self)
        sandbox_drop_capabilities(); /* before there are other threads, which would keep theirs */
    pause_start(&recorder->pause, options, &recorder->region);
    int buffers[BUFFERS_WATCHED];
    unsigned count =
        recorder->sources.perf ? perf_source_descriptors(recorder->sources.perf, buffers, BUFFERS_WATCHED) : 0;
    heartbeat_start(&recorder->heartbeat, recorder->region.map, buffers, count);
    handover_start(&recorder->handover, &recorder->region);
    signals_ready(recorder->sources.agents, &mask);
    recorder->started = recorder->sources.list.tended = recorder->flushed = clock_now_ns();
    if (options->stop_ns)
        agent_source_stop_samples(recorder->sources.agents, recorder->started + options->stop_ns);
    code = launch_go(&recorder->launch, options->command[0], &result->exit_status, err);
    if (code < 0 && recorder->options->rotate_ns) {
        rotation_finish(&recorder->rotation, NULL, recorder->started);
    } else if (code < 0 && recorder->sink.writer) {
        trace_writer_close(recorder->sink.writer, NULL, NULL);
        recorder->sink.writer = NULL;
        trace_file_remove(options->output);
    }
    result->ran = code == 0;
    if (code == 0 && options->restrict_self)
        sandbox_enter(SANDBOX_SERVER); /* the program runs already: it keeps what it has */
    if (result->ran && apart != LOSS_CAUSES)
        sink_loss(&recorder->sink, recorder->started, (uint32_t)recorder->launch.pid, 0, apart, 1);
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
    counter_clock_renew(&recorder->sources.clock, now);
    if (sources_tend(&recorder->sources.list, now)) {
        sink_loss(&recorder->sink, now, (uint32_t)recorder->launch.pid, 0, LOSS_STACK_TABLE,
                  recorder->sources.processes.stacks_lost);
        recorder->sources.processes.stacks_lost = 0;
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
    struct capture_live live = {&recorder->sink, &recorder->sources.list, recorder->region.map};
    if (observer && observer->poll)
        observer->poll(observer->context, now, &live);
}

static void look_at_pause(struct recorder *recorder, uint64_t now)
{
    bool before = recorder->pause.begun && !recorder->pause.ended;
    bool wanted = pause_step(&recorder->pause, recorder->options, &recorder->region, (uint32_t)recorder->launch.pid,
                             recorder->started, now);
    if ((!wanted || !before) && recorder->pause.wanted)
        sources_want(&recorder->sources.list, wanted);
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
    agent_source_tend(recorder->sources.agents, now);
    if (lost_by_waiting(recorder) == lost_before)
        return;
    struct event event = {.time = from, .pid = (uint32_t)recorder->launch.pid, .kind = EVENT_LOSS};
    event.loss.cause = LOSS_PAUSED;
    sink_put(&recorder->sink, &event);
    sink_loss(&recorder->sink, now, event.pid, 0, LOSS_PAUSED, 1);
}

/* The figures of the run so far, and the trace's last block with them. */
static struct trace_session *conclude(struct recorder *recorder, uint64_t now)
{
    struct recorder_result *result = recorder->result;
    const struct agent_totals *totals = agent_source_totals(recorder->sources.agents);
    result->duration_ns = now - recorder->started;
    describe_result(result, &recorder->sink, totals, &recorder->usage);
    result->target_cpu_ns += cpu_account_total(&recorder->sources.others);
    result->tracking_ns = describe_tracking_ns(totals, recorder->region.ticks_per_us);
    if (recorder->sources.perf)
        result->tracking_ns += perf_source_cost_ns(recorder->sources.perf);
    result->processes = recorder->sources.processes.started;
    struct trace_session *ending = describe_ending(result, &recorder->sink, totals);
    describe_stops(ending, recorder->region.map);
    if (recorder->sources.faults) {
        struct faults_totals faults = faults_totals(recorder->sources.faults);
        describe_fault_totals(ending, &faults);
    }
    if (recorder->sources.counting)
        count_recorded_describe(&recorder->sources.counters, ending);
    if (recorder->pause.wanted) {
        uint64_t until = recorder->pause.stopped ? recorder->pause.stopped : now;
        trace_session_setf(ending, "sampled_from_ns", "%" PRIu64,
                           recorder->pause.began ? recorder->pause.began - recorder->started : result->duration_ns);
        trace_session_setf(ending, "sampled_until_ns", "%" PRIu64, until - recorder->started);
        result->never_sampled = !recorder->pause.began;
    }
    return ending;
}

/* Takes what the sources have by now. */
static struct source_level take(struct recorder *recorder, uint64_t now)
{
    struct source_level level;
    atomic_store_explicit(&recorder->region.map->heartbeat_ns, now, memory_order_relaxed);
    if (recorder->sources.faults)
        faults_serve(recorder->sources.faults, now);
    sources_drain(&recorder->sources.list, now, &level);
    recorder->drained += level.bytes;
    return level;
}

static void breathe(void *context)
{
    struct recorder *recorder = context;
    uint64_t now = clock_now_ns();
    take(recorder, now);
    signals_forward(recorder->launch.pid, now);
}

/* Ends this file and begins the next one. */
static void rotate(struct recorder *recorder, uint64_t now)
{
    uint32_t parent;
    rotation_prepare(&recorder->rotation, now, breathe, recorder);
    uint64_t prepared = clock_now_ns();
    flush(recorder);
    recorder->result->exit_status = -1;
    /* Of a program that still runs /proc knows what wait4 will report. */
    uint64_t cpu = procfs_cpu_and_parent((uint32_t)recorder->launch.pid, &parent);
    recorder->usage.ru_utime = (struct timeval){(time_t)(cpu / 1000000000), (suseconds_t)(cpu % 1000000000 / 1000)};
    struct trace_session *ending = conclude(recorder, prepared);
    trace_session_setf(ending, "next_part", "%" PRIu32, recorder->rotation.part);
    trace_parts_take(ending, &recorder->before);
    rotation_switch(&recorder->rotation, ending, prepared);
    trace_session_free(ending);
    recorder->flushed = clock_now_ns();
    if (recorder->flushed - now > recorder->result->rotate_most_ns)
        recorder->result->rotate_most_ns = recorder->flushed - now;
}

static void drain_until_end(struct recorder *recorder)
{
    uint64_t last = clock_now_ns();
    for (bool ended = false; !ended;) {
        uint64_t now = clock_now_ns(), from = last, lost = lost_by_waiting(recorder);
        last = now;
        ended = target_ended(recorder);
        struct source_level level = take(recorder, now);
        if (now - from >= PAUSED_NS)
            note_pause(recorder, from, now, lost);
        tend(recorder, now);
        call_observer(recorder, now);
        look_at_pause(recorder, now);
        signals_forward(recorder->launch.pid, now);
        if (!ended && rotation_due(&recorder->rotation, now)) {
            rotate(recorder, now);
            last = clock_now_ns();
        }
        if (!ended && level.bytes < LITTLE_BYTES)
            agent_source_sleep(recorder->sources.agents, source_sleep_ns(&level));
    }
    /* The program is no more; what its children do from now on is not part of it. */
    atomic_store(&recorder->region.map->recording, 0);
    sources_finish(&recorder->sources.list);
    if (recorder->sources.perf)
        recorder->result->untracked = perf_source_untracked(recorder->sources.perf);
}

static void close_trace(struct recorder *recorder, struct trace_session *ending, uint64_t now)
{
    struct recorder_result *result = recorder->result;
    struct sink *sink = &recorder->sink;
    const struct rotation *rotation = &recorder->rotation;
    if (recorder->options->rotate_ns) {
        trace_parts_take(ending, &recorder->before);
        result->drops -= sink->writer ? trace_writer_unwritten(sink->writer) : 0; /* it is among those of all files */
        rotation_finish(&recorder->rotation, ending, now);
        result->files = rotation->files.count;
        result->removed = rotation->removed;
        result->bytes = rotation->written;
        result->drops += rotation->unwritten;
        result->write_failure = rotation->failure;
        return;
    }
    if (sink->writer)
        trace_writer_close(sink->writer, ending, sink->failure.code ? NULL : &sink->failure);
    sink->writer = NULL;
    result->write_failure = sink->failure;
}

static void finish(struct recorder *recorder)
{
    struct recorder_result *result = recorder->result;
    uint64_t now = clock_now_ns();
    struct capture_process *process = process_find(&recorder->sources.processes, (uint32_t)recorder->launch.pid);
    if (process)
        process_end(&recorder->sources.processes, process, now, recorder->wait_status);
    result->signal = WIFSIGNALED(recorder->wait_status) ? WTERMSIG(recorder->wait_status) : 0;
    result->exit_status = result->signal ? 128 + result->signal : WEXITSTATUS(recorder->wait_status);
    custom_result_report(recorder->region.map, recorder->options, now, (uint32_t)recorder->launch.pid, &recorder->sink,
                         result);
    flush(recorder);
    struct trace_session *ending = conclude(recorder, now);
    describe_means(result, recorder->options, &recorder->sources.means);
    describe_losses(result, &recorder->sink);
    if (recorder->sources.faults) {
        struct faults_totals totals = faults_totals(recorder->sources.faults);
        describe_faults(result, &recorder->sources.means, &totals);
    }
    signals_release(); /* one that comes now must not wake agents' rings that are unmapped */
    sources_close_one(&recorder->sources.list, FROM_AGENTS); /* whose rings have lanes of the writer */
    recorder->sources.agents = NULL;
    close_trace(recorder, ending, now);
    trace_session_free(ending);
}

int recorder_run(const struct capture_options *options, struct recorder_result *result, struct error *err)
{
    struct recorder recorder = {.sources.options = *options, .result = result, .region.fd = -1, .launch = {-1, -1, -1}};
    recorder.options = &recorder.sources.options;
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
    recorder_sources_close(&recorder.sources);
    rotation_free(&recorder.rotation);
    carried_free(recorder.sink.carried);
    trace_session_free(recorder.before);
    capture_region_free(&recorder.region);
    return code;
}
