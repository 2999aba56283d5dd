/* The first line of a report on a model of a machine, and what the advice of a finding changes, from made-up recordings (workers.h). */
#include "workers.h"

#include "analysis/thresholds.h"
#include "analysis/traffic/traffic.h"
#include "predict/demand.h"
#include "predict/gain.h"

#include <ctype.h>
#include <math.h>

static void says(const struct findings *findings, const char *words)
{
    if (!strstr(findings->verdict, words))
        fail_msg("'%s' is not in '%s'", words, findings->verdict);
}

/* The lines are the verdict, and each begins a sentence and ends one. */
static void each_sentence_has_a_line(const struct findings *findings)
{
    size_t length = strlen(findings->verdict), lines = 1;
    assert_int_equal(strlen(findings->verdict_lines), length);
    assert_null(strchr(findings->verdict, '\n'));
    for (size_t i = 0; i < length; i++) {
        if (findings->verdict_lines[i] != '\n') {
            assert_int_equal(findings->verdict_lines[i], findings->verdict[i]);
            continue;
        }
        assert_true(i > 0 && findings->verdict[i - 1] == '.' && findings->verdict[i] == ' ');
        assert_true(isupper((unsigned char)findings->verdict[i + 1]) ||
                    isdigit((unsigned char)findings->verdict[i + 1]));
        lines++;
    }
    assert_true(lines > 2);
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
    says(findings,
         "NUMA slows this program on made-up (four nodes): memory of node 0 would be asked for 2.7 times what it "
         "can deliver. Of its ");
    says(findings, " Memory of node 0 would be asked for 160 GB/s (");
    says(findings,
         "and can deliver 60. With its memory placed as the findings advise, no memory or link would be asked for "
         "more than 0.7 times");
    assert_true(findings->remote_bytes_low > 0.7 && findings->remote_bytes_low < 0.75);
    assert_true(findings->remote_bytes_high > 0.75 && findings->remote_bytes_high < 0.8);
    says(findings, ", 75% is remote (7");
    says(findings, "%), most of it in ");
    says(findings, ". Let each thread initialise the part it uses (first touch): ");
    assert_true(findings->items.count > 0);
    array_each (&findings->items, const struct finding, finding) { /* one object, or the node that it is on */
        near(finding->then.asked / finding->then.can, 40 / 60.0);
        assert_non_null(strstr(finding->then_text, "Memory of node "));
        assert_non_null(strstr(finding->then_text, " is asked for 0.7 times what it can deliver instead of 2.7"));
    }
    each_sentence_has_a_line(findings);
    judged_free(&judged);
}

/* One worker goes on alone for nearly all of the time: what all of them ask for together is asked for so briefly that it does not count. */
static void mostly_serial(void **state)
{
    (void)state;
    struct judged judged =
        judge((struct run){.traffic = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD, .serial = 80});
    assert_string_equal(judged.findings->grade, "under");
    assert_true(judged.findings->asked.asked > 4.5e9 && judged.findings->asked.asked < 40e9);
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
    says(judged.findings, " Memory of node 0 would be asked for 16 GB/s");
    says(judged.findings, " Not counted: lines that threads share, waiting at barriers, moving pages.");
    judged_free(&judged);
}

