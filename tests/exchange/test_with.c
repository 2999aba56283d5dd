/* test_with.c - a recording of perf and an agent's trace of the same run become one: on clocks that differ, on the same, and
 * not at all when they are of two runs. Both are made up, with known distances. */
#include "recording.h"

#include "exchange/perf_import.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include <errno.h>
#include <time.h>

enum {
    FEATURE_HOSTNAME = 3,
    FEATURE_CLOCK_DATA = 29,
    US = 1000,
    MS = 1000000,
    BLOCK_SIZE = 1 << 20,
    OTHER_PID = 90,
};

#define BEGIN     UINT64_C(5000000000000) /* of the run, on the agent's clock */
#define FAR       INT64_C(3210987654321)  /* its clock, minus perf's */
#define BLOCK     0xffff80000010u
#define PERF_TYPE (ids | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC)

static const uint64_t ids = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

struct run {
    struct recording perf;
    char agent[64];
    int64_t distance; /* of the clocks, as written down */
};

static struct event event_at(uint64_t time, uint32_t tid, uint8_t kind)
{
    return (struct event){.time = BEGIN + time, .pid = PID, .tid = tid, .kind = kind};
}

static void append(struct trace_writer *writer, const struct event *event)
{
    struct error err = {0};
    if (trace_writer_append(writer, event, &err) < 0)
        fail_msg("%s", err.text);
}

/* The program: a block, freed, and another one at the same place; a thread. */
static void write_agent(const char *path, const char *host)
{
    struct error err = {0};
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "command", "./it");
    trace_session_set(session, "host", host);
    trace_session_set(session, "source", "soft");
    trace_session_set(session, "burst", "16");
    trace_session_set(session, "topology",
                      "v1 real deal=packed home=first-touch nodes=0:1024 cpus=0*2 distances=10 spec=");
    trace_session_set(session, "start_wall_ns", "1700000000000000000");
    trace_session_setf(session, "start_clock_ns", "%llu", (unsigned long long)BEGIN);
    struct trace_writer *writer = trace_writer_open(path, session, &err);
    trace_session_free(session);
    assert_non_null(writer);
    struct event event = event_at(2 * MS, PID, EVENT_PROCESS_START); /* 2 ms after the exec */
    event.process = (struct event_process){.exe = "/it", .command = "./it"};
    append(writer, &event);
    event = event_at(2 * MS, PID, EVENT_THREAD_START);
    event.thread.name = "it";
    append(writer, &event);
    event = event_at(2 * MS, PID, EVENT_STACK);
    event.stack = (struct event_stack){7, 1, 0, &(uint64_t){0x401100}};
    append(writer, &event);
    for (unsigned i = 0; i < 2; i++) { /* 3 us after each was mapped */
        event = event_at((10 + 10 * i) * MS + 3 * US, PID, EVENT_ALLOC);
        event.alloc = (struct event_alloc){.addr = BLOCK, .size = BLOCK_SIZE, .stack = 7};
        append(writer, &event);
        event = event_at((18 + 10 * i) * MS, PID, EVENT_FREE);
        event.free.addr = BLOCK;
        append(writer, &event);
    }
    event = event_at(12 * MS - 5 * US, TID, EVENT_THREAD_START); /* 5 us before it was made */
    event.thread = (struct event_thread){.name = "it", .entry = 0x401200};
    append(writer, &event);
    event = event_at(13 * MS, PID, EVENT_SAMPLE); /* the agent's own */
    event.sample = (struct event_sample){.addr = BLOCK, .source = SOURCE_SOFT, .flags = SAMPLE_READ};
    append(writer, &event);
    event = event_at(25 * MS - 9 * US, TID, EVENT_THREAD_EXIT); /* 9 us before it ended */
    event.thread.name = "";
    append(writer, &event);
    assert_int_equal(trace_writer_close(writer, NULL, &err), 0);
}

static uint64_t perf_time(const struct run *run, uint64_t time)
{
    return BEGIN + time - (uint64_t)run->distance;
}

static void put_task(struct run *run, uint32_t type, uint32_t tid, uint64_t time)
{
    struct bytes record = begin(&run->perf, type);
    put32(&record, PID), put32(&record, PID);
    put32(&record, tid), put32(&record, PID);
    put64(&record, perf_time(run, time));
    put_id(&record, tid, perf_time(run, time), 0);
    end(&run->perf, &record);
}

