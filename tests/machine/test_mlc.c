#include "machine/mlc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define LATENCIES                                                                                                      \
    "Measuring idle latencies (in ns)...\n\t\tNuma node\nNuma node\t 0\t 1\n 0\t 80.0\t 130.5\n 1\t 131.0\t 81.0\n\n"
#define PEAK                                                                                                           \
    "Measuring Peak Injection Memory Bandwidths for the system\nALL Reads        :\t200000.0\n1:1 Reads-Writes "       \
    ":\t160000.0\n\n"
#define BANDWIDTHS                                                                                                     \
    "Measuring Memory Bandwidths between nodes within system \nBandwidths are in MB/sec\n\t\tNuma node\nNuma node\t "  \
    "0\t 1\n"                                                                                                          \
    " 0\t100000.0\t30000.0\n 1\t31000.0\t101000.0\n\n"
#define LOADED                                                                                                         \
    "Measuring Loaded Latencies for the system\nInject\tLatency\tBandwidth\n==========\n 00000\t160.0\t 200000.0\n"    \
    " 00100\t100.0\t 100000.0\n 00200\t120.0\t 60000.0\n 20000\t 80.0\t 2000.0\n\nMeasuring cache-to-cache "           \
    "transfer\n 0 1 2\n"

static struct model *read_text(const char *text, struct error *err)
{
    FILE *in = fmemopen((char *)text, strlen(text), "r");
    struct model *model = model_from_mlc(in, "mlc.txt", 8, err);
    fclose(in);
    return model;
}

static void its_tables(void **state)
{
    (void)state;
    struct error err = {0};
    struct model *model = read_text("Intel(R) Memory Latency Checker\n" LATENCIES PEAK BANDWIDTHS LOADED, &err);
    assert_non_null(model);
    assert_int_equal(model->node_count, 2);
    assert_string_equal(model->topology, "numa:2 core:8");
    assert_float_equal(model->latency[1], 130.5, 0.01);
    assert_float_equal(model->read[2], 31, 0.01);
    assert_float_equal(model->mixed, 0.8, 0.001);
    /* 60 GB/s at 120 ns and then 100 GB/s at 100 ns: a curve that falls is noise, one of the two stays out */
    assert_int_equal(model->loads.count, 2);
    assert_float_equal(model->loads.items[0].use, 0.3, 0.001);
    assert_float_equal(model->loads.items[0].factor, 1.5, 0.001);
    assert_float_equal(model->loads.items[1].factor, 2, 0.001);
    model_free(model);
}

static void without_the_rest(void **state)
{
    (void)state;
    struct error err = {0};
    struct model *model = read_text(LATENCIES BANDWIDTHS "Measuring Peak\nALL Reads : 200\n1:1 Reads-Writes\n", &err);
    assert_non_null(model);
    assert_float_equal(model->mixed, 0, 0); /* its line has no value */
    assert_int_equal(model->loads.count, 0);
    model_free(model);
}

static void other_text(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "nothing of the kind\n",
        LATENCIES,
        BANDWIDTHS PEAK,
        "Measuring idle latencies\n 0 80 130\n" BANDWIDTHS,             /* a row is missing */
        "Measuring idle latencies\n 0 80 130\n 1 130\n" BANDWIDTHS,     /* and a value */
        "Measuring idle latencies\n 0 80 0\n 1 130 80\n" BANDWIDTHS,    /* nothing takes no time */
        "Measuring idle latencies\n 0 80 130 9\n 1 9 9 9\n" BANDWIDTHS, /* not square */
        "Measuring idle latencies\n 0 80 1e9\n 1 130 80\n" BANDWIDTHS,  /* a second is more than any model has */
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error err = {0};
        assert_null(read_text(texts[i], &err));
        assert_non_null(strstr(err.text, i == 4 ? "mlc.txt:3: " : i == 5 ? "mlc.txt:2: " : "mlc.txt"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_tables),
        cmocka_unit_test(without_the_rest),
        cmocka_unit_test(other_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
