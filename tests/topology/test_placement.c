/* Placements worked out of several machines. */
#include "topology/placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* As if the machine were there: nodes have memory, and this process may use everything. */
static struct topology *machine(const char *spec, struct placement_limits *limits)
{
    struct error err = {0};
    struct topology *topology = topology_simulate(spec, ASSIGN_PACKED, &err);
    assert_non_null(topology);
    topology->simulated = false;
    memset(limits, 0, sizeof *limits);
    memset(&limits->cpus, 0xff, sizeof limits->cpus);
    memset(&limits->nodes, 0xff, sizeof limits->nodes);
    for (uint32_t i = 0; i < topology->node_count; i++)
        topology->nodes[i].memory = 1 << 30;
    return topology;
}

static struct placement_set cpus(uint32_t first, uint32_t last)
{
    struct placement_set set = {{0}};
    for (uint32_t cpu = first; cpu <= last; cpu++)
        placement_set_add(&set, cpu);
    return set;
}

#define assert_set_equal(left, right) assert_memory_equal(&(left), &(right), sizeof(struct placement_set))

static void the_paper_s_machine(void **state)
{
    (void)state;
    struct placement_limits limits;
    struct topology *topology = machine("numa:2 core:8", &limits);
    struct placement placement;
    struct placement_set first = cpus(0, 7), second = cpus(8, 15), all = cpus(0, 15), node = {{1}}, nodes = {{3}};

    placement_work_out(&placement, PLACEMENT_CLUSTER, topology, &limits);
    assert_true(placement.possible);
    assert_set_equal(placement.cpus, first);
    assert_int_equal(placement.memory, PLACEMENT_TOUCHED);
    assert_int_equal(placement.assigned, 0);

    /* taskset -c takes eight CPUs in the paper, four of each node: as many as cluster has. */
    placement_work_out(&placement, PLACEMENT_DISTRIBUTED, topology, &limits);
    struct placement_set left = cpus(0, 3), right = cpus(8, 11);
    assert_int_equal(placement.cpu_count, 8);
    assert_int_equal(placement.assigned, 2);
    assert_set_equal(placement.assign[0], left);
    assert_set_equal(placement.assign[1], right);

    placement_work_out(&placement, PLACEMENT_MEM0_CPU0, topology, &limits);
    assert_set_equal(placement.cpus, first);
    assert_set_equal(placement.nodes, node);
    assert_int_equal(placement.memory, PLACEMENT_BOUND);

    placement_work_out(&placement, PLACEMENT_MEM0_CPU1, topology, &limits);
    assert_set_equal(placement.cpus, second);
    assert_set_equal(placement.nodes, node);

    placement_work_out(&placement, PLACEMENT_INTERLEAVE, topology, &limits);
    assert_set_equal(placement.cpus, all);
    assert_set_equal(placement.nodes, nodes);
    assert_int_equal(placement.memory, PLACEMENT_INTERLEAVED);

    placement_work_out(&placement, PLACEMENT_LOCAL, topology, &limits);
    assert_set_equal(placement.cpus, all);
    assert_int_equal(placement.memory, PLACEMENT_TOUCHED);
    topology_free(topology);
}

static void weights_of_the_kernel(void **state)
{
    (void)state;
    struct placement_limits limits;
    struct topology *topology = machine("numa:2 core:8", &limits);
    struct placement placement;
    placement_work_out(&placement, PLACEMENT_WEIGHTED, topology, &limits);
    assert_false(placement.possible);
    assert_non_null(strstr(placement.text, "no weighted interleaving"));
    limits.weights[0] = limits.weights[1] = 2;
    placement_work_out(&placement, PLACEMENT_WEIGHTED, topology, &limits);
    assert_false(placement.possible);
    assert_non_null(strstr(placement.text, "equal"));
    limits.weights[0] = 5;
    placement_work_out(&placement, PLACEMENT_WEIGHTED, topology, &limits);
    struct placement_set nodes = {{3}};
    assert_true(placement.possible);
    assert_int_equal(placement.memory, PLACEMENT_BY_WEIGHTS);
    assert_set_equal(placement.nodes, nodes);
    assert_string_equal(placement.text, "threads where the kernel puts them, pages 5 on node 0, 2 on node 1 in turn");
    topology->simulated = true;
    placement_work_out(&placement, PLACEMENT_WEIGHTED, topology, &limits);
    assert_false(placement.possible);
    topology_free(topology);
}

static void small_nodes_get_one_cpu_each(void **state)
{
    (void)state;
    struct placement_limits limits;
    struct topology *topology = machine("numa:4 core:2", &limits);
    struct placement placement;
    placement_work_out(&placement, PLACEMENT_DISTRIBUTED, topology, &limits);
    assert_int_equal(placement.assigned, 4);
    assert_int_equal(placement.cpu_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        struct placement_set one = cpus(2 * i, 2 * i);
        assert_set_equal(placement.assign[i], one);
    }
    topology_free(topology);
}

