/* test_shared_memory.c - pages, lines and nodes that several objects or threads share; from made-up facts. */
#include "made_facts.h"

static void mixed_pages(void **state)
{
    (void)state;
    struct made *made = make();
    made->site->instances = made->site->private_instances = 4000;
    made->site->mixed_pages = 900;
    made->site->pages = 1000;
    made->site->mixed_remote = SAMPLES * 3 / 4;
    made->object->totals.remote = 100;
    assert_string_equal(patterns(made), "mixed-pages");
    assert_true(says(worst(made)->evidence, "900 of their 1000 pages"));
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_SEPARATE_PAGES);
    made->site->mixed_remote = SAMPLES / 8; /* twin: pages of their own, though far */
    assert_string_equal(patterns(made), "remote-after-allocation");
    made_free(made);
}

static void false_sharing(void **state)
{
    (void)state;
    struct made *made = make();
    made->object->totals.remote = 0;
    made->object->false_sharing = SAMPLES * 6 / 10;
    made->object->worst_line = 0x10000000 + 128;
    assert_string_equal(patterns(made), "false-sharing");
    assert_true(says(worst(made)->evidence, "60% of its accesses"));
    assert_true(says(worst(made)->evidence, "offset 128"));
    assert_true(worst(made)->lost_time_share > 0.23 && worst(made)->lost_time_share < 0.25);
    made->object->false_sharing = SAMPLES / 20; /* twin: a line at the border of two parts */
    assert_string_equal(patterns(made), "");
    made->object->false_sharing = SAMPLES * 3 / 10; /* twin: they do use the same bytes */
    made->object->true_sharing = SAMPLES * 6 / 10;
    assert_string_equal(patterns(made), "cross-node-sharing");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_PIN_TOGETHER);
    made->object->writers = 9; /* one of them writes so little that it does not count as a user */
    assert_string_equal(patterns(made), "cross-node-sharing");
    assert_true(says(worst(made)->evidence, "8 threads of 4 nodes do, 8 of them write"));
    made->object->sharing = SHARING_NODE; /* twin: on one node */
    assert_string_equal(patterns(made), "");
    made_free(made);
}

static void saturated(void **state)
{
    (void)state;
    struct made *made = make();
    made->object->totals.remote = 10; /* many objects, none of them worth a finding */
    for (unsigned from = 0; from < NODES; from++)
        made->facts.matrix[from * NODES] = 2000;
    made->facts.nodes[0] =
        (struct facts_node){.samples = 8000, .remote = 6000, .remote_time = 0.2, .mixing = made->object->mixing};
    assert_string_equal(patterns(made), "saturated-node");
    assert_int_equal(worst(made)->node, 0);
    assert_string_equal(worst(made)->name, "node 0");
    assert_true(says(worst(made)->evidence, "80% of the accesses go to its memory, from 4 nodes"));
    assert_true(says(worst(made)->evidence, "cannot be measured on a simulated topology"));
    assert_true(says(worst(made)->advice.items[0].code, "numactl --interleave=all"));

    made->feeding.topology->simulated = false;
    made->facts.nodes[0].latency_sum = 500 * 700;
    made->facts.nodes[0].latency_count = 500;
    made->facts.nodes[1].latency_sum = 500 * 300;
    made->facts.nodes[1].latency_count = 500;
    patterns(made);
    assert_true(says(worst(made)->evidence, "is 700 ns, that of the other nodes 300 ns: it is overloaded"));

    made->object->false_sharing = SAMPLES; /* twin: a line that moves between caches loads no memory */
    made->object->totals.samples = SAMPLES;
    assert_string_equal(patterns(made), "false-sharing");
    made->object->false_sharing = 0;
    made->facts.nodes[0].mixing.near_changes = 20; /* twin: one node at a time */
    assert_string_equal(patterns(made), "");
    made->facts.nodes[0].mixing = made->object->mixing;
    made->facts.nodes[0].samples = 5000; /* twin: a bit more than the others */
    assert_string_equal(patterns(made), "");
    made->facts.nodes[0] = (struct facts_node){.samples = 8000, .remote = 100}; /* twin: its own CPUs use it */
    made->facts.matrix[0] = 7900;
    made->facts.matrix[NODES] = 100;
    made->facts.matrix[2 * NODES] = made->facts.matrix[3 * NODES] = 0;
    assert_string_equal(patterns(made), "");
    made_free(made);
}

/* A node that is busy because of one object comes behind it, and names it. */
static void an_object_comes_before_its_node(void **state)
{
    (void)state;
    struct made *made = make();
    for (unsigned from = 0; from < NODES; from++)
        made->facts.matrix[from * NODES] = 2250;
    made->facts.nodes[0] =
        (struct facts_node){.samples = 9000, .remote = 6000, .remote_time = 0.21, .mixing = made->object->mixing};
    assert_string_equal(patterns(made), "concurrent-remote saturated-node");
    assert_true(says(made->findings->items.items[1].evidence, worst(made)->name));
    made_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixed_pages),
        cmocka_unit_test(false_sharing),
        cmocka_unit_test(saturated),
        cmocka_unit_test(an_object_comes_before_its_node),
    };
    return cmocka_run_group_tests_name("shared_memory", tests, NULL, NULL);
}
