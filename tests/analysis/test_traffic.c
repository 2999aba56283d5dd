/* Bytes from memory, of made-up pairs of bursts: what is counted, what is counted once, and what is not said. */
#include "bursts.h"

#include "analysis/traffic/traffic_times.h"
#include "topology/calibration.h"

#include <math.h>

enum {
    PAIRS = 40,
    TURNS = 500000,
    GAP = 800000,
    FAST = 5,
    SLOW = 120,
    STRIDE = 8,
    GOOD = STREAM_PAIRED | STREAM_LOOP,
    PASSED = GOOD | STREAM_PASSED,
    ARRAY = 1 << 28,
    LINE = 64,
};

#define RATE ((double)TURNS * STRIDE / GAP * 1e9) /* bytes per second of a thread that does nothing else */

struct run {
    struct feeding feeding;
    struct traffic *traffic;
    uint32_t burst;
};

/* Two nodes with a CPU each, an array for each, memory at 100 ns. */
static struct run begin(void)
{
    struct error err = {0};
    struct run run = {.feeding = feeding_new("numa:2 core:1", ASSIGN_PACKED)};
    struct feeding *f = &run.feeding;
    uint64_t frames[] = {0x400000, 0x500000}, others[] = {0x400010, 0x500000};
    f->flow->calibration =
        calibration_from_text("1 nodes=1 L1:32768:1:0 L2:1048576:4:3 L3:8388608:30:25 0>0:105:100", &err);
    assert_non_null(f->flow->calibration);
    feed_start(f, PID, 1, false);
    feed_thread(f, PID + 1, "worker", 0, 0);
    feed_stack(f, CHAIN, 2, frames);
    feed_stack(f, CHAIN + 1, 2, others);
    feed_alloc(f, HEAP, ARRAY, CHAIN);
    feed_alloc(f, HEAP + 2ul * ARRAY, ARRAY, CHAIN + 1);
    for (uint64_t array = 0; array < 2; array++) /* an object without samples has no row */
        feed_read(f, HEAP + array * 2 * ARRAY);
    return run;
}

static struct event_stream stream(unsigned flags, uint32_t ahead_ns)
{
    struct event_stream event = {.pc = 0x1000,
                                 .addr = HEAP + 4096,
                                 .stride = STRIDE,
                                 .ahead = HEAP + 40960,
                                 .iterations = TURNS,
                                 .gap_ns = GAP,
                                 .ahead_ns = ahead_ns,
                                 .size = STRIDE,
                                 .times = 20,
                                 .runs = 20,
                                 .flags = (uint8_t)flags,
                                 .timed = STREAM_LATENCIES};
    for (unsigned i = 0; i < STREAM_LATENCIES; i++)
        event.latencies[i] = FAST;
    return event;
}

static void next_burst(struct run *run)
{
    run->burst++;
    run->feeding.time += 10 * MS;
}

static void put(struct run *run, uint32_t thread, struct event_stream event)
{
    event.burst = run->burst;
    event.user_ns = run->burst * 10ul * MS;
    feed(&run->feeding, (struct event){.kind = EVENT_STREAM, .tid = PID + thread, .stream = event});
}

static const struct traffic *end(struct run *run)
{
    flow_finish(run->feeding.flow);
    return run->traffic = traffic_make(run->feeding.flow);
}

static void finish(struct run *run)
{
    traffic_free(run->traffic);
    feeding_free(&run->feeding);
}

static struct run run_of(struct event_stream event, unsigned pairs)
{
    struct run run = begin();
    for (unsigned i = 0; i < pairs; i++) {
        next_burst(&run);
        put(&run, 0, event);
    }
    end(&run);
    return run;
}

static void near(double got, double right)
{
    if (fabs(got - right) > 0.05 * right)
        fail_msg("%g, and %g is right", got, right);
}

