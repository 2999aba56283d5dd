/* agent/sampling/burst_probes.c - see burst_places.h: loads of the agent's own, where the page is there. Runs in bursts, with general
 * registers only. */
#include "agent/sampling/burst_places.h"
#include "agent/sampling/sampler.h"
#include "base/sys.h"
#include "base/units.h"

enum {
    PROBES = 6,
    AHEAD_LINES = 128, /* at min_steps so far ahead, and so many steps: prefetchers do not get there */
    AHEAD_SPREAD = 384,
    BEHIND_LINES = 64, /* beyond the row that it is in, and still in a cache */
    BEHIND_SPREAD = 1024,
    STEPS_SPREAD = 64,
    ASKED_MOST = 12,
};

_Static_assert((int)STREAM_LINE == (int)CACHE_LINE, "the trace's line is the processor's"); /* wire includes nothing */

/* Beyond every program's memory: of five levels of page tables on x86-64; Arm has 2^48 or 2^52, and uses the upper half of it. */
#define ADDRESS_END ((int64_t)1 << 56)

/* Which of the pages are in the page table: a page that is not, or is the kernel's page of zeroes, has an error in the place of its
 * node. */
static bool ask_pages(void **pages, uint64_t count, int *nodes)
{
    return sys_call(SYS_move_pages, 0, count, pages, NULL, nodes, 0) == 0;
}

bool traffic_may_load(struct agent_thread *self, uint64_t addr)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    void *page = (void *)(addr & ~(uint64_t)(PAGE_UNIT - 1));
    int node = -1;
    if (!traffic || traffic->state != FIRST || traffic->retry)
        return false;
    if (traffic->known[addr / PAGE_UNIT % KNOWN] == addr / PAGE_UNIT + 1)
        return true;
    return traffic->asked++ < ASKED_MOST && ask_pages(&page, 1, &node) && node >= 0;
}

static uint64_t next_random(struct agent_thread *self)
{
    uint64_t x = self->sampler.random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return self->sampler.random = x;
}

/* Of what is no stream, and may be one that was seen too shortly, loads are timed at some distance on either side. */
static int64_t step_of(const struct burst_place *place)
{
    return is_stream(place) ? place->stride : CACHE_LINE;
}

static int64_t length_of(int64_t step)
{
    return step < 0 ? -step : step;
}

static uint64_t ahead_of(struct agent_thread *self, const struct burst_place *place)
{
    int64_t far = (int64_t)(AHEAD_LINES + next_random(self) % AHEAD_SPREAD) * CACHE_LINE, step = step_of(place);
    int64_t size = length_of(step);
    int64_t steps = (far + size - 1) / size, min_steps = AHEAD_LINES + (int64_t)(next_random(self) % STEPS_SPREAD);
    uint64_t to = place->addr + (uint64_t)((steps > min_steps ? steps : min_steps) * step);
    return to > PAGE_UNIT && to < (uint64_t)ADDRESS_END ? to : 0;
}

/* Strides back to where it would have come by a while ago: 0 when that is nowhere. */
static uint16_t behind_of(struct agent_thread *self, const struct burst_place *place)
{
    int64_t step = step_of(place), size = length_of(step);
    int64_t far = (int64_t)(BEHIND_LINES + next_random(self) % BEHIND_SPREAD);
    int64_t steps = size < CACHE_LINE ? far * CACHE_LINE / size : far;
    uint64_t to = place->addr - (uint64_t)(steps * step);
    return to > PAGE_UNIT && to < (uint64_t)ADDRESS_END && steps <= UINT16_MAX ? (uint16_t)steps : 0;
}

static void *page_of(uint64_t addr)
{
    return (void *)(addr & ~(uint64_t)(PAGE_UNIT - 1));
}

/* Nanoseconds of a load, or STREAM_NO_LATENCY. */
static uint32_t time_load(uint64_t addr, uint64_t (*to_ns)(uint64_t ticks))
{
    uint32_t ticks;
    uint64_t ns = step_probe(addr, &ticks) ? to_ns(ticks) : LATENCY_MOST;
    return ns < LATENCY_MOST ? (uint32_t)ns : STREAM_NO_LATENCY;
}

/* Streams first; then what goes on by small steps, or was not seen often enough. What stays where it is, or goes far, shows its own
 * latencies. */
static unsigned choose(struct agent_thread *self, struct burst_traffic *traffic, struct burst_place **chosen)
{
    unsigned count = 0, start = (unsigned)(next_random(self) % traffic->count);
    for (unsigned i = 0; i < 2 * traffic->count && count < PROBES; i++) {
        struct burst_place *place = &traffic->places[(start + i) % traffic->count];
        bool stream = is_stream(place), still = place->flags & STREAM_STILL && place->runs > 1;
        if (stream != (i < traffic->count) || place->ahead || place->stride >= ADDRESS_END / 1024 ||
            place->stride <= -ADDRESS_END / 1024 || (!stream && (still || place->far * FAR_PARTS > place->runs)))
            continue;
        place->ahead = ahead_of(self, place);
        if (!place->ahead)
            continue;
        place->behind = behind_of(self, place);
        chosen[count++] = place;
    }
    return count;
}

/* Which pages are there the kernel says for all of them at once. */
void probe_around(struct agent_thread *self, struct burst_traffic *traffic, uint64_t (*to_ns)(uint64_t ticks))
{
    void *pages[2 * PROBES];
    struct burst_place *chosen[PROBES];
    int nodes[2 * PROBES];
    if (agent_device_mapped || traffic->count == 0)
        return;
    unsigned count = choose(self, traffic, chosen);
    for (unsigned i = 0; i < count; i++) {
        nodes[2 * i] = nodes[2 * i + 1] = -1;
        pages[2 * i] = page_of(chosen[i]->ahead);
        pages[2 * i + 1] = page_of(chosen[i]->addr - (uint64_t)(chosen[i]->behind * step_of(chosen[i])));
        KEEP_LOOP();
    }
    bool asked = count > 0 && ask_pages(pages, 2 * count, nodes);
    for (unsigned i = 0; i < count; i++) {
        struct burst_place *place = chosen[i];
        uint64_t back = place->addr - (uint64_t)(place->behind * step_of(place));
        place->ahead_ns = asked && nodes[2 * i] >= 0 ? time_load(place->ahead, to_ns) : STREAM_NO_LATENCY;
        uint32_t ns = asked && place->behind && nodes[2 * i + 1] >= 0 ? time_load(back, to_ns) : STREAM_NO_LATENCY;
        if (place->ahead_ns == STREAM_NO_LATENCY)
            place->ahead = 0;
        if (ns == STREAM_NO_LATENCY)
            place->behind = 0;
        place->behind_ns = (uint16_t)ns;
    }
}
