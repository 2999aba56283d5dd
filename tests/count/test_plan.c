/* test_plan.c - which counters are taken on machines of other people, for which node, in which unit. */
#include "tree.h"

#include "capture/count/count_plan.h"

#define LINE_MIB 64.0 /* 6.103515625e-5 MiB */

/* How many counters of a plan add to a row's column. */
static size_t counters(const struct count_plan *plan, uint32_t row, enum count_what what)
{
    size_t count = 0;
    array_each (&plan->counters, struct count_counter, counter)
        count += counter->row == row && counter->what == what;
    return count;
}

static const struct count_counter *counter_named(const struct count_plan *plan, const char *name, int cpu)
{
    array_each (&plan->counters, struct count_counter, counter)
        if (strcmp(counter->name, name) == 0 && counter->cpu == cpu)
            return counter;
    fail_msg("no counter %s on CPU %d", name, cpu);
    return NULL;
}

static void expect_rows(const struct count_plan *plan, const char *expected)
{
    char all[256] = "";
    array_each (&plan->rows, struct count_row, row) {
        char label[64];
        count_row_label(row, label, sizeof label);
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", *all ? " " : "", label);
    }
    assert_string_equal(all, expected);
}

static struct count_plans plans_of(const char *name)
{
    struct tree tree = tree_make(name);
    struct count_plans plans;
    count_plans_make(&plans, tree.root);
    tree_remove(&tree);
    return plans;
}

static const struct count_plan *plan_at(const struct count_plans *plans, size_t index, enum count_source source)
{
    assert_true(index < plans->list.count);
    assert_int_equal(plans->list.items[index]->source, source);
    return plans->list.items[index];
}

static void skylake(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("skylake-sp");
    assert_int_equal(plans.list.count, 3);
    const struct count_plan *plan = plan_at(&plans, 0, COUNT_UNCORE);
    assert_null(plan->lacks);
    assert_true(plan->in_bytes);
    assert_int_equal(plan->side, COUNT_AT_MEMORY);
    expect_rows(plan, "0 1");
    for (uint32_t row = 0; row < 2; row++) {
        assert_int_equal(counters(plan, row, COUNT_READ), 6);
        assert_int_equal(counters(plan, row, COUNT_WRITE), 6);
        assert_int_equal(counters(plan, row, COUNT_LOCAL), 4);
        assert_int_equal(counters(plan, row, COUNT_REMOTE), 4);
    }
    const struct count_counter *read = counter_named(plan, "uncore_imc_2/cas_count_read/", 12);
    assert_int_equal(read->attr.type, 24);
    assert_int_equal(read->attr.config, 0x0304);
    assert_int_equal(read->row, 1);
    assert_amount(read->scale, LINE_MIB);
    assert_false(read->optional);
    const struct count_counter *remote = counter_named(plan, "uncore_cha_3/event=0x50,umask=0x0a/", 0);
    assert_int_equal(remote->attr.config, 0x0a50);
    assert_true(remote->optional);
    /* Uncore counters refuse events that look like a CPU's. */
    assert_int_equal(read->attr.exclude_kernel, 0);
    assert_int_equal(read->attr.inherit, 0);
    assert_non_null(plan_at(&plans, 1, COUNT_RESCTRL)->lacks);
    const struct count_plan *last = plan_at(&plans, 2, COUNT_NUMASTAT);
    assert_null(last->lacks);
    assert_int_equal(last->counters.count, 12);
    count_plans_free(&plans);
}

static void programmable_before_free_running(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("ice-lake-sp");
    const struct count_plan *first = plan_at(&plans, 0, COUNT_UNCORE), *second = plan_at(&plans, 1, COUNT_UNCORE);
    assert_int_equal(counters(first, 0, COUNT_READ), 4);
    assert_int_equal(counter_named(first, "uncore_imc_3/cas_count_write/", 0)->attr.config, 0x3004);
    assert_int_equal(counters(second, 0, COUNT_READ), 2);
    assert_int_equal(counter_named(second, "uncore_imc_free_running_0/write/", 0)->attr.config, 0x21ff);
    assert_amount(second->counters.items[0].scale, LINE_MIB);
    assert_int_equal(first->whats, 1u << COUNT_READ | 1u << COUNT_WRITE | 1u << COUNT_TOTAL);
    count_plans_free(&plans);
}

