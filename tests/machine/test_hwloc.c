/* Topologies of hwloc with memory attributes, as it writes them and as it does not. */
#include "base/mem.h"
#include "machine/from_hwloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SETS(cpus, nodes)                                                                                              \
    " cpuset=\"" cpus "\" complete_cpuset=\"" cpus "\" nodeset=\"" nodes "\" complete_nodeset=\"" nodes "\""
#define HEAD(cpus)                                                                                                     \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology "                \
    "version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\"" SETS(                                                  \
        cpus, "0x3") " allowed_cpuset=\"" cpus "\" allowed_nodeset=\"0x3\" gp_index=\"1\">\n"
#define NODE(number, cpus, nodes, index)                                                                               \
    "<object type=\"NUMANode\" os_index=\"" number                                                                     \
    "\"" SETS(cpus, nodes) " gp_index=\"" index                                                                        \
                           "\" local_memory=\"1000000\">\n<page_type size=\"4096\"/>\n</object>\n"
#define PU(number, cpus, nodes)                                                                                        \
    "<object type=\"PU\" os_index=\"" number "\"" SETS(cpus, nodes) " gp_index=\"10" number "\"/>\n"
#define CORE(number, cpus, nodes, units)                                                                               \
    "<object type=\"Core\" os_index=\"" number "\"" SETS(cpus, nodes) " gp_index=\"20" number "\">\n" units            \
                                                                      "</object>\n"
#define CACHE(index, bytes, cpus, nodes, cores)                                                                        \
    "<object type=\"L3Cache\"" SETS(                                                                                   \
        cpus, nodes) " gp_index=\"" index "\" cache_size=\"" bytes                                                     \
                     "\" depth=\"3\" cache_linesize=\"64\" cache_associativity=\"0\" cache_type=\"0\">\n" cores        \
                     "</object>\n"
#define PACKAGE(number, cpus, nodes, inside)                                                                           \
    "<object type=\"Package\" os_index=\"" number "\"" SETS(cpus, nodes) " gp_index=\"30" number "\">\n" inside        \
                                                                         "</object>\n"
/* Two nodes with two cores of two threads each; the node with the first CPUs has the higher number. */
#define CORE_0 CORE("0", "0x03", "0x2", PU("0", "0x01", "0x2") PU("1", "0x02", "0x2"))
#define CORE_1 CORE("1", "0x0c", "0x2", PU("2", "0x04", "0x2") PU("3", "0x08", "0x2"))
#define CORE_2 CORE("2", "0x30", "0x1", PU("4", "0x10", "0x1") PU("5", "0x20", "0x1"))
#define CORE_3 CORE("3", "0xc0", "0x1", PU("6", "0x40", "0x1") PU("7", "0x80", "0x1"))
#define FIRST                                                                                                          \
    PACKAGE("0", "0x0f", "0x2", NODE("1", "0x0f", "0x2", "9") CACHE("8", "33554432", "0x0f", "0x2", CORE_0 CORE_1))
#define SECOND                                                                                                         \
    PACKAGE("1", "0xf0", "0x1", NODE("0", "0xf0", "0x1", "4") CACHE("7", "33554432", "0xf0", "0x1", CORE_2 CORE_3))
#define MACHINE HEAD("0xff") FIRST SECOND "</object>\n"
#define ONE_CORE_LESS                                                                                                  \
    HEAD("0x3f") FIRST PACKAGE("1", "0x30", "0x1", NODE("0", "0x30", "0x1", "4") CORE_2) "</object>\n</topology>"
#define BOTH_OF_ALL                                                                                                    \
    HEAD("0x0f")                                                                                                       \
    NODE("0", "0x0f", "0x1", "4")                                                                                      \
    NODE("1", "0x0f", "0x2", "9") PACKAGE("0", "0x0f", "0x3", CORE_0 CORE_1) "</object>\n</topology>"
#define NO_CPUS                                                                                                        \
    HEAD("0x0f")                                                                                                       \
    NODE("0", "0x0", "0x1", "4")                                                                                       \
    PACKAGE("0", "0x0f", "0x2", NODE("1", "0x0f", "0x2", "9") CORE_0 CORE_1) "</object>\n</topology>"
#define FIGURES(name, values) /* 6: lower is better, and of an initiator */                                            \
    "<memattr name=\"" name "\" flags=\"6\">\n" values "</memattr>\n"
#define HIGHER(name, values) "<memattr name=\"" name "\" flags=\"5\">\n" values "</memattr>\n"
#define FIGURE(to, from, value)                                                                                        \
    "<memattr_value target_obj_type=\"NUMANode\" target_obj_gp_index=\"" to "\" value=\"" value                        \
    "\" initiator_cpuset=\"" from "\"/>\n"
#define PAIRS(own, other)                                                                                              \
    FIGURE("9", "0x0f", own) FIGURE("4", "0x0f", other) FIGURE("9", "0xf0", other) FIGURE("4", "0xf0", own)