/* The same with eight CPUs for each worker's one: what 16 of 60 would become, and what to do about it. */
static void more_cpus(void **state)
{
    (void)state;
    struct run run = {.traffic = true,
                      .rounds = ROUNDS,
                      .latency = FAST,
                      .distance = WORD,
                      .speed = 0.5,
                      .cache = 1 << 16,
                      .cpus = 8 * WORKERS / NODES};
    struct judged judged = judge(run);
    assert_int_equal(judged.findings->matters, MATTERS_NOT);
    near(judged.findings->asked.asked, 16e9);
    near(judged.findings->on_all_cpus.asked, 128e9);
    assert_string_equal(judged.findings->all_cpus_grade, "over");
    says(judged.findings, " With a thread on each of its 256 CPUs, memory of node 0 would be asked for 128 GB/s (");
    says(judged.findings, "Let each thread initialise the part it uses (first touch): ");
    judged_free(&judged);
    run.cache = 0; /* an eighth of what each of them uses now would fit */
    judged = judge(run);
    assert_string_equal(judged.findings->all_cpus_grade, "near");
    assert_null(strstr(judged.findings->verdict, "With a thread on each"));
    judged_free(&judged);
    run.cache = 1 << 16;
    run.own = true; /* no other placement asks for less */
    judged = judge(run);
    assert_int_equal(judged.findings->matters, MATTERS_NOT);
    assert_null(strstr(judged.findings->verdict, "With a thread on each"));
    judged_free(&judged);
    run.own = false;
    run.cpus = 0; /* there are as many threads as CPUs */
    judged = judge(run);
    assert_null(judged.findings->all_cpus_grade);
    assert_null(strstr(judged.findings->verdict, "With a thread on each"));
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
    says(findings, "With its memory placed as the findings advise, no memory or link would be asked for more than 1.2");
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
    says(judged.findings, ", which no placement changes"); /* 40 of 60 are not few */
    judged_free(&judged);
}

/* The same accesses, but what prefetching hides was not recorded: nothing is called harmless. */
static void without_traffic(void **state)
{
    (void)state;
    struct judged judged = judge((struct run){.rounds = ROUNDS, .latency = FAST, .distance = WORD});
    assert_int_equal(judged.findings->matters, MATTERS_UNDECIDED);
    assert_null(judged.findings->grade);
    says(judged.findings, "ow many bytes come from memory is not known");
    array_each (&judged.findings->items, const struct finding, finding)
        assert_true(finding->then.can == 0 && !finding->then_text);
    judged_free(&judged);
    judged = judge((struct run){.own = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD});
    assert_int_equal(judged.findings->matters, MATTERS_NOT);      /* nothing is remote at all */
    assert_null(strstr(judged.findings->verdict, "Not counted")); /* no capacity was judged */
    assert_null(strstr(judged.findings->verdict, "--source soft"));
    judged_free(&judged);
}

/* A PMU's samples: what counts the bytes is said. */
static void by_a_pmu(void **state)
{
    (void)state;
    struct judged judged = judge((struct run){.source = "pebs", .rounds = ROUNDS, .latency = FAST, .distance = WORD});
    assert_int_equal(judged.findings->matters, MATTERS_UNDECIDED);
    says(judged.findings, "ow many bytes come from memory is not known (record --source soft counts them)");
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
        says(judged.findings, "NUMA slows this program on made-up (four nodes): waiting for remote memory takes ");
        judged_free(&judged);
    }
}

/* Of data that all use at random: interleaved, as much of it is remote. */
static void no_place_is_near_all(void **state)
{
    (void)state;
    struct judged judged = judge((struct run){
        .traffic = true, .shared = true, .rounds = ROUNDS, .latency = SLOW, .distance = 512, .speed = 0.5});
    assert_string_equal(judged.findings->bottleneck, "latency of remote memory");
    bool any = false;
    array_each (&judged.findings->items, const struct finding, finding) {
        if (!finding->subject)
            continue;
        enum action first = finding->advice.items[0].action;
        assert_true(finding->instead || (first != ACTION_INTERLEAVE && first != ACTION_SPREAD));
        any |= finding->instead != NULL;
    }
    assert_true(any);
    assert_null(strstr(judged.findings->verdict, "nterleave"));
    judged_free(&judged);
}

/* The same loads, of lines that a cache of the machine's size has: what filled that cache when they were timed was another program. */
static void slow_beside_others(void **state)
{
    (void)state;
    struct judged judged =
        judge((struct run){.traffic = true, .cached = true, .rounds = ROUNDS, .latency = SLOW, .distance = 512});
    assert_int_equal(judged.findings->matters, MATTERS_NOT);
    says(judged.findings, "waiting for remote memory takes 0.0% to 0.");
    /* Nor does any finding cost more than the whole. */
    assert_true(judged.findings->remote_time_high < thresholds.worth_changing);
    assert_true(judged.findings->items.count > 0);
    array_each (&judged.findings->items, const struct finding, finding)
        assert_true(finding->lost_time_share <= judged.findings->remote_time_high);
    judged_free(&judged);
}

