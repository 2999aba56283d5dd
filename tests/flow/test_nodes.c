/* Where accesses come from and where they go: real homes over time, and simulated ones. */
#include "feeding.h"

/* Four real nodes with two CPUs each. */
static struct feeding real_machine(void)
{
    struct feeding f = feeding_new("numa:4 core:2", ASSIGN_PACKED);
    f.topology->simulated = false;
    return f;
}

static void homes_change_over_time(void **state)
{
    (void)state;
    struct feeding f = real_machine();
    feed_alloc(&f, 0x10000, 0x4000, 0);
    uint32_t early = feed_access(&f, 0x10010, 0, SAMPLE_READ, 0); /* nothing known yet: what is said next */
    uint32_t other = feed_access(&f, 0x11010, 0, SAMPLE_READ, 0); /* never said */
    feed_home(&f, 0x10000, 4096, 2);
    uint32_t then = feed_access(&f, 0x10020, 4, SAMPLE_READ, 0);
    feed_home(&f, 0x10000, 4096, 0);
    uint32_t moved = feed_access(&f, 0x10020, 4, SAMPLE_READ, 0);
    feed_home(&f, 0x10000, 4096, -14); /* an error is no home */
    uint32_t still = feed_access(&f, 0x10020, 0, SAMPLE_READ, 0);
    flow_finish(f.flow);
    assert_int_equal(home_of_sample(&f, early), 2);
    assert_int_equal(home_of_sample(&f, other), -1);
    assert_int_equal(home_of_sample(&f, then), 2);
    assert_int_equal(home_of_sample(&f, moved), 0);
    assert_int_equal(home_of_sample(&f, still), 0);
    struct flow_totals totals = flow_object(f.flow, 0)->totals;
    assert_int_equal(totals.samples, 5);
    assert_int_equal(totals.home_known, 4);
    assert_int_equal(totals.remote, 2); /* early from 0 to 2; moved from 2 to 0 */
    assert_int_equal(flow_totals(f.flow).remote, 2);
    assert_int_equal(flow_thread(f.flow, 0)->totals.remote, 2);
    feeding_free(&f);
}

static void a_huge_page_has_one_home(void **state)
{
    (void)state;
    struct feeding f = real_machine();
    feed_alloc(&f, 0x200000, 0x400000, 0);
    uint32_t early = feed_access(&f, 0x3fffff, 0, SAMPLE_READ, 0);
    feed_home(&f, 0x200000, 2 << 20, 3);
    uint32_t inside = feed_access(&f, 0x2ff000, 6, SAMPLE_READ, 0);
    uint32_t beyond = feed_access(&f, 0x400000, 6, SAMPLE_READ, 0);
    flow_finish(f.flow);
    assert_int_equal(home_of_sample(&f, early), 3);
    assert_int_equal(home_of_sample(&f, inside), 3);
    assert_int_equal(home_of_sample(&f, beyond), -1);
    assert_int_equal(flow_totals(f.flow).remote, 1);
    feeding_free(&f);
}

static void a_new_map_has_new_homes(void **state)
{
    (void)state;
    struct feeding f = real_machine();
    feed_map(&f, 0x200000, 0x10000, MAP_KIND_ANONYMOUS, 0, "");
    feed_home(&f, 0x201000, 4096, 1);
    uint32_t first = feed_read(&f, 0x201000);
    feed_unmap(&f, 0x200000, 0x10000);
    feed_map(&f, 0x200000, 0x10000, MAP_KIND_ANONYMOUS, 0, "");
    uint32_t second = feed_read(&f, 0x201000);
    feed_home(&f, 0x201000, 4096, 2);
    flow_finish(f.flow);
    assert_int_equal(home_of_sample(&f, first), 1);
    assert_int_equal(home_of_sample(&f, second), 2);
    feeding_free(&f);
}

static void one_node_is_local(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed_alloc(&f, 0x1000, 64, 0);
    uint32_t sample = feed_access(&f, 0x1000, 77, SAMPLE_READ, 0);
    flow_finish(f.flow);
    assert_int_equal(home_of_sample(&f, sample), 0);
    assert_int_equal(flow_totals(f.flow).home_known, 1);
    assert_int_equal(flow_totals(f.flow).remote, 0);
    feeding_free(&f);
}

