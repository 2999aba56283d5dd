/* Hardware samples stand for as many events as their periods say: shares of accesses and of time are of these, and how sure they are
 * is a matter of how many samples there are. Two nodes with a CPU and a thread each, and an array for each thread, both on node 0.
 * Latencies are cycles, and 3 more go by from one access to the next. */
#include "bursts.h"

#include "analysis/findings/findings.h"

#include <string.h>

enum { ARRAY = 1 << 22, NEAR = 300, FAR = 600, BETWEEN = 3, PLENTY = 200 };

struct sampled { /* so many samples of one thread */
    unsigned count, thread;
    uint32_t latency, period; /* latency 0: none is recorded */
    uint8_t flags;
};

static uint64_t array_at(unsigned thread)
{
    return HEAP + thread * 2ul * ARRAY;
}

static struct feeding begin(const char *source)
{
    struct error err = {0};
    struct feeding f = feeding_new("numa:2 core:1", ASSIGN_PACKED);
    struct trace_session *session = trace_session_new();
    f.topology->simulated = false;
    trace_session_set(session, "command", "made up");
    trace_session_set(session, "source", source);
    trace_session_set(session, "latency_unit", "cycles");
    snprintf(f.path, sizeof f.path, "/tmp/numalens-weights-%d.data", (int)getpid());
    f.writer = trace_writer_open(f.path, session, &err);
    assert_non_null(f.writer);
    trace_session_free(session);
    feed_start(&f, PID, 1, false);
    feed_thread(&f, PID + 1, "worker", 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t frames[] = {0x400000 + i * 0x1000, 0x500000};
        feed_stack(&f, CHAIN + i, 2, frames);
        feed_alloc(&f, array_at(i), ARRAY, CHAIN + i);
    }
    return f;
}

/* By threads that take turns, each of its own array. */
static void put(struct feeding *f, uint8_t source, const struct sampled *what, size_t count)
{
    for (unsigned i = 0; i < PLENTY; i++)
        for (size_t k = 0; k < count; k++) {
            const struct sampled *one = &what[k];
            if (i >= one->count)
                continue;
            f->time += MS;
            feed(f, (struct event){.kind = EVENT_SAMPLE,
                                   .time = f->time,
                                   .tid = PID + one->thread,
                                   .sample = {.addr = array_at(one->thread) + i * 64ul,
                                              .cpu = (uint16_t)one->thread,
                                              .size = 8,
                                              .latency = one->latency,
                                              .period = one->period,
                                              .source = source,
                                              .level = one->thread ? LEVEL_REMOTE_RAM : LEVEL_RAM,
                                              .flags = (uint8_t)((one->flags ? one->flags : SAMPLE_READ) |
                                                                 (one->latency ? SAMPLE_HAS_LATENCY : 0))}});
        }
}

#define run(f, source, ...)                                                                                            \
    run_samples(f, source, (struct sampled[]){__VA_ARGS__},                                                            \
                sizeof(struct sampled[]){__VA_ARGS__} / sizeof(struct sampled))

static struct facts *run_samples(struct feeding *f, uint8_t source, const struct sampled *what, size_t count)
{
    *f = begin(sample_source_name(source));
    put(f, source, what, count);
    return run_end(f);
}

/* Of the time, what thread 1 waits because its array is far: half of its latency. */
static double lost(double near_weight, double far_weight)
{
    return far_weight * (FAR - NEAR) / (near_weight * (NEAR + BETWEEN) + far_weight * (FAR + BETWEEN));
}

static void shares_are_of_what_samples_stand_for(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = run(&f, SOURCE_PEBS, {.count = PLENTY, .latency = NEAR, .period = 1000},
                              {.count = PLENTY, .thread = 1, .latency = FAR, .period = 9000});
    assert_true(facts->weights.by_period && facts->penalty_measured);
    assert_float_equal(facts->remote_penalty, 1, 1e-9);
    assert_float_equal(facts->remote_time, lost(1, 9), 1e-9);
    assert_float_equal(subject_at(facts, array_at(1))->remote_time, lost(1, 9), 1e-9);
    assert_float_equal(facts->nodes[0].remote_time, lost(1, 9), 1e-9);
    assert_float_equal(subject_at(facts, array_at(0))->slow_time,
                       NEAR * 1. / (1 * (NEAR + BETWEEN) + 9 * (FAR + BETWEEN)), 1e-9);
    assert_float_equal(facts_remote_ratio(facts), 0.9, 1e-9);
    /* Observations are samples. */
    assert_int_equal(facts->bursts, 2 * PLENTY);
    assert_int_equal(facts->totals.remote, PLENTY);
    assert_int_equal(subject_at(facts, array_at(1))->bursts, PLENTY);
    struct findings *findings = findings_make(facts);
    assert_float_equal(findings->remote_time_share, lost(1, 9), 1e-9);
    assert_true(findings->remote_time_low < lost(1, 9) && findings->remote_time_high > lost(1, 9));
    findings_free(findings);
    run_free(&f, facts);
}

