#include "capture/system_recorder.h"

#include "base/clock.h"
#include "base/sandbox.h"
#include "capture/describe.h"
#include "capture/homes.h"
#include "capture/observer.h"
#include "capture/hardware/hw_record.h"
#include "capture/outside/attach_check.h"
#include "capture/outside/outside.h"
#include "capture/process/find_processes.h"
#include "capture/process/launch.h"
#include "capture/process/proc.h"
#include "capture/process/process_maps.h"
#include "capture/process/procfs.h"
#include "capture/process/program.h"
#include "capture/process/running.h"
#include "capture/process/runtime_names.h"
#include "capture/rotate/rotation.h"
#include "trace/file.h"
#include "trace/part_figures.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUTSIDE_SLEEP_NS = 100000000 }; /* at most */

struct system_recorder {
    const struct capture_options *options;
    struct recorder_result *result;
    struct pmu_choice choice;
    struct capture_means means;
    struct counter_clock clock;
    struct sink sink;
    struct process_table processes;
    struct running running;
    struct sources sources;
    struct source_listener listener;
    struct hw_record *hardware; /* NULL: from outside */
    struct outside *outside;    /* NULL: from hardware */
    struct homes *homes;        /* NULL: nothing to ask, or no answer */
    struct capture_maps *maps;
    struct runtime_names *runtimes;
    struct launch launch;
    int process;             /* a descriptor of the one that runs already, or -1 */
    sigset_t waited, before; /* signals that are waited for; the mask that was in force */
    struct rotation rotation;
    struct trace_session *figures; /* of the run up to this file's start, with rotation; else NULL */
    uint64_t started, flushed;
    bool ended;
    int wait_status;
    struct rusage usage; /* of the program */
};

static void listen_sample(void *context, uint32_t pid, uint64_t addr, uint64_t time)
{
    struct system_recorder *recorder = context;
    if (recorder->homes)
        homes_sample(recorder->homes, pid, addr, time);
    if (recorder->maps)
        capture_maps_sample(recorder->maps, pid, addr, time);
}

/* Among others, a mapping that was looked up in /proc, or that the kernel reported. */
static void listen_event(void *context, const struct event *event)
{
    struct system_recorder *recorder = context;
    const struct capture_observer *observer = recorder->options->observer;
    if (observer && observer->event)
        observer->event(observer->context, event);
    if (event->kind == EVENT_MAP && *event->map.path)
        runtime_names_mapped(recorder->runtimes, event->pid, event->map.path);
}

/* They are waited for between two looks at the rings: nothing is interrupted. */
static void take_signals(struct system_recorder *recorder)
{
    static const int numbers[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t blocked;
    sigemptyset(&recorder->waited);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&recorder->waited, numbers[i]);
    blocked = recorder->waited;
    sigaddset(&blocked, SIGPIPE); /* the write that failed says so by itself */
    sigaddset(&blocked, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &blocked, &recorder->before);
}

static int find_process(struct system_recorder *recorder, struct error *err)
{
    uint32_t pid = recorder->options->pid;
    if (pid == 0)
        return 0;
    recorder->process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (recorder->process >= 0)
        return 0;
    if (errno == ESRCH || errno == EINVAL || errno == ENOENT) /* the last two: a thread's number, not a process's */
        return attach_missing(pid, err);
    return error_set(err, -errno, "process %u: %s", pid, strerror(errno));
}

static int find_means(struct system_recorder *recorder, struct error *err)
{
    const struct capture_options *options = recorder->options;
    struct error why = {0};
    bool several = options->samples == SAMPLES_AUTO && (*options->pids || process_query_given(&options->query));
    bool from_outside = several || options->samples == SAMPLES_OUTSIDE;
    int code = from_outside ? 0 : hw_record_choose(options, &recorder->choice, &why);
    if (code < 0) {
        char *remedy = strstr(why.text, "; --source"); /* ours is another */
        if (remedy)
            *remedy = '\0';
        if (options->system || options->samples != SAMPLES_AUTO)
            return error_set(
                err, code,
                "%s; without one, --source faults notes first touches of pages, and 'numalens record -- PROGRAM' "
                "or -p PID samples one in software",
                why.text);
        snprintf(recorder->means.hardware_reason, sizeof recorder->means.hardware_reason, "%.319s", why.text);
        why = (struct error){0};
    }
    recorder->means.outside = from_outside || code < 0;
    recorder->means.mechanism = MECHANISM_NONE;
    recorder->means.homes = homes_wanted(options->topology, &why) && options->output;
    recorder->means.homes_refused = why.code != 0;
    snprintf(recorder->means.homes_reason, sizeof recorder->means.homes_reason, "%.255s", why.text);
    probe_frames(&recorder->means);
    return 0;
}

