/* Verdicts on made-up recordings whose bytes are unknown: four workers on four nodes, whose loops are found anywhere between two bursts. */
#include "four_nodes.h"
#include "../analysis/bursts.h"

#include "analysis/findings/findings.h"
#include "predict/costs.h"
#include "topology/calibration.h"

#include <string.h>

enum {
    PART_PAGES = 1024,
    PAGE = 4096,
    PART = PART_PAGES * PAGE,
    ROUNDS = 40,
    FAST = 3,
    SLOW = 120,
    STRIDE = 8,
    GAP = 800000,
};

struct run {
    bool own;          /* each worker touches its part first; else main does */
    uint32_t around;   /* what a load ahead or behind takes */
    unsigned rounds;   /* of a burst by each worker */
    unsigned unpaired; /* all bursts but so many have a second one */
};

static void stream(struct feeding *f, uint32_t worker, uint32_t number, const struct run *run)
{
    bool paired = number * NODES + worker >= run->unpaired;
    struct event_stream event = {
        .pc = 0x1000,
        .addr = HEAP + (uint64_t)worker * PART + PART / 2 + number * 64ul,
        .stride = STRIDE,
        .ahead = HEAP + (uint64_t)worker * PART + PART / 2 + 16384,
        .behind = 1000,
        .behind_ns = run->around,
        .iterations = -1,
        .user_ns = number * 10ul * MS,
        .burst = number,
        .gap_ns = paired ? GAP : 0,
        .ahead_ns = run->around,
        .size = STRIDE,
        .times = 20,
        .runs = 20,
        .flags = (uint8_t)(STREAM_NEAR | (paired ? STREAM_PAIRED | STREAM_LOOP | STREAM_REENTERED : 0))};
    feed(f, (struct event){.kind = EVENT_STREAM, .tid = PID + 1 + worker, .stream = event});
}

/* What is said, in `text`. */
static enum matters judge(struct run run, char *text, size_t size)
{
    struct error err = {0};
    struct feeding f = feeding_new("numa:4 core:8", ASSIGN_ROUND_ROBIN);
    uint64_t frames[] = {0x400000, 0x500000};
    feeding_record(&f);
    feed_start(&f, PID, 1, false);
    for (uint32_t i = 0; i < NODES; i++)
        feed_thread(&f, PID + 1 + i, "worker", 0, 0);
    feed_stack(&f, CHAIN, 2, frames);
    feed_alloc(&f, HEAP, NODES * PART, CHAIN);
    for (uint32_t i = 0; i < NODES; i++)
        feed_touches(&f, run.own ? 1 + i : 0, HEAP + (uint64_t)i * PART, PART_PAGES);
    for (uint32_t round = 0; round < run.rounds; round++) {
        f.time += 10 * MS;
        for (uint32_t i = 0; i < NODES; i++) {
            uint64_t at = HEAP + (uint64_t)i * PART + (uint64_t)round * (PART / ROUNDS);
            f.time += 20000;
            feed_burst(&f,
                       (struct burst_of){.thread = 1 + i, .addr = at, .step = STRIDE, .latency = FAST, .stack = CHAIN});
            stream(&f, i, round, &run);
        }
    }
    feeding_build(&f);
    f.flow->calibration =
        calibration_from_text("1 nodes=1 L1:32768:1:0 L2:1048576:4:3 L3:8388608:30:25 0>0:105:100", &err);
    assert_non_null(f.flow->calibration);
    struct facts *facts = facts_make(f.flow, &err);
    assert_non_null(facts);
    struct findings *findings = findings_make(facts);
    struct model *machine = four_nodes();
    verdict_predict(findings, machine);
    enum matters matters = findings->matters;
    assert_true(findings->decided == (matters != MATTERS_UNDECIDED));
    if (matters == MATTERS_NOT && !(findings->run_time.high >= 1 && findings->run_time.high < 1.05))
        fail_msg("at most %g times as long", findings->run_time.high);
    snprintf(text, size, "%s", findings->verdict);
    model_free(machine);
    findings_free(findings);
    facts_free(facts);
    feeding_free(&f);
    return matters;
}

static void says(struct run run, enum matters right, const char *words)
{
    char text[1000];
    enum matters matters = judge(run, text, sizeof text);
    if (matters != right || !strstr(text, words))
        fail_msg("'%s' is not in '%s'", words, text);
}

/* However many they are, nothing is remote. */
static void near_their_threads(void **state)
{
    (void)state;
    says((struct run){.own = true, .around = SLOW, .rounds = ROUNDS}, MATTERS_NOT,
         "NUMA is not what slows this program");
}

/* As many as a core can fetch, from other nodes: they may matter. */
static void from_another_node(void **state)
{
    (void)state;
    says((struct run){.around = SLOW, .rounds = ROUNDS}, MATTERS_UNDECIDED,
         "the bytes of more than half of the accesses");
    says((struct run){.around = SLOW, .rounds = ROUNDS}, MATTERS_UNDECIDED, "another placement would save at most ");
}

/* But all that is around the loops is in caches. */
static void in_caches(void **state)
{
    (void)state;
    says((struct run){.around = FAST, .rounds = ROUNDS}, MATTERS_NOT, "however many bytes");
}

/* Twelve pairs are too few to know any bytes, not to know whose they are. 80 bursts are. */
static void few_of_them(void **state)
{
    (void)state;
    says((struct run){.around = FAST, .rounds = ROUNDS, .unpaired = ROUNDS * NODES - 12}, MATTERS_NOT,
         "however many bytes");
    says((struct run){.around = SLOW, .rounds = ROUNDS, .unpaired = ROUNDS * NODES - 12}, MATTERS_UNDECIDED,
         "12 pairs of bursts");
    says((struct run){.around = FAST, .rounds = 20}, MATTERS_UNDECIDED, "what bandwidth costs is not known");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_their_threads),
        cmocka_unit_test(from_another_node),
        cmocka_unit_test(in_caches),
        cmocka_unit_test(few_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
