/* The three problems of LaProf on made-up runs: the numbers of its tables to the digit, and the right verdict. */
#include "problem_runs.h"

#include "analysis/problems/sharing.h"

#include <math.h>

/* The i-th of `number` latencies that are `total` together. */
static uint32_t part(uint64_t total, uint64_t number, uint64_t i)
{
    return (uint32_t)(total / number + (i < total % number));
}

static double digits(double value)
{
    return round(value * 100) / 100;
}

struct class_row {
    uint64_t total, number;
    double mean; /* the total by the number */
};

static void check_tally(const struct access_tally *tally, struct class_row row)
{
    assert_int_equal(tally->latency, row.total);
    assert_int_equal(tally->timed, row.number);
    assert_true(fabs(digits(tally_mean(tally)) - row.mean) < 1e-9);
}

/* Tables III and IV. Where the paper's own AL is not its TL by its TN, ours is: it says 174.52 for the second private one,
 * and 136.34, 354.71 and 149.04 for the first three shared ones. */
static void tables_of_sharing(void **state)
{
    static const struct class_row rows[][2] = {
        {{13307523, 67327, 197.66}, {11616, 85, 136.66}}, {{13892938, 79609, 174.51}, {42281, 119, 355.30}},
        {{13273781, 67590, 196.39}, {10134, 68, 149.03}}, {{12196883, 65545, 186.08}, {40106, 106, 378.36}},
        {{43548, 855, 50.93}, {86307, 582, 148.29}},      {{42994, 853, 50.40}, {180982, 544, 332.69}},
        {{43327, 838, 51.70}, {93399, 602, 155.15}},      {{40643, 799, 50.87}, {180351, 576, 313.11}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const struct class_row *alone = &rows[k][0], *shared = &rows[k][1];
        struct feeding f = machine_begin(WORKERS);
        for (uint64_t i = 0; i < alone->number; i++)
            sample(&f, 1 + i % WORKERS, HEAP + i * 4096, part(alone->total, alone->number, i), SAMPLE_READ);
        for (uint64_t i = 0; i < shared->number; i++) /* the last one must not be alone at its address */
            sample(&f, 1 + i % WORKERS, HEAP + SHARED_AT * 3ul + (i < shared->number / 2 * 2 ? i / 2 : 0) * 64,
                   part(shared->total, shared->number, i), SAMPLE_READ);
        feeding_build(&f);
        struct error err = {0};
        struct accesses *accesses = accesses_load(f.flow, &err);
        struct sharing *sharing = sharing_make(accesses);
        for (unsigned grain = GRAIN_ADDRESS; grain <= GRAIN_LINE; grain++) {
            struct access_tally tally = sharing_shared(&sharing->grains[grain]);
            check_tally(&sharing->grains[grain].classes[CLASS_PRIVATE], *alone);
            check_tally(&tally, *shared);
        }
        assert_int_equal(sharing->grains[GRAIN_OBJECT].classes[CLASS_PRIVATE].timed, 0);
        assert_int_equal(sharing->grains[GRAIN_OBJECT].pieces[CLASS_CROSS_NODE], 1);
        sharing_free(sharing);
        accesses_free(accesses);
        feeding_free(&f);
    }
}

/* Table V: each row is a recording with that threshold; ours has the slower ones among others, and one pass. */
static void table_of_thresholds(void **state)
{
    static const struct {
        uint32_t threshold;
        struct class_row row;
    } rows[] = {{30, {3017960, 23886, 126.35}},
                {30, {5664781, 24521, 231.02}},
                {300, {12161837, 18501, 657.36}},
                {300, {38888613, 40230, 966.66}}};
    static const uint32_t thresholds[] = {30, 300, 100000};
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct feeding f = machine_begin(WORKERS);
        for (uint64_t i = 0; i < rows[k].row.number; i++)
            sample(&f, 1 + i % WORKERS, HEAP + i * 64, part(rows[k].row.total, rows[k].row.number, i), SAMPLE_READ);
        for (uint64_t i = 0; i < 1000; i++)
            sample(&f, 1 + i % WORKERS, HEAP + i * 64, rows[k].threshold - (uint32_t)i % 30, SAMPLE_READ);
        feeding_build(&f);
        struct error err = {0};
        struct accesses *accesses = accesses_load(f.flow, &err);
        struct latency *latency = latency_make(accesses, thresholds, 3, NULL);
        check_tally(&latency->at.above[rows[k].threshold == 300], rows[k].row);
        assert_int_equal(latency->at.above[2].timed, 0);
        assert_int_equal(latency->at.above[3].timed, rows[k].row.number + 1000);
        latency_free(latency);
        accesses_free(accesses);
        feeding_free(&f);
    }
}

