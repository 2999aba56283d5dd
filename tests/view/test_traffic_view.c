/* report traffic of made-up hardware samples, with and without what memory controllers counted: nothing that is unknown is a figure. */
#include "../analysis/bursts.h"
#include "view/view.h"

enum { ARRAY = 1 << 20, PERIOD = 100000, SAMPLES = 100 };

/* Two real nodes with a CPU each; both threads load from node 0's memory, a sample of every PERIOD each millisecond. */
static struct feeding sampled(const char *source, unsigned samples, struct trace_session *ending)
{
    struct error err = {0};
    struct feeding f = feeding_new("numa:2 core:1", ASSIGN_PACKED);
    struct trace_session *session = trace_session_new();
    f.topology->simulated = false;
    f.ending = ending;
    trace_session_set(session, "source", source);
    snprintf(f.path, sizeof f.path, "/tmp/numalens-traffic-view-%d.data", (int)getpid());
    f.writer = trace_writer_open(f.path, session, &err);
    assert_non_null(f.writer);
    trace_session_free(session);
    feed_start(&f, PID, 1, false);
    feed_thread(&f, PID + 1, "worker", 0, 0);
    feed_stack(&f, CHAIN, 1, (uint64_t[]){0x400000});
    feed_alloc(&f, HEAP, ARRAY, CHAIN);
    for (uint32_t i = 0; i < 2 * samples; i++) {
        uint32_t thread = i % 2;
        f.time += MS;
        feed(&f, (struct event){.kind = EVENT_SAMPLE,
                                .time = f.time,
                                .tid = PID + thread,
                                .sample = {.addr = HEAP + i * 64ul,
                                           .cpu = (uint16_t)thread,
                                           .stack = CHAIN,
                                           .period = source[0] == 'i' ? 0 : PERIOD,
                                           .level = thread ? LEVEL_REMOTE_RAM : LEVEL_RAM,
                                           .source = source[0] == 's'   ? SOURCE_SPE
                                                     : source[0] == 'i' ? SOURCE_IBS
                                                                        : SOURCE_PEBS,
                                           .flags = SAMPLE_READ}});
    }
    feeding_build(&f);
    return f;
}

static char *shown_of(struct feeding *f, bool json, const char *damage)
{
    struct error err = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct view_options options = {
        .width = 100, .json = json, .filter = {.kind = -1}, .path = "made-up.data", .damage = damage};
    assert_int_equal(view_traffic(f->flow, &options, out, &err), 0);
    fclose(out);
    feeding_free(f);
    return text;
}

static char *shown(struct feeding *f, bool json)
{
    return shown_of(f, json, NULL);
}

/* Each in its place behind the last; blanks and line ends count as one blank. */
static void has(char *text, const char *const *parts)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (!(*from == ' ' || *from == '\n') || (to > text && to[-1] != ' '))
            *to++ = *from == '\n' ? ' ' : *from;
    *to = 0;
    const char *at = text;
    for (; *parts; parts++) {
        const char *found = strstr(at, *parts);
        if (!found)
            fail_msg("no '%s' in: %s", *parts, at);
        at = found + strlen(*parts);
    }
    free(text);
}
#define HAS(text, ...) has(text, (const char *const[]){__VA_ARGS__, NULL})

static struct trace_session *counts(const char *key, const char *value)
{
    struct trace_session *ending = trace_session_new();
    trace_session_set(ending, key, value);
    return ending;
}

static struct trace_session *counted(void)
{
    struct trace_session *ending = counts("memory_counters", "Intel memory controllers");
    trace_session_set(ending, "memory_counted_ns", "500000000");
    trace_session_set(ending, "memory_read_bytes", "0:10000000000 1:1000000000");
    trace_session_set(ending, "memory_written_bytes", "0:5000000000 1:500000000");
    return ending;
}

