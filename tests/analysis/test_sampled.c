/* Bytes from memory by the data sources of hardware samples: each stands for a known number of loads, so that the answer is known. */
#include "bursts.h"
#include "analysis/thresholds.h"

#include "analysis/traffic/traffic_times.h"

enum { LINE = 64, ARRAY = 1 << 20, PERIOD = 10000, PLENTY = 100 };

struct run {
    struct feeding feeding;
    struct traffic *traffic;
};

static uint64_t array_at(unsigned index)
{
    return HEAP + index * 2ul * ARRAY;
}

/* A real machine of two nodes with a CPU each, an array for each, sampled by `source`. */
static struct run begin(const char *source)
{
    struct error err = {0};
    struct run run = {.feeding = feeding_new("numa:2 core:1", ASSIGN_PACKED)};
    struct feeding *f = &run.feeding;
    struct trace_session *session = trace_session_new();
    f->topology->simulated = false;
    trace_session_set(session, "command", "made up");
    trace_session_set(session, "source", source);
    snprintf(f->path, sizeof f->path, "/tmp/numalens-sampled-%d.data", (int)getpid());
    f->writer = trace_writer_open(f->path, session, &err);
    assert_non_null(f->writer);
    trace_session_free(session);
    feed_start(f, PID, 1, false);
    feed_thread(f, PID + 1, "worker", 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t frames[] = {0x400000 + i * 0x1000, 0x500000};
        feed_stack(f, CHAIN + i, 2, frames);
        feed_alloc(f, array_at(i), ARRAY, CHAIN + i);
    }
    return run;
}

struct sampled { /* so many samples of thread `thread` in its array */
    unsigned count;
    uint32_t thread;
    uint8_t level, flags, source;
    uint32_t period;
};

static void put(struct run *run, struct sampled of)
{
    for (unsigned i = 0; i < of.count; i++) {
        run->feeding.time += MS;
        feed(&run->feeding, (struct event){.kind = EVENT_SAMPLE,
                                           .time = run->feeding.time,
                                           .tid = PID + of.thread,
                                           .sample = {.addr = array_at(of.thread) + i * 8ul,
                                                      .cpu = (uint16_t)of.thread,
                                                      .stack = CHAIN + of.thread,
                                                      .period = of.period,
                                                      .level = of.level,
                                                      .source = of.source ? of.source : SOURCE_PEBS,
                                                      .flags = of.flags ? of.flags : SAMPLE_READ}});
    }
}

static const struct traffic *finish(struct run *run)
{
    feeding_build(&run->feeding);
    run->traffic = traffic_find(run->feeding.flow, 0);
    assert_int_equal(run->traffic->source, TRAFFIC_DATA_SOURCES);
    return run->traffic;
}

static void release(struct run *run)
{
    traffic_free(run->traffic);
    feeding_free(&run->feeding);
}

static const struct traffic_bytes *of_array(const struct traffic *traffic, unsigned index)
{
    array_each (&traffic->objects, const struct traffic_object, row)
        if (flow_object(traffic->flow, row->object)->addr == array_at(index))
            return &row->bytes;
    fail_msg("array %u has no row", index);
    return NULL;
}

static double lines(const struct traffic *traffic, double count)
{
    return count * LINE / traffic->seconds;
}

static void loads_that_memory_answered_are_a_line_each(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM, .period = PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_L1, .period = 3 * PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .thread = 1, .level = LEVEL_REMOTE_RAM, .period = 2 * PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .thread = 1, .level = LEVEL_LFB, .period = 2 * PERIOD});
    const struct traffic *traffic = finish(&run);
    const struct traffic_bytes *first = of_array(traffic, 0), *second = of_array(traffic, 1);
    assert_false(traffic->too_few);
    assert_false(traffic->recorded);
    assert_true(traffic->all.is_rated && first->is_rated && second->is_rated);
    assert_float_equal(first->read, lines(traffic, 1. * PLENTY * PERIOD), 1);
    assert_float_equal(second->read, lines(traffic, 2. * PLENTY * PERIOD), 1);
    assert_float_equal(traffic_total(&traffic->all), lines(traffic, 3. * PLENTY * PERIOD), 1);
    assert_float_equal(first->exposed / first->accesses, 0.25, 1e-9);
    assert_float_equal(first->cached / first->accesses, 0.75, 1e-9);
    assert_float_equal(second->exposed / second->accesses, 0.5, 1e-9);
    assert_float_equal(second->under_way / second->accesses, 0.5, 1e-9);
    assert_float_equal(second->known / second->accesses, 0.5, 1e-9);
    /* What caches answered may have been prefetched: that it is cached is not said. */
    assert_int_equal(first->state, TRAFFIC_UNKNOWN);
    assert_int_equal(traffic->sampled.memory, 2 * PLENTY);
    assert_int_equal(traffic->sampled.remote, PLENTY);
    release(&run);
}