static void a_stream(void **state)
{
    (void)state;
    struct run run = run_of(stream(PASSED, SLOW), PAIRS);
    const struct traffic_bytes *all = &run.traffic->all, *object = &run.traffic->objects.items[0].bytes;
    assert_int_equal(run.traffic->pairs, PAIRS);
    assert_int_equal(all->state, TRAFFIC_MEMORY);
    assert_true(all->is_rated && object->is_rated);
    near(all->read, RATE);
    near(object->read, RATE);
    near(run.traffic->threads.items[0].bytes.read, RATE);
    assert_true(all->written == 0 && all->allocated == 0);
    near(all->hidden / all->accesses, 1);
    near(run.traffic->node_pairs[0], RATE);
    near(run.traffic->node_read[0], RATE);
    finish(&run);
}

/* The first half of the run comes from node 0's memory, the second half from a cache: each slice has its own rate. */
static void over_time(void **state)
{
    (void)state;
    struct run run = begin();
    struct traffic_times times;
    for (unsigned i = 0; i < 2 * PAIRS; i++) {
        struct event_stream event = stream(PASSED, i < PAIRS ? SLOW : FAST);
        event.pc += i < PAIRS ? 0 : 16;
        next_burst(&run);
        put(&run, 0, event);
    }
    end(&run);
    traffic_times_make(&times, run.traffic, 4);
    assert_int_equal(times.items.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct traffic_time *time = &times.items.items[i];
        assert_true(time->known && time->written[0] == 0 && time->read[1] == 0);
        assert_true(i < 2 ? fabs(time->read[0] - RATE) < 0.1 * RATE : time->read[0] < 0.1 * RATE);
    }
    near(times.items.items[3].end_s, 2 * PAIRS * 0.01);
    traffic_times_free(&times);
    finish(&run);
    run = run_of(stream(PASSED, SLOW), 3); /* too few to say anything */
    traffic_times_make(&times, run.traffic, 4);
    assert_int_equal(times.items.count, 0);
    traffic_times_free(&times);
    finish(&run);
}

static void a_stream_in_a_cache(void **state)
{
    (void)state;
    struct run run = run_of(stream(PASSED, 25), PAIRS);
    assert_int_equal(run.traffic->all.state, TRAFFIC_CACHED);
    assert_true(run.traffic->all.is_rated && traffic_total(&run.traffic->all) == 0);
    finish(&run);
}

/* What is not confirmed, or was entered again, or is uneven, is never 0. */
static void what_is_not_said(void **state)
{
    struct event_stream outside = stream(GOOD, SLOW), wrapped = stream(GOOD, SLOW), again = stream(PASSED, SLOW);
    (void)state;
    outside.ahead = HEAP + ARRAY + ARRAY / 2;
    wrapped.iterations = -1;
    again.flags = GOOD | STREAM_REENTERED;
    struct event_stream cases[] = {outside, wrapped, again};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run = run_of(cases[i], PAIRS);
        assert_false(run.traffic->all.is_rated);
        assert_false(run.traffic->objects.items[0].bytes.is_rated);
        finish(&run);
    }
    struct run run = run_of(stream(PASSED, SLOW), 19);
    assert_true(run.traffic->too_few);
    assert_false(run.traffic->all.is_rated);
    finish(&run);
    run = begin();
    for (unsigned i = 0; i < PAIRS; i++) {
        struct event_stream event = stream(PASSED, SLOW);
        event.iterations = 1000 + (i * 7919) % PAIRS * 20000; /* evenly over everything that is possible */
        next_burst(&run);
        put(&run, 0, event);
    }
    assert_false(end(&run)->all.is_rated);
    finish(&run);
}

/* A loop over rows, entered again for each: `used` of ten lines that it comes by were brought in, and `back` of ten pairs find it
 * behind where it was. */