static void too_few(void **state)
{
    (void)state;
    struct judged judged = judge((struct run){.traffic = true, .rounds = 1, .latency = FAST, .distance = WORD});
    assert_int_equal(judged.findings->matters, MATTERS_UNDECIDED);
    assert_false(judged.findings->decided);
    says(judged.findings, "ow many bytes come from memory is not known");
    assert_non_null(strstr(judged.findings->decide, "numalens record -F"));
    judged_free(&judged);
}

/* So few show nothing, whatever they are. */
static void hardly_any_samples(void **state)
{
    (void)state;
    struct judged judged = judge((struct run){.traffic = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD});
    struct model *machine = made_up(0);
    findings_free(judged.findings);
    judged.facts->bursts = 29;
    judged.findings = findings_judged(judged.facts, machine);
    assert_int_equal(judged.findings->matters, MATTERS_UNDECIDED);
    assert_string_equal(judged.findings->verdict, "Too few samples to say.");
    model_free(machine);
    judged_free(&judged);
}

/* Where the nodes are real, what measures is named with the recording's command; not where nothing is wrong, nor where nodes are simulated. */
static void real_nodes(void **state)
{
    (void)state;
    const char *line =
        "To measure other placements: numalens compare -- made up (all of them), or numalens optimize -- "
        "made up (keeps what helps).";
    struct run run = {.traffic = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD, .real = true};
    for (int named = 0; named < 2; named++) { /* on the model of a machine; without one, by latency alone */
        struct judged judged = judge(run);
        if (!named) {
            findings_free(judged.findings);
            judged.findings = findings_judged(judged.facts, NULL);
            assert_null(judged.findings->machine);
        }
        says(judged.findings, line);
        assert_non_null(strstr(judged.findings->verdict_lines, "\nTo measure other placements: "));
        judged_free(&judged);
    }
    run.speed = 0.1;
    struct judged judged = judge(run);
    says(judged.findings, "NUMA is not what slows this program");
    assert_null(strstr(judged.findings->verdict, "To measure"));
    judged_free(&judged);
    run.speed = 0;
    run.real = false;
    judged = judge(run);
    assert_null(strstr(judged.findings->verdict, "To measure"));
    judged_free(&judged);
}

static void dear_sampling(void **state)
{
    (void)state;
    struct run run = {.traffic = true, .rounds = ROUNDS, .latency = FAST, .distance = WORD, .handler_ns = 400000000};
    struct judged judged = judge(run);
    says(judged.findings, "Sampling took 40% of its time, which slows what it measures.");
    judged_free(&judged);
    run.handler_ns = 20000000;
    judged = judge(run);
    assert_null(strstr(judged.findings->verdict, "Sampling took"));
    judged_free(&judged);
    run.budget_ppm = "10000"; /* twice as much as it may */
    judged = judge(run);
    says(judged.findings, "Sampling took 2.0% of its time (--budget: 1%).");
    judged_free(&judged);
    run.budget_ppm = "16000";
    judged = judge(run);
    assert_null(strstr(judged.findings->verdict, "Sampling took"));
    judged_free(&judged);
    run.handler_ns = 400000000; /* it may, and slows nevertheless */
    run.budget_ppm = "500000";
    judged = judge(run);
    says(judged.findings, "Sampling took 40% of its time, which slows what it measures.");
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
        cmocka_unit_test(streams_on_one_node),  cmocka_unit_test(better_as_advised),  cmocka_unit_test(each_on_its_own),
        cmocka_unit_test(names_what_is_remote), cmocka_unit_test(slow_streams),       cmocka_unit_test(more_cpus),
        cmocka_unit_test(near_the_limit),       cmocka_unit_test(without_traffic),    cmocka_unit_test(latency_alone),
        cmocka_unit_test(no_place_is_near_all), cmocka_unit_test(slow_beside_others), cmocka_unit_test(too_few),
        cmocka_unit_test(hardly_any_samples),   cmocka_unit_test(dear_sampling),      cmocka_unit_test(another_machine),
        cmocka_unit_test(mostly_serial),        cmocka_unit_test(by_a_pmu),           cmocka_unit_test(real_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