static void put_exec(struct run *run, uint64_t time)
{
    struct bytes record = begin(&run->perf, PERF_RECORD_COMM);
    record.size = 4;
    put16(&record, PERF_RECORD_MISC_COMM_EXEC), put16(&record, 0);
    put32(&record, PID), put32(&record, PID);
    put_text(&record, "it", 8);
    put_id(&record, PID, perf_time(run, time), 0);
    end(&run->perf, &record);
}

static void put_map(struct run *run, uint64_t time)
{
    struct bytes record = begin(&run->perf, PERF_RECORD_MMAP2);
    put32(&record, PID), put32(&record, PID);
    put64(&record, BLOCK - 16), put64(&record, BLOCK_SIZE + 4096), put64(&record, 0);
    put64(&record, 0), put64(&record, 0), put64(&record, 0);
    put32(&record, 3), put32(&record, 0x22);
    put_text(&record, "//anon", 8);
    put_id(&record, PID, perf_time(run, time), 0);
    end(&run->perf, &record);
}

static void put_load(struct run *run, uint32_t pid, uint32_t tid, uint64_t time, uint64_t addr)
{
    union perf_mem_data_src source = {.mem_op = PERF_MEM_OP_LOAD, .mem_lvl = PERF_MEM_LVL_L3 | PERF_MEM_LVL_HIT};
    struct bytes record = begin(&run->perf, PERF_RECORD_SAMPLE);
    put64(&record, EVENT_ID), put64(&record, 0x401000);
    put32(&record, pid), put32(&record, tid);
    put64(&record, perf_time(run, time)), put64(&record, addr);
    put32(&record, 1), put32(&record, 0);
    put64(&record, 77); /* weight */
    put64(&record, source.val);
    end(&run->perf, &record);
}

/* What perf saw of the same run. Samples come from the CPUs one after the other, not in order of time. */
static struct run make(int64_t distance, int clockid, const char *host, bool events)
{
    struct run run = {.distance = distance};
    run.perf = start(PERF_TYPE, "cpu/mem-loads/P", "GenuineIntel-6-85-4", false, clockid);
    snprintf(run.agent, sizeof run.agent, "%s.agent", run.perf.path);
    write_agent(run.agent, "here");
    put_feature(&run.perf, FEATURE_HOSTNAME, host);
    if (events) {
        put_exec(&run, 0);
        put_map(&run, 10 * MS);
        put_task(&run, PERF_RECORD_FORK, TID, 12 * MS);
        put_map(&run, 20 * MS);
        put_task(&run, PERF_RECORD_EXIT, TID, 25 * MS);
    }
    put_load(&run, PID, PID, 21 * MS, BLOCK + 64);
    put_load(&run, PID, TID, 22 * MS, BLOCK + 128);
    put_load(&run, PID, PID, 11 * MS, BLOCK + 64);
    put_load(&run, PID, PID, 1 * MS, 0x7ff0); /* before the agent was there */
    put_load(&run, OTHER_PID, OTHER_PID, 23 * MS, 0x5000);
    return run;
}

static int import(struct run *run, struct perf_import *result, struct error *err)
{
    fclose(run->perf.file);
    int code = perf_import(run->perf.path, run->agent, NULL, run->perf.output, result, err);
    unlink(run->perf.path);
    unlink(run->agent);
    return code;
}