#define LATENCIES  FIGURES("Latency", PAIRS("90", "150"))
#define BANDWIDTHS HIGHER("Bandwidth", PAIRS("100000", "30000"))

static struct model *read_text(const char *text, struct error *err)
{
    return model_from_hwloc(text, "server.xml", err);
}

static void its_figures(void **state)
{
    (void)state;
    struct error err = {0};
    struct model *model = read_text(MACHINE HIGHER("Capacity", "") LATENCIES BANDWIDTHS "</topology>\n", &err);
    if (!model)
        fail_msg("%s", err.text);
    assert_int_equal(model->node_count, 2);
    assert_string_equal(model->topology, "numa:2 core:2");
    for (int i = 0; i < 4; i++) {
        assert_float_equal(model->latency[i], i == 0 || i == 3 ? 90 : 150, 0.01);
        assert_float_equal(model->read[i], i == 0 || i == 3 ? 104.8576 : 31.45728, 0.001); /* MiB/s there */
    }
    assert_int_equal(model->cache_count, 1);
    assert_int_equal(model->caches[0].level, 3);
    assert_int_equal(model->caches[0].cores, 2);
    model_free(model);
}

/* What is of reads alone goes before what is of both, whichever comes first. */
static void reads_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {
        MACHINE FIGURES("ReadLatency", PAIRS("80", "140")) LATENCIES BANDWIDTHS "</topology>",
        MACHINE LATENCIES BANDWIDTHS FIGURES("ReadLatency", PAIRS("80", "140")) "</topology>",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error err = {0};
        struct model *model = read_text(texts[i], &err);
        assert_non_null(model);
        assert_float_equal(model->latency[0], 80, 0.01);
        model_free(model);
    }
}

static void what_it_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"<html></html>", "server.xml: no topology of hwloc"},
        {"<html></topology>", "server.xml: hwloc "},
        {"<topology version=\"2.0\"></topology>", "server.xml: hwloc "},
        {NO_CPUS, "server.xml: nodes 0 and 1 have the same CPUs"},
        {ONE_CORE_LESS, "server.xml: node 1 has 2 cores and node 0 has 1"},
        {BOTH_OF_ALL, "server.xml: nodes 0 and 1 have the same"},
        {MACHINE "</topology>", "server.xml: no memory attribute Latency from node 0 to node 0"},
        {MACHINE LATENCIES "</topology>", "server.xml: no memory attribute Bandwidth from node 0 to node 0"},
        {MACHINE FIGURES("Latency", FIGURE("4", "0xf0", "90")) BANDWIDTHS "</topology>",
         "no memory attribute Latency from node 0 to node 1"},
        {MACHINE FIGURES("Latency", PAIRS("0", "150")) BANDWIDTHS "</topology>",
         "no memory attribute Latency from node 0 to node 0"},
        {MACHINE FIGURES("Latency", PAIRS("90", "-90")) BANDWIDTHS "</topology>",
         "a memory attribute Latency from node 0 to node 1 of 18446744073709551526"},
        {MACHINE "<object type=\"Core\"\n cpuset=0x1/></topology>", "server.xml: "},
        {MACHINE "<object type=\"Machine\"></topology>", "server.xml: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        assert_null(read_text(cases[i].text, &err));
        if (!strstr(err.text, cases[i].words) || strchr(err.text, '\n'))
            fail_msg("%zu: '%s' is not in '%s'", i, cases[i].words, err.text);
    }
}

/* Every beginning of a good file is refused. */
static void cut_short(void **state)
{
    (void)state;
    static const char whole[] = MACHINE LATENCIES BANDWIDTHS "</topology>";
    for (size_t length = 0; length + 1 < sizeof whole; length++) {
        struct error err = {0};
        char *text = mem_zalloc(length + 1);
        memcpy(text, whole, length);
        assert_null(read_text(text, &err));
        assert_non_null(strstr(err.text, "server.xml: no topology of hwloc, or one that ends early"));
        free(text);
    }
}

/* Whatever is in the file, there is a model or one line: hwloc itself does not survive all of these. */
static void damaged(void **state)
{
    (void)state;
    static const char whole[] = MACHINE LATENCIES BANDWIDTHS "</topology>";
    static const char bytes[] = " \"<>/=0x9fA&";
    uint32_t random = 1, refused = 0;
    for (int i = 0; i < 300; i++) {
        struct error err = {0};
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        for (int changes = i % 6; changes >= 0; changes--) {
            random = random * 1664525 + 1013904223;
            text[(random >> 8) % (sizeof whole - sizeof "</topology>")] = bytes[random % (sizeof bytes - 1)];
        }
        struct model *model = read_text(text, &err);
        refused += !model;
        if (!model && (strncmp(err.text, "server.xml: ", 12) != 0 || strchr(err.text, '\n')))
            fail_msg("%d: '%s'", i, err.text);
        model_free(model);
    }
    assert_in_range(refused, 100, 299);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_figures), cmocka_unit_test(reads_alone), cmocka_unit_test(what_it_refuses),
        cmocka_unit_test(cut_short),   cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