static void clusters_share_controllers(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("sapphire-rapids-snc");
    const struct count_plan *uncore = plan_at(&plans, 0, COUNT_UNCORE), *resctrl = plan_at(&plans, 1, COUNT_RESCTRL);
    expect_rows(uncore, "0-1 2-3 4");
    assert_int_equal(counters(uncore, 1, COUNT_READ), 4);
    assert_int_equal(counters(uncore, 2, COUNT_READ), 0);
    assert_int_equal(counter_named(uncore, "uncore_imc_0/cas_count_read/", 4)->attr.config, 0xcf05);
    /* resctrl can distinguish them: the figures of the whole cache are not counted a second time. */
    assert_null(resctrl->lacks);
    assert_int_equal(resctrl->side, COUNT_AT_CPUS);
    expect_rows(resctrl, "0 1 2 3 4");
    for (uint32_t row = 0; row < 4; row++) {
        assert_int_equal(counters(resctrl, row, COUNT_TOTAL), 1);
        assert_int_equal(counters(resctrl, row, COUNT_LOCAL), 1);
    }
    count_plans_free(&plans);
}

static void two_sub_channels(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("granite-rapids");
    const struct count_plan *plan = plan_at(&plans, 0, COUNT_UNCORE);
    assert_int_equal(counters(plan, 0, COUNT_READ), 8);
    assert_int_equal(counters(plan, 0, COUNT_WRITE), 8);
    assert_int_equal(counter_named(plan, "uncore_imc_3/cas_count_write_sch1/", 0)->attr.config, 0xf006);
    assert_true(plan->in_bytes);
    count_plans_free(&plans);
}

static void dies_are_nodes(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("cascade-lake-ap");
    const struct count_plan *plan = plan_at(&plans, 0, COUNT_UNCORE);
    expect_rows(plan, "0 1");
    assert_int_equal(counters(plan, 0, COUNT_READ), 6);
    assert_int_equal(counters(plan, 1, COUNT_WRITE), 6);
    count_plans_free(&plans);
}

static void client(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("client");
    const struct count_plan *plan = plan_at(&plans, 0, COUNT_UNCORE);
    assert_int_equal(plan->counters.count, 2);
    assert_int_equal(counter_named(plan, "uncore_imc/data_writes/", 0)->attr.config, 2);
    assert_amount(plan->counters.items[0].scale, LINE_MIB);
    count_plans_free(&plans);
}

static void zen2(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("zen2");
    const struct count_plan *fabric = plan_at(&plans, 0, COUNT_UNCORE), *resctrl = plan_at(&plans, 1, COUNT_RESCTRL);
    expect_rows(fabric, "0 1");
    assert_int_equal(counters(fabric, 0, COUNT_TOTAL), 8);
    assert_int_equal(counters(fabric, 1, COUNT_TOTAL), 8);
    assert_int_equal(fabric->whats, 1u << COUNT_TOTAL);
    /* Channel 7: event 0x1c7, whose bit 8 is in bit 32. */
    assert_int_equal(counter_named(fabric, "amd_df/event=0x07,umask=0x38/ of channel 7", 4)->attr.config, 0x1000038c7);
    assert_amount(fabric->counters.items[0].scale, 64);
    /* Two caches and a control group's; monitoring groups are in those. */
    expect_rows(resctrl, "0 1");
    assert_int_equal(counters(resctrl, 0, COUNT_TOTAL), 3);
    assert_int_equal(counters(resctrl, 1, COUNT_TOTAL), 2);
    assert_true(resctrl->whats & 1u << COUNT_REMOTE);
    count_plans_free(&plans);
}

static void zen4(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("zen4");
    const struct count_plan *plan = plan_at(&plans, 0, COUNT_UNCORE), *fabric = plan_at(&plans, 1, COUNT_UNCORE);
    expect_rows(plan, "0-3 4-7");
    assert_int_equal(counters(plan, 0, COUNT_READ), 12);
    assert_int_equal(counters(plan, 1, COUNT_WRITE), 12);
    assert_int_equal(counter_named(plan, "amd_umc_23/event=0x0a,rdwrmask=0x2/", 4)->attr.config, 0x20a);
    assert_int_equal(counters(plan, 0, COUNT_REMOTE), 24);
    /* Channel 11, event 0x2df, umask 0xbff in its two pieces each. */
    const struct count_counter *remote = counter_named(plan, "amd_df/event=0x1f,umask=0xbff/ of channel 11", 0);
    assert_int_equal(remote->attr.config, 0x20b00ffdf);
    assert_true(remote->optional);
    assert_int_equal(counters(fabric, 1, COUNT_READ), 12);
    count_plans_free(&plans);
}

static void zen5_with_an_old_kernel(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("zen5-old-kernel");
    const struct count_plan *plan = plan_at(&plans, 0, COUNT_UNCORE);
    assert_int_equal(plan->counters.count, 24);
    assert_int_equal(counter_named(plan, "amd_df/event=0x1f,umask=0xfff/ of channel 0", 0)->attr.config, 0xf00ff1f);
    count_plans_free(&plans);
}

