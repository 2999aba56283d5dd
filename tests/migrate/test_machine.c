#include "fixture.h"

static void test_one_level(void **state)
{
    (void)state;
    struct topology *topology = machine_of("numa:4 core:1");
    set_groups(topology, 1, 10, 20);
    struct nlens_machine *machine = machine_new(topology);
    assert_int_equal(machine->level_count, 1);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(machine->groups[i], i);
    machine_free(machine);
    topology_free(topology);
}

static void test_two_levels(void **state)
{
    (void)state;
    struct topology *topology = machine_of("numa:6 core:1");
    set_groups(topology, 3, 12, 20);
    struct nlens_machine *machine = machine_new(topology);
    assert_int_equal(machine->level_count, 2);
    const uint32_t groups[] = {0, 0, 0, 1, 1, 1, 0, 1, 2, 3, 4, 5};
    assert_memory_equal(machine->groups, groups, sizeof groups);
    machine_free(machine);
    topology_free(topology);
}

static void test_three_levels(void **state)
{
    (void)state;
    struct topology *topology = machine_of("numa:8 core:1");
    for (uint32_t i = 0; i < 8; i++)
        for (uint32_t j = 0; j < 8; j++)
            topology->distances[i * 8 + j] = i == j ? 10 : i / 2 == j / 2 ? 12 : i / 4 == j / 4 ? 16 : 32;
    struct nlens_machine *machine = machine_new(topology);
    assert_int_equal(machine->level_count, 3);
    assert_int_equal(machine->groups[3], 0);
    assert_int_equal(machine->groups[4], 1);
    assert_int_equal(machine->groups[8 + 3], 1);
    machine_free(machine);
    topology_free(topology);
}

/* Links that differ by direction count as their worse side; nothing loops for ever. */
static void test_uneven_distances(void **state)
{
    (void)state;
    struct topology *topology = machine_of("numa:3 core:1");
    const uint16_t distances[] = {10, 11, 30, 25, 10, 30, 30, 12, 10};
    memcpy(topology->distances, distances, sizeof distances);
    struct nlens_machine *machine = machine_new(topology);
    assert_int_equal(machine->level_count, 2);
    assert_int_equal(machine->groups[0], machine->groups[1]);
    assert_int_not_equal(machine->groups[0], machine->groups[2]);
    machine_free(machine);
    topology_free(topology);
}

static void test_nearest_open(void **state)
{
    (void)state;
    struct topology *topology = machine_of("numa:4 core:1");
    set_groups(topology, 2, 12, 20);
    struct nlens_machine *machine = machine_new(topology);
    assert_int_equal(machine->nearest[3], 3);
    const bool open[] = {true, true, true, false};
    machine_open(machine, open);
    assert_int_equal(machine->nearest[3], 2);
    assert_int_equal(machine->nearest[0], 0);
    const bool far[] = {false, true, false, false};
    machine_open(machine, far);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(machine->nearest[i], 1);
    machine_free(machine);
    topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_level),    cmocka_unit_test(test_two_levels),
        cmocka_unit_test(test_three_levels), cmocka_unit_test(test_uneven_distances),
        cmocka_unit_test(test_nearest_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
