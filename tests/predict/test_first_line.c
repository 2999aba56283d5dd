/* The first line of a report on a model of a machine, and what the advice of a finding changes, from made-up recordings: 32 workers
 * on four nodes, each of which walks through its own part of an array at 5 GB/s. The machine: 60 GB/s and 90 ns to a node's own
 * memory, 20 GB/s and 150 ns to the others'.
 *
 * All of it on node 0, 160 GB/s are asked for there. Each part on its user's node, 40 of 60. */
#include "four_nodes.h"
#include "../analysis/long_bursts.h"

#include "analysis/findings/findings.h"
#include "analysis/traffic/traffic.h"
#include "predict/demand.h"
#include "predict/first_line.h"
#include "predict/gain.h"
#include "topology/calibration.h"

#include <math.h>
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
    double link;       /* GB/s between nodes; 0: 20 */
    double speed;      /* of the workers, GB/s; 0: 5 */
};

struct judged {
    struct feeding feeding;
    struct facts *facts;
    struct findings *findings;
};

static struct model *made_up(double link)
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
static void visit(struct feeding *f, const struct run *run, uint32_t worker, uint32_t number)
{
    bool shared = run->shared && number % 2;
    uint64_t addr = HEAP + (uint64_t)worker * PART + (uint64_t)number * (PART / ROUNDS);
    if (shared)
        addr = SHARED + (uint64_t)(number * 7919 + worker * 104729) % (WORKERS * PART_PAGES - 4) * PAGE;
    f->time += 20000;
    feed_burst(f, (struct burst_of){.thread = 1 + worker,
                                    .addr = addr,
                                    .step = run->distance,
                                    .latency = run->latency,
                                    .stack = shared ? CHAIN + 1 : CHAIN});
}

/* Long bursts of a worker: 10 ms of CPU time of each worker after the last. */
static void look(struct feeding *f, const struct run *run, uint32_t round)
{
    double speed = run->speed > 0 ? run->speed : 5;
    bool shared = run->shared && round % 2;
    feed_long_burst(f, (struct long_of){.thread = 1 + round * 7 % WORKERS,
                                        .number = round,
                                        .addr = shared ? SHARED : HEAP,
                                        .size = WINDOW,
                                        .process_ns = (round + 1ul) * WORKERS * 10 * MS,
                                        .accesses_ns = speed / WORD});
}

static struct judged judge(struct run run)
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
        if (run.traffic)
            look(f, &run, round);
    }
    feeding_build(f);
    f->flow->calibration =
        calibration_from_text("1 nodes=1 L1:32768:1:0 L2:1048576:4:3 L3:8388608:30:25 0>0:105:100", &err);
    assert_non_null(f->flow->calibration);
    judged.facts = facts_make(f->flow, &err);
    assert_non_null(judged.facts);
    struct model *machine = made_up(run.link);
    judged.findings = findings_judged(judged.facts, machine);
    model_free(machine);
    return judged;
}

static void judged_free(struct judged *judged)
{
    findings_free(judged->findings);
    facts_free(judged->facts);
    feeding_free(&judged->feeding);
}

static void says(const struct findings *findings, const char *words)
{
    if (!strstr(findings->verdict, words))
        fail_msg("'%s' is not in '%s'", words, findings->verdict);
}

static void near(double got, double right)
{
    if (fabs(got - right) > 0.05 * right)
        fail_msg("%g, and %g is right", got, right);
}