static void sources_say_which_node_answered(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM, .period = PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .thread = 1, .level = LEVEL_REMOTE_RAM, .period = PERIOD});
    const struct traffic *traffic = finish(&run);
    double error, each = lines(traffic, 1. * PLENTY * PERIOD);
    assert_float_equal(traffic->node_pairs[0], each, 1);
    assert_float_equal(traffic->node_pairs[1], 0, 1);
    assert_float_equal(traffic->node_pairs[2], each, 1);
    assert_float_equal(traffic->node_read[0], 2 * each, 1);
    assert_float_equal(traffic->unplaced, 0, 1);
    assert_float_equal(traffic_remote_share(traffic, &error), 0.5, 1e-6);
    assert_int_equal(of_array(traffic, 0)->state, TRAFFIC_MEMORY);
    assert_int_equal(traffic->threads.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct traffic_thread *thread = traffic_of_thread(traffic, traffic->threads.items[i].thread);
        assert_float_equal(thread->bytes.read, each, 1);
        assert_int_equal(thread->bytes.samples, PLENTY);
    }
    release(&run);
}

static void each_sample_has_its_own_weight(void **state)
{
    (void)state;
    struct run run = begin("ibs");
    double sum = 0;
    for (uint32_t i = 1; i <= PLENTY; i++) {
        put(&run, (struct sampled){.count = 1, .level = LEVEL_RAM, .period = i * i, .source = SOURCE_IBS});
        sum += i * i;
    }
    put(&run, (struct sampled){.count = 1, .level = LEVEL_RAM, .period = SAMPLE_PERIOD_MOST, .source = SOURCE_IBS});
    sum += SAMPLE_PERIOD_MOST;
    const struct traffic *traffic = finish(&run);
    assert_float_equal(traffic->all.read, lines(traffic, sum), 1);
    release(&run);
}

static void stores_are_in_no_share(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM, .period = PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_L1, .period = 1000 * PERIOD, .flags = SAMPLE_WRITE});
    put(&run, (struct sampled){.count = 1, .period = PERIOD, .flags = SAMPLE_WRITE});
    const struct traffic *traffic = finish(&run);
    assert_int_equal(traffic->sampled.stores, PLENTY + 1);
    assert_float_equal(traffic->all.exposed / traffic->all.accesses, 1, 1e-9);
    assert_float_equal(traffic->all.read, lines(traffic, 1. * PLENTY * PERIOD), 1);
    release(&run);
}

static void few_samples_say_nothing(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    put(&run, (struct sampled){.count = (unsigned)thresholds.fewest_bursts - 1, .level = LEVEL_RAM, .period = PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_UNKNOWN, .period = PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_L1, .period = PERIOD, .flags = SAMPLE_WRITE});
    const struct traffic *traffic = finish(&run);
    assert_true(traffic->too_few);
    assert_false(traffic->all.is_rated);
    assert_int_equal(traffic->objects.count, 0);
    release(&run);
}

static void few_loads_from_memory_are_no_bytes(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    put(&run, (struct sampled){.count = (unsigned)thresholds.bursts - 1, .level = LEVEL_RAM, .period = PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_L2, .period = PERIOD});
    const struct traffic *traffic = finish(&run);
    assert_false(traffic->too_few);
    assert_false(traffic->all.is_rated);
    assert_false(of_array(traffic, 0)->is_rated);
    assert_true(traffic->all.exposed > 0);
    release(&run);
}

