/* test_concurrent_remote.c - objects that threads of several nodes use, at the same time or taking turns; from made-up facts. */
#include "made_facts.h"

static void concurrent(void **state)
{
    (void)state;
    struct made *made = make();
    assert_string_equal(patterns(made), "concurrent-remote");
    const struct finding *finding = worst(made);
    assert_int_equal(finding->advice.items[0].action, ACTION_INTERLEAVE);
    assert_true(says(finding->evidence, "8 threads on 4 nodes"));
    assert_true(says(finding->evidence, "75% of the accesses are remote"));
    assert_true(says(warned(finding, ACTION_DUPLICATE)->why, "41% of its accesses are writes"));
    assert_true(says(warned(finding, ACTION_MIGRATE)->why, "97%"));
    assert_true(says(warned(finding, ACTION_PIN_TOGETHER)->why, "8 threads use it, node 0 has 2 CPUs"));
    assert_true(says(finding->gain, "Distance costs 20.0%"));
    assert_true(says(finding->gain, "simulated"));
    assert_true(says(finding->gain, "75% of the accesses stay remote"));
    assert_true(finding->share_of_remote > 0.99);

    made->object->use = USE_READ_ONLY; /* no write was sampled: that is no proof */
    made->object->totals.writes = 0;
    assert_string_equal(patterns(made), "concurrent-remote");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_INTERLEAVE);
    assert_true(says(worst(made)->evidence, "at most 0.5% of its accesses are writes (95% sure)"));
    assert_true(says(warned(worst(made), ACTION_DUPLICATE)->why, "numalens record --faults -- "));

    made->object->proof = PROOF_READ_ONLY;
    assert_string_equal(patterns(made), "concurrent-remote");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_DUPLICATE);
    assert_true(says(worst(made)->advice.items[0].why, "no page of it was written"));
    assert_true(says(worst(made)->advice.items[0].code, "numa_alloc_onnode"));
    assert_null(warned(worst(made), ACTION_DUPLICATE));
    made->object->proof = PROOF_WRITTEN; /* pages were written that no sample shows */
    made->object->written_pages = 7;
    patterns(made);
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_INTERLEAVE);
    assert_true(says(warned(worst(made), ACTION_DUPLICATE)->why, "7 of its pages were written"));

    made->object->using_threads = 2; /* now they fit on the node */
    patterns(made);
    assert_true(
        says(advised(worst(made), ACTION_PIN_TOGETHER)->code, "numa_run_on_node(0)")); /* not all of its threads */
    made_free(made);
}

/* A library's tables are the loader's to place: neither a finding nor undecided, and no cost of placement. */
static void of_libraries(void **state)
{
    (void)state;
    static const char *const binaries[] = {"/opt/solver/bin/solver", "/usr/lib/x86_64-linux-gnu/libm.so.6",
                                           "/lib64/libm.so.6"};
    for (unsigned i = 0; i < 3; i++) {
        struct made *made = make_in(binaries[i]);
        made->object->site = FLOW_NONE;
        made->facts.sites.count = 0;
        assert_string_equal(patterns(made), i ? "" : "concurrent-remote");
        assert_int_equal(made->findings->undecided.count, 0);
        assert_true(i ? made->findings->remote_time_share < 0.001 : made->findings->remote_time_share > 0.19);
        for (unsigned from = 0; from < NODES; from++) /* nor do they saturate a node */
            made->facts.matrix[from * NODES] = 2250;
        made->facts.nodes[0] =
            (struct facts_node){.samples = 9000, .remote = 6000, .remote_time = 0.21, .mixing = made->object->mixing};
        assert_string_equal(patterns(made), i ? "" : "concurrent-remote saturated-node");
        made->facts.sites.count = 1;
        made_free(made);
    }
}

/* Written by all, and already on all nodes: nothing is better. Threads' turns with too few samples: nothing is said. */
static void not_concurrent(void **state)
{
    (void)state;
    struct made *made = make();
    for (unsigned node = 0; node < NODES; node++)
        made->object->home[node] = SAMPLES / NODES;
    assert_string_equal(patterns(made), "");
    made->object->home[0] = SAMPLES;
    made->object->mixing = (struct fact_mixing){.pairs = 40, .changes = 30, .chance = 34}; /* none is close in time */
    assert_string_equal(patterns(made), "");
    assert_int_equal(made->findings->undecided.count, 1);
    made_free(made);
}

static void alternate(void **state)
{
    (void)state;
    struct made *made = make();
    put_turns(made->object);
    made->object->switch_ns = 400000000; /* 8 MiB at 1 GB/s take 8 ms */
    assert_string_equal(patterns(made), "alternate-remote");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_MIGRATE);
    assert_true(says(worst(made)->advice.items[0].why, "for 400.0 ms at a time, migrating it takes about 8.4 ms"));
    assert_true(says(warned(worst(made), ACTION_DUPLICATE)->why, "41%"));
    assert_true(says(warned(worst(made), ACTION_INTERLEAVE)->why, "3%"));

    made->object->switch_ns = 2000000; /* too short to move anything */
    assert_string_equal(patterns(made), "alternate-remote");
    assert_null(advised(worst(made), ACTION_MIGRATE));
    assert_true(says(warned(worst(made), ACTION_MIGRATE)->why, "for 2.0 ms at a time"));
    made_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concurrent),
        cmocka_unit_test(of_libraries),
        cmocka_unit_test(not_concurrent),
        cmocka_unit_test(alternate),
    };
    return cmocka_run_group_tests_name("concurrent_remote", tests, NULL, NULL);
}