static bool owned(uint32_t pid)
{
    struct stat about;
    char path[32];
    snprintf(path, sizeof path, "/proc/%u", pid);
    return stat(path, &about) == 0 && about.st_uid == geteuid();
}

static int open_hardware(struct system_recorder *recorder, struct error *err)
{
    uint32_t pid = recorder->options->pid;
    recorder->hardware = hw_record_new(&recorder->choice, pid ? (pid_t)pid : -1, recorder->options);
    struct source source = hw_record_source(recorder->hardware);
    source.needed = true;
    if (sources_open(&recorder->sources, source, err) < 0) {
        if (pid && err->code == -ESRCH)
            error_set(err, -ESRCH, "process %u has ended", pid);
        else if (pid && err->code == -EACCES && !owned(pid))
            error_set(err, -EACCES, "process %u is another user's: root may sample it", pid);
        else if (!pid && (err->code == -EACCES || err->code == -EPERM))
            error_set(err, err->code,
                      "the whole machine may be sampled by root, with CAP_PERFMON, or with sysctl "
                      "kernel.perf_event_paranoid=0");
        return err->code;
    }
    hw_record_describe(recorder->hardware, &recorder->means);
    return 0;
}

static int open_outside(struct system_recorder *recorder, struct error *err)
{
    recorder->outside = outside_new(recorder->options);
    return sources_open(&recorder->sources, outside_source(recorder->outside), err);
}

/* Those that the process does not share with the recorder: of a container. */
static void set_namespaces(struct trace_session *session, uint32_t pid)
{
    static const char *const spaces[][2] = {{"pid", "PID"},       {"mnt", "mount"}, {"net", "network"},  {"ipc", "IPC"},
                                            {"uts", "host name"}, {"user", "user"}, {"cgroup", "cgroup"}};
    char text[128] = "";
    for (unsigned i = 0; pid && i < sizeof spaces / sizeof *spaces; i++)
        if (procfs_is_apart(pid, spaces[i][0]))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? ", " : "", spaces[i][1]);
    if (*text)
        trace_session_set(session, "namespaces", text);
}

static int open_trace(struct system_recorder *recorder, struct error *err)
{
    struct capture_options described = *recorder->options;
    struct proc_program program;
    described.faults = false; /* they are the samples here */
    described.traffic &= !recorder->outside;
    char *command[] = {"(the whole machine)", NULL};
    const struct process_query *query = &described.query;
    if (described.pid && (query->cgroup || query->container)) {
        snprintf(program.command, sizeof program.command, "(%s %s)", query->cgroup ? "cgroup" : "container",
                 query->cgroup ? query->cgroup : query->container);
        command[0] = program.command;
    } else if (described.pid) {
        proc_program(described.pid, "", &program);
        command[0] = program.command;
    }
    if (!described.command)
        described.command = command;
    if (!described.output)
        return 0;
    struct trace_session *session = describe_session(&described, &recorder->means);
    set_namespaces(session, described.pid);
    if (described.rotate_ns) {
        recorder->sink.carried = carried_new(false);
        return rotation_start(&recorder->rotation, &described, session, &recorder->sink, recorder->started, err);
    }
    recorder->sink.writer = trace_writer_open(described.output, session, err);
    trace_session_free(session);
    return recorder->sink.writer ? 0 : err->code;
}

static void report_thread(uint32_t tid, void *context)
{
    struct system_recorder *recorder = context;
    running_process(&recorder->running, recorder->options->pid, tid, recorder->started);
}

