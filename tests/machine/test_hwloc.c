/* Topologies of hwloc with memory attributes, as it writes them and as it does not. */
#include "base/mem.h"
#include "machine/hwloc_xml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define HEAD                                                                                                           \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology "                \
    "version=\"2.0\">\n"
#define NODE(number, cpus, index)                                                                                      \
    "<object type=\"NUMANode\" os_index=\"" number "\" cpuset=\"" cpus "\" gp_index=\"" index                          \
    "\">\n<page_type size=\"4096\"/></object>\n"
#define CORE(cpus) "<object type=\"Core\" cpuset=\"" cpus "\"><object type=\"PU\" cpuset=\"" cpus "\"/></object>\n"
#define CACHE(level, bytes, cpus)                                                                                      \
    "<object type=\"L" level "Cache\" cpuset=\"" cpus "\" cache_size=\"" bytes "\" depth=\"" level "\"/>\n"
/* Two nodes with two cores of two threads each; the second one comes first. */
#define CORES                 CORE("0x03") CORE("0x0c") CORE("0x30") CORE("0xc0")
#define MACHINE               HEAD NODE("1", "0x000000f0", "9") NODE("0", "0x0000000f", "4") CACHE("3", "33554432", "0x0f") CORES
#define FIGURES(name, values) "<memattr name=\"" name "\" flags=\"5\">\n" values "</memattr>\n"
#define FIGURE(to, from, value)                                                                                        \
    "<memattr_value target_obj_type=\"NUMANode\" target_obj_gp_index=\"" to "\" value=\"" value                        \
    "\" initiator_cpuset=\"" from "\"/>\n"
#define PAIRS(own, other)                                                                                              \
    FIGURE("4", "0x0f", own) FIGURE("9", "0x0f", other) FIGURE("4", "0xf0", other) FIGURE("9", "0xf0", own)
#define LATENCIES  FIGURES("Latency", PAIRS("90", "150"))
#define BANDWIDTHS FIGURES("Bandwidth", PAIRS("100000", "30000"))

static struct model *read_text(const char *text, struct error *err)
{
    char *changed = mem_strdup(text);
    struct model *model = model_from_hwloc(changed, "server.xml", err);
    free(changed);
    return model;
}

static void its_figures(void **state)
{
    (void)state;
    struct error err = {0};
    struct model *model = read_text(MACHINE FIGURES("Capacity", "") LATENCIES BANDWIDTHS "</topology>\n", &err);
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
        {"<html></html>", "server.xml:1: this is no topology of hwloc"},
        {HEAD "</topology>", "no NUMANode"},
        {HEAD NODE("0", "0x0", "4"), "server.xml:4: the node has no CPUs"},
        {HEAD NODE("0", "many", "4"), "server.xml:4: a NUMANode needs"},
        {HEAD NODE("x", "0x1", "4"), "server.xml:4: a NUMANode needs"},
        {HEAD "<object os_index=\"1\"/>", "server.xml:4: an object has no type"},
        {MACHINE "</topology>", "server.xml: no memory attribute Latency"},
        {MACHINE LATENCIES "</topology>", "server.xml: no memory attribute Bandwidth"},
        {MACHINE FIGURES("Latency", FIGURE("4", "0x0f", "90")) BANDWIDTHS "</topology>",
         "no value from node 0 to node 1"},
        {MACHINE FIGURES("Latency", FIGURE("4", "0x0f", "0")) "</topology>",
         "server.xml:14: a latency or bandwidth of 0"},
        {MACHINE FIGURES("Latency", FIGURE("4", "0x0f", "-90")) "</topology>", "server.xml:14: a memattr_value needs"},
        {MACHINE FIGURES("Latency", "<memattr_value value=\"9\" target_obj_gp_index=\"4\"/>\n") "</topology>",
         "server.xml:14: a memattr_value needs initiator_cpuset"},
        {HEAD NODE("0", "0x0f", "4") NODE("1", "0x30", "9") CORES "</topology>", "server.xml:6: node 1 has 1 cores"},
        {HEAD NODE("0", "0x0f", "4") NODE("1", "0x0f", "9") CORES "</topology>",
         "server.xml:6: nodes 0 and 1 have the same"},
        {HEAD "<object type=\"Core\"\n cpuset=0x1/>", "server.xml:5: an attribute is not"},
        {HEAD "<object type=\"Machine\">", "is not closed: the file ends early"},
        {HEAD "<object type=\"Machine\"", "server.xml:4: the text ends"},
        {HEAD "</object>", "server.xml:4: </object> closes no tag"},
        {"<topology><", "server.xml:1: a tag has no name"},
        {"<!-- <topology>", "server.xml:1: <? or <! without an end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        assert_null(read_text(cases[i].text, &err));
        if (!strstr(err.text, cases[i].words) || strchr(err.text, '\n'))
            fail_msg("%zu: '%s' is not in '%s'", i, cases[i].words, err.text);
    }
}

/* Every beginning of a good file is refused, and none is read beyond its end. */
static void cut_short(void **state)
{
    (void)state;
    static const char whole[] = MACHINE LATENCIES BANDWIDTHS "</topology>";
    for (size_t length = 0; length + 1 < sizeof whole; length++) {
        struct error err = {0};
        char *text = mem_zalloc(length + 1);
        memcpy(text, whole, length);
        assert_null(model_from_hwloc(text, "server.xml", &err));
        assert_non_null(strstr(err.text, "server.xml"));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_figures),
        cmocka_unit_test(reads_alone),
        cmocka_unit_test(what_it_refuses),
        cmocka_unit_test(cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
