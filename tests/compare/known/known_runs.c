/* known_runs.c - what is said of made-up runs, burst by burst. */
#include "known.h"
#include "../../analysis/bursts.h"
#include "analysis/findings/findings.h"

enum { SIZE = 64 * 4096, PAGES = 2048 };

static void finish(struct feeding *f, struct facts *facts, char text[ANSWER], const char *says)
{
    snprintf(text, ANSWER, "%s", says);
    run_free(f, facts);
}

/* A worker's counter that main looks at when it begins, in the middle and at the end. */
static void a_counter_that_is_watched(char text[ANSWER])
{
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < 40; i++, f.time += 20 * MS) {
        feed_burst(&f, (struct burst_of){.thread = 1, .addr = HEAP, .flags = SAMPLE_READ | SAMPLE_WRITE});
        f.time += 20 * MS;
        if (i == 1 || i == 20 || i == 38)
            feed_burst(&f, (struct burst_of){.addr = HEAP});
    }
    struct facts *facts = run_end(&f);
    finish(&f, facts, text, subject_at(facts, HEAP)->true_sharing ? "shared" : "private");
}

/* A worker's object, of which another thread frees what hangs on it: 2 of 110 bursts. */
static void a_destructor(char text[ANSWER])
{
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < 110; i++, f.time += 10 * MS)
        feed_burst(&f, (struct burst_of){.thread = i < 108 ? 1 : 2, .addr = HEAP + i % 64 * 4096, .step = 8});
    struct facts *facts = run_end(&f);
    finish(&f, facts, text, subject_at(facts, HEAP)->sharing == SHARING_THREAD ? "one thread's" : "shared");
}

/* Two threads that hand a buffer to each other every 40 ms: a video of 25 pictures a second. */
static void pictures(char text[ANSWER])
{
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < 100; i++, f.time += 10 * MS)
        feed_burst(&f, (struct burst_of){.thread = i / 4 % 2, .addr = HEAP + i % 64 * 4096, .step = 8, .flip = 3});
    struct facts *facts = run_end(&f);
    finish(&f, facts, text, subject_at(facts, HEAP)->concurrency == CONCURRENCY_DISJOINT ? "turns" : "at once");
}

/* A hash table of 8 MiB that all nodes' threads read anywhere, in a recording of a second: few of 90 bursts are next to each other. */
static void a_table_met_seldom(char text[ANSWER])
{
    struct feeding f = run_begin();
    uint64_t state = 4;
    feed_alloc(&f, HEAP, PAGES * 4096, CHAIN);
    feed_touches(&f, 0, HEAP, PAGES);
    feed_burst(&f, (struct burst_of){.addr = HEAP, .step = 8, .flags = SAMPLE_WRITE});
    for (unsigned i = 0; i < 90; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        f.time += 10 * MS;
        feed_burst(&f, (struct burst_of){.thread = (uint32_t)(state >> 40) % 4,
                                         .addr = HEAP + (state >> 20) % (PAGES - 1) * 4096,
                                         .step = 8,
                                         .latency = 100});
    }
    struct facts *facts = run_end(&f);
    struct findings *findings = findings_make(facts);
    bool found = false;
    array_each (&findings->items, const struct finding, finding)
        found |= finding->pattern == PATTERN_CONCURRENT_REMOTE;
    findings_free(findings);
    finish(&f, facts, text, found ? "concurrent-remote" : "undecided");
}

/* An array that every step uses at first, and every third step later. */
static void every_third_step(char text[ANSWER])
{
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    feed_alloc(&f, HEAP + SIZE, SIZE, CHAIN + 1);
    for (unsigned i = 0; i < 960; i++, f.time += 10 * MS) {
        feed_burst(&f, (struct burst_of){.addr = HEAP, .step = 8, .count = 4});
        if (i < 240 || (i >= 480 && i < 720 && i % 3 == 0))
            feed_burst(&f, (struct burst_of){.addr = HEAP + SIZE, .step = 8, .count = 4});
    }
    struct facts *facts = run_end(&f);
    snprintf(text, ANSWER, "%zu stretches", subject_at(facts, HEAP + SIZE)->phases.count);
    run_free(&f, facts);
}

