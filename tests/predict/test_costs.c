/* The first line of a report on a model of a machine, and the gain of a finding, from made-up recordings: 32 workers on four nodes,
 * each of which walks through its own part of an array at 5 GB/s. The machine: 60 GB/s and 90 ns to a node's own memory, 20
 * GB/s and 150 ns to the others'.
 *
 * All of it on node 0, 160 GB/s are wanted there: 2.67 times as long. Each part on its user's node, 40 of 60 are used. */
#include "../analysis/bursts.h"

#include "analysis/findings/findings.h"
#include "machine/model.h"
#include "predict/costs.h"
#include "topology/calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES = 4,
    CPUS = 8,
    WORKERS = NODES * CPUS,
    PART_PAGES = 64,
    PAGE = 4096,
    PART = PART_PAGES * PAGE,
    ROUNDS = 40,
    TURNS = 500000,
    GAP = 800000,
    STRIDE = 8,
    FAST = 3,
    SLOW = 120
};

struct story {
    bool own;          /* each worker touches its part first; else main does */
    bool streams;      /* traffic was recorded */
    unsigned rounds;   /* of a burst by each worker */
    uint32_t latency;  /* of a load */
    unsigned distance; /* bytes between a burst's accesses */
};

struct told {
    struct feeding feeding;
    struct facts *facts;
    struct findings *findings;
};

static struct model *four_nodes(void)
{
    struct model *machine = model_new(NODES);
    machine->name = strdup("made-up");
    machine->title = strdup("four nodes, of a test");
    machine->cpus_per_node = CPUS;
    machine->core = 12;
    machine->mixed = 1;
    for (unsigned i = 0; i < NODES * NODES; i++) {
        bool own = i / NODES == i % NODES;
        machine->latency[i] = own ? 90 : 150;
        machine->read[i] = own ? 60 : 20;
    }
    return machine;
}

static void stream(struct feeding *f, uint32_t worker, uint32_t number)
{
    struct event_stream event = {.pc = 0x1000,
                                 .addr = HEAP + (uint64_t)worker * PART + (uint64_t)number * (PART / ROUNDS),
                                 .stride = STRIDE,
                                 .turns = TURNS,
                                 .user_ns = number * 10ul * MS,
                                 .burst = number,
                                 .gap_ns = GAP,
                                 .ahead_ns = SLOW,
                                 .size = STRIDE,
                                 .times = 20,
                                 .runs = 20,
                                 .flags = STREAM_PAIRED | STREAM_LOOP | STREAM_PASSED,
                                 .timed = STREAM_LATENCIES};
    event.ahead = event.addr + 8192;
    feed(f, (struct event){.kind = EVENT_STREAM, .tid = PID + 1 + worker, .stream = event});
}

static struct told tell(struct story story)
{
    struct error err = {0};
    struct told told = {.feeding = feeding_new("numa:4 core:8", ASSIGN_ROUND_ROBIN)};
    struct feeding *f = &told.feeding;
    uint64_t frames[] = {0x400000, 0x500000};
    feeding_record(f);
    feed_start(f, PID, 1, false);
    for (uint32_t i = 0; i < WORKERS; i++)
        feed_thread(f, PID + 1 + i, "worker", 0, 0);
    feed_stack(f, CHAIN, 2, frames);
    feed_alloc(f, HEAP, WORKERS * PART, CHAIN);
    for (uint32_t i = 0; i < WORKERS; i++)
        feed_touches(f, story.own ? 1 + i : 0, HEAP + (uint64_t)i * PART, PART_PAGES);
    for (uint32_t round = 0; round < story.rounds; round++) {
        f->time += 10 * MS;
        for (uint32_t i = 0; i < WORKERS; i++) {
            f->time += 20000;
            feed_burst(f, (struct burst_of){.thread = 1 + i,
                                            .addr = HEAP + (uint64_t)i * PART + (uint64_t)round * (PART / ROUNDS),
                                            .step = story.distance,
                                            .latency = story.latency,
                                            .stack = CHAIN});
            if (story.streams)
                stream(f, i, round);
        }
    }
    feeding_build(f);
    f->flow->calibration =
        calibration_from_text("1 nodes=1 L1:32768:1:0 L2:1048576:4:3 L3:8388608:30:25 0>0:105:100", &err);
    assert_non_null(f->flow->calibration);
    told.facts = facts_make(f->flow, &err);
    assert_non_null(told.facts);
    told.findings = findings_make(told.facts);
    struct model *machine = four_nodes();
    verdict_predict(told.findings, machine);
    model_free(machine);
    return told;
}

static void forget(struct told *told)
{
    findings_free(told->findings);
    facts_free(told->facts);
    feeding_free(&told->feeding);
}

