/* problem_runs.h - made-up runs with LaProf's problems. */
#ifndef NUMALENS_TESTS_PROBLEM_RUNS_H
#define NUMALENS_TESTS_PROBLEM_RUNS_H

#include "bursts.h"

#include "analysis/findings/findings.h"
#include "analysis/problems/balance.h"
#include "analysis/problems/latency.h"
#include "topology/calibration.h"

enum { WORKERS = 8, SHARED_AT = 1 << 28 };

/* Two nodes of eight CPUs, as in the paper's Table I; main and its workers on node 0 but for `far` of them. */
static inline struct feeding machine_begin(unsigned workers)
{
    struct feeding f = feeding_new("numa:2 core:8", ASSIGN_PACKED);
    uint64_t frames[] = {0x400000, 0x500000};
    feeding_record(&f);
    feed_start(&f, PID, 1, false);
    for (uint32_t i = 1; i <= workers; i++)
        feed_thread(&f, PID + i, "worker", 0, 0);
    feed_stack(&f, CHAIN, 2, frames);
    feed_alloc(&f, HEAP, 1ul << 30, CHAIN);
    return f;
}

static inline void sample(struct feeding *f, uint32_t worker, uint64_t addr, uint32_t latency, uint8_t flags)
{
    feed(f, (struct event){.kind = EVENT_SAMPLE,
                           .time = f->time += 1000,
                           .tid = PID + worker,
                           .sample = {.addr = addr,
                                      .size = 8,
                                      .stack = CHAIN,
                                      .latency = latency,
                                      .flags = flags | SAMPLE_FIRST | SAMPLE_HAS_LATENCY}});
}

/* So many accesses of each worker are slower than 300, and `fast` are not. */
static inline struct feeding slow_accesses(const uint32_t counts[WORKERS], uint32_t fast)
{
    struct feeding f = machine_begin(WORKERS);
    for (uint32_t i = 0; i < WORKERS; i++)
        for (uint32_t n = 0; n < counts[i] + fast; n++)
            sample(&f, 1 + i, HEAP + n * 64ul, n < counts[i] ? 301 : 300, SAMPLE_READ);
    feeding_build(&f);
    return f;
}

enum story { QUIET, SLOW_LINK, SLOW_MEMORY };

/* A run whose accesses beyond the caches take 100 ns on node 0 and 160 from node 1, but for a tail of so many times as long. */
static inline enum contention judge(enum story story, double times, bool calibrated, bool simulated,
                                    struct finding *found)
{
    struct feeding f = machine_begin(12);
    struct error err = {0};
    feed_touches(&f, 0, HEAP, 64);
    for (uint32_t i = 0; i < 6000; i++) {
        uint32_t worker = i % 12 + 1, usual = worker < 8 ? 100 : 160;
        bool tail = i % 4 == 0 && i > 3000 && (story == SLOW_MEMORY || (story == SLOW_LINK && worker >= 8));
        sample(&f, worker, HEAP + dice(64 * 512) * 8, tail ? (uint32_t)(usual * times) : usual + dice(20), SAMPLE_READ);
        sample(&f, worker, HEAP + dice(64 * 512) * 8, dice(4), SAMPLE_READ);
    }
    feeding_build(&f);
    struct calibration *calibration =
        calibrated ? calibration_from_text("1 nodes=2 L1:32768:1:0 L2:1048576:4:3 L3:8388608:30:25 0>0:105:100 "
                                           "0>1:170:160 1>0:170:160 1>1:105:100",
                                           &err)
                   : NULL;
    struct accesses *accesses = accesses_load(f.flow, &err);
    struct latency *latency = latency_make(accesses, NULL, 0, calibration);
    enum contention contention = latency->contention;
    if (contention == CONTENTION_LINK)
        assert_int_equal(latency->link_from, 1);
    if (contention == CONTENTION_LINK || contention == CONTENTION_MEMORY) {
        assert_int_equal(latency->node, 0);
        double begins = (double)(latency->start - flow_start(f.flow)) / (double)(flow_end(f.flow) - flow_start(f.flow));
        assert_true(begins > 0.4 && begins < 0.6);
    }
    f.topology->simulated = simulated; /* only now: pages have their homes by first touch */
    struct facts *facts = facts_make(f.flow, &err);
    struct findings *findings = findings_make(facts);
    array_each (&findings->items, struct finding, finding)
        found->pattern = finding->pattern == PATTERN_CONTENTION ? PATTERN_CONTENTION : found->pattern;
    findings_free(findings);
    facts_free(facts);
    latency_free(latency);
    calibration_free(calibration);
    accesses_free(accesses);
    feeding_free(&f);
    return contention;
}

/* Data of node 0: of each 32 bursts so many are of workers 8 to 15, on node 1; the others of workers on node 0. */
static inline bool is_unbalanced(uint32_t bursts, const unsigned far[8])
{
    struct feeding f = feeding_new("numa:2 core:8", ASSIGN_PACKED);
    uint64_t frames[] = {0x400000, 0x500000};
    struct error err = {0};
    uint32_t near = 8; /* eight work in all */
    for (unsigned i = 0; i < 8; i++)
        near -= far[i] > 0;
    feeding_record(&f);
    feed_start(&f, PID, 1, false);
    for (uint32_t i = 1; i < 16; i++) /* 1 to 7 are on node 0, 8 to 15 on node 1 */
        feed_thread(&f, PID + i, "worker", 0, 0);
    feed_stack(&f, CHAIN, 2, frames);
    feed_alloc(&f, HEAP, 64 * 4096, CHAIN);
    feed_touches(&f, 0, HEAP, 64);
    for (uint32_t i = 0; i < 16 * bursts; i++) {
        uint32_t worker = 8, part = i / 16 % 32;
        while (worker < 16 && part >= far[worker - 8])
            part -= far[worker++ - 8];
        if (worker == 16)
            worker = i / 16 % near;
        feed(&f, (struct event){.kind = EVENT_SAMPLE,
                                .time = f.time += 1000,
                                .tid = PID + worker,
                                .sample = {.addr = HEAP + dice(64 * 512) * 8,
                                           .size = 8,
                                           .stack = CHAIN,
                                           .latency = dice(4),
                                           .flags = SAMPLE_READ | SAMPLE_HAS_LATENCY | (i % 16 ? 0 : SAMPLE_FIRST)}});
    }
    feeding_build(&f);
    struct facts *facts = facts_make(f.flow, &err);
    struct findings *findings = findings_make(facts);
    bool found = false;
    array_each (&findings->items, struct finding, finding) {
        found |= finding->pattern == PATTERN_IMBALANCE;
        if (finding->pattern == PATTERN_IMBALANCE)
            assert_string_equal(finding->name, "thread 108");
    }
    findings_free(findings);
    facts_free(facts);
    feeding_free(&f);
    return found;
}

#endif