static void a_row_of_few_loads_is_unknown(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM, .period = PERIOD});
    put(&run,
        (struct sampled){.count = (unsigned)thresholds.bursts - 1, .thread = 1, .level = LEVEL_RAM, .period = PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .thread = 1, .level = LEVEL_L1, .period = PERIOD});
    const struct traffic *traffic = finish(&run);
    assert_true(of_array(traffic, 0)->is_rated);
    assert_false(of_array(traffic, 1)->is_rated);
    assert_true(traffic->objects.items[0].bytes.is_rated); /* the unknown last */
    release(&run);
}

static void without_periods_there_are_shares_alone(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM});
    put(&run, (struct sampled){.count = 3 * PLENTY, .level = LEVEL_L3});
    const struct traffic *traffic = finish(&run);
    assert_false(traffic->all.is_rated);
    assert_float_equal(traffic->all.exposed / traffic->all.accesses, 0.25, 1e-9);
    release(&run);
}

/* Where some have a weight, others are of events that the weighed ones are of already. */
static void what_has_no_weight_is_not_counted_twice(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM, .period = PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM});
    const struct traffic *traffic = finish(&run);
    assert_true(traffic->all.is_rated);
    assert_float_equal(traffic->all.read, lines(traffic, 1. * PLENTY * PERIOD), 1);
    release(&run);
}

static void a_load_that_joins_another_brings_no_line(void **state)
{
    (void)state;
    struct run run = begin("ibs");
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM, .period = PERIOD, .source = SOURCE_IBS});
    put(&run, (struct sampled){.count = PLENTY,
                               .level = LEVEL_RAM,
                               .period = PERIOD,
                               .source = SOURCE_IBS,
                               .flags = SAMPLE_READ | SAMPLE_JOINED});
    const struct traffic *traffic = finish(&run);
    assert_float_equal(traffic->all.read, lines(traffic, 1. * PLENTY * PERIOD), 1);
    assert_float_equal(traffic->all.exposed / traffic->all.accesses, 1, 1e-9);
    assert_int_equal(traffic->sampled.joined, PLENTY);
    release(&run);
}

static void lines_of_spe_cannot_be_counted(void **state)
{
    (void)state;
    struct run run = begin("spe");
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM, .period = PERIOD, .source = SOURCE_SPE});
    const struct traffic *traffic = finish(&run);
    assert_false(traffic->too_few);
    assert_false(traffic->all.is_rated);
    assert_float_equal(traffic->all.exposed / traffic->all.accesses, 1, 1e-9);
    release(&run);
}

static void functions_have_theirs(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM, .period = PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .thread = 1, .level = LEVEL_RAM, .period = 3 * PERIOD});
    finish(&run);
    traffic_code(run.traffic);
    double sum = 0;
    for (uint32_t i = 0; i < run.traffic->functions.count; i++) {
        const struct traffic_bytes *bytes = traffic_of_function(run.traffic, i);
        sum += bytes ? bytes->read : 0;
        assert_true(!bytes || bytes->is_rated);
    }
    assert_float_equal(sum, traffic_total(&run.traffic->all), 1);
    release(&run);
}

static void over_time(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    struct traffic_times times;
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM, .period = PERIOD});
    put(&run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM, .period = 3 * PERIOD});
    const struct traffic *traffic = finish(&run);
    traffic_times_make(&times, traffic, 2);
    assert_int_equal(times.items.count, 2);
    double first = times.items.items[0].read[0], second = times.items.items[1].read[0];
    assert_true(times.items.items[0].known && times.items.items[1].known);
    assert_float_equal((first + second) / 2, traffic->all.read, 1);
    assert_true(second > 2.8 * first && second < 3.2 * first);
    traffic_times_free(&times);
    release(&run);
}

/* One hundred samples of each thread over 0.2 s; counters ran for a second. */
static const struct traffic *counted(struct run *run, const char *read, const char *written, const char *moved)
{
    struct trace_session *ending = run->feeding.ending = trace_session_new();
    trace_session_set(ending, "memory_counters", "Intel memory controllers");
    trace_session_set(ending, "memory_counted_ns", "1000000000");
    if (read)
        trace_session_set(ending, "memory_read_bytes", read);
    if (written)
        trace_session_set(ending, "memory_written_bytes", written);
    if (moved)
        trace_session_set(ending, "memory_moved_bytes", moved);
    put(run, (struct sampled){.count = PLENTY, .level = LEVEL_RAM, .period = PERIOD});
    put(run, (struct sampled){.count = PLENTY, .thread = 1, .level = LEVEL_RAM, .period = PERIOD});
    return finish(run);
}

