/* agent/sampling/burst_places.h - what a pair of bursts knows of the instructions in it; for burst_traffic.c and burst_probes.c
 * alone. */
#pragma once

#include "base/units.h"
#include "agent/sampling/burst_traffic.h"
#include "agent/sampling/keep_loop.h"

enum {
    PLACES = 40, /* instructions noted of a burst */
    TABLE = 64,
    STREAM_RUNS = 3, /* executions that show a stream, or a loop */
    LATENCY_MOST = 20000,
    KNOWN = 16,
    FAR_PARTS = 4, /* one of so many steps may go further: to the next row, of which a part is walked through */
    ROW_STEPS = 8,
};

enum state { ALONE, FIRST, SECOND, WAITING, DUE, MISSED };

struct burst_place { /* an instruction, in one direction */
    uint64_t pc, addr, ahead;
    int64_t stride, iterations;
    uint32_t steps; /* of the burst when it was last met: a gather accesses several times in one execution */
    uint32_t ahead_ns;
    uint16_t behind, behind_ns; /* a load so many strides behind, and what it took */
    uint16_t size, times, runs;
    uint16_t noted; /* of the runs: without those that were watched only, which `times` does not count either */
    uint16_t far;   /* steps that no prefetcher might guess */
    uint16_t odd;   /* steps that are not the stride */
    uint8_t flags, timed, sample_flags;
    bool found, irregular; /* irregular: several accesses in one execution */
    uint16_t latencies[STREAM_LATENCIES];
    uint32_t same, even; /* registers that did not change from one execution to the next; that changed by their step */
    uint64_t registers[STEP_REGISTERS];
    int64_t step[STEP_REGISTERS];
};

struct burst_traffic {
    enum state state;
    uint32_t count, found, burst, remaining;
    uint64_t ended_at;         /* wire_counter() when the first burst was left */
    uint64_t ended_cpu_ns;     /* CPU time of the thread then; 0: not known */
    uint32_t context_switches; /* tick_context_switches() then */
    bool switched;             /* another thread had the CPU since */
    uint64_t due_ns;           /* then: CPU time of the thread when the second burst began */
    uint64_t spent_ns;         /* since then, in ticks that started nothing */
    uint32_t gap_ns;
    uint64_t carried;
    bool cut;              /* the first burst ended before its samples began */
    bool retry;            /* it replaces one that was cut, and skips as few accesses as bursts do without traffic */
    uint32_t asked;        /* times that the kernel was asked for a page in this burst */
    uint64_t known[KNOWN]; /* pages that were accessed in this burst, by their number, + 1 */
    uint8_t table[TABLE];  /* number of the place + 1 */
    struct burst_place places[PLACES];
};

/* Of a row's end one step in eight may be of another length. */
static inline bool is_stream(const struct burst_place *place)
{
    return !place->irregular && place->runs >= STREAM_RUNS && place->stride != 0 &&
           place->odd * ROW_STEPS <= place->runs;
}

/* burst_probes.c: at the end of a first burst, times a load ahead of each of some streams, and one behind: whether it uses all the
 * lines that it comes by. */
void probe_around(struct agent_thread *self, struct burst_traffic *traffic, uint64_t (*to_ns)(uint64_t ticks));
