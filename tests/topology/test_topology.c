#include "topology/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sched.h>
#include <unistd.h>
#include <cmocka.h>

static struct topology *simulate(const char *spec, enum topology_assign assign)
{
    struct error err = {0};
    struct topology *topology = topology_simulate(spec, assign, &err);
    if (!topology)
        fail_msg("%s: %s", spec, err.text);
    return topology;
}

static void a_flat_machine(void **state)
{
    (void)state;
    struct topology *topology = simulate("numa:4 core:2", ASSIGN_PACKED);
    assert_true(topology->simulated);
    assert_string_equal(topology->spec, "numa:4 core:2");
    assert_int_equal(topology->node_count, 4);
    assert_int_equal(topology->cpu_count, 8);
    for (uint32_t cpu = 0; cpu < 8; cpu++)
        assert_int_equal(topology_node_of_cpu(topology, cpu), cpu / 2);
    assert_int_equal(topology_node_of_cpu(topology, 8), -1);
    assert_int_equal(topology->nodes[3].os_index, 3);
    assert_int_equal(topology->nodes[3].cpu_count, 2);
    assert_int_equal(topology->nodes[3].memory, 0);
    assert_int_equal(topology_distance(topology, 2, 2), 10);
    assert_int_equal(topology_distance(topology, 2, 3), 20);
    assert_int_equal(topology_node_index(topology, 4), -1);
    topology_free(topology);
}

static void a_deeper_machine_has_more_distances(void **state)
{
    (void)state;
    struct topology *topology = simulate("package:2 numa:2 core:4", ASSIGN_PACKED);
    assert_int_equal(topology->node_count, 4);
    assert_int_equal(topology->cpu_count, 16);
    static const uint16_t expected[16] = {10, 12, 21, 21, 12, 10, 21, 21, 21, 21, 10, 12, 21, 21, 12, 10};
    assert_memory_equal(topology->distances, expected, sizeof expected);
    topology_free(topology);

    topology = simulate("group:2 package:2 numa:2 pu:1", ASSIGN_PACKED);
    assert_int_equal(topology->node_count, 8);
    assert_int_equal(topology_distance(topology, 0, 1), 12);
    assert_int_equal(topology_distance(topology, 0, 2), 21);
    assert_int_equal(topology_distance(topology, 0, 7), 31);
    topology_free(topology);
}

static void memory_can_be_reported(void **state)
{
    (void)state;
    struct topology *topology = simulate("numa:2(memory=4GiB) core:1", ASSIGN_PACKED);
    assert_int_equal(topology->nodes[1].memory, 4ull << 30);
    topology_free(topology);
}

static void threads_are_assigned(void **state)
{
    (void)state;
    static const uint32_t packed[] = {0, 1, 2, 3, 4, 5, 0}, assigned[] = {0, 2, 4, 1, 3, 5, 0};
    struct topology *topology = simulate("numa:3 core:2", ASSIGN_PACKED);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(topology_assign_cpu(topology, i), packed[i]);
    topology->assign = ASSIGN_ROUND_ROBIN;
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(topology_assign_cpu(topology, i), assigned[i]);
    topology_free(topology);
    struct error err = {0};
    topology = topology_simulate_text("numa:3 core:2", NULL, NULL, &err); /* unless the user says otherwise */
    assert_int_equal(topology->assign, ASSIGN_ROUND_ROBIN);
    topology_free(topology);
    topology = topology_simulate_text("numa:3 core:2", "packed", NULL, &err);
    assert_int_equal(topology->assign, ASSIGN_PACKED);
    topology_free(topology);
}