/* A file that was cut off has another remedy than a run that was too short. */
static void no_samples(void **state)
{
    (void)state;
    struct feeding f = sampled("pebs", 0, NULL);
    HAS(shown(&f, false), "no access was sampled. Record longer");
    f = sampled("pebs", 0, NULL);
    HAS(shown_of(&f, false, "cut off"), "no sample is in what there is of the incomplete file");
}

/* 200 samples of 100,000 lines of 64 bytes in 0.2 s. */
static void samples_alone(void **state)
{
    (void)state;
    struct feeding f = sampled("pebs", SAMPLES, NULL);
    HAS(shown(&f, false), "At least 6.40 GB/s from memory, by the data sources of the processor's samples",
        "100.0% waited for memory", "Memory of another node answered 50%", "From 200 samples: 200 loads",
        "GB/s at least exposed under way cached unknown object", "6.40 100% 0% 0%", "node 0 3.20 unknown",
        "node 1 3.20 unknown");
    f = sampled("pebs", SAMPLES, NULL);
    HAS(shown(&f, true), "\"traffic_source\": \"data-sources\"", "\"at_least\": true", "\"silence\": null",
        "\"node\": 0", "\"write_bytes_s\": null, \"counted\": false", "\"node\": 1, \"read_bytes_s\": null",
        "\"memory\": { \"counters\": null, \"reason\": null");
}

static void beside_counters(void **state)
{
    (void)state;
    struct feeding f = sampled("pebs", SAMPLES, counted());
    HAS(shown(&f, false), "At least 6.40 GB/s", "counted by the Intel memory controllers, whoever caused them",
        "GB/s read write exposed hidden node", "30.00 20.00 10.00 >= 6.40 <= 13.60 0",
        "3.00 2.00 1.00 unknown <= 2.00 1", "Hidden: read, and in no sample");
    f = sampled("pebs", SAMPLES, counted());
    HAS(shown(&f, true),
        "\"node\": 0, \"read_bytes_s\": 20000000000, \"write_bytes_s\": 10000000000, \"counted\": true",
        "\"memory\": { \"counters\": \"Intel memory controllers\", \"reason\": null, \"missing\": false",
        "\"nodes\": [ 0 ]", "\"bytes_s\": 30000000000", "\"hidden_bytes_s\": 136");
}

static void counters_without_samples(void **state)
{
    (void)state;
    struct feeding f = sampled("pebs", 5, counted());
    HAS(shown(&f, false), "who answered 10 of 10 sampled loads, and 30 are needed", "Record longer",
        "30.00 20.00 10.00 unknown unknown 0");
}

static void why_there_are_no_counters(void **state)
{
    (void)state;
    struct feeding f = sampled("pebs", SAMPLES, counts("memory_counters_reason", "virtual machines hide them"));
    HAS(shown(&f, false), "At least 6.40 GB/s", "memory were not counted: virtual machines hide them.");
}

/* Of cycles, or without registers: no sample has a weight. */
static void how_to_record_ibs(void **state)
{
    (void)state;
    struct feeding f = sampled("ibs", SAMPLES, NULL);
    HAS(shown(&f, false), "is not known: IBS says", "ibs_op/cnt_ctl=1/ --raw-samples", "100.0% waited for memory",
        "unknown 100%");
}

static void no_bytes_from_spe(void **state)
{
    (void)state;
    struct feeding f = sampled("spe", SAMPLES, NULL);
    HAS(shown(&f, false), "SPE does not report which loads wait for the same line", "100.0% waited for memory",
        "unknown 100%");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_samples),
        cmocka_unit_test(samples_alone),
        cmocka_unit_test(beside_counters),
        cmocka_unit_test(counters_without_samples),
        cmocka_unit_test(why_there_are_no_counters),
        cmocka_unit_test(how_to_record_ibs),
        cmocka_unit_test(no_bytes_from_spe),
    };
    return cmocka_run_group_tests_name("traffic_view", tests, NULL, NULL);
}