/* A share that is seldom sampled, and each time for much, is as large as one that is often sampled for little. */
static void how_often_does_not_matter(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = run(&f, SOURCE_IBS, {.count = PLENTY, .latency = NEAR, .period = 1000},
                              {.count = PLENTY / 2, .thread = 1, .latency = FAR, .period = 2000});
    assert_float_equal(facts->remote_time, lost(1, 1), 1e-9);
    assert_float_equal(facts_remote_ratio(facts), 0.5, 1e-9);
    const struct facts_subject *far = subject_at(facts, array_at(1));
    assert_float_equal(facts_part_of_remote(facts, far->totals.remote, far->remote_weight), 1, 1e-9);
    run_free(&f, facts);
}

static void a_penalty_is_of_accesses(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = run(&f, SOURCE_PEBS, {.count = PLENTY, .latency = NEAR, .period = 500},
                              {.count = PLENTY, .thread = 1, .latency = 2 * NEAR, .period = 1000},
                              {.count = PLENTY, .thread = 1, .latency = 4 * NEAR, .period = 9000});
    assert_true(facts->penalty_measured);
    assert_float_equal(facts->remote_penalty, 0.1 * 2 + 0.9 * 4 - 1, 1e-9);
    run_free(&f, facts);
}

/* The soft sampler's samples and those of an older file. */
static void without_periods_all_weigh_the_same(void **state)
{
    (void)state;
    static const uint8_t sources[] = {SOURCE_SOFT, SOURCE_PEBS};
    for (size_t i = 0; i < 2; i++) {
        struct feeding f;
        struct facts *facts =
            run(&f, sources[i], {.count = PLENTY, .latency = NEAR}, {.count = PLENTY, .thread = 1, .latency = FAR});
        assert_false(facts->weights.by_period);
        assert_float_equal(facts->remote_time, lost(1, 1), 1e-9);
        assert_float_equal(facts_remote_ratio(facts), 0.5, 1e-9);
        assert_float_equal(facts_bursts_worth(facts, 400), 400, 1e-9);
        run_free(&f, facts);
    }
}

/* A second event that samples the same loads has no periods; stores that have none at all weigh as much as loads do in the mean. */
static void what_has_no_period(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = run(&f, SOURCE_PEBS, {.count = PLENTY, .latency = NEAR, .period = 1000},
                              {.count = PLENTY, .thread = 1, .latency = FAR, .period = 1000},
                              {.count = PLENTY, .thread = 1, .latency = FAR});
    assert_float_equal(facts->remote_time, lost(1, 1), 1e-9);
    assert_float_equal(facts_remote_ratio(facts), 0.5, 1e-9);
    run_free(&f, facts);

    facts = run(&f, SOURCE_PEBS, {.count = PLENTY, .latency = NEAR, .period = 1000},
                {.count = PLENTY, .thread = 1, .latency = FAR, .flags = SAMPLE_WRITE});
    assert_float_equal(facts->remote_time, lost(1, 1), 1e-9);
    run_free(&f, facts);
}

/* One sample that stands for nearly everything is one observation: nothing is concluded from it, either way. */
static void one_heavy_sample_decides_nothing(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = run(&f, SOURCE_PEBS, {.count = PLENTY, .latency = NEAR, .period = 1},
                              {.count = 1, .thread = 1, .latency = FAR, .period = 1000000000});
    assert_true(facts_bursts_worth(facts, (double)facts->bursts) < 1.01);
    struct findings *findings = findings_make(facts);
    assert_false(findings->decided);
    assert_non_null(strstr(findings->verdict, "from 201 bursts"));
    findings_free(findings);
    run_free(&f, facts);

    /* As many of equal weight are sure. */
    facts = run(&f, SOURCE_PEBS, {.count = PLENTY, .latency = NEAR, .period = 1000},
                {.count = PLENTY, .thread = 1, .latency = FAR, .period = 1000});
    findings = findings_make(facts);
    assert_true(findings->decided && findings->numa_bound);
    findings_free(findings);
    run_free(&f, facts);
}

/* Without latencies the verdict judges shares of accesses. */
static void shares_of_accesses_without_latency(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts =
        run(&f, SOURCE_PEBS, {.count = PLENTY, .period = 1000}, {.count = PLENTY, .thread = 1, .period = 9000});
    struct findings *findings = findings_make(facts);
    assert_non_null(strstr(findings->verdict, "90.0% of the accesses are remote"));
    findings_free(findings);
    run_free(&f, facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_of_what_samples_stand_for),
        cmocka_unit_test(how_often_does_not_matter),
        cmocka_unit_test(a_penalty_is_of_accesses),
        cmocka_unit_test(without_periods_all_weigh_the_same),
        cmocka_unit_test(what_has_no_period),
        cmocka_unit_test(one_heavy_sample_decides_nothing),
        cmocka_unit_test(shares_of_accesses_without_latency),
    };
    return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