static void pages_get_homes_by_rule(void **state)
{
    (void)state;
    struct error err = {0};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct topology *topology = simulate("numa:3 core:2", ASSIGN_PACKED);
    assert_int_equal(topology_home_of_page(topology, 5 * page, 1), 1);
    assert_int_equal(topology_parse_home(topology, "interleave", &err), 0);
    assert_int_equal(topology_home_of_page(topology, 5 * page, 1), 2);
    assert_int_equal(topology_home_of_page(topology, 6 * page, 1), 0);
    assert_int_equal(topology_parse_home(topology, "bind:2", &err), 0);
    assert_int_equal(topology_home_of_page(topology, 6 * page, 1), 2);
    static const char *const bad[] = {"bind:3", "bind:", "bind:-1", "bind:1x", "bind:99999999999999999999",
                                      "",       "local"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(topology_parse_home(topology, bad[i], &err) < 0);
    assert_int_equal(topology->home, HOME_BIND);
    assert_int_equal(topology_parse_home(topology, "first-touch", &err), 0);
    assert_int_equal(topology->home, HOME_FIRST_TOUCH);
    enum topology_assign assign;
    assert_int_equal(topology_parse_assign("round-robin", &assign, &err), 0);
    assert_int_equal(assign, ASSIGN_ROUND_ROBIN);
    assert_int_equal(topology_parse_assign("packed", &assign, &err), 0);
    assert_int_equal(assign, ASSIGN_PACKED);
    assert_true(topology_parse_assign("scatter", &assign, &err) < 0);
    topology_free(topology);
}

static void rules_of_another_machine(void **state)
{
    (void)state;
    struct error err = {0};
    struct topology *from = topology_simulate_text("numa:4 core:2", "packed", "bind:1", &err);
    struct topology *to = topology_simulate_text("numa:2 core:2", NULL, NULL, &err);
    topology_place_like(to, from);
    assert_true(to->assign == ASSIGN_PACKED && to->home == HOME_BIND && to->home_node == 1);
    from->home_node = 3; /* there is none */
    from->assign = ASSIGN_NODE;
    from->assign_node = 2;
    topology_place_like(to, from);
    assert_true(to->assign == ASSIGN_PACKED && to->home == HOME_BIND && to->home_node == 1);
    from->simulated = false;
    from->home = HOME_INTERLEAVE;
    topology_place_like(to, from);
    assert_int_equal(to->home, HOME_BIND);
    topology_free(from);
    topology_free(to);
}

static void impossible_machines_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "numa",
        "numa:0 core:2",
        "garbage",
        "numa:4 core:",
        "core:x",
        "pu:99999999",
        "numa:2000 core:1",
        "core:65536",
        "numa:64 core:128", /* hwloc would take minutes */
        "numa:2 core:2 (",
        "package:4000 core:4000 pu:4000",
        "nope.xml",
        "/dev/null.xml",
        "numa:9999999999999999999",
        "9999 9999 9999",
        "numa:-2 core:2",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error err = {0};
        struct topology *topology = topology_simulate(bad[i], ASSIGN_PACKED, &err);
        if (topology)
            fail_msg("'%s' was taken", bad[i]);
        assert_true(err.code < 0);
        assert_true(strlen(err.text) > 10);
    }
}

static void another_machine_from_xml(void **state)
{
    (void)state;
    struct topology *topology = simulate(TWO_SOCKETS_XML, ASSIGN_PACKED);
    assert_int_equal(topology->node_count, 3);
    assert_int_equal(topology->nodes[2].os_index, 4);
    assert_int_equal(topology->nodes[2].cpu_count, 0);
    assert_int_equal(topology->nodes[2].memory, 32000000000);
    assert_int_equal(topology_node_index(topology, 4), 2);
    assert_int_equal(topology_node_index(topology, 2), -1);
    assert_int_equal(topology->cpu_count, 8);
    static const int32_t nodes[] = {0, -1, 0, -1, 1, -1, 1, -1};
    assert_memory_equal(topology->node_of_cpu, nodes, sizeof nodes);
    static const uint16_t distances[] = {10, 21, 17, 21, 10, 28, 17, 28, 10};
    assert_memory_equal(topology->distances, distances, sizeof distances);
    static const uint32_t packed[] = {0, 2, 4, 6, 0}, assigned[] = {0, 4, 2, 6, 0};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(topology_assign_cpu(topology, i), packed[i]);
    topology->assign = ASSIGN_ROUND_ROBIN;
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(topology_assign_cpu(topology, i), assigned[i]);
    topology_free(topology);
}

static void write_file(const char *root, const char *path, const char *content)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

