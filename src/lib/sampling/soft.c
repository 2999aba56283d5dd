#include "lib/sampling/soft.h"

#include "agent/join.h"
#include "capture/process/proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MEMORY = 96 << 20, /* of address space; rings take memory when they are used: 480 threads at once */
    FRAMES = 32,
};

int soft_make(struct soft *soft, struct process_table *processes, struct sink *sink, struct error *err)
{
    struct error why = {0};
    soft->region.fd = -1;
    soft->means.perf_tick = probe_perf_tick(&why);
    if (!soft->means.perf_tick)
        snprintf(soft->means.tick_reason, sizeof soft->means.tick_reason, "%.255s", why.text);
    const struct capture_options options = {
        .tick_ns = SOFT_TICK_NS,
        .burst = SOFT_BURST,
        .budget_ppm = SOFT_BUDGET_PPM,
        .max_frames = FRAMES,
        .loads = true,
        .stores = true,
        .latency = true,
        .samples = SAMPLES_SOFT,
        .memory = MEMORY,
    };
    int code = capture_region_make(&soft->region, &options, soft->means.perf_tick, err);
    if (code < 0)
        return code;
    soft->region.map->config.flags |= WIRE_JOINED;
    atomic_store(&soft->region.map->resting, 1);
    counter_clock_start(&soft->clock, !(soft->region.map->config.flags & WIRE_COUNTER_IS_CPU));
    process_table_init(processes, sink, MEMORY / 16);
    processes->first = (uint32_t)getpid();
    soft->agents = agent_source_new(&soft->region, processes, sink, &soft->clock, NULL, MEMORY / 16);
    return 0;
}

/* A preloaded agent holds the same signals. */
static bool is_recorded(void)
{
    return getenv(WIRE_ENVIRONMENT) != NULL;
}

static int join(struct soft *soft, struct error *err)
{
    if (is_recorded())
        return error_set(err, -EBUSY,
                         "this process is being recorded by numalens record, which takes the same samples: run it "
                         "without, or do without a session");
    switch (join_start(soft->region.map)) {
    case JOIN_OK:
        return 0;
    case JOIN_TAKEN:
        return error_set(err, -EBUSY, "this process is recorded already");
    case JOIN_STATIC:
        return error_set(err, -ENOTSUP,
                         "the soft sampler is part of the executable and cannot distinguish its own code from the "
                         "program's: link libnumalens.so instead of libnumalens.a");
    case JOIN_NO_KEY:
        return error_set(
            err, -EAGAIN,
            "the program holds all of the first 32 pthread keys, one of which the soft sampler needs: open "
            "the first session before other libraries create theirs");
    default:
        return error_set(err, -EPERM, "the soft sampler cannot step instructions here: numalens doctor says why");
    }
}

int soft_join(struct soft *soft, struct error *err)
{
    if (soft->joined)
        return 0;
    if (soft->failure)
        return error_set(err, soft->failure, "the soft sampler could not be started before, and will not be now");
    soft->failure = join(soft, err);
    soft->joined = soft->failure == 0;
    return soft->failure;
}

void soft_configure(struct soft *soft, const nlens_session *sessions)
{
    struct wire_config *config = &soft->region.map->config;
    uint64_t tick = UINT64_MAX;
    uint32_t budget = 0, flags = 0;
    for (const nlens_session *session = sessions; session; session = session->next) {
        if (!session->running || session->hardware)
            continue;
        tick = session->options.period_ns < tick ? session->options.period_ns : tick;
        budget = session->options.budget > budget ? session->options.budget : budget;
        flags |= session->options.wanted & NLENS_READS ? WIRE_SAMPLE_LOADS : 0;
        flags |= session->options.wanted & NLENS_WRITES ? WIRE_SAMPLE_STORES : 0;
    }
    if (flags == 0)
        return;
    config->flags = (config->flags & ~(uint32_t)(WIRE_SAMPLE_LOADS | WIRE_SAMPLE_STORES)) | flags;
    config->tick_ns = tick;
    config->budget_ppm = budget;
}

bool soft_keep(struct soft *soft)
{
    return soft->joined && join_keep();
}

bool soft_is_armed(const nlens_session *session)
{
    for (size_t i = 0; i < session->tids.capacity; i++)
        if (session->tids.keys[i] != MAP64_EMPTY && !join_is_armed((uint32_t)session->tids.keys[i]))
            return false;
    return true;
}

static void arm(uint32_t tid, void *context)
{
    const uint32_t *own_tid = context;
    if (tid != *own_tid)
        join_arm(tid);
}

void soft_arm(const uint32_t *tids, size_t count, bool all, uint32_t own_tid)
{
    for (size_t i = 0; i < count; i++)
        join_arm(tids[i]);
    if (all)
        proc_each_thread((uint32_t)getpid(), arm, &own_tid);
}

static void drain(void *context, uint64_t now, struct source_level *level)
{
    struct soft *soft = context;
    atomic_store_explicit(&soft->region.map->heartbeat_ns, now, memory_order_relaxed);
    counter_clock_renew(&soft->clock, now);
    level->bytes += agent_source_drain(soft->agents, now);
}

static void tend(void *context, uint64_t now)
{
    const struct soft *soft = context;
    agent_source_tend(soft->agents, now);
}

static int want(void *context, bool wanted)
{
    struct soft *soft = context;
    atomic_store(&soft->region.map->resting, !wanted);
    return 0;
}

struct source soft_source(struct soft *soft)
{
    return (struct source){.kind = FROM_AGENTS, .context = soft, .want = want, .drain = drain, .tend = tend};
}

void soft_refresh(struct soft *soft)
{
    if (soft->joined)
        join_refresh();
}
