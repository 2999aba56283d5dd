#include "capture/recorder.h"

#include "base/clock.h"
#include "base/mem.h"
#include "capture/agent_source.h"
#include "capture/describe.h"
#include "capture/launch.h"
#include "capture/program.h"
#include "capture/signals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    IDLE_NS = 10000000,    /* sleep at most that long: the heartbeat must go on */
    TEND_NS = 100000000,   /* between looks for threads that are gone */
    FLUSH_NS = 1000000000, /* what a kill -9 may cost */
    LITTLE_BYTES = 32 << 10,
    FORK_SERVER_ROUNDS = 3,
};

struct recorder {
    const struct capture_options *options;
    struct recorder_result *result;
    struct capture_region region;
    struct launch launch;
    struct counter_clock clock;
    struct sink sink;
    struct process_table processes;
    struct agent_source *agents;
    uint64_t started, tended, flushed;
    size_t drained; /* bytes since the writer's memory was looked at */
    int wait_status;
    struct rusage usage; /* of the target */
};

static int start(struct recorder *recorder, struct error *err)
{
    const struct capture_options *options = recorder->options;
    struct recorder_result *result = recorder->result;
    sigset_t mask;
    result->exit_status = PROGRAM_REFUSED;
    char *program = program_find(options->command[0], &result->exit_status, err);
    if (!program)
        return err->code;
    free(program);
    result->exit_status = PROGRAM_REFUSED;
    char *agent = program_agent_path(err);
    if (!agent)
        return err->code;
    int code = capture_region_make(&recorder->region, options, err);
    if (code == 0) {
        signals_take(&mask);
        code = launch_prepare(&recorder->launch, options->command, recorder->region.environment, agent, &mask, err);
    }
    free(agent);
    if (code < 0)
        return code;

    struct trace_session *session = describe_session(options, &recorder->region);
    recorder->sink.writer = trace_writer_open(options->output, session, err);
    trace_session_free(session);
    if (!recorder->sink.writer)
        return err->code;
    counter_clock_start(&recorder->clock, !(recorder->region.map->config.flags & WIRE_COUNTER_IS_CPU));
    process_table_init(&recorder->processes, &recorder->sink, options->memory / 16 / 43);
    recorder->agents = agent_source_new(&recorder->region, &recorder->processes, &recorder->sink, &recorder->clock,
                                        NULL, options->memory / 16);
    signals_ready(recorder->agents, &mask);
    recorder->started = recorder->tended = recorder->flushed = clock_now_ns();
    code = launch_go(&recorder->launch, options->command[0], &result->exit_status, err);
    if (code < 0) {
        trace_writer_close(recorder->sink.writer, NULL, NULL);
        recorder->sink.writer = NULL;
        unlink(options->output);
    }
    result->ran = code == 0;
    return code;
}

/* Whether the target's end was seen. */
static bool target_ended(struct recorder *recorder)
{
    pid_t pid;
    do
        pid = wait4(recorder->launch.pid, &recorder->wait_status, WNOHANG, &recorder->usage);
    while (pid < 0 && errno == EINTR);
    return pid != 0;
}

static void tend(struct recorder *recorder, uint64_t now)
{
    counter_clock_renew(&recorder->clock, now);
    if (now - recorder->tended >= TEND_NS) {
        recorder->tended = now;
        agent_source_tend(recorder->agents, now);
        sink_loss(&recorder->sink, now, (uint32_t)recorder->launch.pid, 0, LOSS_STACK_TABLE,
                  recorder->processes.stacks_lost);
        recorder->processes.stacks_lost = 0;
    }
    bool full = recorder->drained >= recorder->options->memory / 16 &&
                trace_writer_pending(recorder->sink.writer) >= recorder->options->memory / 8;
    if (full || now - recorder->flushed >= FLUSH_NS) {
        recorder->flushed = now;
        trace_writer_flush(recorder->sink.writer, recorder->sink.failure.code ? NULL : &recorder->sink.failure);
    }
    if (recorder->drained >= recorder->options->memory / 16)
        recorder->drained = 0;
}

static void drain_until_end(struct recorder *recorder)
{
    for (bool ended = false; !ended;) {
        uint64_t now = clock_now_ns();
        atomic_store_explicit(&recorder->region.map->heartbeat_ns, now, memory_order_relaxed);
        ended = target_ended(recorder);
        size_t bytes = agent_source_drain(recorder->agents);
        recorder->drained += bytes;
        tend(recorder, now);
        signals_forward(recorder->launch.pid, now);
        if (!ended && bytes < LITTLE_BYTES)
            agent_source_sleep(recorder->agents, IDLE_NS);
    }
    /* The program is no more; what its children do from now on is not part of it. */
    atomic_store(&recorder->region.map->recording, 0);
    for (int round = 0; round < FORK_SERVER_ROUNDS; round++)
        agent_source_drain(recorder->agents);
    agent_source_tend(recorder->agents, clock_now_ns());
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
    trace_writer_flush(recorder->sink.writer, recorder->sink.failure.code ? NULL : &recorder->sink.failure);
    describe_result(result, &recorder->sink, agent_source_totals(recorder->agents), &recorder->usage);
    result->processes = recorder->processes.started;
    struct trace_session *ending = describe_ending(result, &recorder->sink, agent_source_totals(recorder->agents));
    agent_source_free(recorder->agents);
    recorder->agents = NULL;
    int code =
        trace_writer_close(recorder->sink.writer, ending, recorder->sink.failure.code ? NULL : &recorder->sink.failure);
    (void)code;
    recorder->sink.writer = NULL;
    trace_session_free(ending);
    result->write_failure = recorder->sink.failure;
}

int recorder_run(const struct capture_options *options, struct recorder_result *result, struct error *err)
{
    struct recorder recorder = {.options = options, .result = result, .region.fd = -1, .launch = {-1, -1, -1}};
    *result = (struct recorder_result){0};
    int code = start(&recorder, err);
    if (code == 0) {
        drain_until_end(&recorder);
        finish(&recorder);
    } else {
        launch_cancel(&recorder.launch);
    }
    signals_release();
    agent_source_free(recorder.agents);
    process_table_free(&recorder.processes);
    capture_region_free(&recorder.region);
    return code;
}