/* A captured-style tree: two sockets, CPU 3 offline, nodes 0 and 2, node 5 with memory only. */
static void a_machine_from_sysfs(void **state)
{
    (void)state;
    char root[] = "/tmp/numalens-sysfs-XXXXXX", path[128], text[64];
    assert_non_null(mkdtemp(root));
    write_file(root, "sys/devices/system/cpu/online", "0-2\n");
    write_file(root, "sys/devices/system/cpu/possible", "0-3\n");
    write_file(root, "sys/devices/system/cpu/present", "0-3\n");
    for (int cpu = 0; cpu < 3; cpu++) {
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        write_file(root, path, cpu < 2 ? "0\n" : "1\n");
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/core_id", cpu);
        snprintf(text, sizeof text, "%d\n", cpu);
        write_file(root, path, text);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/core_cpus", cpu);
        snprintf(text, sizeof text, "%x\n", 1 << cpu);
        write_file(root, path, text);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/package_cpus", cpu);
        write_file(root, path, cpu < 2 ? "3\n" : "4\n");
    }
    write_file(root, "sys/devices/system/node/online", "0,2,5\n");
    write_file(root, "sys/devices/system/node/node0/cpumap", "3\n");
    write_file(root, "sys/devices/system/node/node2/cpumap", "4\n");
    write_file(root, "sys/devices/system/node/node5/cpumap", "0\n");
    write_file(root, "sys/devices/system/node/node0/distance", "10 32 40\n");
    write_file(root, "sys/devices/system/node/node2/distance", "32 10 41\n");
    write_file(root, "sys/devices/system/node/node5/distance", "40 41 10\n");
    write_file(root, "sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1024 kB\n");
    write_file(root, "sys/devices/system/node/node2/meminfo", "Node 2 MemTotal: 2048 kB\n");
    write_file(root, "sys/devices/system/node/node5/meminfo", "Node 5 MemTotal: 4096 kB\n");

    setenv("HWLOC_FSROOT", root, 1);
    setenv("HWLOC_COMPONENTS", "linux,stop", 1);
    struct error err = {0};
    struct topology *topology = topology_load(&err);
    unsetenv("HWLOC_FSROOT");
    unsetenv("HWLOC_COMPONENTS");
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
    if (!topology)
        fail_msg("%s", err.text);
    assert_true(topology->simulated);
    assert_int_equal(topology->node_count, 3);
    assert_int_equal(topology->nodes[1].os_index, 2);
    assert_int_equal(topology->nodes[2].os_index, 5);
    assert_int_equal(topology->nodes[2].cpu_count, 0);
    assert_int_equal(topology->nodes[2].memory, 4096 * 1024);
    assert_true(topology->cpu_count >= 3);
    assert_int_equal(topology_node_of_cpu(topology, 1), 0);
    assert_int_equal(topology_node_of_cpu(topology, 2), 1);
    assert_int_equal(topology_node_of_cpu(topology, 3), -1);
    static const uint16_t distances[] = {10, 32, 40, 32, 10, 41, 40, 41, 10};
    assert_memory_equal(topology->distances, distances, sizeof distances);
    topology_free(topology);
}

static void this_machine(void **state)
{
    (void)state;
    struct error err = {0};
    struct topology *topology = topology_load(&err);
    if (!topology)
        fail_msg("%s", err.text);
    assert_false(topology->simulated);
    assert_true(topology->node_count >= 1);
    assert_true(topology->cpu_count >= (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
    unsigned cpu, node;
    assert_int_equal(getcpu(&cpu, &node), 0);
    int index = topology_node_of_cpu(topology, cpu);
    assert_true(index >= 0);
    assert_int_equal(topology->nodes[index].os_index, node);
    assert_int_equal(topology_distance(topology, 0, 0), 10);
    topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flat_machine),
        cmocka_unit_test(a_deeper_machine_has_more_distances),
        cmocka_unit_test(memory_can_be_reported),
        cmocka_unit_test(threads_are_assigned),
        cmocka_unit_test(pages_get_homes_by_rule),
        cmocka_unit_test(rules_of_another_machine),
        cmocka_unit_test(impossible_machines_are_refused),
        cmocka_unit_test(another_machine_from_xml),
        cmocka_unit_test(a_machine_from_sysfs),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
