/* Bytes from memory, of made-up long bursts and samples: how many, whose, and what is not said. */
#include "long_bursts.h"
#include "analysis/thresholds.h"

#include "analysis/reuse/reuse.h"
#include "analysis/traffic/traffic_times.h"
#include "topology/calibration.h"

#include <math.h>

enum { ROUNDS = 40, ROUND_MS = 20, ARRAY = 1 << 26, WINDOW = 1 << 22, CACHE = 1 << 20 };

#define PER_ACCESS ((double)WORD) /* bytes from memory: a line for eight of them */

struct run {
    struct feeding feeding;
    struct traffic *traffic;
    uint32_t long_bursts;
    uint64_t process_ns;
};

/* Two arrays: main fills the first one, thread 1 the second. */
static struct run begin(void)
{
    struct run run = {.feeding = run_begin()};
    struct feeding *f = &run.feeding;
    feed_alloc(f, HEAP, ARRAY, CHAIN);
    feed_alloc(f, HEAP + 2ul * ARRAY, ARRAY, CHAIN + 1);
    return run;
}

/* A tick in the array, whose page is on that node. */
static void tick(struct run *run, uint32_t thread, uint64_t addr, uint8_t flags, int node)
{
    feed_home(&run->feeding, addr & ~4095ul, 4096, node);
    feed_burst(&run->feeding, (struct burst_of){.thread = thread, .addr = addr, .flags = flags, .stack = CHAIN});
}

/* 20 ms of CPU time, in which a thread goes through a window of the array. */
static void burst(struct run *run, struct long_of burst)
{
    run->process_ns += ROUND_MS * MS;
    run->feeding.time += ROUND_MS * MS;
    burst.number = ++run->long_bursts;
    burst.process_ns = run->process_ns;
    feed_long_burst(&run->feeding, burst);
}

static void end(struct run *run, double cache)
{
    feeding_build(&run->feeding);
    run->traffic = traffic_make(run->feeding.flow, cache);
}

static void finish(struct run *run)
{
    traffic_free(run->traffic);
    feeding_free(&run->feeding);
}

static void near(double got, double right)
{
    if (fabs(got - right) > 0.03 * right + 1e3)
        fail_msg("%g, and %g is right", got, right);
}

/* Bytes a second of the recording, where the program has one access a ns. */
static double rate(const struct run *run)
{
    return PER_ACCESS * (double)run->process_ns / run->traffic->seconds;
}

static const struct traffic_object *array(const struct run *run, uint64_t addr)
{
    array_each (&run->traffic->objects, const struct traffic_object, row)
        if (flow_object(run->feeding.flow, row->object)->addr == addr)
            return row;
    fail_msg("no row of 0x%lx", (unsigned long)addr);
    return NULL;
}

static void a_stream(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW});
    }
    end(&run, CACHE);
    assert_true(run.traffic->recorded && !run.traffic->too_few && !run.traffic->at_most);
    assert_int_equal(run.traffic->bursts, ROUNDS);
    near(run.traffic->all.read, rate(&run));
    near(run.traffic->all.written, 0);
    near(run.traffic->all.lower_bound, rate(&run));
    assert_true(run.traffic->all.is_rated && run.traffic->all.error < 0.05 * rate(&run));
    assert_int_equal(array(&run, HEAP)->bytes.state, TRAFFIC_MEMORY);
    near(run.traffic->known_cache, WINDOW);
    finish(&run);
}

/* Main initialises alone, with few lines at a time; then two threads use each line again after more lines than the cache has. Were both one
 * program, a cache line would seem to last for both times together. */
static void alone_then_together(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned k = 0; k < 8; k++)
            tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW, .again = 64});
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned k = 0; k < 8; k++)
            tick(&run, k % 2, HEAP + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.thread = i % 2, .addr = HEAP, .size = WINDOW, .again = CACHE * 5 / 4 / WORD});
    }
    end(&run, CACHE);
    assert_false(run.traffic->at_most);
    near(run.traffic->all.read, rate(&run) / 2);
    finish(&run);
}

/* Two arrays of as many lines; one is used again after 2 million accesses, in which 16 MB are used, the other after 4 million, 24 MB. By chance
 * few watches are of the latter: these stand for all of its lines, and a cache of 21.5 MB does not hold it. */