static struct run walk(unsigned used, unsigned back, unsigned threads)
{
    struct run run = begin();
    for (unsigned i = 0; i < PAIRS; i++) {
        struct event_stream event = stream(GOOD | STREAM_REENTERED, SLOW);
        event.addr += ARRAY / 2;
        event.ahead += ARRAY / 2;
        event.behind = 1000;
        event.behind_ns = i % 10 < used ? FAST : SLOW;
        event.iterations = i % 10 < back ? -1 : TURNS;
        next_burst(&run);
        put(&run, i % threads, event);
    }
    end(&run);
    return run;
}

static void rows_of_a_matrix(void **state)
{
    (void)state;
    struct run run = walk(10, 1, 1);
    assert_int_equal(run.traffic->all.state, TRAFFIC_MEMORY);
    near(run.traffic->all.read, RATE);
    finish(&run);
    run = walk(5, 1, 1); /* half of each row */
    near(run.traffic->all.read, RATE / 2);
    finish(&run);
    run = walk(1, 1, 1); /* too small a part for so few loads */
    assert_false(run.traffic->all.is_rated);
    finish(&run);
    run = walk(10, 5, 1); /* to and fro */
    assert_false(run.traffic->all.is_rated);
    finish(&run);
}

/* The three rows of a stencil, in the order of its loop: its own, the one above and the one below, which brings the lines in. One burst
 * in four has no second one; in it the rows are too far apart to be known for the same. */
static void rows_of_a_stencil(void **state)
{
    enum { ROW = 1 << 16, OWN = 0, ABOVE = -1, BELOW = 1 };
    static const int rows[] = {OWN, ABOVE, BELOW};
    struct run run = begin();
    (void)state;
    for (unsigned i = 0; i < PAIRS; i++) {
        next_burst(&run);
        for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
            bool late = rows[k] != BELOW && i % 20 != 7; /* what others do has pushed some lines out */
            struct event_stream event = stream(GOOD | STREAM_REENTERED, late ? FAST : SLOW);
            event.pc += k * 16;
            event.addr += (uint64_t)(ARRAY / 2 + rows[k] * ROW);
            event.ahead += (uint64_t)(ARRAY / 2 + rows[k] * ROW);
            event.behind = 1000;
            event.behind_ns = FAST;
            if (i % 4 == 0) {
                event.flags = 0;
                event.iterations = 0;
            }
            put(&run, 0, event);
        }
    }
    end(&run);
    assert_int_equal(run.traffic->all.state, TRAFFIC_MEMORY);
    near(run.traffic->all.rated / run.traffic->all.accesses, 1);
    near(run.traffic->all.read, RATE);
    finish(&run);
}

/* No thread has enough of its own. */
static void threads_together(void **state)
{
    (void)state;
    struct run run = walk(10, 0, 2);
    near(run.traffic->all.read, 2 * RATE); /* each thread's bursts stand for all of its time */
    finish(&run);
    run = begin();
    for (unsigned i = 0; i < PAIRS; i++) {
        struct event_stream event = stream(PASSED, SLOW);
        event.pc += i % 20 * 16; /* two pairs each */
        next_burst(&run);
        put(&run, i % 2, event);
    }
    assert_false(end(&run)->all.is_rated);
    finish(&run);
    run = begin();
    for (unsigned i = 0; i < PAIRS; i++) {
        struct event_stream event = stream(PASSED, SLOW);
        event.pc += i / 2 % 10 * 16; /* four pairs each, two of either thread */
        next_burst(&run);
        put(&run, i % 2, event);
    }
    near(end(&run)->all.read, 2 * RATE);
    finish(&run);
}