static void connect_sources(struct system_recorder *recorder)
{
    size_t memory = recorder->options->memory;
    counter_clock_start(&recorder->clock, !counter_trusted());
    process_table_init(&recorder->processes, &recorder->sink, memory / 16);
    running_init(&recorder->running, &recorder->processes);
    recorder->runtimes = runtime_names_new(&recorder->sink, &recorder->processes, memory / RUNTIME_NAME_BYTES);
    sources_open(&recorder->sources, runtime_names_source(recorder->runtimes), NULL);
    recorder->sink.tap = listen_event;
    recorder->sink.tap_context = recorder;
    if (recorder->means.homes) {
        recorder->homes = homes_new(&recorder->sink, memory / 32, true, recorder->means.frames);
        recorder->listener = (struct source_listener){.context = recorder, .sample = listen_sample};
        sources_open(&recorder->sources, homes_source(recorder->homes), NULL);
    }
    if (recorder->outside && recorder->options->output) {
        recorder->maps = capture_maps_new(&recorder->sink, &recorder->processes, memory / 32);
        recorder->listener = (struct source_listener){.context = recorder, .sample = listen_sample};
        sources_open(&recorder->sources, capture_maps_source(recorder->maps), NULL);
    }
    if (recorder->outside) {
        outside_connect(recorder->outside, &recorder->sink, &recorder->running, &recorder->listener);
    } else {
        hw_record_connect(recorder->hardware, &recorder->sink, &recorder->processes, &recorder->listener,
                          &recorder->clock);
        hw_record_follow(recorder->hardware, &recorder->running);
    }
    if (recorder->options->pid)
        proc_each_thread(recorder->options->pid, report_thread, recorder);
}

/* Whether the program that was started has ended; it is still to be waited for. A stop for us is no end. */
static bool has_ended(const struct system_recorder *recorder)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)recorder->launch.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid &&
           (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
}

static int start(struct system_recorder *recorder, struct error *err)
{
    const struct capture_options *options = recorder->options;
    struct recorder_result *result = recorder->result;
    int code;
    result->exit_status = PROGRAM_REFUSED;
    take_signals(recorder);
    if ((code = find_process(recorder, err)) < 0 || (code = find_means(recorder, err)) < 0 ||
        (options->command &&
         (code = launch_prepare(&recorder->launch, options->command, NULL, NULL, &recorder->before, err)) < 0))
        return code;
    if (options->restrict_self)
        sandbox_drop_capabilities(); /* the program was forked before, and there are no other threads yet */
    if ((code = recorder->means.outside ? open_outside(recorder, err) : open_hardware(recorder, err)) < 0)
        return code;
    recorder->started = recorder->flushed = clock_now_ns();
    sources_want(&recorder->sources, true); /* once there is a file, everything is being recorded */
    if ((code = open_trace(recorder, err)) < 0)
        return code;
    connect_sources(recorder);
    if (options->command)
        code = launch_go(&recorder->launch, options->command[0], &result->exit_status, err);
    if (code == 0 && options->command && recorder->outside &&
        outside_follow(recorder->outside, (uint32_t)recorder->launch.pid, true, err) < 0 && !has_ended(recorder))
        code = err->code; /* else it was too quick: nothing was sampled, and its status is what counts */
    if (code < 0 && options->rotate_ns) {
        rotation_finish(&recorder->rotation, NULL, recorder->started);
    } else if (code < 0 && recorder->sink.writer) {
        trace_writer_close(recorder->sink.writer, NULL, NULL);
        recorder->sink.writer = NULL;
        trace_file_remove(options->output);
    }
    result->ran = code == 0;
    if (code == 0 && options->restrict_self)
        sandbox_enter(recorder->outside ? SANDBOX_TRACER : SANDBOX_SERVER);
    return code;
}

/* Ctrl-C at a terminal reaches the program by itself; what was sent to us alone is passed on. */
static void take_signal(struct system_recorder *recorder, int number, const siginfo_t *info)
{
    if (number == SIGCHLD)
        return;
    if (recorder->launch.pid <= 0)
        recorder->ended = true;
    else if (info->si_code <= 0)
        kill(recorder->launch.pid, number);
}

