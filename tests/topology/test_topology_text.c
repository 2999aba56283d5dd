#include "topology/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void check_round_trip(struct topology *topology)
{
    struct error err = {0};
    char *text = topology_to_text(topology);
    assert_null(strchr(text, '\n'));
    struct topology *back = topology_from_text(text, &err);
    if (!back)
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(back->simulated, topology->simulated);
    assert_int_equal(back->node_count, topology->node_count);
    assert_int_equal(back->cpu_count, topology->cpu_count);
    for (uint32_t i = 0; i < topology->node_count; i++) {
        assert_int_equal(back->nodes[i].os_index, topology->nodes[i].os_index);
        assert_int_equal(back->nodes[i].memory, topology->nodes[i].memory);
        assert_int_equal(back->nodes[i].cpu_count, topology->nodes[i].cpu_count);
    }
    assert_memory_equal(back->node_of_cpu, topology->node_of_cpu, topology->cpu_count * sizeof *topology->node_of_cpu);
    assert_memory_equal(back->distances, topology->distances,
                        (size_t)topology->node_count * topology->node_count * sizeof *topology->distances);
    assert_int_equal(back->assign, topology->assign);
    assert_int_equal(back->home, topology->home);
    if (topology->home == HOME_BIND)
        assert_int_equal(back->home_node, topology->home_node);
    assert_string_equal(back->spec, topology->spec);
    char *again = topology_to_text(back);
    assert_string_equal(again, text);
    free(again);
    free(text);
    topology_free(back);
    topology_free(topology);
}

static void there_and_back(void **state)
{
    (void)state;
    struct error err = {0};
    check_round_trip(topology_load(&err));
    check_round_trip(topology_simulate("numa:4 core:2", ASSIGN_ROUND_ROBIN, &err));
    check_round_trip(topology_simulate(TWO_SOCKETS_XML, ASSIGN_PACKED, &err));
    struct topology *bound = topology_simulate(TWO_SOCKETS_XML, ASSIGN_PACKED, &err);
    assert_int_equal(topology_parse_home(bound, "bind:4", &err), 0);
    check_round_trip(bound);
    struct topology *spread = topology_simulate("package:2 numa:2(memory=1GiB) core:4", ASSIGN_PACKED, &err);
    assert_int_equal(topology_parse_home(spread, "interleave", &err), 0);
    check_round_trip(spread);
}

static void the_text_is_as_documented(void **state)
{
    (void)state;
    struct error err = {0};
    struct topology *topology = topology_simulate("numa:2 core:2", ASSIGN_PACKED, &err);
    char *text = topology_to_text(topology);
    assert_string_equal(text, "v1 simulated assign=packed home=first-touch nodes=0:0,1:0 cpus=0*2,1*2 "
                              "distances=10,20*2,10 spec=numa:2 core:2");
    free(text);
    topology_free(topology);
}

static void wrong_texts_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "v1",
        "v2 real assign=packed home=first-touch nodes=0:0 cpus=0 distances=10 spec=",
        "v1 unreal assign=packed home=first-touch nodes=0:0 cpus=0 distances=10 spec=",
        "v1 real assign=scatter home=first-touch nodes=0:0 cpus=0 distances=10 spec=",
        "v1 real assign=packed home=nowhere nodes=0:0 cpus=0 distances=10 spec=",
        "v1 real assign=packed home=bind:1 nodes=0:0 cpus=0 distances=10 spec=",
        "v1 real assign=packed home=first-touch nodes= cpus=0 distances=10 spec=",
        "v1 real assign=packed home=first-touch nodes=0:0,0:0 cpus=0 distances=10*4 spec=",
        "v1 real assign=packed home=first-touch nodes=-1:0 cpus=0 distances=10 spec=",
        "v1 real assign=packed home=first-touch nodes=0:99999999999999999999 cpus=0 distances=10 spec=",
        "v1 real assign=packed home=first-touch nodes=0:0 cpus=1 distances=10 spec=",
        "v1 real assign=packed home=first-touch nodes=0:0 cpus=0*65537 distances=10 spec=",
        "v1 real assign=packed home=first-touch nodes=0:0 cpus=0*0 distances=10 spec=",
        "v1 real assign=packed home=first-touch nodes=0:0 cpus=0*65536,0 distances=10 spec=",
        "v1 real assign=packed home=first-touch nodes=0:0 cpus= distances=10 spec=",
        "v1 real assign=packed home=first-touch nodes=0:0 cpus=0 distances=10,20 spec=",
        "v1 real assign=packed home=first-touch nodes=0:0 cpus=0 distances=- spec=",
        "v1 real assign=packed home=first-touch nodes=0:0,1:0 cpus=0 distances=10,20*2 spec=",
        "v1 real assign=packed home=first-touch nodes=0:0 cpus=0 distances=65536 spec=",
        "v1 real assign=packed home=first-touch nodes=0:0 cpus=0 distances=10",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error err = {0};
        if (topology_from_text(bad[i], &err))
            fail_msg("'%s' was taken", bad[i]);
        assert_true(err.code < 0);
    }
}

/* Every cut and many changes of a good text: taken or refused, never a crash (sanitizers watch). */
static void garbage_is_met_with_an_error(void **state)
{
    (void)state;
    static const char good[] = "v1 simulated assign=round-robin home=bind:7 nodes=3:1024,7:0 cpus=0*2,-,1*2,0 "
                               "distances=10,20*2,10 spec=numa:2 core:2";
    size_t length = strlen(good), taken = 0;
    for (size_t cut = 0; cut < length; cut++) {
        char *text = strndup(good, cut);
        struct topology *topology = topology_from_text(text, NULL);
        taken += topology != NULL;
        topology_free(topology);
        free(text);
    }
    assert_int_equal(taken, strlen("numa:2 core:2")); /* only the spec may be cut short */
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 20000; round++) {
        char *text = strdup(good);
        for (int change = 0; change < 3; change++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            text[random % length] = "0123456789*,:-= abz\xff"[(random >> 32) % 20];
        }
        topology_free(topology_from_text(text, NULL));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(the_text_is_as_documented),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(garbage_is_met_with_an_error),
    };
    return cmocka_run_group_tests_name("topology_text", tests, NULL, NULL);
}
