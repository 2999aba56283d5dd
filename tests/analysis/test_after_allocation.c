/* test_after_allocation.c - objects that others use than those who allocated or initialised them; from made-up facts. */
#include "made_facts.h"

static void after_allocation(void **state)
{
    (void)state;
    struct made *made = make();
    put_users(made->object, 5, 1);
    made->object->sharing = SHARING_THREAD;
    made->object->using_threads = made->object->using_nodes = 1;
    made->object->main_user = 5;
    made->object->main_user_node = 2;
    assert_string_equal(patterns(made), "remote-after-allocation");
    assert_true(
        says(worst(made)->evidence, "by thread main, so its home is on node 0; thread worker 5 on node 2 makes 100%"));
    assert_true(says(worst(made)->advice.items[0].code, "in the thread that uses it, before any other writes it"));
    assert_true(says(warned(worst(made), ACTION_INTERLEAVE)->why, "75%"));

    made->object->sharing = SHARING_NODE; /* several threads of that node */
    made->object->using_threads = 2;
    assert_string_equal(patterns(made), "remote-after-allocation");

    made->object->sharing = SHARING_ALL; /* others look in now and then */
    made->object->users.items[0].samples = SAMPLES * 9 / 10;
    array_push(&made->object->users, (struct fact_user){.thread = 1, .node = 0, .samples = SAMPLES / 10});
    assert_string_equal(patterns(made), "remote-after-allocation");

    made->object->main_user_node = 0; /* twin: it is used on its home node */
    made->object->sharing = SHARING_THREAD;
    made->object->totals.remote = SAMPLES / 10;
    assert_string_equal(patterns(made), "");
    made_free(made);
}

/* Its user allocates it already: it is far because the allocator had its pages from another thread. */
static void recycled_pages(void **state)
{
    (void)state;
    struct made *made = make();
    put_users(made->object, 5, 1);
    made->object->sharing = SHARING_THREAD;
    made->object->using_threads = made->object->using_nodes = 1;
    made->object->main_user = made->object->alloc_thread = 5;
    made->object->main_user_node = 2;
    assert_string_equal(patterns(made), "remote-after-allocation");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_ALLOCATE_NEAR); /* twin: another allocates it */
    made->object->alloc_thread_samples = SAMPLES;
    assert_string_equal(patterns(made), "remote-after-allocation");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_SEPARATE_PAGES);
    assert_true(says(worst(made)->advice.items[0].why, "100% of its pages are recycled"));
    assert_non_null(warned(worst(made), ACTION_ALLOCATE_NEAR));
    made_free(made);
}

/* Threads of a simulated topology stay where they are assigned: whoever touched its object first and uses it has not moved there. */
static void nobody_moves_on_a_simulated_topology(void **state)
{
    (void)state;
    struct made *made = make();
    put_users(made->object, 5, 1);
    made->object->sharing = SHARING_THREAD;
    made->object->using_threads = made->object->using_nodes = 1;
    made->object->main_user = made->object->toucher = 5;
    made->object->main_user_node = 2;
    for (int simulated = 1; simulated >= 0; simulated--) {
        made->feeding.topology->simulated = simulated;
        assert_string_equal(patterns(made), "remote-after-allocation");
        assert_int_equal(strstr(worst(made)->evidence, "which has since moved") != NULL, !simulated);
        assert_int_equal(strstr(worst(made)->advice.items[0].why, "has moved") != NULL, !simulated);
    }
    made_free(made);
}

/* A command for all of the program is for what most remote accesses are, never for a part of them. */
static void no_wider_than_the_evidence(void **state)
{
    (void)state;
    struct made *made = make();
    made->facts.totals.remote = 3 * made->object->totals.remote;
    patterns(made);
    array_each (&worst(made)->advice, const struct advice, advice)
        assert_null(strstr(advice->code, "numactl"));
    made->facts.totals.remote = made->object->totals.remote; /* twin: all of them */
    patterns(made);
    assert_true(says(worst(made)->advice.items[0].code, "numactl --interleave=all")); /* it has no name in the source */
    made_free(made);
}

static void many_instances(void **state)
{
    (void)state;
    struct made *made = make();
    made->site->instances = 193;
    made->site->private_instances = 190;
    made->object->totals.remote = 100;
    assert_string_equal(patterns(made), "remote-after-allocation");
    assert_true(worst(made)->is_site);
    assert_true(says(worst(made)->evidence, "190 of 193"));
    made->object->totals.remote = SAMPLES * 74 / 100; /* one of them is nearly all of it */
    assert_string_equal(patterns(made), "concurrent-remote");
    assert_false(worst(made)->is_site);
    made_free(made);
}

static void far_initialised(void **state)
{
    (void)state;
    struct made *made = make();
    put_parted(made->object, 0.93);
    array_push(&made->object->users, (struct fact_user){.thread = 0, .node = 0, .touched = SIZE / 4096});
    assert_string_equal(patterns(made), "far-initialised");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_FIRST_TOUCH);
    assert_true(says(worst(made)->evidence, "thread main touched 100% of its pages first"));
    assert_true(says(worst(made)->evidence, "use their own part (93% separated), but"));
    made->object->separated = -1; /* too few pairs for a figure: what is not known is not printed as a number */
    assert_string_equal(patterns(made), "far-initialised");
    assert_true(says(worst(made)->evidence, "use their own part, but"));
    assert_null(strstr(worst(made)->advice.items[0].why, "separated"));
    made->object->users.count--; /* another thread touched some of its pages: the other sentence */
    patterns(made);
    assert_true(says(worst(made)->evidence, "use their own part, but the parts have their home elsewhere"));
    put_parted(made->object, 0.3); /* twin: all over the place */
    assert_string_equal(patterns(made), "concurrent-remote");
    made_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_allocation),
        cmocka_unit_test(many_instances),
        cmocka_unit_test(recycled_pages),
        cmocka_unit_test(nobody_moves_on_a_simulated_topology),
        cmocka_unit_test(no_wider_than_the_evidence),
        cmocka_unit_test(far_initialised),
    };
    return cmocka_run_group_tests_name("after_allocation", tests, NULL, NULL);
}