/* A last-level cache that answers in 55 to 63 ns, as large ones do under load, and memory in 110. */
static void a_slow_cache(char text[ANSWER])
{
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    feed_touches(&f, 0, HEAP, 64);
    for (unsigned i = 0; i < 100; i++, f.time += 5 * MS)
        feed_burst(&f,
                   (struct burst_of){.thread = i % 2, .addr = HEAP, .step = 8, .latency = i % 5 ? 55 + i % 9 : 110});
    struct facts *facts = run_end(&f);
    snprintf(text, ANSWER, "%lu from memory",
             (unsigned long)(facts->slow_local.count + facts->slow_remote.count) / BURST);
    run_free(&f, facts);
}

/* A loop with one load from memory (71 ns) for each 15 from a second-level cache (10 ns), in every other step from another node. */
static void one_miss_in_sixteen(char text[ANSWER])
{
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    feed_touches(&f, 0, HEAP, 64);
    for (unsigned i = 0; i < 600; i++, f.time += 5 * MS) {
        for (unsigned k = 0; k < BURST; k++)
            feed(&f, (struct event){
                         .kind = EVENT_SAMPLE,
                         .time = f.time += 500,
                         .tid = PID + i % 3 % 2,
                         .sample = {.addr = HEAP + i % 64 * 4096 + k * 8,
                                    .cpu = (uint16_t)(i % 3 % 2),
                                    .size = 8,
                                    .latency = k ? 10 : 71,
                                    .flags = (uint8_t)(SAMPLE_READ | SAMPLE_HAS_LATENCY | (k ? 0 : SAMPLE_FIRST))}});
    }
    struct facts *facts = run_end(&f);
    struct findings *findings = findings_make(facts);
    snprintf(text, ANSWER, "%s", findings->matters == MATTERS ? "slows" : "undecided");
    findings_free(findings);
    run_free(&f, facts);
}

/* A table that was filled and then read for 0.3 s by threads; write protection looks every 50 ms. */
static void read_for_a_while(char text[ANSWER])
{
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    feed_touches(&f, 0, HEAP, 64);
    feed_burst(&f, (struct burst_of){.addr = HEAP, .step = 8, .flags = SAMPLE_WRITE});
    for (unsigned i = 0; i < 30; i++, f.time += 10 * MS) {
        feed_burst(&f, (struct burst_of){.thread = 1 + i % 3, .addr = HEAP + i * 4096, .step = 8});
        if (i % 6 == 0)
            feed(
                &f,
                (struct event){
                    .kind = EVENT_PAGE,
                    .time = f.time,
                    .page = {
                        .page = HEAP, .size = 4096, .until = f.time + 50 * MS, .reads = 1, .mechanism = PAGE_UFFD_WP}});
    }
    struct facts *facts = run_end(&f);
    finish(&f, facts, text, subject_at(facts, HEAP)->proof == PROOF_READ_ONLY ? "read only" : "not proved");
}

const struct known known_runs[] = {
    {"a counter that is watched", "shared", a_counter_that_is_watched, "few_bursts"},
    {"a destructor", "one thread's", a_destructor, "stray"},
    {"pictures", "turns", pictures, "turn_ns"},
    {"a table met seldom", "concurrent-remote", a_table_met_seldom, "near_part"},
    {"every third step", "2 stretches", every_third_step, "hot"},
    {"a slow cache", "20 from memory", a_slow_cache, "slow_usual"},
    {"one miss in sixteen", "slows", one_miss_in_sixteen, "between_ns"},
    {"read for a while", "read only", read_for_a_while, "proof_intervals"},
    {0},
};
