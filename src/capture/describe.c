#include "capture/describe.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/small_file.h"
#include "base/text.h"
#include "capture/agent/custom_spec.h"
#include "capture/faults/mechanism.h"
#include "capture/hardware/hw_record.h"
#include "capture/job_rank.h"
#include "trace/redact.h"
#include "topology/placement.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

enum { COMMAND_BYTES = 64 << 10 }; /* of a command line that are kept: a list of files can have megabytes */

/* Of what runs already there is one text, which is no word. */
static char *command_line(char **command, bool is_started)
{
    char *line = mem_alloc(COMMAND_BYTES + 64), *at = line, *const end = line + COMMAND_BYTES;
    size_t cut = 0;
    for (char **word = command; *word; word++) {
        char *quoted = is_started ? text_shell(*word) : mem_strdup(*word); /* reports print it as a command to type */
        size_t length = strlen(quoted), room = (size_t)(end - at);
        if (word != command && room) {
            *at++ = ' ';
            room--;
        }
        size_t kept = length < room ? length : room;
        memcpy(at, quoted, kept);
        at += kept;
        cut += length - kept;
        free(quoted);
    }
    *at = 0;
    if (cut)
        snprintf(at, 64, " ... (%zu bytes more)", cut);
    return line;
}

static void set_cpu_model(struct trace_session *session)
{
    char *model = small_file_field("/proc/cpuinfo", "model name");
    struct utsname name;
    trace_session_set(session, "cpu_model", model ? model : uname(&name) == 0 ? name.machine : "unknown");
    free(model);
}