static void few_watches_of_one(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < 2 * ROUNDS; i++) {
        bool second = i % 2;
        uint64_t addr = HEAP + (second ? 2ul * ARRAY : 0);
        tick(&run, 0, addr + i * 4096ul, 0, 0);
        burst(&run, (struct long_of){.addr = addr, .size = WINDOW});
        struct long_of of = {.number = run.long_bursts};
        if (!second || i % 8 == 1)
            feed_reuse(&run.feeding, &of, addr, second ? 4000000 : 2000000, 1000,
                       REUSE_WATCHED | REUSE_LAST | REUSE_OTHER);
    }
    end(&run, 21.5e6);
    assert_false(run.traffic->at_most);
    assert_true(run.traffic->all.read > 0.9 * rate(&run) / 2 && run.traffic->all.read < 1.1 * rate(&run) / 2);
    finish(&run);
}

/* What is counted before bursts is twice what is counted behind them, by threads whose cache others had meanwhile. */
static void slow_behind(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.accesses_ns = 2});
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW, .accesses_ns = i % 2 ? 0.5 : 1.5});
    }
    end(&run, CACHE);
    near(run.traffic->all.read, 2 * rate(&run));
    assert_int_equal(run.traffic->bursts, ROUNDS);
    near(run.traffic->accesses_ns, 2);
    finish(&run);
}

/* Nothing is counted behind, as where each call ends a burst: what was counted before stands for it. */
static void counted_before_alone(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.accesses_ns = 2});
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW, .uncounted = true});
    }
    end(&run, CACHE);
    near(run.traffic->all.read, 2 * rate(&run));
    finish(&run);
}

/* Of the CPU time a fifth was sampling's. */
static void without_sampling(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW});
    }
    run.feeding.ending = trace_session_new();
    trace_session_set(run.feeding.ending, "cpu_ns", "1000000000");
    trace_session_set(run.feeding.ending, "handler_ns", "200000000");
    end(&run, CACHE);
    near(run.traffic->all.read, 0.8 * rate(&run));
    finish(&run);
}

/* The window is used again after a quarter of a MiB: a cache of a MiB has it, one of 128 KiB has not. */
static void a_cache(void **state)
{
    (void)state;
    for (int small = 0; small < 2; small++) {
        struct run run = begin();
        for (unsigned i = 0; i < ROUNDS; i++) {
            tick(&run, 0, HEAP + i * 8192ul, 0, 0);
            burst(&run, (struct long_of){.addr = HEAP, .size = 1 << 24, .again = (1 << 18) / WORD});
        }
        end(&run, small ? 1 << 17 : 1 << 20);
        near(run.traffic->all.read, small ? rate(&run) : 0);
        assert_int_equal(array(&run, HEAP)->bytes.state, small ? TRAFFIC_MEMORY : TRAFFIC_CACHED);
        finish(&run);
    }
}

static void stores(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, HEAP + i * 8192ul, SAMPLE_WRITE, 0);
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW, .stores = true});
    }
    end(&run, CACHE);
    near(run.traffic->all.read, rate(&run));
    near(run.traffic->all.written, rate(&run));
    finish(&run);
}

/* Three of four long bursts are in the first array, by chance: samples say that it has half of the time. */
static void weighed_by_samples(void **state)
{
    (void)state;
    struct run run = begin();
    const uint64_t arrays[] = {HEAP, HEAP + 2ul * ARRAY};
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, arrays[i % 2] + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.addr = arrays[i % 4 == 3], .size = WINDOW});
    }
    end(&run, CACHE);
    double by_time = 0.75, by_samples = 0.5, weight = thresholds.by_samples;
    near(run.traffic->all.read, rate(&run));
    near(array(&run, HEAP)->bytes.read, rate(&run) * (by_time + weight * by_samples) / (1 + weight));
    assert_true(array(&run, HEAP)->bytes.read < 0.6 * rate(&run));
    finish(&run);
}

/* Of three ticks two are of thread 1, which is on node 1, in memory of node 0. */
static void shared_out_by_samples(void **state)
{
    (void)state;
    struct run run = begin();
    double error;
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned k = 0; k < 3; k++)
            tick(&run, k ? 1 : 0, HEAP + (3 * i + k) * 8192ul, 0, 0);
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW});
    }
    end(&run, CACHE);
    near(traffic_remote_share(run.traffic, &error), 2 / 3.0);
    near(error, sqrt(2 / 9.0 / (3 * ROUNDS))); /* of one object, what its samples say of nodes */
    near(run.traffic->node_pairs[1 * run.traffic->node_count], rate(&run) * 2 / 3);
    near(run.traffic->node_read[0], rate(&run));
    near(traffic_of_thread(run.traffic, 1)->bytes.read, rate(&run) * 2 / 3);
    near(traffic_of_thread(run.traffic, 1)->user_s, (double)run.process_ns * 1e-9 * 2 / 3);
    near(traffic_of_thread(run.traffic, 0)->bytes.read, rate(&run) / 3);
    traffic_code(run.traffic);
    double sum = 0;
    array_each (&run.traffic->functions, const struct traffic_bytes, bytes)
        sum += bytes->read;
    near(sum, rate(&run));
    finish(&run);
}