/* Main and three threads; each touches a page, then all read all pages. `expected`: the pages' homes. */
static void check_homes(const char *assign_name, const char *homes, const char *from, const char *expected)
{
    struct error err = {0};
    enum topology_assign assign = ASSIGN_PACKED;
    assert_int_equal(topology_parse_assign(assign_name, &assign, &err), 0);
    struct feeding f = feeding_new("numa:2 core:2", assign);
    assert_int_equal(topology_parse_home(f.topology, homes, &err), 0);
    feed_start(&f, PID, 1, false);
    for (uint32_t i = 1; i < 4; i++)
        feed_thread(&f, PID + i, "worker", 0, 0);
    feed_alloc(&f, 0x10000, 0x4000, 0);
    for (uint32_t i = 0; i < 4; i++) {
        f.tid = PID + i;
        feed_touch(&f, 0x10000 + i * 0x1000 + 0x10);
    }
    for (uint32_t i = 0; i < 16; i++) {
        f.tid = PID + i % 4;
        feed_access(&f, 0x10000 + i / 4 * 0x1000, 0, SAMPLE_READ, 0);
    }
    flow_finish(f.flow);
    uint64_t remote = 0;
    for (uint32_t i = 0; i < 16; i++) {
        assert_int_equal(f.flow->marks.items[i].from, from[i % 4] - '0');
        assert_int_equal(home_of_sample(&f, i), expected[i / 4] - '0');
        remote += from[i % 4] != expected[i / 4];
    }
    assert_int_equal(flow_totals(f.flow).home_known, 16);
    assert_int_equal(flow_totals(f.flow).remote, remote);
    assert_int_equal(flow_object(f.flow, 0)->totals.remote, remote);
    feeding_free(&f);
}

static void simulated_homes_follow_the_rules(void **state)
{
    (void)state;
    check_homes("packed", "first-touch", "0011", "0011");
    check_homes("round-robin", "first-touch", "0101", "0101");
    check_homes("packed", "interleave", "0011", "0101");
    check_homes("round-robin", "interleave", "0101", "0101");
    check_homes("packed", "bind:1", "0011", "1111");
}

static void dealing_decides_who_is_near(void **state)
{
    (void)state;
    for (int round_robin = 0; round_robin < 2; round_robin++) {
        struct feeding f = feeding_new("numa:2 core:2", round_robin ? ASSIGN_ROUND_ROBIN : ASSIGN_PACKED);
        feed_start(&f, PID, 1, false);
        feed_thread(&f, 101, "worker", 0, 0);
        feed_touch(&f, 0x10000); /* by main */
        f.tid = 101;
        uint32_t sample = feed_read(&f, 0x10010);
        flow_finish(f.flow);
        assert_int_equal(f.flow->marks.items[sample].from, round_robin);
        assert_int_equal(flow_totals(f.flow).remote, round_robin);
        feeding_free(&f);
    }
}

static void a_fault_brings_in_more_than_its_page(void **state)
{
    (void)state;
    struct feeding f = feeding_new("numa:2 core:1", ASSIGN_PACKED);
    feed_start(&f, PID, 1, false);
    feed_thread(&f, 101, "worker", 0, 0);
    feed_touch(&f, 0x200000); /* main: one fault for a whole huge page */
    f.tid = 101;
    uint32_t inside = feed_read(&f, 0x280000), elsewhere = feed_read(&f, 0x400000);
    feed_touch(&f, 0x281000); /* a fault of its own after all */
    uint32_t own = feed_read(&f, 0x281010);
    flow_finish(f.flow);
    assert_int_equal(home_of_sample(&f, inside), 0);
    assert_int_equal(home_of_sample(&f, elsewhere), 1); /* never touched in sight: the first sample's */
    assert_int_equal(home_of_sample(&f, own), 1);
    feeding_free(&f);
}