/* Every sample within `error` of where it was, and what the agent reported beside it. */
static void check(struct run *run, uint64_t error)
{
    static const struct {
        uint64_t time;
        uint32_t pid, tid;
    } expected[] = {{1 * MS, PID, PID},
                    {11 * MS, PID, PID},
                    {21 * MS, PID, PID},
                    {22 * MS, PID, TID},
                    {23 * MS, OTHER_PID, OTHER_PID}};
    struct perf_import result;
    struct error err = {0};
    if (import(run, &result, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(result.samples, 5);
    struct trace_reader *reader = trace_reader_open(run->perf.output, &err);
    assert_non_null(reader);
    const struct trace_session *session = trace_reader_session(reader);
    assert_string_equal(trace_session_get(session, "source"), "pebs");
    assert_string_equal(trace_session_get(session, "latency_unit"), "cycles");
    assert_string_equal(trace_session_get(session, "command"), "./it");
    assert_null(trace_session_get(session, "burst"));
    struct event event;
    unsigned samples = 0, allocs = 0, chains = 0;
    bool live = false;
    while (trace_reader_next(reader, &event, &err) > 0) {
        if (event.kind == EVENT_STACK && event.pid == PID)
            chains |= 1u << event.stack.id;
        allocs += event.kind == EVENT_ALLOC;
        live = event.kind == EVENT_ALLOC || (live && event.kind != EVENT_FREE);
        if (event.kind != EVENT_SAMPLE)
            continue;
        assert_true(samples < 5);
        assert_int_equal(event.pid, expected[samples].pid);
        assert_int_equal(event.tid, expected[samples].tid);
        assert_in_range(event.time, BEGIN + expected[samples].time - error, BEGIN + expected[samples].time + error);
        assert_int_equal(event.sample.level, LEVEL_L3);
        assert_int_equal(event.sample.latency, 77);
        if (event.pid == PID && samples > 0) {
            assert_true(live);                           /* in the life of the block it belongs to */
            assert_int_equal(event.sample.stack, 7 + 1); /* behind the agent's own numbers */
        }
        samples++;
    }
    assert_int_equal(samples, 5);
    assert_int_equal(allocs, 2);
    assert_int_equal(chains, 1u << 7 | 1u << 8);
    trace_reader_close(reader);
    unlink(run->perf.output);
}

static void by_common_events(void **state)
{
    (void)state;
    struct run run = make(FAR, -1, "here", true);
    check(&run, 4 * US + 1); /* between 3 us after and 5 us before */
    run = make(-FAR, -1, "here", true);
    check(&run, 4 * US + 1);
}

static void by_one_clock(void **state)
{
    (void)state;
    struct run run = make(0, CLOCK_MONOTONIC_RAW, "here", false);
    check(&run, 0);
    run = make(0, CLOCK_MONOTONIC_RAW, "here", true);
    check(&run, 0);
}

static void by_the_wall_clock(void **state)
{
    (void)state;
    struct run run = make(FAR, CLOCK_MONOTONIC, "here", false);
    struct bytes record = begin(&run.perf, HEADER_FEATURE);
    put64(&record, FEATURE_CLOCK_DATA), put32(&record, 1), put32(&record, CLOCK_MONOTONIC);
    put64(&record, 1700000000000000000 + 4 * MS); /* the wall clock, 4 ms after the agent read it */
    put64(&record, perf_time(&run, 4 * MS));
    end(&run.perf, &record);
    check(&run, 0);
}

/* As where a sample's time is another recorder's: it is from before its thread began. */
static void samples_before_their_thread(void **state)
{
    (void)state;
    struct perf_import result;
    struct error err = {0};
    struct run run = make(FAR, -1, "here", true);
    assert_int_equal(import(&run, &result, &err), 0);
    assert_int_equal(result.early, 0);
    unlink(run.perf.output);
    run = make(FAR, -1, "here", true);
    put_load(&run, PID, TID, 12 * MS - 7 * MS, BLOCK + 128);
    put_load(&run, PID, TID, 12 * MS - 3 * MS, BLOCK + 128);
    assert_int_equal(import(&run, &result, &err), 0);
    assert_int_equal(result.early, 2);
    assert_int_equal(result.most_early_ns, 7 * MS);
    unlink(run.perf.output);
}

static void refuse(struct run run, const char *word)
{
    struct perf_import result;
    struct error err = {0};
    assert_true(import(&run, &result, &err) < 0);
    assert_int_equal(err.code, -EINVAL);
    if (!strstr(err.text, word))
        fail_msg("%s", err.text);
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(access(run.perf.output, F_OK), -1);
}

static void what_does_not_fit(void **state)
{
    (void)state;
    refuse(make(FAR, -1, "here", false), "no event in common");
    refuse(make(FAR, -1, "elsewhere", true), "elsewhere");
    refuse(make(5 * MS, CLOCK_MONOTONIC_RAW, "here", true), "not of the same run");
    struct run run = make(FAR, -1, "here", true);
    run.distance += 40 * MS; /* the end of another run */
    put_task(&run, PERF_RECORD_FORK, OTHER_TID, 12 * MS);
    put_task(&run, PERF_RECORD_EXIT, TID, 25 * MS);
    struct perf_import result;
    struct error err = {0};
    assert_int_equal(import(&run, &result, &err), 0); /* what is reported twice is left aside */
    unlink(run.perf.output);
    run = make(FAR, -1, "here", false);
    put_task(&run, PERF_RECORD_FORK, TID, 12 * MS);
    run.distance -= 40 * MS;
    put_map(&run, 10 * MS);
    put_map(&run, 20 * MS);
    refuse(run, "contradict");
    assert_true(perf_import("/nowhere", "/nowhere", NULL, "/tmp/never", &result, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_common_events),  cmocka_unit_test(by_one_clock),
        cmocka_unit_test(by_the_wall_clock), cmocka_unit_test(samples_before_their_thread),
        cmocka_unit_test(what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