/* All samples of the array are in the second half. */
static void over_time(void **state)
{
    (void)state;
    struct run run = begin();
    struct traffic_times times;
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned k = 0; k < 8; k++)
            tick(&run, 0, (i < ROUNDS / 2 ? HEAP + 2ul * ARRAY : HEAP) + (8 * i + k) * 8192ul, 0, 0);
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW});
    }
    end(&run, CACHE);
    traffic_times_make(&times, run.traffic, 2);
    assert_int_equal(times.items.count, 2);
    near(times.items.items[0].read[0], 0);
    near(times.items.items[1].read[0], 2 * rate(&run));
    traffic_times_free(&times);
    finish(&run);
}

/* Windows of half a MiB show nothing of a cache of 8 MiB: all of what does not fit there must come from memory. */
static void too_short(void **state)
{
    (void)state;
    const double cache = 8 << 20;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.addr = HEAP, .size = 1 << 19});
    }
    end(&run, cache);
    assert_true(run.traffic->at_most);
    near(run.traffic->all.read, rate(&run));
    near(run.traffic->all.lower_bound, rate(&run) * (1 - cache / ARRAY));
    finish(&run);
}

/* Of an object that the cache can hold beside what bursts show, each line comes from memory once. */
static void smaller_than_the_cache(void **state)
{
    (void)state;
    enum { SMALL = 2 << 20 };
    const uint64_t addr = HEAP + 4ul * ARRAY;
    struct run run = begin();
    feed_alloc(&run.feeding, addr, SMALL, CHAIN + 2);
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, addr + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.addr = addr, .size = 1 << 19});
    }
    end(&run, 8 << 20);
    assert_true(run.traffic->at_most);
    near(run.traffic->all.read, SMALL / run.traffic->seconds);
    near(array(&run, addr)->bytes.read, SMALL / run.traffic->seconds);
    near(run.traffic->all.lower_bound, 0);
    finish(&run);
}

/* One burst alone is longer, and uses its lines again: that is no bound of what a cache leaves to memory that it does not fill. */
static void too_short_but_one(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        burst(&run, i ? (struct long_of){.addr = HEAP, .size = 1 << 19}
                      : (struct long_of){.addr = HEAP, .size = 1 << 24, .again = (1 << 23) / WORD});
    }
    end(&run, 32 << 20);
    assert_true(run.traffic->at_most);
    near(run.traffic->all.read, rate(&run));
    finish(&run);
}

/* A recording without a calibration does not say which caches there were. */
static void caches_that_are_not_known(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.addr = HEAP, .size = 1 << 24, .again = (1 << 18) / WORD});
    }
    end(&run, 0);
    assert_true(run.traffic->at_most && run.traffic->cache > 0);
    near(run.traffic->all.read, 0);
    finish(&run);
}

static void too_few(void **state)
{
    (void)state;
    struct run run = begin();
    double error;
    for (unsigned i = 0; i + 1 < thresholds.long_bursts; i++) {
        tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW});
    }
    end(&run, CACHE);
    assert_true(run.traffic->recorded && run.traffic->too_few);
    assert_false(run.traffic->all.is_rated);
    assert_int_equal(run.traffic->objects.count, 0);
    assert_true(traffic_remote_share(run.traffic, &error) < 0);
    finish(&run);
}

/* What no long burst met is not nothing: it is said how much of the samples that is. */
static void unmet(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        tick(&run, 1, HEAP + 2ul * ARRAY + i * 8192ul, 0, 1);
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW});
    }
    end(&run, CACHE);
    near(run.traffic->unmet, 0.5);
    assert_null(traffic_of_object(run.traffic, 1));
    near(run.traffic->all.read, rate(&run));
    finish(&run);
}