/* A line that is used so often stays in a cache, whatever prefetches it. */
static void small_and_busy(void **state)
{
    (void)state;
    enum { TABLE = 4096 };
    for (unsigned large = 0; large < 2; large++) {
        struct run run = begin();
        feed_alloc(&run.feeding, HEAP + 6ul * ARRAY, large ? 64 * TABLE : TABLE, CHAIN + 1);
        feed_read(&run.feeding, HEAP + 6ul * ARRAY);
        for (unsigned i = 0; i < PAIRS; i++) {
            struct event_stream event = stream(GOOD | STREAM_REENTERED, STREAM_NO_LATENCY);
            event.addr = HEAP + 6ul * ARRAY + i % 8 * LINE;
            event.ahead = 0;
            next_burst(&run);
            put(&run, 0, event);
        }
        end(&run);
        assert_int_equal(run.traffic->all.state, large ? TRAFFIC_UNKNOWN : TRAFFIC_CACHED);
        finish(&run);
    }
}

/* Steps that are small but uneven are fast by prefetching or by caches: unknown, but for a variable that stays in place. */
static void small_steps(void **state)
{
    (void)state;
    struct event_stream event = stream(GOOD | STREAM_NEAR, STREAM_NO_LATENCY);
    event.stride = 0;
    event.ahead = 0;
    struct run run = run_of(event, PAIRS);
    assert_int_equal(run.traffic->all.state, TRAFFIC_UNKNOWN);
    finish(&run);
    event.flags |= STREAM_STILL;
    run = run_of(event, PAIRS);
    assert_int_equal(run.traffic->all.state, TRAFFIC_CACHED);
    finish(&run);
}

static void stores(void **state)
{
    (void)state;
    struct run run = run_of(stream(PASSED | STREAM_WRITE, SLOW), PAIRS);
    near(run.traffic->all.read, RATE);
    near(run.traffic->all.written, RATE);
    near(run.traffic->all.allocated, RATE);
    finish(&run);
    run = run_of(stream(PASSED | STREAM_WRITE | STREAM_NONTEMPORAL, SLOW), PAIRS);
    assert_true(run.traffic->all.read == 0);
    near(run.traffic->all.written, RATE);
    finish(&run);
}

/* b[i - 1], b[i], b[i + 1], and a store to the same lines: one line comes, one goes. */
static void lines_count_once(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < PAIRS; i++) {
        next_burst(&run);
        for (unsigned k = 0; k < 4; k++) {
            struct event_stream event = stream(PASSED | (k == 3 ? STREAM_WRITE : 0), SLOW);
            event.pc += k;
            event.addr += k % 3 * STRIDE;
            put(&run, 0, event);
        }
    }
    end(&run);
    near(run.traffic->all.read, RATE);
    near(run.traffic->all.written, RATE);
    assert_true(run.traffic->all.allocated == 0);
    finish(&run);
}

/* Strides of four lines, and a gather of two elements an execution. */
static void lines_of_a_turn(void **state)
{
    (void)state;
    struct event_stream event = stream(PASSED, SLOW);
    event.stride = 256;
    struct run run = run_of(event, PAIRS);
    near(run.traffic->all.read, RATE * 64 / STRIDE);
    finish(&run);
    event = stream(GOOD, STREAM_NO_LATENCY);
    event.stride = 0;
    event.ahead = 0;
    event.times = 40;
    for (unsigned i = 0; i < STREAM_LATENCIES; i++)
        event.latencies[i] = SLOW;
    run = run_of(event, PAIRS);
    near(run.traffic->all.read, 2 * RATE * 64 / STRIDE);
    near(run.traffic->all.exposed / run.traffic->all.accesses, 1);
    finish(&run);
}

