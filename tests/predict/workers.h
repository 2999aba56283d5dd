/* workers.h - made-up recordings of 32 workers on four nodes, each of which walks through its own part of an array at 5 GB/s, and what is
 * said of them. The machine: 60 GB/s and 90 ns to a node's own memory, 20 GB/s and 150 ns to the others'.
 *
 * All of it on node 0, 160 GB/s are asked for there. Each part on its user's node, 40 of 60. */
#ifndef NUMALENS_TESTS_PREDICT_WORKERS_H
#define NUMALENS_TESTS_PREDICT_WORKERS_H

#include "four_nodes.h"
#include "../analysis/long_bursts.h"

#include "analysis/findings/findings.h"
#include "predict/first_line.h"
#include "topology/calibration.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORKERS = NODES * CPUS,
    PART_PAGES = 64,
    PAGE = 4096,
    PART = PART_PAGES * PAGE,
    ROUNDS = 40,
    FAST = 3,
    SLOW = 120,
    WINDOW = 1 << 22,
};

static const uint64_t SHARED = HEAP + 2ul * WORKERS * PART;

struct run {
    bool own;          /* each worker touches its part first; else main does */
    bool traffic;      /* there are long bursts */
    unsigned rounds;   /* of a burst by each worker */
    uint32_t latency;  /* of a load */
    unsigned distance; /* bytes between a burst's accesses */
    bool shared;       /* every other pass is over a second array, all of which all workers use */
    bool unlucky;      /* that array stays in caches, and by chance one of four long bursts is of it, not one of two */
    bool cached;       /* each line is used again soon: next to nothing comes from memory */
    double link;       /* GB/s between nodes; 0: 20 */
    double speed;      /* of the workers, GB/s; 0: 5 */
    unsigned handler_ns;    /* that sampling took, of a second */
    const char *budget_ppm; /* that it was allowed; NULL: not known */
    const char *source;     /* of samples; NULL: not known */
    unsigned seldom;        /* one burst in so many is slow; 0: all have the same latency */
    unsigned cpus;          /* of a node; 0: as many as workers on it */
    unsigned cache;         /* bytes, of a core; 0: a MiB */
    bool real;              /* the nodes are those of the machine that it was recorded on */
    unsigned serial;        /* the first worker runs so many times as long as each of the others; 0: just as long */
};

struct judged {
    struct feeding feeding;
    struct facts *facts;
    struct findings *findings;
};

static inline struct model *made_up(double link)
{
    struct model *machine = four_nodes();
    for (unsigned i = 0; i < NODES * NODES && link > 0; i++)
        machine->read[i] = i / NODES == i % NODES ? machine->read[i] : link;
    machine->name = strdup("made-up");
    machine->title = strdup("four nodes, of a test");
    machine->cache_count = 1;
    machine->caches[0] = (struct model_cache){.level = 2, .bytes = 1 << 20, .cores = 1};
    return machine;
}

/* A burst of a worker in its own part, or in what all share. */
static inline void visit(struct feeding *f, const struct run *run, uint32_t worker, uint32_t number)
{
    bool shared = run->shared && number % 2, is_slow = run->seldom && (number * WORKERS + worker) % run->seldom == 0;
    uint64_t addr = HEAP + (uint64_t)worker * PART + (uint64_t)number * (PART / ROUNDS);
    if (shared)
        addr = SHARED + (uint64_t)(number * 7919 + worker * 104729) % (WORKERS * PART_PAGES - 4) * PAGE;
    f->time += 20000;
    feed_burst(f, (struct burst_of){.thread = 1 + worker,
                                    .addr = addr,
                                    .step = run->distance,
                                    .latency = is_slow ? SLOW : run->latency,
                                    .stack = shared ? CHAIN + 1 : CHAIN});
}

/* Long bursts of a worker: 10 ms of CPU time of each worker after the last. */
static inline void look(struct feeding *f, const struct run *run, uint32_t round)
{
    double speed = run->speed > 0 ? run->speed : 5;
    bool shared = run->shared && (run->unlucky ? round % 4 == 3 : round % 2);
    feed_long_burst(f, (struct long_of){.thread = 1 + round * 7 % WORKERS,
                                        .number = round,
                                        .addr = shared ? SHARED : HEAP,
                                        .size = WINDOW,
                                        .again = run->cached || (shared && run->unlucky) ? LINE : 0,
                                        .process_ns = (round + 1ul) * WORKERS * 10 * MS,
                                        .accesses_ns = speed / WORD});
}

static inline struct judged judge(struct run run)
{
    struct error err = {0};
    struct judged judged = {.feeding = feeding_new("numa:4 core:8", ASSIGN_ROUND_ROBIN)};
    struct feeding *f = &judged.feeding;
    uint64_t frames[] = {0x400000, 0x500000};
    feeding_record(f);
    feed_start(f, PID, 1, false);
    for (uint32_t i = 0; i < WORKERS; i++)
        feed_thread(f, PID + 1 + i, "worker", 0, 0);
    feed_stack(f, CHAIN, 2, frames);
    feed_alloc(f, HEAP, WORKERS * PART, CHAIN);
    if (run.shared) {
        uint64_t others[] = {0x400100, 0x500000};
        feed_stack(f, CHAIN + 1, 2, others);
        feed_alloc(f, SHARED, WORKERS * PART, CHAIN + 1);
        feed_touches(f, 0, SHARED, WORKERS * PART_PAGES);
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        feed_touches(f, run.own ? 1 + i : 0, HEAP + (uint64_t)i * PART, PART_PAGES);
    for (uint32_t round = 0; round < run.rounds; round++) {
        f->time += 10 * MS;
        for (uint32_t i = 0; i < WORKERS; i++)
            visit(f, &run, i, round);
        for (uint32_t i = 1; i < run.serial; i++)
            visit(f, &run, 0, round);
        if (run.traffic)
            look(f, &run, round);
    }
    if (run.handler_ns) {
        char text[16];
        snprintf(text, sizeof text, "%u", run.handler_ns);
        f->ending = trace_session_new();
        trace_session_set(f->ending, "cpu_ns", "1000000000");
        trace_session_set(f->ending, "handler_ns", text);
    }
    feeding_build(f);
    f->flow->calibration =
        calibration_from_text("1 nodes=1 L1:32768:1:0 L2:1048576:4:3 L3:8388608:30:25 0>0:105:100", &err);
    assert_non_null(f->flow->calibration);
    judged.facts = facts_make(f->flow, &err);
    assert_non_null(judged.facts);
    struct model *machine = made_up(run.link);
    machine->cpus_per_node = run.cpus ? run.cpus : WORKERS / NODES;
    machine->caches[0].bytes = run.cache ? run.cache : machine->caches[0].bytes;
    if (run.source)
        trace_session_set((struct trace_session *)flow_session(f->flow), "source", run.source);
    if (run.budget_ppm)
        trace_session_set((struct trace_session *)flow_session(f->flow), "budget_ppm", run.budget_ppm);
    f->topology->simulated = !run.real; /* not before: on real nodes the kernel says where pages are */
    judged.findings = findings_judged(judged.facts, machine);
    model_free(machine);
    return judged;
}

static inline void judged_free(struct judged *judged)
{
    findings_free(judged->findings);
    facts_free(judged->facts);
    feeding_free(&judged->feeding);
}

#endif