static void set_machine(struct trace_session *session)
{
    struct utsname name;
    if (uname(&name) == 0) {
        trace_session_set(session, "host", name.nodename);
        trace_session_setf(session, "kernel", "%s %s", name.sysname, name.release);
    }
    set_cpu_model(session);
    char text[64];
    time_t now = time(NULL);
    struct tm parts;
    localtime_r(&now, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &parts);
    size_t length = strlen(text); /* RFC 3339 wants a colon in the offset */
    if (length >= 5) {
        memmove(text + length - 1, text + length - 2, 3);
        text[length - 2] = ':';
    }
    trace_session_set(session, "start_time", text);
    struct timespec wall; /* for who has to align another recording's clock with this one's */
    clock_gettime(CLOCK_REALTIME, &wall);
    trace_session_setf(session, "start_clock_ns", "%" PRIu64, clock_now_ns());
    trace_session_setf(session, "start_wall_ns", "%" PRIu64,
                       (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec);
}

static void set_rank(struct trace_session *session, const struct job_rank *rank)
{
    if (!rank || !rank->in_job)
        return;
    trace_session_setf(session, "rank", "%u", rank->number);
    if (rank->size)
        trace_session_setf(session, "ranks", "%u", rank->size);
    if (*rank->job)
        trace_session_set(session, "job", rank->job);
    trace_session_set(session, "launcher", rank->launcher);
}

struct trace_session *describe_session(const struct capture_options *options, const struct capture_means *means)
{
    bool hardware = means->source != SOURCE_SOFT;
    const char *source = options->samples == SAMPLES_FAULTS ? "faults"
                         : options->samples == SAMPLES_NONE ? "none"
                         : means->outside                   ? "outside"
                                                            : sample_source_name(means->source);
    struct trace_session *session = trace_session_new();
    char *line = command_line(options->command, !options->pid && *options->command[0] != '('),
         *topology = topology_to_text(options->topology);
    trace_session_set(session, "version", NUMALENS_VERSION);
    if (options->redact)
        trace_session_set(session, REDACT_KEY, "yes");
    trace_session_set(session, "command", line);
    set_machine(session);
    set_rank(session, options->rank);
    trace_session_set(session, "source", source);
    trace_session_set(session, "source_reason", hardware ? means->hardware : means->hardware_reason);
    if (!hardware) {
        trace_session_set(session, "tick", means->outside ? "clock" : means->perf_tick ? "perf" : "timer");
        trace_session_set(session, "tick_reason", means->tick_reason);
        trace_session_setf(session, "period_ns", "%" PRIu64, options->tick_ns);
        trace_session_setf(session, "burst", "%u", options->burst);
    }
    trace_session_set(session, "accesses", !options->stores ? "loads" : !options->loads ? "stores" : "all");
    trace_session_setf(session, "latency_threshold_ns", "%u", options->latency_threshold);
    trace_session_set(session, "latency_unit", hardware ? "cycles" : "ns");
    trace_session_setf(session, "budget_ppm", "%u", options->budget_ppm);
    trace_session_set(session, "topology", topology);
    trace_session_set(session, "first_touch", means->faults ? "faults" : "samples");
    trace_session_set(session, "first_touch_reason", means->faults_reason);
    trace_session_set(session, "homes",
                      options->topology->simulated ? "simulated"
                      : means->homes_refused       ? "unknown"
                                                   : "kernel");
    trace_session_set(session, "homes_reason", means->homes_reason);
    trace_session_set(session, "frames", means->frames ? "kernel" : "unknown");
    trace_session_set(session, "frames_reason", means->frames_reason);
    if (options->placement)
        trace_session_set(session, "placement", placement_name(options->placement->kind));
    if (options->faults) {
        trace_session_setf(session, "mechanism", "%s%s", mechanism_name(means->mechanism),
                           means->write_protect ? ",uffd-wp" : "");
        trace_session_set(session, "mechanism_reason", means->mechanism_reason);
        trace_session_setf(session, "interval_ns", "%" PRIu64, options->interval_ns);
        trace_session_setf(session, "fault_budget_ppm", "%u", options->fault_budget_ppm);
    }
    if (options->traffic) {
        bool sampled = options->samples != SAMPLES_NONE && options->samples != SAMPLES_FAULTS;
        trace_session_set(session, "traffic", !sampled ? "no" : hardware ? "samples" : "bursts");
    }
    if (options->calibration)
        trace_session_set(session, "calibration", options->calibration);
    if (options->machine) {
        trace_session_set(session, "machine", options->machine);
        trace_session_set(session, "machine_model", options->machine_model);
    }
    if (options->custom_count) {
        char *names = custom_spec_names(options->custom, options->custom_count);
        trace_session_set(session, "custom_functions", names);
        free(names);
    }
    free(line);
    free(topology);
    return session;
}

void describe_result(struct recorder_result *result, const struct sink *sink, const struct agent_totals *totals,
                     const struct rusage *usage)
{
    /* Ticks skipped on purpose are no drops: they are reported, but weigh nothing. */
    static const enum loss_cause weighty[] = {LOSS_RING_FULL, LOSS_SAMPLE_FULL, LOSS_NO_RING,
                                              LOSS_PERF,      LOSS_STACK_TABLE, LOSS_DISK,
                                              LOSS_MEMORY,    LOSS_AUX_FULL,    LOSS_THREAD_ENDED};
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    result->samples = sink->counts[EVENT_SAMPLE];
    result->objects = sink->counts[EVENT_ALLOC] + sink->counts[EVENT_POOL_ALLOC] + sink->counts[EVENT_MAP];
    result->threads = totals->rings;
    result->handler_ns = totals->handler_ns;
    result->target_cpu_ns = (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000u +
                            (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000u;
    result->recorder_cpu_ns = (uint64_t)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) * 1000000000u +
                              (uint64_t)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) * 1000u;
    result->apart = sink->lost[LOSS_CHILD_PRELOAD] + sink->lost[LOSS_SANITIZED] + sink->lost[LOSS_TRACED];
    result->drops = 0;
    for (unsigned i = 0; i < sizeof weighty / sizeof *weighty; i++)
        result->drops += sink->lost[weighty[i]];
    result->drops += sink->writer ? trace_writer_unwritten(sink->writer) : 0;
    result->bytes = sink->writer ? trace_writer_bytes(sink->writer) : 0;
}

uint64_t describe_tracking_ns(const struct agent_totals *totals, uint32_t ticks_per_us)
{
    double time =
        totals->hook_timed ? (double)totals->hook_time / (double)totals->hook_timed * (double)totals->hook_calls : 0;
    double ns = (time + (double)totals->hook_rare_time) * (ticks_per_us ? 1000.0 / ticks_per_us : 1);
    return ns < (double)INT64_MAX ? (uint64_t)ns : INT64_MAX; /* the target writes its counters */
}

struct trace_session *describe_ending(const struct recorder_result *result, const struct sink *sink,
                                      const struct agent_totals *totals)
{
    struct trace_session *ending = trace_session_new();
    const struct {
        const char *key;
        uint64_t value;
    } figures[] = {
        {"duration_ns", result->duration_ns},
        {"samples", result->samples},
        {"ticks", totals->ticks},
        {"bursts", totals->bursts},
        {"steps", totals->steps},
        {"accesses", totals->accesses},
        {"handler_ns", totals->handler_ns},
        {"tracking_ns", result->tracking_ns},
        {"cpu_ns", result->target_cpu_ns},
        {"recorder_cpu_ns", result->recorder_cpu_ns},
        {"corrupt_rings", totals->corrupt},
        {"unwritten", sink->writer ? trace_writer_unwritten(sink->writer) : 0},
    };
    if (result->exit_status >= 0)
        trace_session_setf(ending, "exit_status", "%d", result->exit_status);
    if (result->signal)
        trace_session_setf(ending, "signal", "%d", result->signal);
    for (unsigned i = 0; i < sizeof figures / sizeof *figures; i++)
        trace_session_setf(ending, figures[i].key, "%" PRIu64, figures[i].value);
    if (*result->custom_missing)
        trace_session_set(ending, "custom_missing", result->custom_missing);
    if (*result->custom_refused)
        trace_session_set(ending, "custom_refused", result->custom_refused);
    if (sink->failure.code)
        trace_session_set(ending, "write_error", sink->failure.text);
    return ending;
}

__attribute__((format(printf, 2, 3))) static void add_note(struct recorder_result *result, const char *format, ...)
{
    size_t used = strlen(result->notes);
    va_list arguments;
    if (used && used + 2 < sizeof result->notes)
        used += (size_t)snprintf(result->notes + used, sizeof result->notes - used, "; ");
    va_start(arguments, format);
    vsnprintf(result->notes + used, sizeof result->notes - used, format, arguments);
    va_end(arguments);
}

void describe_means(struct recorder_result *result, const struct capture_options *options,
                    const struct capture_means *means)
{
    result->hardware = means->source != SOURCE_SOFT;
    if (options->samples == SAMPLES_NONE)
        snprintf(result->source, sizeof result->source, "none, as requested");
    else if (options->samples == SAMPLES_FAULTS)
        snprintf(result->source, sizeof result->source, "page faults: first touches, and again by %s%s (%s)%s%.400s",
                 mechanism_name(means->mechanism), means->write_protect ? " and uffd-wp" : "",
                 mechanism_sees(means->mechanism), *means->mechanism_reason ? "; " : "", means->mechanism_reason);
    else if (means->source != SOURCE_SOFT)
        snprintf(result->source, sizeof result->source, "%.319s", means->hardware);
    else if (means->outside)
        snprintf(result->source, sizeof result->source,
                 "outside: threads are stopped and their next accesses followed%s%s",
                 *means->hardware_reason ? "; not from hardware: " : "", means->hardware_reason);
    else
        snprintf(result->source, sizeof result->source, "soft: ticks from %s%s%s%s%s",
                 means->perf_tick ? "perf" : "timers", *means->tick_reason ? ", " : "", means->tick_reason,
                 *means->hardware_reason ? "; not from hardware: " : "", means->hardware_reason);
    bool timers = *means->tick_reason && means->source == SOURCE_SOFT;
    const char *reason = timers ? means->tick_reason : means->faults_reason;
    if (*reason)
        snprintf(result->notes, sizeof result->notes, "%s: %s%s%s", reason, timers ? "ticks come from timers" : "",
                 timers && *means->faults_reason ? ", " : "",
                 *means->faults_reason ? "first touch comes from the samples" : "");
    else if (*means->homes_reason)
        snprintf(result->notes, sizeof result->notes, "home nodes of pages are not known: %s", means->homes_reason);
    if (means->outside)
        add_note(result, "from outside, " SESSION_NOT_OUTSIDE " cannot be known");
    if (*means->memory_note)
        add_note(result, "%s", means->memory_note);
    bool asked_for = hw_record_named(options); /* else a user need not know of counters */
    if (asked_for && *means->counters_reason)
        add_note(result, "bytes of each node's memory are not counted: %s", means->counters_reason);
    if (result->refused)
        add_note(result,
                 "%" PRIu64 " process%s not sampled: another user's, traced by another, or more than 256 at a time",
                 result->refused, result->refused == 1 ? "" : "es");
    uint64_t others = result->untracked > result->apart ? result->untracked - result->apart : 0;
    if (others && !*reason && !*means->homes_reason)
        add_note(result,
                 "%" PRIu64 " program%s started without the agent (static, setuid, another environment%s, or a sandbox "
                 "from which the recorder cannot be reached)",
                 others, others == 1 ? "" : "s", result->apart ? ", by a program without it" : "");
}

void describe_losses(struct recorder_result *result, const struct sink *sink)
{
    static const enum loss_cause programs[] = {LOSS_CHILD_PRELOAD, LOSS_SANITIZED, LOSS_TRACED};
    static const struct {
        enum loss_cause cause;
        const char *text;
    } causes[] = {
        {LOSS_UNREACHABLE, "not recorded in a network namespace of its own, which the recorder cannot be reached from"},
        {LOSS_RESTRICTED, "not recorded once its system calls were restricted (seccomp)"},
        {LOSS_NO_COUNTER, "not recorded once the processor's counter was forbidden to it (prctl PR_SET_TSC)"},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        uint64_t count = sink->lost[programs[i]];
        if (count)
            add_note(result, "%" PRIu64 " %s", count, loss_text(programs[i], count));
    }
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        uint64_t count = sink->lost[causes[i].cause];
        if (count == 1)
            add_note(result, "1 process was %s", causes[i].text);
        else if (count)
            add_note(result, "%" PRIu64 " processes: each %s", count, causes[i].text);
    }
    uint64_t unsampled = sink->lost[LOSS_NO_TICK];
    if (unsampled)
        add_note(result,
                 "%" PRIu64
                 " thread%s not sampled: no ticks (seccomp, ulimit -i) or no executable memory; try --source outside",
                 unsampled, unsampled == 1 ? " was" : "s were");
    uint64_t pauses = sink->lost[LOSS_PAUSED];
    if (pauses)
        add_note(result, "the recorder was paused %" PRIu64 " time%s (stopped, suspended or starved)", pauses,
                 pauses == 1 ? "" : "s");
}