/* Asked each time: a source waits for stops of threads itself, which come by the same signal. */
static void look_for_end(struct system_recorder *recorder)
{
    if (recorder->launch.pid > 0 && !recorder->ended && has_ended(recorder))
        recorder->ended = wait4(recorder->launch.pid, &recorder->wait_status, 0, &recorder->usage) > 0;
}

static void flush(struct system_recorder *recorder)
{
    if (recorder->sink.writer)
        trace_writer_flush(recorder->sink.writer, recorder->sink.failure.code ? NULL : &recorder->sink.failure);
}

/* The figures of the run so far, and a trace's last block with them. */
static struct trace_session *conclude(struct system_recorder *recorder, uint64_t now)
{
    struct recorder_result *result = recorder->result;
    struct agent_totals totals = {0};
    struct outside_totals outside = {0};
    if (recorder->outside) {
        outside = outside_totals(recorder->outside);
        totals = (struct agent_totals){.ticks = outside.ticks,
                                       .bursts = outside.bursts,
                                       .steps = outside.steps,
                                       .accesses = outside.accesses,
                                       .handler_ns = outside.cost_ns};
    }
    result->duration_ns = now - recorder->started;
    describe_result(result, &recorder->sink, &totals, &recorder->usage);
    if (recorder->outside)
        result->target_cpu_ns = outside.cpu_ns;
    result->refused = outside.refused;
    result->threads = recorder->sink.counts[EVENT_THREAD_START];
    result->processes = recorder->processes.started;
    return describe_ending(result, &recorder->sink, &totals);
}

static void breathe(void *context)
{
    struct system_recorder *recorder = context;
    struct source_level level;
    sources_drain(&recorder->sources, clock_now_ns(), &level);
}

/* Ends this file and begins the next one. */
static void rotate(struct system_recorder *recorder, uint64_t now)
{
    rotation_prepare(&recorder->rotation, now, breathe, recorder);
    uint64_t prepared = clock_now_ns();
    flush(recorder);
    recorder->result->exit_status = -1;
    struct trace_session *ending = conclude(recorder, prepared);
    trace_session_setf(ending, "next_part", "%" PRIu32, recorder->rotation.part);
    trace_parts_take(ending, &recorder->figures);
    rotation_switch(&recorder->rotation, ending, prepared);
    trace_session_free(ending);
    recorder->flushed = clock_now_ns();
    if (recorder->flushed - now > recorder->result->rotate_most_ns)
        recorder->result->rotate_most_ns = recorder->flushed - now;
}

static void sooner(uint64_t *wait, uint64_t since, uint64_t now, uint64_t distance)
{
    uint64_t remaining = !distance ? *wait : now - since < distance ? distance - (now - since) : 0;
    *wait = remaining < *wait ? remaining : *wait;
}

/* From outside nothing fills up meanwhile: each time that it wakes costs more than what it would find. */
static struct timespec sleep_time(const struct system_recorder *recorder, const struct source_level *level,
                                  uint64_t now)
{
    uint64_t wait = source_sleep_ns(level);
    if (recorder->outside && level->due > wait) {
        wait = level->due < OUTSIDE_SLEEP_NS ? level->due : OUTSIDE_SLEEP_NS;
        sooner(&wait, recorder->started, now, recorder->options->stop_ns);
        sooner(&wait, recorder->rotation.started, now, recorder->rotation.every_ns);
    }
    return (struct timespec){0, (long)wait};
}

/* Files may take long: from outside that waits until no thread is about to stop. */
static void write_out(struct system_recorder *recorder, uint64_t now)
{
    bool flushes = now - recorder->flushed >= SOURCE_FLUSH_NS, rotates = rotation_due(&recorder->rotation, now);
    if (!(flushes || rotates) || (recorder->outside && !outside_hold(recorder->outside)))
        return;
    if (flushes) {
        recorder->flushed = now;
        flush(recorder);
    }
    if (rotates)
        rotate(recorder, now);
    if (recorder->outside)
        outside_go_on(recorder->outside);
}