/* A thread that computes in every other burst; a second one, on the other node, with an array of its own. */
static void shares_of_time(void **state)
{
    (void)state;
    struct run run = begin();
    for (unsigned i = 0; i < 2 * PAIRS; i++) {
        struct event_stream event = stream(PASSED, SLOW), nothing = {.iterations = -1, .ahead_ns = STREAM_NO_LATENCY};
        next_burst(&run);
        put(&run, 0, i % 2 ? event : nothing);
        event.addr += 2ul * ARRAY;
        event.ahead += 2ul * ARRAY;
        put(&run, 1, event);
    }
    const struct traffic *traffic = end(&run);
    assert_int_equal(traffic->threads.count, 2);
    assert_int_equal(traffic->objects.count, 2);
    near(traffic->threads.items[0].bytes.read, RATE);
    near(traffic->threads.items[1].bytes.read, RATE / 2);
    near(traffic->objects.items[0].bytes.read, RATE);
    near(traffic->objects.items[1].bytes.read, RATE / 2);
    double placed = 0;
    for (unsigned i = 0; i < 4; i++)
        placed += traffic->node_pairs[i];
    near(placed + traffic->unplaced, traffic_total(&traffic->all));
    finish(&run);
}

/* Two functions by the same thread: one streams, the other one's loop was entered again, so that its bytes are unknown. A third
 * has samples and no stream. */
static void functions(void **state)
{
    (void)state;
    static const uint64_t at[] = {0x1000, 0x2000, 0x3000};
    struct run run = begin();
    for (uint32_t i = 0; i < 3; i++) {
        feed_stack(&run.feeding, CHAIN + 2 + i, 1, &at[i]);
        feed_burst(&run.feeding, (struct burst_of){.addr = HEAP, .stack = CHAIN + 2 + i, .count = 30 - 10 * i});
    }
    for (unsigned i = 0; i < 2 * PAIRS; i++) {
        struct event_stream event = stream(i % 2 ? PASSED : GOOD | STREAM_REENTERED, SLOW);
        event.pc = at[i % 2 ? 0 : 1];
        next_burst(&run);
        put(&run, 0, event);
    }
    end(&run);
    assert_int_equal(flow_function_count(run.feeding.flow), 3);
    assert_null(traffic_of_function(run.traffic, 0));
    traffic_functions(run.traffic);
    const struct traffic_bytes *known = traffic_of_function(run.traffic, 0),
                               *other = traffic_of_function(run.traffic, 1);
    assert_true(known && known->is_rated && other && !other->is_rated);
    near(known->read, RATE / 2);
    assert_null(traffic_of_function(run.traffic, 2));
    assert_null(traffic_of_function(run.traffic, 3));
    finish(&run);
}

/* Main streams over its own array and, one burst in four, over the other thread's: a quarter of the bytes is remote, whatever
 * accesses to caches are. Of one node, and of bytes that are not known, nothing is said. */
static void remote_share(void **state)
{
    (void)state;
    struct run run = begin();
    for (uint64_t i = 0; i < 2; i++)
        for (uint64_t page = 0; page < 8; page++) {
            run.feeding.tid = PID + (uint32_t)i;
            feed_touch(&run.feeding, HEAP + i * 2 * ARRAY + page * 4096);
        }
    run.feeding.tid = PID;
    for (unsigned i = 0; i < 4 * PAIRS; i++) {
        struct event_stream event = stream(PASSED, SLOW);
        event.addr += i % 4 ? 0 : 2ul * ARRAY;
        event.ahead += i % 4 ? 0 : 2ul * ARRAY;
        next_burst(&run);
        put(&run, 0, event);
    }
    near(traffic_remote_share(end(&run)), 0.25);
    near(run.traffic->node_pairs[0], 0.75 * RATE);
    near(run.traffic->node_pairs[1], 0.25 * RATE);
    run.traffic->unplaced = RATE * 2;
    assert_true(traffic_remote_share(run.traffic) < 0);
    run.traffic->unplaced = 0;
    run.traffic->all.is_rated = false;
    assert_true(traffic_remote_share(run.traffic) < 0);
    finish(&run);
}