static void what_may_not_be_used_is_not(void **state)
{
    (void)state;
    struct placement_limits limits;
    struct topology *topology = machine("numa:3 core:4", &limits);
    struct placement placement;
    /* Node 0 has no CPU to use, node 1 only half of its own: a container's cpuset. */
    memset(&limits.cpus, 0, sizeof limits.cpus);
    for (uint32_t cpu = 6; cpu < 12; cpu++)
        placement_set_add(&limits.cpus, cpu);
    struct placement_set half = cpus(6, 7), third = cpus(8, 11), node = {{1 << 1}};
    placement_work_out(&placement, PLACEMENT_MEM0_CPU0, topology, &limits);
    assert_set_equal(placement.cpus, half);
    assert_set_equal(placement.nodes, node);
    placement_work_out(&placement, PLACEMENT_MEM0_CPU1, topology, &limits);
    assert_set_equal(placement.cpus, third);

    /* Node 1 lost its memory: one node is left, and nothing to choose. */
    topology->nodes[1].memory = 0;
    placement_work_out(&placement, PLACEMENT_CLUSTER, topology, &limits);
    assert_false(placement.possible);
    assert_non_null(strstr(placement.text, "only one"));
    placement_work_out(&placement, PLACEMENT_LOCAL, topology, &limits);
    assert_true(placement.possible);

    /* Policies are refused: threads can still be placed. */
    topology->nodes[1].memory = 1;
    strcpy(limits.refused, "not here");
    for (unsigned kind = 0; kind < PLACEMENTS; kind++) {
        bool memory = kind == PLACEMENT_MEM0_CPU0 || kind == PLACEMENT_MEM0_CPU1 || kind == PLACEMENT_INTERLEAVE ||
                      kind == PLACEMENT_WEIGHTED;
        placement_work_out(&placement, (enum placement_kind)kind, topology, &limits);
        assert_int_equal(placement.possible, !memory);
        if (memory)
            assert_string_equal(placement.text, "not here");
    }
    topology_free(topology);
}

static void one_node_has_no_choice(void **state)
{
    (void)state;
    struct placement_limits limits;
    struct topology *topology = machine("numa:1 core:4", &limits);
    for (unsigned kind = 0; kind < PLACEMENTS; kind++) {
        struct placement placement;
        placement_work_out(&placement, (enum placement_kind)kind, topology, &limits);
        assert_int_equal(placement.possible, kind == PLACEMENT_LOCAL);
        assert_true(*placement.text);
    }
    topology_free(topology);
}

/* The node that the n-th thread of a simulated machine is on, and the home of a page that it touches. */
static void check_simulated(struct topology *topology, enum placement_kind kind, const int *nodes, const int *homes)
{
    struct placement placement;
    struct error err = {0};
    placement_work_out(&placement, kind, topology, NULL);
    assert_true(placement.possible);
    assert_int_equal(placement_simulate(&placement, topology, &err), 0);
    char *text = topology_to_text(topology);
    struct topology *again = topology_from_text(text, &err);
    assert_non_null(again);
    for (uint32_t thread = 0; thread < 6; thread++) {
        int node = topology_node_of_cpu(again, topology_assign_cpu(again, thread));
        assert_int_equal(node, nodes[thread]);
        assert_int_equal(topology_home_of_page(again, thread * 4096ul, node), homes[thread]);
    }
    topology_free(again);
    free(text);
}

static void simulated_machines(void **state)
{
    (void)state;
    struct error err = {0};
    struct topology *topology = topology_simulate("numa:3 core:2", ASSIGN_PACKED, &err);
    assert_non_null(topology);
    static const int zeroes[6], ones[] = {1, 1, 1, 1, 1, 1}, turns[] = {0, 1, 2, 0, 1, 2}, pairs[] = {0, 0, 1, 1, 2, 2};
    check_simulated(topology, PLACEMENT_CLUSTER, zeroes, zeroes);
    check_simulated(topology, PLACEMENT_DISTRIBUTED, turns, turns);
    check_simulated(topology, PLACEMENT_MEM0_CPU0, zeroes, zeroes);
    check_simulated(topology, PLACEMENT_MEM0_CPU1, ones, zeroes);
    check_simulated(topology, PLACEMENT_INTERLEAVE, turns, turns);
    check_simulated(topology, PLACEMENT_LOCAL, pairs, pairs);
    topology_free(topology);
}

static void names(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < PLACEMENTS; kind++)
        assert_int_equal(placement_named(placement_name((enum placement_kind)kind)), kind);
    assert_int_equal(placement_named("everywhere"), PLACEMENTS);
    assert_int_equal(placement_named(""), PLACEMENTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_paper_s_machine),
        cmocka_unit_test(weights_of_the_kernel),
        cmocka_unit_test(small_nodes_get_one_cpu_each),
        cmocka_unit_test(what_may_not_be_used_is_not),
        cmocka_unit_test(one_node_has_no_choice),
        cmocka_unit_test(simulated_machines),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