void describe_faults(struct recorder_result *result, const struct capture_means *means,
                     const struct faults_totals *totals)
{
    result->pages = totals->pages;
    result->faults = totals->faults;
    result->faults_ns = totals->cost_ns;
    result->mechanism = means->mechanism;
    result->write_protect = means->write_protect;
    if (totals->unguarded)
        add_note(result,
                 "%" PRIu64
                 " program%s could not be write-protected (a system call filter, or no descriptor to be had): "
                 "only first touches show there",
                 totals->unguarded, totals->unguarded == 1 ? "" : "s");
    if (means->mechanism == MECHANISM_NUMA_HINT && totals->lone)
        add_note(result,
                 "%" PRIu64 " program%s had one thread only: there the kernel gives no hints for pages on the node "
                 "where it runs, and %s",
                 totals->lone, totals->lone == 1 ? "" : "s",
                 means->write_protect
                     ? "later reads of them do not show"
                     : "only first touches of them show; --mechanism uffd-wp or soft-dirty sees writes");
    if (means->mechanism != MECHANISM_NUMA_HINT && *means->mechanism_reason)
        add_note(result, "%s; %.500s",
                 means->mechanism == MECHANISM_NONE ? "only first touches show" : "later reads of a page do not show",
                 means->mechanism_reason);
}