static void says(const struct findings *findings, const char *words)
{
    if (!strstr(findings->gate, words))
        fail_msg("'%s' is not in '%s'", words, findings->gate);
}

static void near(double got, double right)
{
    if (fabs(got - right) > 0.05 * right)
        fail_msg("%g, and %g is right", got, right);
}

static void streams_on_one_node(void **state)
{
    (void)state;
    struct told told = tell((struct story){.streams = true, .rounds = ROUNDS, .latency = FAST, .distance = STRIDE});
    const struct findings *findings = told.findings;
    assert_int_equal(findings->matters, MATTERS);
    assert_true(findings->numa_bound && findings->gate_decided);
    assert_string_equal(findings->machine, "made-up");
    near(findings->run_time.factor, 160 / 60.0);
    assert_true(findings->bytes_known);
    near(findings->remote_bytes, 0.75);
    if (findings->run_time.low < 2 || findings->run_time.high > 4.5)
        fail_msg("%g to %g", findings->run_time.low, findings->run_time.high);
    says(findings, "On made-up (four nodes) this program would run about 2.7 times as long as with every page near");
    says(findings, "on node 0, whose memory is the bottleneck");
    assert_true(findings->items.count > 0);
    array_each (&findings->items, const struct finding, finding) { /* one object, or the node that it is on */
        near(finding->predicted.factor, 160 / 60.0);
        assert_true(finding->predicted.low <= finding->predicted.factor);
        assert_true(finding->predicted.high >= finding->predicted.factor);
        assert_non_null(strstr(finding->predicted_text, "2.7 times as fast"));
    }
    forget(&told);
}

static void each_on_its_own(void **state)
{
    (void)state;
    struct told told =
        tell((struct story){.own = true, .streams = true, .rounds = ROUNDS, .latency = FAST, .distance = STRIDE});
    assert_int_equal(told.findings->matters, MATTERS_NOT);
    assert_false(told.findings->numa_bound);
    assert_true(told.findings->gate_decided && told.findings->run_time.high < 1.05);
    assert_int_equal(told.findings->items.count, 0);
    says(told.findings, "NUMA is not what slows this program on made-up");
    forget(&told);
}

/* The same accesses, but what prefetching hides was not recorded: nothing is called harmless. */
static void without_traffic(void **state)
{
    (void)state;
    struct told told = tell((struct story){.rounds = ROUNDS, .latency = FAST, .distance = STRIDE});
    assert_int_equal(told.findings->matters, MATTERS_UNDECIDED);
    assert_true(told.findings->run_time.high == 0);
    says(told.findings, "latency alone");
    says(told.findings, "numalens record --traffic");
    array_each (&told.findings->items, const struct finding, finding)
        assert_true(finding->predicted.factor == 0 && !finding->predicted_text);
    forget(&told);
    told = tell((struct story){.own = true, .rounds = ROUNDS, .latency = FAST, .distance = STRIDE});
    assert_int_equal(told.findings->matters, MATTERS_NOT); /* nothing is remote at all */
    forget(&told);
}

static void latency_alone(void **state)
{
    (void)state;
    struct told told = tell((struct story){.rounds = ROUNDS, .latency = SLOW, .distance = 512});
    assert_int_equal(told.findings->matters, MATTERS);
    assert_true(told.findings->run_time.high == 0);
    /* Three of four loads take 150 ns where 90 do: at most 1.5 times as long. */
    assert_true(told.findings->run_time.factor > 1.3 && told.findings->run_time.factor < 1.55);
    says(told.findings, "On made-up (four nodes) latency alone makes this program run about");
    says(told.findings, "What bandwidth adds is not known");
    forget(&told);
}

static void too_few(void **state)
{
    (void)state;
    struct told told = tell((struct story){.streams = true, .rounds = 1, .latency = FAST, .distance = STRIDE});
    assert_int_equal(told.findings->matters, MATTERS_UNDECIDED);
    assert_false(told.findings->gate_decided);
    says(told.findings, "Undecided whether NUMA slows this program on made-up");
    assert_non_null(strstr(told.findings->decide, "numalens record -F"));
    forget(&told);
}

/* A model with another number of nodes says nothing of this recording. */
static void another_machine(void **state)
{
    (void)state;
    struct told told =
        tell((struct story){.own = true, .streams = true, .rounds = ROUNDS, .latency = FAST, .distance = STRIDE});
    struct model *machine = model_new(2);
    const char *gate = told.findings->gate;
    verdict_predict(told.findings, machine);
    assert_ptr_equal(gate, told.findings->gate);
    model_free(machine);
    forget(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_on_one_node), cmocka_unit_test(each_on_its_own), cmocka_unit_test(without_traffic),
        cmocka_unit_test(latency_alone),       cmocka_unit_test(too_few),         cmocka_unit_test(another_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