/* A burst stands for the CPU time up to the next: the last one's is known by ticks. */
static void after_the_last(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        run.feeding.time += ROUND_MS * MS;
        if (i < ROUNDS / 2)
            burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW});
    }
    end(&run, CACHE);
    near(run.traffic->all.read, 2 * rate(&run));
    finish(&run);
}

/* Of equal bursts nothing is uncertain; of such that differ by their speed the interval holds both. */
static void the_error(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick(&run, 0, HEAP + i * 8192ul, 0, 0);
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW, .accesses_ns = i % 2 ? 0.5 : 1.5});
    }
    end(&run, CACHE);
    near(run.traffic->all.read, rate(&run));
    assert_true(run.traffic->all.error > 0.02 * rate(&run));
    assert_true(run.traffic->all.error < 0.5 * rate(&run));
    finish(&run);
}

static void nothing_recorded(void **state)
{
    (void)state;
    struct run run = begin();
    tick(&run, 0, HEAP, 0, 0);
    end(&run, CACHE);
    assert_false(run.traffic->recorded || run.traffic->all.is_rated || traffic_is_recorded(run.feeding.flow));
    assert_int_equal(run.traffic->source, TRAFFIC_NOWHERE);
    finish(&run);
}

/* Loads of lines that were not used for so many accesses, 64 bytes for eight of them; `ns` each. */
static void timed(struct run *run, uint64_t accesses, uint64_t ns, unsigned count)
{
    struct long_of burst = {.number = run->long_bursts};
    for (unsigned i = 0; i < count; i++)
        feed_reuse(&run->feeding, &burst, HEAP + i * LINE, accesses, ns, REUSE_TIMED);
}

/* A line should be in a cache of 1 MiB as long as less than half of that was used since, and not once twice as much was. */
static void checked_by_loads(void **state)
{
    enum { HALF = (1 << 20) / WORD / 2, TWICE = 2 << 20, IN_L2 = 4, IN_L3 = 25 };
    struct run run = begin();
    struct error err = {0};
    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++)
        burst(&run, (struct long_of){.addr = HEAP, .size = WINDOW});
    timed(&run, HALF * 3 / 4, IN_L2, 9);
    timed(&run, HALF * 3 / 4, IN_L3, 1);
    timed(&run, HALF * 2, IN_L3, 5);
    timed(&run, TWICE / WORD * 5 / 4, IN_L3, 3);
    timed(&run, TWICE / WORD * 5 / 4, IN_L2, 2);
    feeding_build(&run.feeding);
    const struct reuse *reuse = reuse_of(run.feeding.flow);
    struct calibration *calibration =
        calibration_from_text("1 nodes=1 L1:32768:1:0 L2:1048576:4:3 L3:8388608:30:25 0>0:105:100", &err);
    struct reuse_check check = reuse_check(reuse, calibration);
    assert_int_equal(check.cache, 1 << 20);
    assert_int_equal(check.inside, 10);
    assert_int_equal(check.near, 9);
    assert_int_equal(check.beyond, 5);
    assert_int_equal(check.far, 3);
    assert_int_equal(reuse_check(reuse, NULL).cache, 0);
    struct reuse_answer answer;
    reuse_ask(reuse, CACHE, &answer); /* they are no accesses of the program */
    near(answer.all.read * (double)(flow_end(run.feeding.flow) - flow_start(run.feeding.flow)),
         reuse_cpu_seconds(reuse) * 1e18 * PER_ACCESS);
    reuse_answer_free(&answer);
    calibration_free(calibration);
    feeding_free(&run.feeding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream),
        cmocka_unit_test(without_sampling),
        cmocka_unit_test(alone_then_together),
        cmocka_unit_test(few_watches_of_one),
        cmocka_unit_test(slow_behind),
        cmocka_unit_test(counted_before_alone),
        cmocka_unit_test(a_cache),
        cmocka_unit_test(stores),
        cmocka_unit_test(over_time),
        cmocka_unit_test(too_short),
        cmocka_unit_test(smaller_than_the_cache),
        cmocka_unit_test(too_short_but_one),
        cmocka_unit_test(caches_that_are_not_known),
        cmocka_unit_test(too_few),
        cmocka_unit_test(unmet),
        cmocka_unit_test(after_the_last),
        cmocka_unit_test(the_error),
        cmocka_unit_test(nothing_recorded),
        cmocka_unit_test(weighed_by_samples),
        cmocka_unit_test(shared_out_by_samples),
        cmocka_unit_test(checked_by_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