/* Two arrays side by side, filled page by page. Of the worker's faults some got lost, right up to main's. */
static void a_lost_fault_is_nobodys(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        struct feeding f = feeding_new("numa:2 core:1", ASSIGN_PACKED);
        feed_start(&f, PID, 1, false);
        feed_thread(&f, 101, "worker", 0, 0);
        f.tid = 101;
        feed_touch(&f, 0x200000);
        feed_touch(&f, 0x201000);
        if (lost)
            feed(&f, (struct event){.kind = EVENT_LOSS, .loss = {.cause = LOSS_PERF, .count = 200}});
        f.tid = PID;
        feed_touch(&f, 0x5ff000);
        f.tid = 101;
        uint32_t beside = feed_read(&f, 0x580000);
        f.tid = PID;
        uint32_t later = feed_read(&f, 0x580008);
        flow_finish(f.flow);
        assert_int_equal(home_of_sample(&f, beside), lost);
        assert_int_equal(home_of_sample(&f, later), lost);
        feeding_free(&f);
    }
}

static void without_faults_the_first_sample_stands_for_the_touch(void **state)
{
    (void)state;
    struct feeding f = feeding_new("numa:2 core:1", ASSIGN_PACKED);
    feed_start(&f, PID, 1, false);
    feed_thread(&f, 101, "worker", 0, 0);
    uint32_t first = feed_read(&f, 0x5000);
    f.tid = 101;
    uint32_t second = feed_read(&f, 0x5008), other = feed_read(&f, 0x6000);
    flow_finish(f.flow);
    assert_int_equal(home_of_sample(&f, first), 0);
    assert_int_equal(home_of_sample(&f, second), 0);
    assert_int_equal(home_of_sample(&f, other), 1);
    assert_int_equal(flow_totals(f.flow).remote, 1);
    feeding_free(&f);
}

static void a_fork_finds_its_parents_pages(void **state)
{
    (void)state;
    struct feeding f = feeding_new("numa:2 core:1", ASSIGN_PACKED);
    feed_start(&f, PID, 1, false);
    feed_touch(&f, 0x5000);
    feed_start(&f, 200, PID, true);
    f.pid = f.tid = 200;
    uint32_t inherited = feed_read(&f, 0x5000);
    feed_touch(&f, 0x5000); /* copied on write */
    uint32_t copied = feed_read(&f, 0x5000);
    f.pid = f.tid = PID;
    uint32_t parents = feed_read(&f, 0x5000);
    flow_finish(f.flow);
    assert_int_equal(home_of_sample(&f, inherited), 0);
    assert_int_equal(home_of_sample(&f, copied), 1);
    assert_int_equal(home_of_sample(&f, parents), 0);
    feeding_free(&f);
}

/* Where nobody asked the kernel, the hardware's word for each access counts. */
static void the_hardware_says_who_answered(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        uint8_t level;
        int home;
        uint64_t known, remote;
    } cases[] = {
        {"numa:2 core:1", LEVEL_RAM, 0, 1, 0},
        {"numa:2 core:1", LEVEL_REMOTE_RAM, 1, 1, 1},
        {"numa:4 core:1", LEVEL_REMOTE_RAM, HOME_ELSEWHERE, 1, 1},
        {"numa:4 core:1", LEVEL_REMOTE_CACHE, HOME_ELSEWHERE, 1, 1},
        {"numa:4 core:1", LEVEL_L2, -1, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct feeding f = feeding_new(cases[i].machine, ASSIGN_PACKED);
        f.topology->simulated = false;
        feed_start(&f, PID, 1, false);
        feed(&f, (struct event){.kind = EVENT_SAMPLE,
                                .sample = {.addr = 0x5000, .cpu = 0, .flags = SAMPLE_READ, .level = cases[i].level}});
        flow_finish(f.flow);
        assert_int_equal(home_of_sample(&f, 0), cases[i].home);
        assert_int_equal(flow_totals(f.flow).home_known, cases[i].known);
        assert_int_equal(flow_totals(f.flow).remote, cases[i].remote);
        feeding_free(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(homes_change_over_time),
        cmocka_unit_test(a_huge_page_has_one_home),
        cmocka_unit_test(a_new_map_has_new_homes),
        cmocka_unit_test(one_node_is_local),
        cmocka_unit_test(simulated_homes_follow_the_rules),
        cmocka_unit_test(dealing_decides_who_is_near),
        cmocka_unit_test(a_fault_brings_in_more_than_its_page),
        cmocka_unit_test(a_lost_fault_is_nobodys),
        cmocka_unit_test(without_faults_the_first_sample_stands_for_the_touch),
        cmocka_unit_test(a_fork_finds_its_parents_pages),
        cmocka_unit_test(the_hardware_says_who_answered),
    };
    return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}