/* A loop that is entered again and found anywhere: how much comes from memory is not known, but what is on either side of it is. */
static double most_of(unsigned slow_ahead, unsigned slow_behind, int64_t stride, unsigned pairs)
{
    struct run run = begin();
    double most = 0;
    for (unsigned i = 0; i < pairs; i++) {
        struct event_stream event = stream(GOOD | STREAM_REENTERED | STREAM_NEAR, i % 10 < slow_ahead ? SLOW : FAST);
        event.addr += ARRAY / 2;
        event.ahead += ARRAY / 2;
        event.stride = stride;
        event.behind = 100;
        event.behind_ns = i % 10 < slow_behind ? SLOW : FAST;
        event.iterations = -1;
        next_burst(&run);
        put(&run, 0, event);
    }
    end(&run);
    assert_false(run.traffic->all.is_rated);
    assert_int_equal(run.traffic->cells.count, pairs);
    assert_int_equal(run.traffic->too_few ? run.traffic->objects.count : 0, 0);
    array_each (&run.traffic->cells, const struct traffic_cell, cell) {
        assert_true(!cell->rated && cell->read == 0);
        most = fmax(most, cell->most);
    }
    finish(&run);
    return most;
}

/* Lines in a second at most, where `back` of ten pairs find the loop behind; `runs` of it in a burst. */
static double most_lines(unsigned back, uint16_t runs)
{
    struct run run = begin();
    for (unsigned i = 0; i < PAIRS; i++) {
        struct event_stream event = stream((runs < 3 ? STREAM_PAIRED : GOOD) | STREAM_REENTERED, STREAM_NO_LATENCY);
        event.ahead = 0;
        event.runs = event.times = runs;
        event.iterations = i % 10 < back ? -1 : TURNS;
        next_burst(&run);
        put(&run, 0, event);
    }
    end(&run);
    double most = 0;
    assert_false(run.traffic->all.is_rated);
    array_each (&run.traffic->cells, const struct traffic_cell, cell)
        most += cell->most_lines;
    finish(&run);
    return most;
}

static void at_most(void **state)
{
    (void)state;
    near(most_lines(0, 20), 2 * RATE / LINE);
    near(most_lines(0, 1), 10 * RATE / LINE); /* a fifth of the bursts in its loop may meet it */
    assert_true(isinf(most_lines(2, 20)));
    near(most_of(0, 0, 64, 10 * PAIRS), 3.0 / (10 * PAIRS)); /* none of so many: 3 of them at most, by chance */
    near(most_of(0, 0, 0, 10 * PAIRS), 3.0 / (10 * PAIRS));
    near(most_of(0, 0, 16, 10 * PAIRS), 3.0 / (10 * PAIRS) / 4); /* four accesses to a line */
    double half = (5 * PAIRS + 1 + 2 * sqrt(5 * PAIRS + 1)) / (10 * PAIRS);
    near(most_of(5, 1, 256, 10 * PAIRS), half); /* the worse side */
    near(most_of(1, 5, 256, 10 * PAIRS), half);
    near(most_of(10, 0, 64, PAIRS), 1);
    near(most_of(0, 0, 64, 7), 1); /* too few loads; and too few pairs for anything else */
}

static void nothing_recorded(void **state)
{
    (void)state;
    struct run run = begin();
    const struct traffic *traffic = end(&run);
    assert_false(traffic->recorded);
    assert_false(traffic->all.is_rated);
    assert_int_equal(traffic->objects.count, 0);
    finish(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream),         cmocka_unit_test(over_time),        cmocka_unit_test(a_stream_in_a_cache),
        cmocka_unit_test(what_is_not_said), cmocka_unit_test(rows_of_a_matrix), cmocka_unit_test(rows_of_a_stencil),
        cmocka_unit_test(threads_together), cmocka_unit_test(small_and_busy),   cmocka_unit_test(small_steps),
        cmocka_unit_test(stores),           cmocka_unit_test(lines_count_once), cmocka_unit_test(lines_of_a_turn),
        cmocka_unit_test(shares_of_time),   cmocka_unit_test(functions),        cmocka_unit_test(remote_share),
        cmocka_unit_test(nothing_recorded), cmocka_unit_test(at_most),
    };
    return cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