static void controllers_count_what_samples_do_not_show(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    const struct traffic *traffic = counted(&run, "0:7000000000 1:1000", "0:3000000000 1:5000", NULL);
    assert_string_equal(traffic->counted.devices, "Intel memory controllers");
    assert_int_equal(traffic->counted.items.count, 2);
    const struct traffic_memory *first = &traffic->counted.items.items[0], *second = first + 1;
    assert_int_equal(first->nodes, 1);
    assert_float_equal(first->read, 7e9, 1);
    assert_float_equal(first->written, 3e9, 1);
    assert_float_equal(first->moved, 10e9, 1);
    assert_float_equal(first->exposed, traffic->node_read[0], 1);
    /* Counted less than samples stand for: no less than nothing is hidden. */
    assert_true(traffic->node_read[1] > 1000);
    assert_float_equal(second->exposed, second->read, 1e-9);
    release(&run);
}

static void controllers_of_several_nodes_are_one_row(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    const struct traffic *traffic = counted(&run, "0-1:7000000000", NULL, NULL);
    assert_int_equal(traffic->counted.items.count, 1);
    const struct traffic_memory *row = traffic->counted.items.items;
    assert_int_equal(row->nodes, 3);
    assert_float_equal(row->exposed, traffic->node_read[0] + traffic->node_read[1], 1);
    assert_true(row->written < 0 && row->moved < 0); /* not known */
    release(&run);
}

static void what_is_not_distinguished_is_moved(void **state)
{
    (void)state;
    struct run run = begin("pebs");
    const struct traffic *traffic = counted(&run, NULL, NULL, "0:500 1:700");
    assert_int_equal(traffic->counted.items.count, 2);
    assert_float_equal(traffic->counted.items.items[1].moved, 700, 1e-9);
    assert_true(traffic->counted.items.items[1].read < 0 && traffic->counted.items.items[1].exposed < 0);
    release(&run);
}

static void damaged_counts_do_no_harm(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        ":",
                                        "0",
                                        "0:",
                                        "7:5",
                                        "x:1",
                                        "0-:3",
                                        "0:nan",
                                        "0:-5",
                                        "1-0:4",
                                        "0,,1:2",
                                        "0:1e999",
                                        "99999999999999999999:1",
                                        "0-99999999999:1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct run run = begin("pebs");
        const struct traffic *traffic = counted(&run, texts[i], NULL, NULL);
        assert_int_equal(traffic->counted.items.count, 0);
        assert_null(traffic->counted.devices);
        release(&run);
    }
}

/* The same samples by the soft sampler say nothing of traffic: it has bursts for that. */
static void soft_samples_are_no_data_sources(void **state)
{
    (void)state;
    struct run run = begin("soft");
    feeding_build(&run.feeding);
    assert_false(traffic_is_sampled(run.feeding.flow));
    run.traffic = traffic_find(run.feeding.flow, 0);
    assert_int_equal(run.traffic->source, TRAFFIC_NOWHERE);
    release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_that_memory_answered_are_a_line_each),
        cmocka_unit_test(sources_say_which_node_answered),
        cmocka_unit_test(each_sample_has_its_own_weight),
        cmocka_unit_test(stores_are_in_no_share),
        cmocka_unit_test(few_samples_say_nothing),
        cmocka_unit_test(few_loads_from_memory_are_no_bytes),
        cmocka_unit_test(a_row_of_few_loads_is_unknown),
        cmocka_unit_test(without_periods_there_are_shares_alone),
        cmocka_unit_test(what_has_no_weight_is_not_counted_twice),
        cmocka_unit_test(a_load_that_joins_another_brings_no_line),
        cmocka_unit_test(lines_of_spe_cannot_be_counted),
        cmocka_unit_test(functions_have_theirs),
        cmocka_unit_test(over_time),
        cmocka_unit_test(controllers_count_what_samples_do_not_show),
        cmocka_unit_test(controllers_of_several_nodes_are_one_row),
        cmocka_unit_test(what_is_not_distinguished_is_moved),
        cmocka_unit_test(damaged_counts_do_no_harm),
        cmocka_unit_test(soft_samples_are_no_data_sources),
    };
    return cmocka_run_group_tests_name("sampled", tests, NULL, NULL);
}
