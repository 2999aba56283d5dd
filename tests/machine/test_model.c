#include "../skip.h"

#include "machine/measure.h"
#include "machine/model.h"
#include "topology/topology.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define HEAD "title A machine\nsource a test\n"
#define TWO  HEAD "topology numa:2 core:2\n"
#define FULL TWO "latency 0 90 140\nlatency 1 140 91\nread 0 100 30\nread 1 30 101\n"

static struct model *read_text(const char *text, struct error *err)
{
    FILE *in = fmemopen((char *)text, strlen(text), "r");
    struct model *model = model_read(in, "a/folder/server.machine", err);
    fclose(in);
    return model;
}

static void a_whole_model(void **state)
{
    (void)state;
    struct error err = {0};
    struct model *model = read_text("# a comment\n" FULL "mixed 0.8 # of it\ncore 12.5\ncache 1 32K 1\ncache 3 1.5M 2\n"
                                    "licence free\n\nloaded 0.5 1.2\nloaded 1 2\n",
                                    &err);
    assert_non_null(model);
    assert_string_equal(model->name, "server");
    assert_string_equal(model->title, "A machine");
    assert_int_equal(model->node_count, 2);
    assert_int_equal(model->cpus_per_node, 2);
    assert_float_equal(model->latency[1], 140, 0.001);
    assert_float_equal(model->read[3], 101, 0.001);
    assert_float_equal(model->mixed, 0.8, 0.001);
    assert_int_equal(model->cache_count, 2);
    assert_int_equal(model->caches[1].bytes, 3 << 19);
    assert_float_equal(model_loaded(model, 0.25), 1.1, 0.001);
    assert_float_equal(model_loaded(model, 0.75), 1.6, 0.001);
    assert_float_equal(model_loaded(model, 1.5), 2, 0.001);
    struct topology *topology = model_topology(model, &err);
    assert_non_null(topology);
    assert_int_equal(topology_distance(topology, 0, 0), 10);
    assert_int_equal(topology_distance(topology, 0, 1), 16);
    assert_int_equal(topology_distance(topology, 1, 0), 15);
    topology_free(topology);
    model_free(model);
}

/* Each is refused with the line and a word of the cause. */
static void bad_models(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line, *cause;
    } bad[] = {
        {"\n", ":1:", "no 'title'"},
        {HEAD, ":2:", "no 'topology'"},
        {FULL "colour blue\n", ":8:", "unknown key 'colour'"},
        {TWO "latency 0 90\n", ":4:", "1 value for 2 nodes"},
        {TWO "latency 0 90 140 190\n", ":4:", "more values"},
        {TWO "latency 2 90 140\n", ":4:", "number of a node, 0 to 1"},
        {TWO "latency 0 90 140\nlatency 0 90 140\n", ":5:", "twice"},
        {TWO "latency 0 90 140\nlatency 1 140 90\nread 0 100 0\n", ":6:", "above 0"},
        {TWO "latency 0 90 nan\n", ":4:", "'nan'"},
        {TWO "latency 0 90 1e99\n", ":4:", "up to"},
        {TWO "latency 0 90 140\nlatency 1 140 90\nread 0 100 30\n", ":6:", "'read 1'"},
        {"latency 0 90 140\n" FULL, ":1:", "before 'topology'"},
        {HEAD "topology numa:nonsense\n", ":3:", "synthetic"},
        {HEAD "topology numa:65 core:1\n", ":3:", "at most"},
        {HEAD "topology other.xml\n", ":3:", "synthetic"},
        {FULL "cache 2 large\n", ":8:", "a cache is"},
        {FULL "loaded 0.5 0.5\n", ":8:", "'loaded'"},
        {FULL "loaded 0.5 1.5\nloaded 0.5 2\n", ":9:", "rise"},
        {FULL "mixed 0\n", ":8:", "'mixed'"},
        {FULL "title again\n", ":8:", "twice"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error err = {0};
        struct model *model = read_text(bad[i].text, &err);
        assert_null(model);
        if (!strstr(err.text, bad[i].cause) || !strstr(err.text, bad[i].line))
            fail_msg("model %zu: '%s' has no '%s' at '%s'", i, err.text, bad[i].cause, bad[i].line);
    }
}

static void what_is_written_reads_the_same(void **state)
{
    (void)state;
    struct error err = {0};
    struct model *model = read_text(FULL "mixed 0.8\ncore 12.5\ncache 2 1M 1\nloaded 0.5 1.25\n", &err);
    char *text = NULL, *again = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    model_write(model, out);
    fclose(out);
    struct model *second = read_text(text, &err);
    assert_non_null(second);
    out = open_memstream(&again, &size);
    model_write(second, out);
    fclose(out);
    assert_string_equal(text, again);
    free(text);
    free(again);
    model_free(model);
    model_free(second);
}

/* How many models a folder has; each is sound. */
static unsigned every_model_of(const char *folder)
{
    DIR *directory = opendir(folder);
    unsigned count = 0;
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".machine") != 0)
            continue;
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct error err = {0};
        struct model *model = model_find(path, &err);
        if (!model)
            fail_msg("%s", err.text);
        struct topology *topology = model_topology(model, &err);
        assert_non_null(topology);
        assert_int_equal(topology->node_count, model->node_count);
        assert_int_equal(topology->cpu_count, model->node_count * model->cpus_per_node);
        struct model_summary sum = model_summary(model);
        assert_true(sum.local_ns < sum.remote_ns && sum.local_gbs > sum.remote_gbs);
        topology_free(topology);
        model_free(model);
        count++;
    }
    closedir(directory);
    return count;
}

static void every_model_that_comes_along(void **state)
{
    (void)state;
    assert_true(every_model_of(MODELS) >= 9);
    assert_true(every_model_of(PUBLISHED) >= 5);
}

/* Figures are this machine's; that they are there, and that the file made of them is one, is checked. */
static void a_measured_model(void **state)
{
    (void)state;
    struct error err = {0};
    struct model *model = model_measure(&err);
    if (!model)
        skip_test("%s", err.text);
    for (uint32_t cell = 0; cell < model->node_count * model->node_count; cell++)
        assert_true(model->latency[cell] > 0 && model->read[cell] > 0);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    model_write(model, out);
    fclose(out);
    struct model *again = read_text(text, &err);
    if (!again)
        fail_msg("%s", err.text);
    free(text);
    model_free(again);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_model),
        cmocka_unit_test(bad_models),
        cmocka_unit_test(what_is_written_reads_the_same),
        cmocka_unit_test(every_model_that_comes_along),
        cmocka_unit_test(a_measured_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