ORDER_BY(by_count, uint64_t, ORDER((uint32_t)*b, (uint32_t)*a))

void describe_stops(struct trace_session *ending, const struct wire_region *region)
{
    uint64_t stops[WIRE_STOPS];
    char text[WIRE_STOPS * 24] = "";
    size_t length = 0;
    for (unsigned i = 0; i < WIRE_STOPS; i++)
        stops[i] = atomic_load_explicit(&region->stops[i], memory_order_relaxed);
    qsort(stops, WIRE_STOPS, sizeof *stops, by_count);
    for (unsigned i = 0; i < WIRE_STOPS && (uint32_t)stops[i]; i++) {
        uint32_t name = (uint32_t)(stops[i] >> 32), bytes = name >> 24;
        char digits[16] = "other";
        if (bytes >= 1 && bytes <= 3)
            snprintf(digits, sizeof digits, "%0*x", (int)(2 * bytes), (name & 0xffffff) >> (24 - 8 * bytes));
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s%s %u", i ? ", " : "", digits, (uint32_t)stops[i]);
    }
    if (length)
        trace_session_set(ending, "stops", text);
}

void describe_fault_totals(struct trace_session *ending, const struct faults_totals *totals)
{
    const struct {
        const char *key;
        uint64_t value;
    } figures[] = {
        {"faults", totals->faults},       {"faults_own", totals->own},      {"pages_reported", totals->pages},
        {"pages_armed", totals->armed},   {"pages_unseen", totals->unseen}, {"intervals_skipped", totals->skipped},
        {"unguarded", totals->unguarded}, {"one_thread", totals->lone},     {"fault_cost_ns", totals->fault_ns},
        {"faults_ns", totals->cost_ns},
    };
    for (unsigned i = 0; i < sizeof figures / sizeof *figures; i++)
        trace_session_setf(ending, figures[i].key, "%" PRIu64, figures[i].value);
}
