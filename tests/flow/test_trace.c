/* The whole way: a trace on disk, a flow of it, its accesses in order of time. */
#include "feeding.h"
#include "trace/writer.h"

#include <stdio.h>
#include <unistd.h>

enum { SAMPLES = 5000, THREADS = 3 };

static char path[64];

/* Three threads take turns on two blocks; thread 2 never touches the second one. */
static void write_trace(const char *topology)
{
    struct error err = {0};
    snprintf(path, sizeof path, "/tmp/numalens-test-%d.data", (int)getpid());
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "command", "made up");
    if (topology)
        trace_session_set(session, "topology", topology);
    struct trace_writer *writer = trace_writer_open(path, session, &err);
    assert_non_null(writer);
    struct event events[] = {
        {.time = 10, .kind = EVENT_PROCESS_START, .process = {.exe = "/bin/it", .command = "it"}},
        {.time = 20, .kind = EVENT_ALLOC, .alloc = {.addr = 0x10000, .size = 0x1000}},
        {.time = 21, .kind = EVENT_ALLOC, .alloc = {.addr = 0x20000, .size = 0x1000}},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        events[i].pid = events[i].tid = PID;
        assert_int_equal(trace_writer_append(writer, &events[i], &err), 0);
    }
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint32_t thread = i % THREADS;
        bool second = thread != 2 && i % 2;
        struct event event = {.time = 100 + i, .pid = PID, .tid = PID + thread, .kind = EVENT_SAMPLE};
        event.sample = (struct event_sample){.addr = (second ? 0x20000 : 0x10000) + i % 64 * 8,
                                             .latency = i,
                                             .cpu = (uint16_t)thread,
                                             .flags = SAMPLE_HAS_LATENCY | (i % 5 ? SAMPLE_READ : SAMPLE_WRITE)};
        assert_int_equal(trace_writer_append(writer, &event, &err), 0);
    }
    assert_int_equal(trace_writer_close(writer, session, &err), 0);
    trace_session_free(session);
}

static struct flow *open_flow(struct trace_reader **reader, struct symbols *symbols, const struct topology *topology)
{
    struct error err = {0};
    *reader = trace_reader_open(path, &err);
    assert_non_null(*reader);
    struct flow *flow = flow_build(*reader, symbols, &(struct flow_options){.topology = topology}, &err);
    assert_non_null(flow);
    return flow;
}

static void accesses_come_in_order_of_time(void **state)
{
    (void)state;
    write_trace(NULL);
    struct trace_reader *reader;
    struct symbols *symbols = symbols_new();
    struct flow *flow = open_flow(&reader, symbols, NULL);
    struct flow_access access;
    assert_int_equal(flow_totals(flow).samples, SAMPLES);
    assert_int_equal(flow_sampled_object_count(flow), 2);

    struct flow_iter *iter = flow_accesses(flow);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        assert_true(flow_next(iter, &access));
        assert_int_equal(access.time, 100 + i);
        assert_int_equal(access.latency, i);
        assert_int_equal(access.write, i % 5 == 0);
        assert_int_equal(flow_thread(flow, access.thread)->tid, PID + i % THREADS);
    }
    assert_false(flow_next(iter, &access));
    flow_iter_free(iter);

    uint64_t all = 0;
    for (uint32_t object = 0; object < 2; object++) {
        uint64_t count = 0, last = 0;
        iter = flow_object_accesses(flow, object);
        while (flow_next(iter, &access)) {
            assert_int_equal(access.object, object);
            assert_true(access.time > last);
            assert_int_equal(access.addr >> 16, object + 1);
            last = access.time;
            count++;
        }
        flow_iter_free(iter);
        assert_int_equal(count, flow_object(flow, object)->totals.samples);
        all += count;
    }
    assert_int_equal(all, SAMPLES);
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        uint64_t count = 0, last = 0;
        iter = flow_thread_accesses(flow, thread);
        while (flow_next(iter, &access)) {
            assert_int_equal(access.thread, thread);
            assert_true(access.time > last);
            last = access.time;
            count++;
        }
        flow_iter_free(iter);
        assert_int_equal(count, flow_thread(flow, thread)->totals.samples);
    }
    iter = flow_object_accesses(flow, 77);
    assert_false(flow_next(iter, &access));
    flow_iter_free(iter);
    flow_free(flow);
    symbols_free(symbols);
    trace_reader_close(reader);
    unlink(path);
}

static void another_machine_can_be_simulated_afterwards(void **state)
{
    (void)state;
    write_trace(NULL);
    struct error err = {0};
    struct trace_reader *reader;
    struct symbols *symbols = symbols_new();
    struct topology *topology = topology_simulate("numa:3 core:1", ASSIGN_PACKED, &err);
    struct flow *flow = open_flow(&reader, symbols, topology);
    assert_int_equal(flow_totals(flow).home_known, SAMPLES);
    /* The first block's page was first used by the first thread, the second one's by the second. */
    const struct flow_object *first = flow_object(flow, 0);
    assert_int_equal(first->totals.samples - first->totals.remote, (SAMPLES + 5) / 6);
    assert_true(flow_topology(flow)->simulated);
    flow_free(flow);
    topology_free(topology);
    symbols_free(symbols);
    trace_reader_close(reader);
    unlink(path);
}

static void a_topology_that_makes_no_sense_is_an_error(void **state)
{
    (void)state;
    write_trace("nonsense \x01\x02");
    struct error err = {0};
    struct symbols *symbols = symbols_new();
    struct trace_reader *reader = trace_reader_open(path, &err);
    assert_non_null(reader);
    assert_null(flow_build(reader, symbols, NULL, &err));
    assert_non_null(strstr(err.text, "topology"));
    symbols_free(symbols);
    trace_reader_close(reader);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_come_in_order_of_time),
        cmocka_unit_test(another_machine_can_be_simulated_afterwards),
        cmocka_unit_test(a_topology_that_makes_no_sense_is_an_error),
    };
    return cmocka_run_group_tests_name("trace to flow", tests, NULL, NULL);
}