/* Table VI: numbers of eight threads whose deviation is the paper's, with its critical threads (T6, T1). */
static void table_of_balance(void **state)
{
    static const struct {
        uint32_t counts[WORKERS];
        double stddev;
        uint32_t critical;
        bool unbalanced;
    } rows[] = {{{2066, 1885, 2031, 2375, 2076, 1860, 1934, 2109}, 152.75, 4, false},
                {{1077, 1613, 1521, 1373, 2137, 11731, 1074, 1082}, 3429.73, 6, true},
                {{2224, 2058, 2656, 2223, 2103, 2115, 2259, 2119}, 177.76, 3, false},
                {{5831, 1534, 2047, 1326, 1405, 1559, 1459, 1791}, 1419.59, 1, false}};
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct feeding f = slow_accesses(rows[k].counts, 500);
        struct error err = {0};
        struct accesses *accesses = accesses_load(f.flow, &err);
        struct balance *balance = balance_make(accesses, 300);
        assert_int_equal(balance->spread.threads, WORKERS);
        assert_true(fabs(digits(balance->spread.stddev) - rows[k].stddev) < 1e-9);
        assert_int_equal(flow_thread(f.flow, balance->spread.critical)->tid, PID + rows[k].critical);
        assert_int_equal(balance->unbalanced, rows[k].unbalanced);
        balance_free(balance);
        accesses_free(accesses);
        feeding_free(&f);
    }
}

/* An uneven spread is no verdict of balance: not when there are too few to judge, nor when they matter too little. */
static void words_of_balance(void **state)
{
    static const struct {
        uint32_t slow, fast, others; /* of the first thread; slow ones of each other */
        bool unbalanced, too_few;
        const char *words;
    } rows[] = {{191, 900, 0, false, true,
                 "Too few to judge: slow accesses of a thread are at most 191 here, and it takes 192"},
                {192, 900, 0, true, false, "Unbalanced: thread 101 makes 192 slow accesses"},
                {192, 1800, 0, false, false, "Uneven, but of little weight: of the accesses of thread 101"},
                {32, 900, 32, false, false, "Balanced: "}};
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        uint32_t counts[WORKERS];
        for (uint32_t i = 0; i < WORKERS; i++)
            counts[i] = i ? rows[k].others : rows[k].slow;
        struct feeding f = slow_accesses(counts, rows[k].fast);
        struct error err = {0};
        struct accesses *accesses = accesses_load(f.flow, &err);
        struct balance *balance = balance_make(accesses, 300);
        assert_int_equal(balance->unbalanced, rows[k].unbalanced);
        assert_int_equal(balance->too_few, rows[k].too_few);
        assert_memory_equal(balance->why, rows[k].words, strlen(rows[k].words));
        balance_free(balance);
        accesses_free(accesses);
        feeding_free(&f);
    }
}

/* Memory that is given out again is another piece: an address is shared within a life, a line over all of them. */
static void recycled_memory(void **state)
{
    (void)state;
    struct feeding f = machine_begin(2);
    uint64_t addr = HEAP + (2ul << 30);
    feed_alloc(&f, addr, 64, CHAIN);
    sample(&f, 1, addr, 10, SAMPLE_READ);
    feed_free(&f, addr);
    feed_alloc(&f, addr, 64, CHAIN);
    sample(&f, 2, addr, 10, SAMPLE_WRITE);
    feeding_build(&f);
    struct error err = {0};
    struct accesses *accesses = accesses_load(f.flow, &err);
    struct sharing *sharing = sharing_make(accesses);
    assert_int_equal(sharing->grains[GRAIN_ADDRESS].classes[CLASS_PRIVATE].timed, 2);
    assert_int_equal(sharing->grains[GRAIN_OBJECT].classes[CLASS_PRIVATE].timed, 2);
    assert_int_equal(sharing_shared(&sharing->grains[GRAIN_LINE]).timed, 2);
    assert_int_equal(sharing->grains[GRAIN_LINE].written_pieces, 1);
    sharing_free(sharing);
    accesses_free(accesses);
    feeding_free(&f);
}

/* Ten made-up runs of each story, every one from other dice, with and without a calibration. */
static void contention_verdicts(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        bool calibrated = round % 2;
        struct finding found = {.pattern = PATTERNS};
        assert_int_equal(judge(QUIET, 6, calibrated, false, &found), CONTENTION_NONE);
        assert_int_equal(found.pattern, PATTERNS);
        assert_int_equal(judge(SLOW_LINK, 6, calibrated, false, &found), CONTENTION_LINK);
        assert_int_equal(found.pattern, PATTERN_CONTENTION);
        found.pattern = PATTERNS;
        assert_int_equal(judge(SLOW_MEMORY, 6, calibrated, false, &found), CONTENTION_MEMORY);
        assert_int_equal(found.pattern, PATTERN_CONTENTION);
        found.pattern = PATTERNS;
        judge(SLOW_MEMORY, 6, calibrated, true, &found); /* no finding on a node that is simulated */
        assert_int_equal(found.pattern, PATTERNS);
    }
}

static void imbalance_verdicts(void **state)
{
    (void)state;
    assert_false(is_unbalanced(416, (unsigned[8]){0}));          /* all threads are near */
    assert_true(is_unbalanced(416, (unsigned[8]){4}));           /* all but one */
    assert_false(is_unbalanced(416, (unsigned[8]){4, 4, 4, 4})); /* half of them: placement */
    /* Six are far, as two of eight must be near on four nodes; that one has more of these is chance, until there are more bursts. */
    assert_false(is_unbalanced(32, (unsigned[8]){10, 3, 3, 3, 3, 3}));
    assert_true(is_unbalanced(3200, (unsigned[8]){13, 3, 3, 3, 3, 3}));
    /* The third of the far ones may well bear as much as the mean: then it is more than a few. */
    assert_false(is_unbalanced(416, (unsigned[8]){8, 7, 2}));
}