static void call_observer(struct system_recorder *recorder, uint64_t now)
{
    const struct capture_observer *observer = recorder->options->observer;
    struct capture_live live = {&recorder->sink, &recorder->sources, NULL};
    if (observer && observer->poll)
        observer->poll(observer->context, now, &live);
}

static void record(struct system_recorder *recorder)
{
    while (!recorder->ended) {
        uint64_t now = clock_now_ns(), stop = recorder->options->stop_ns;
        counter_clock_renew(&recorder->clock, now);
        struct source_level level;
        sources_drain(&recorder->sources, now, &level);
        sources_tend(&recorder->sources, now);
        write_out(recorder, now);
        call_observer(recorder, now);
        if (!recorder->options->command && stop && now - recorder->started >= stop)
            break;
        if (recorder->outside && !recorder->options->command && outside_ended(recorder->outside))
            break;
        if (recorder->process >= 0 && !recorder->outside &&
            poll(&(struct pollfd){.fd = recorder->process, .events = POLLIN}, 1, 0) > 0)
            break;
        siginfo_t info;
        struct timespec wait = sleep_time(recorder, &level, now);
        int number = sigtimedwait(&recorder->waited, &info, &wait);
        if (number > 0)
            take_signal(recorder, number, &info);
        look_for_end(recorder);
    }
    sources_want(&recorder->sources, false);
    sources_finish(&recorder->sources);
    if (recorder->homes)
        homes_ask(recorder->homes, clock_now_ns()); /* of a process that goes on, they can be had */
}

static void finish(struct system_recorder *recorder)
{
    struct recorder_result *result = recorder->result;
    struct rotation *rotation = &recorder->rotation;
    bool ran = recorder->launch.pid > 0;
    uint64_t now = clock_now_ns();
    result->signal = ran && WIFSIGNALED(recorder->wait_status) ? WTERMSIG(recorder->wait_status) : 0;
    result->exit_status = result->signal ? 128 + result->signal : ran ? WEXITSTATUS(recorder->wait_status) : 0;
    flush(recorder);
    struct trace_session *ending = conclude(recorder, now);
    describe_means(result, recorder->options, &recorder->means);
    double us[3];
    if (recorder->outside && outside_stops(recorder->outside, us)) {
        size_t used = strlen(result->source);
        snprintf(result->source + used, sizeof result->source - used,
                 "; stops of %.0f us (median; 95%%: %.0f, 99%%: %.0f)", us[0], us[1], us[2]);
        trace_session_setf(ending, "stops_us", "%.1f %.1f %.1f", us[0], us[1], us[2]);
    }
    if (recorder->options->rotate_ns) {
        trace_parts_take(ending, &recorder->figures);
        result->drops -= recorder->sink.writer ? trace_writer_unwritten(recorder->sink.writer) : 0;
        rotation_finish(rotation, ending, now);
        result->files = rotation->files.count;
        result->removed = rotation->removed;
        result->bytes = rotation->written;
        result->drops += rotation->unwritten; /* of all files */
        result->write_failure = rotation->failure;
        trace_session_free(ending);
        return;
    }
    if (recorder->sink.writer)
        trace_writer_close(recorder->sink.writer, ending, recorder->sink.failure.code ? NULL : &recorder->sink.failure);
    trace_session_free(ending);
    result->write_failure = recorder->sink.failure;
}

int system_recorder_run(const struct capture_options *options, struct recorder_result *result, struct error *err)
{
    struct system_recorder recorder = {.options = options, .result = result, .launch = {-1, -1, -1}, .process = -1};
    *result = (struct recorder_result){0};
    int code = start(&recorder, err);
    if (code == 0) {
        record(&recorder);
        finish(&recorder);
    } else {
        launch_cancel(&recorder.launch);
    }
    if (recorder.process >= 0)
        close(recorder.process);
    sources_close(&recorder.sources);
    running_free(&recorder.running);
    process_table_free(&recorder.processes);
    rotation_free(&recorder.rotation);
    carried_free(recorder.sink.carried);
    trace_session_free(recorder.figures);
    sigprocmask(SIG_SETMASK, &recorder.before, NULL);
    return code;
}