static void streams_on_one_node(void **state)
{
    (void)state;
    struct judged judged = judge((struct run){.traffic = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD});
    const struct findings *findings = judged.findings;
    assert_int_equal(findings->matters, MATTERS);
    assert_true(findings->numa_bound && findings->decided);
    assert_string_equal(findings->machine, "made-up");
    assert_string_equal(findings->grade, "over");
    assert_string_equal(findings->bottleneck, "memory of node 0");
    near(findings->asked.asked, 160e9);
    near(findings->asked.can, 60e9);
    near(findings->then.asked, 40e9);
    assert_true(findings->asked.low > 100e9 && findings->asked.high < 240e9);
    near(findings->remote_bytes, 0.75);
    says(findings, "NUMA slows this program on made-up (four nodes): memory of node 0 would be asked for 160 GB/s (");
    says(findings, "and can deliver 60; with its memory placed as the findings advise no memory or link is asked for "
                   "more than 67%");
    says(findings, "75% are another node's, most of them of ");
    says(findings, "Let each thread initialise the part it uses (first touch): ");
    assert_true(findings->items.count > 0);
    array_each (&findings->items, const struct finding, finding) { /* one object, or the node that it is on */
        near(finding->then.asked / finding->then.can, 40 / 60.0);
        assert_non_null(strstr(finding->then_text, "Memory of node "));
        assert_non_null(strstr(finding->then_text, " is asked for 67% of what it can deliver instead of 267%"));
    }
    judged_free(&judged);
}

/* At a tenth of the speed, 16 of 60: nothing is asked for too much, though three of four bytes are remote. */
static void slow_streams(void **state)
{
    (void)state;
    struct judged judged =
        judge((struct run){.traffic = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD, .speed = 0.5});
    assert_int_equal(judged.findings->matters, MATTERS_NOT);
    assert_string_equal(judged.findings->grade, "under");
    says(judged.findings, "NUMA is not what slows this program");
    says(judged.findings, "Memory of node 0 would be asked for 16 GB/s");
    judged_free(&judged);
}

/* At a third of it, 56 of 60: it may be too much. */
static void near_the_limit(void **state)
{
    (void)state;
    struct judged judged =
        judge((struct run){.traffic = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD, .speed = 1.75});
    assert_int_equal(judged.findings->matters, MATTERS_UNDECIDED);
    assert_string_equal(judged.findings->grade, "near");
    says(judged.findings, "Undecided whether NUMA slows this program");
    judged_free(&judged);
}

/* Links of 4 GB/s, and half of the bytes are of an array that all share. Each worker's 5 GB/s are 40 of a node. All on node 0, each link
 * to it is asked for 40: 10 times what it can. All interleaved over the nodes, 10: 2.5 times. As the findings advise, 5:
 * 1.25 times, parts near their users and shared data interleaved. One of these alone leaves 20, or 25: 5 and 6.25 times. */
static void better_as_advised(void **state)
{
    (void)state;
    struct judged judged = judge(
        (struct run){.traffic = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD, .shared = true, .link = 4});
    const struct findings *findings = judged.findings;
    assert_int_equal(findings->matters, MATTERS);
    assert_string_equal(findings->against, "advice");
    near(findings->asked.asked / findings->asked.can, 10);
    near(findings->then.asked / findings->then.can, 1.25);
    says(findings, "with its memory placed as the findings advise no memory or link is asked for more than 12");
    assert_int_equal(findings->items.count, 2);
    near(findings->items.items[0].then.asked / findings->items.items[0].then.can, 5);
    near(findings->items.items[1].then.asked / findings->items.items[1].then.can, 6.25);
    judged_free(&judged);
}

/* What is named when the first finding's object has `first` times its bytes, and the others `rest` times theirs;
 * `nameless`: these are of no object that is known. */
static const char *causes(struct judged *judged, double first, double rest, bool nameless)
{
    struct error err = {0};
    struct findings *findings = judged->findings;
    struct traffic *traffic = traffic_make(judged->feeding.flow, 1 << 20);
    struct demand *demand = demand_make(judged->feeding.flow, traffic, &err);
    assert_non_null(demand);
    uint32_t object = demand->number_of[findings->items.items[0].subject->object];
    array_each (&demand->cells, struct demand_cell, cell) {
        bool is_first = cell->object == object;
        cell->bytes *= is_first ? first : rest;
        cell->object = nameless && !is_first ? DEMAND_NONE : cell->object;
    }
    const char *text = gain_causes(findings, demand);
    demand_free(demand);
    traffic_free(traffic);
    return text;
}

