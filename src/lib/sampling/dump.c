#include "lib/sampling/dump.h"

#include "base/clock.h"
#include "capture/describe.h"
#include "capture/homes.h"
#include "capture/process/proc.h"
#include "capture/process/process_maps.h"
#include "lib/sampling/session_engine.h"
#include "lib/sampling/soft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { HOMES_MEMORY = 4 << 20, MAPS_MEMORY = 1 << 20 };

struct dump {
    struct sink sink;
    struct topology *topology;
    struct homes *homes;            /* NULL: there is nothing to ask */
    struct capture_maps *maps;      /* no hooks are in this process: what it mapped, the kernel reports */
    struct process_table processes; /* empty: this process stays the same program */
    size_t dumped;                  /* events of the engine's that are in the file */
    uint64_t started;
};

struct dump *dump_open(const nlens_session_options *options, struct capture_means means, struct error *err)
{
    struct dump *dump = mem_zalloc(sizeof *dump);
    struct error why = {0};
    dump->started = clock_now_ns();
    dump->topology = topology_load(err);
    if (!dump->topology)
        goto fail;
    means.homes = homes_wanted(dump->topology, &why);
    means.homes_refused = why.code != 0;
    if (means.homes_refused)
        snprintf(means.homes_reason, sizeof means.homes_reason, "%.255s", why.text);
    struct proc_program program;
    proc_program((uint32_t)getpid(), "", &program);
    char *command[] = {program.command, NULL};
    const struct capture_options described = {
        .command = command,
        .tick_ns = options->period_ns,
        .burst = SOFT_BURST,
        .budget_ppm = options->budget,
        .loads = options->wanted & NLENS_READS,
        .stores = options->wanted & NLENS_WRITES,
        .latency = true,
        .latency_threshold = options->latency,
        .samples = SAMPLES_SOFT,
        .topology = dump->topology,
    };
    struct trace_session *session = describe_session(&described, &means);
    dump->sink.writer = trace_writer_open(options->output, session, err);
    trace_session_free(session);
    if (!dump->sink.writer)
        goto fail;
    dump->maps = capture_maps_new(&dump->sink, &dump->processes, MAPS_MEMORY);
    if (means.homes)
        dump->homes = homes_new(&dump->sink, HOMES_MEMORY, true, false);
    return dump;
fail:
    topology_free(dump->topology);
    free(dump);
    return NULL;
}

static void report_event(void *context, const struct event *event)
{
    sink_put(context, event);
}

void dump_samples(struct dump *dump, const struct taken *taken, size_t count)
{
    uint32_t pid = (uint32_t)getpid();
    dump->dumped = engine_report_kept(dump->dumped, report_event, &dump->sink);
    for (size_t i = 0; i < count; i++) {
        const nlens_sample *sample = &taken[i].sample;
        struct event event = {.time = sample->time, .pid = pid, .tid = sample->tid, .kind = EVENT_SAMPLE};
        event.sample = (struct event_sample){
            .addr = sample->addr,
            .physical = taken[i].physical,
            .latency = sample->latency,
            .stack = taken[i].stack,
            .cpu = (uint16_t)sample->cpu,
            .size = sample->size,
            .source = taken[i].source,
            .level = (uint8_t)sample->level,
            .flags = taken[i].flags,
        };
        capture_maps_sample(dump->maps, pid, sample->addr, sample->time); /* first: the map holds the sample */
        sink_put(&dump->sink, &event);
        if (dump->homes)
            homes_sample(dump->homes, pid, sample->addr, sample->time);
    }
    capture_maps_poll(dump->maps, clock_now_ns());
    if (dump->homes)
        homes_ask(dump->homes, clock_now_ns());
}

int dump_flush(struct dump *dump, struct error *err)
{
    return trace_writer_flush(dump->sink.writer, err);
}

uint64_t dump_unwritten(const struct dump *dump)
{
    return trace_writer_unwritten(dump->sink.writer);
}

int dump_close(struct dump *dump, const nlens_session_stats *stats, struct error *err)
{
    struct recorder_result result = {0};
    struct agent_totals totals = {0};
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    uint64_t now = clock_now_ns();
    sink_loss(&dump->sink, now, (uint32_t)getpid(), 0, LOSS_SAMPLE_FULL, stats->overrun);
    describe_result(&result, &dump->sink, &totals, &usage);
    result.duration_ns = now - dump->started;
    struct trace_session *ending = describe_ending(&result, &dump->sink, &totals);
    int code = trace_writer_close(dump->sink.writer, ending, err);
    if (dump->sink.failure.code) {
        code = dump->sink.failure.code;
        if (err)
            *err = dump->sink.failure;
    }
    trace_session_free(ending);
    homes_free(dump->homes);
    capture_maps_free(dump->maps);
    topology_free(dump->topology);
    free(dump);
    return code;
}