static void graviton_has_allocations_only(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("graviton3");
    assert_int_equal(plans.list.count, 3);
    assert_non_null(strstr(plan_at(&plans, 0, COUNT_UNCORE)->lacks, "virtual machines hide them"));
    assert_non_null(strstr(plan_at(&plans, 1, COUNT_RESCTRL)->lacks, "no /sys/fs/resctrl"));
    const struct count_plan *plan = plan_at(&plans, 2, COUNT_NUMASTAT);
    assert_null(plan->lacks);
    assert_int_equal(plan->side, COUNT_AT_ALLOCATION);
    expect_rows(plan, "0");
    assert_int_equal(plan->counters.count, 5); /* this one has no vmstat */
    count_plans_free(&plans);
}

static void kunpeng(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("kunpeng920");
    const struct count_plan *plan = plan_at(&plans, 0, COUNT_UNCORE);
    expect_rows(plan, "0 1 2 3");
    for (uint32_t row = 0; row < 4; row++)
        assert_int_equal(counters(plan, row, COUNT_READ), 4);
    const struct count_counter *read = counter_named(plan, "hisi_sccl5_ddrc3/flux_rd/", 6);
    assert_int_equal(read->row, 3);
    assert_int_equal(read->attr.type, 28);
    assert_int_equal(read->attr.config, 1);
    assert_amount(read->scale, 32);
    count_plans_free(&plans);
}

static void altra_counts_events(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("altra");
    const struct count_plan *mesh = plan_at(&plans, 0, COUNT_UNCORE), *clusters = plan_at(&plans, 1, COUNT_UNCORE);
    expect_rows(mesh, "0 1");
    assert_false(mesh->in_bytes);
    assert_int_equal(mesh->side, COUNT_AT_MEMORY);
    assert_int_equal(counter_named(mesh, "arm_cmn_1/hnf_mc_reqs/", 80)->attr.config, 0xd0005);
    assert_amount(mesh->counters.items[0].scale, 1);
    assert_int_equal(clusters->side, COUNT_AT_CPUS);
    count_plans_free(&plans);
}

static void imx_counts_bytes(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("imx8mp");
    const struct count_plan *plan = plan_at(&plans, 0, COUNT_UNCORE), *cycles = plan_at(&plans, 1, COUNT_UNCORE);
    assert_true(plan->in_bytes);
    const struct count_counter *read = &plan->counters.items[0];
    assert_int_equal(read->attr.config, 0x41);
    assert_int_equal(read->attr.config1, 0xffff0000);
    assert_false(cycles->in_bytes);
    count_plans_free(&plans);
}

static void damage_is_survived(void **state)
{
    (void)state;
    struct count_plans plans = plans_of("damaged");
    const struct count_plan *plan = plan_at(&plans, 0, COUNT_UNCORE);
    expect_rows(plan, "0 1 7");
    assert_int_equal(plan->counters.count, 1); /* the one read event that is whole, in lines when no scale is given */
    assert_amount(plan->counters.items[0].scale, 64);
    assert_int_equal(plan->whats, 1u << COUNT_READ);
    assert_non_null(strstr(plan_at(&plans, 1, COUNT_RESCTRL)->lacks, "does not monitor memory bandwidth"));
    assert_non_null(strstr(plan_at(&plans, 2, COUNT_NUMASTAT)->lacks, "without NUMA"));
    count_plans_free(&plans);
}

static void an_empty_machine(void **state)
{
    (void)state;
    struct tree tree = {"/tmp/numalens-count-XXXXXX"};
    struct count_plans plans;
    assert_non_null(mkdtemp(tree.root));
    tree_write(&tree, "sys/fs/resctrl/none", "");
    count_plans_make(&plans, tree.root);
    assert_int_equal(plans.list.count, 3);
    array_each (&plans.list, struct count_plan *, plan)
        assert_non_null((*plan)->lacks);
    assert_non_null(strstr(plan_at(&plans, 1, COUNT_RESCTRL)->lacks, "mount -t resctrl"));
    count_plans_free(&plans);
    tree_remove(&tree);
}

static void labels(void **state)
{
    (void)state;
    struct count_row row = {0};
    char text[64], little[4];
    static const int32_t nodes[] = {0, 1, 2, 5, 8, 9};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        array_push(&row.nodes, nodes[i]);
    count_row_label(&row, text, sizeof text);
    assert_string_equal(text, "0-2,5,8-9");
    count_row_label(&row, little, sizeof little);
    assert_string_equal(little, "0-2");
    array_free(&row.nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skylake),
        cmocka_unit_test(programmable_before_free_running),
        cmocka_unit_test(clusters_share_controllers),
        cmocka_unit_test(two_sub_channels),
        cmocka_unit_test(dies_are_nodes),
        cmocka_unit_test(client),
        cmocka_unit_test(zen2),
        cmocka_unit_test(zen4),
        cmocka_unit_test(zen5_with_an_old_kernel),
        cmocka_unit_test(graviton_has_allocations_only),
        cmocka_unit_test(kunpeng),
        cmocka_unit_test(altra_counts_events),
        cmocka_unit_test(imx_counts_bytes),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(an_empty_machine),
        cmocka_unit_test(labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