/* What has a good part of the remote bytes is named, and nothing else. */
static void names_what_is_remote(void **state)
{
    (void)state;
    struct judged judged = judge(
        (struct run){.traffic = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD, .shared = true, .link = 4});
    const struct finding *items = judged.findings->items.items;
    char both[256];
    snprintf(both, sizeof both, "%s and %s", items[0].name, items[1].name);
    assert_string_equal(causes(&judged, 1, 1, false), both);
    assert_string_equal(causes(&judged, 0.05, 1, false), items[1].name);
    assert_string_equal(causes(&judged, 1, 0.05, false), items[0].name);
    assert_string_equal(causes(&judged, 0.05, 1, true), "");
    judged_free(&judged);
}

static void each_on_its_own(void **state)
{
    (void)state;
    struct judged judged =
        judge((struct run){.own = true, .traffic = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD});
    assert_int_equal(judged.findings->matters, MATTERS_NOT);
    assert_false(judged.findings->numa_bound);
    assert_true(judged.findings->decided);
    assert_int_equal(judged.findings->items.count, 0);
    says(judged.findings, "NUMA is not what slows this program");
    says(judged.findings, "No placement changes that"); /* 40 of 60 are not few */
    judged_free(&judged);
}

/* The same accesses, but what prefetching hides was not recorded: nothing is called harmless. */
static void without_traffic(void **state)
{
    (void)state;
    struct judged judged = judge((struct run){.rounds = ROUNDS, .latency = FAST, .distance = WORD});
    assert_int_equal(judged.findings->matters, MATTERS_UNDECIDED);
    assert_null(judged.findings->grade);
    says(judged.findings, "How many bytes come from memory is not known");
    array_each (&judged.findings->items, const struct finding, finding)
        assert_true(finding->then.can == 0 && !finding->then_text);
    judged_free(&judged);
    judged = judge((struct run){.own = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD});
    assert_int_equal(judged.findings->matters, MATTERS_NOT); /* nothing is remote at all */
    judged_free(&judged);
}

/* Three of four loads take 150 ns where 90 do: a third of the time at most. */
static void latency_alone(void **state)
{
    (void)state;
    for (int traffic = 0; traffic < 2; traffic++) {
        struct judged judged =
            judge((struct run){.traffic = traffic, .rounds = ROUNDS, .latency = SLOW, .distance = 512, .speed = 0.5});
        assert_int_equal(judged.findings->matters, MATTERS);
        assert_string_equal(judged.findings->bottleneck, "latency of remote memory");
        says(judged.findings,
             "NUMA slows this program on made-up (four nodes): waiting for memory of other nodes takes ");
        judged_free(&judged);
    }
}

static void too_few(void **state)
{
    (void)state;
    struct judged judged = judge((struct run){.traffic = true, .rounds = 1, .latency = FAST, .distance = WORD});
    assert_int_equal(judged.findings->matters, MATTERS_UNDECIDED);
    assert_false(judged.findings->decided);
    says(judged.findings, "How many bytes come from memory is not known");
    assert_non_null(strstr(judged.findings->decide, "numalens record -F"));
    judged_free(&judged);
}

/* A model with another number of nodes says nothing of this recording. */
static void another_machine(void **state)
{
    (void)state;
    struct judged judged =
        judge((struct run){.own = true, .traffic = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD});
    struct model *machine = model_new(2);
    struct findings *findings = findings_judged(judged.facts, machine);
    assert_null(findings->machine);
    assert_null(findings->traffic);
    findings_free(findings);
    model_free(machine);
    judged_free(&judged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_on_one_node),  cmocka_unit_test(better_as_advised), cmocka_unit_test(each_on_its_own),
        cmocka_unit_test(names_what_is_remote), cmocka_unit_test(slow_streams),      cmocka_unit_test(near_the_limit),
        cmocka_unit_test(without_traffic),      cmocka_unit_test(latency_alone),     cmocka_unit_test(too_few),
        cmocka_unit_test(another_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