/* Three workers meet four times, every 100 us. Worker 1 comes last to the first two, worker 2 to the others. */
static void barrier_waits(void **state)
{
    enum { STEPS = 4, STEP = 100000, EARLY = 75000 };
    struct error err = {0};
    (void)state;
    struct feeding f = machine_begin(3);
    uint64_t start = f.time;
    for (uint32_t step = 0; step < STEPS; step++) {
        for (uint32_t i = 0; i < 96; i++) { /* samples are spread evenly: only the barriers show who waits */
            f.time = start + step * STEP + i * 1000;
            sample(&f, 1 + i % 3, HEAP + 4096 * i, 1, SAMPLE_READ);
        }
        for (uint32_t worker = 1; worker <= 3; worker++)
            feed(&f, (struct event){.kind = EVENT_BARRIER,
                                    .time = f.time = start + (step + 1) * STEP,
                                    .tid = PID + worker,
                                    .barrier.waited = worker == 1 + step / 2 ? 0 : EARLY});
    }
    feeding_build(&f);
    struct accesses *accesses = accesses_load(f.flow, &err);
    struct balance *balance = balance_make(accesses, 0);
    assert_true(balance->barriers);
    assert_int_equal(balance->threads.count, 3);
    static const double waited[] = {2 * EARLY, 2 * EARLY, 4 * EARLY};
    for (unsigned i = 0; i < 3; i++) {
        const struct balance_thread *row = &balance->threads.items[i];
        assert_true(row->at_barrier && row->sleeps);
        assert_true(fabs(row->waited_s * 1e9 - waited[i]) < 1);
    }
    /* Two of three always wait for 75 of 100. */
    assert_true(fabs(balance->wait.share - 0.75) < 0.01);
    assert_int_equal(balance->phases.count, 2);
    assert_int_equal(flow_thread(f.flow, balance->phases.items[0].wait.last)->tid, PID + 1);
    assert_int_equal(flow_thread(f.flow, balance->phases.items[1].wait.last)->tid, PID + 2);
    balance_free(balance);
    accesses_free(accesses);
    feeding_free(&f);
}

static void buckets(void **state)
{
    (void)state;
    for (uint32_t latency = 0; latency < 100000; latency++) {
        unsigned bucket = latency_bucket(latency);
        assert_true(latency_bucket_start(bucket) <= latency && latency_bucket_start(bucket + 1) > latency);
    }
    assert_true(latency_bucket(UINT32_MAX) < LATENCY_BUCKETS);
}

static void calibrations(void **state)
{
    struct error err = {0};
    static const char text[] = "1 nodes=2 L1:65536:1.83:0.95 L2:1048576:6.19:2.86 L3:33554432:37.22:25.71 "
                               "0>0:113.39:103.81 0>1:180.00:170.00";
    static const char *const bad[] = {"",
                                      "2 nodes=1",
                                      "1 nodes=0",
                                      "1 nodes=99",
                                      "1 nodes=1x",
                                      "1 nodes=1 0>1:1:1",
                                      "1 nodes=1 L9:1:1:1",
                                      "1 nodes=1 0>0:-1:1",
                                      "1 nodes=1 L1:1:nan:1",
                                      "1 nodes=1 0>0:1:1e99",
                                      "1 nodes=1 L1:1:1:1x"};
    (void)state;
    struct calibration *calibration = calibration_from_text(text, &err);
    assert_non_null(calibration);
    char *back = calibration_to_text(calibration);
    assert_string_equal(back, text);
    free(back);
    static const struct {
        uint32_t latency;
        unsigned level;
    } levels[] = {{0, 1}, {1, 1}, {3, 2}, {5, 2}, {20, 3}, {40, 3}, {60, 4}, {104, 4}, {5000, 4}};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        assert_int_equal(calibration_level(calibration, levels[i].latency), levels[i].level);
    assert_true(calibration_memory(calibration, 0, 1) > 169);
    assert_true(calibration_memory(calibration, 1, 0) == 0);
    calibration_free(calibration);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_null(calibration_from_text(bad[i], &err));
    calibration = calibration_from_text("1 nodes=1 L1:1024:50:48 0>0:51:50", &err);
    assert_false(calibration_shows(calibration)); /* an emulator's memory is flat */
    assert_int_equal(calibration_level(calibration, 100), 0);
    calibration_free(calibration);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_sharing),  cmocka_unit_test(table_of_thresholds),
        cmocka_unit_test(table_of_balance),   cmocka_unit_test(words_of_balance),
        cmocka_unit_test(recycled_memory),    cmocka_unit_test(contention_verdicts),
        cmocka_unit_test(imbalance_verdicts), cmocka_unit_test(buckets),
        cmocka_unit_test(calibrations),       cmocka_unit_test(barrier_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
