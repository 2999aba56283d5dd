/* See reuse_phases.h. */
#include "analysis/reuse/reuse_phases.h"

#include "analysis/thresholds.h"
#include "base/mem.h"

#include <stdlib.h>

enum { MOST_SLICES = 64 };

struct slice {
    uint32_t samples, busiest; /* of the thread with most of them */
};

struct reuse_phases {
    const struct flow *flow;
    uint64_t start, length, all;
    unsigned count;
    struct slice *slices; /* `count` of each process */
    uint32_t *samples;    /* `count` of each thread */
};

static unsigned slice_at(const struct reuse_phases *phases, uint64_t time)
{
    if (time <= phases->start || phases->length == 0)
        return 0;
    uint64_t slice = (time - phases->start) / (phases->length / phases->count + 1);
    return slice < phases->count ? (unsigned)slice : phases->count - 1;
}

static void count_all(void *context, const struct flow_access *access)
{
    struct reuse_phases *phases = context;
    phases->all += (access->flags & SAMPLE_FIRST) != 0;
}

static void count(void *context, const struct flow_access *access)
{
    struct reuse_phases *phases = context;
    if (!(access->flags & SAMPLE_FIRST) || access->thread >= flow_thread_count(phases->flow))
        return;
    unsigned at = slice_at(phases, access->time);
    uint32_t process = flow_thread(phases->flow, access->thread)->process;
    uint32_t samples = ++phases->samples[(size_t)access->thread * phases->count + at];
    struct slice *slice = &phases->slices[(size_t)process * phases->count + at];
    slice->samples++;
    slice->busiest = samples > slice->busiest ? samples : slice->busiest;
}

struct reuse_phases *reuse_phases_new(const struct flow *flow)
{
    struct reuse_phases *phases = mem_zalloc(sizeof *phases);
    struct error ignored = {0}; /* the flow has read them all before */
    *phases = (struct reuse_phases){
        .flow = flow,
        .start = flow_start(flow),
        .length = flow_end(flow) - flow_start(flow),
    };
    flow_each_access(flow, count_all, phases, &ignored);
    uint64_t slices =
        (uint64_t)((double)phases->all / (2 * thresholds.bursts)); /* so many show two threads that run equally */
    phases->count = slices < 1 ? 1 : slices > MOST_SLICES ? MOST_SLICES : (unsigned)slices;
    phases->slices = mem_zalloc((flow_process_count(flow) + 1) * phases->count * sizeof *phases->slices);
    phases->samples = mem_zalloc((flow_thread_count(flow) + 1) * phases->count * sizeof *phases->samples);
    flow_each_access(flow, count, phases, &ignored);
    return phases;
}

enum reuse_phase reuse_phase_at(const struct reuse_phases *phases, uint32_t process, uint64_t time)
{
    const struct slice *slice = &phases->slices[(size_t)process * phases->count + slice_at(phases, time)];
    return slice->busiest >= thresholds.mostly * slice->samples ? REUSE_ALONE : REUSE_TOGETHER;
}

void reuse_phases_free(struct reuse_phases *phases)
{
    free(phases->slices);
    free(phases->samples);
    free(phases);
}
