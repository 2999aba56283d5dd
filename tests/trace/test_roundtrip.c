/* What is appended comes back, field by field, in order of time. */
#include "../scratch_file.h"
#include "trace/lane.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "event_line.h"
#include "churn.h"
#include "wild.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

enum { EVENTS = 60000, LINE_BYTES = 2048 };

struct kept {
    uint64_t time;
    uint8_t kind;
    char *line;
};

static int by_time_and_kind(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return strcmp(a->line, b->line);
}

static struct trace_writer *open_writer(void)
{
    struct error err;
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "command", "test");
    struct trace_writer *writer = trace_writer_open(scratch_path, session, &err);
    trace_session_free(session);
    assert_non_null(writer);
    return writer;
}

static void close_writer(struct trace_writer *writer)
{
    struct error err;
    struct trace_session *ending = trace_session_new();
    trace_session_setf(ending, "exit_status", "%d", 3);
    assert_int_equal(trace_writer_close(writer, ending, &err), 0);
    trace_session_free(ending);
}

static struct trace_reader *open_reader(void)
{
    struct error err;
    struct trace_reader *reader = trace_reader_open(scratch_path, &err);
    assert_non_null(reader);
    return reader;
}

static void every_field_comes_back_in_order(void **state)
{
    (void)state;
    struct error err;
    struct wild wild = {.random = 42};
    static struct kept written[EVENTS], read[EVENTS];
    char line[LINE_BYTES];
    struct trace_writer *writer = open_writer();
    for (int i = 0; i < EVENTS; i++) {
        struct event event = wild_event(&wild, 1 + wild_number(&wild) % (EVENT_KINDS - 1));
        assert_int_equal(trace_writer_append(writer, &event, &err), 0);
        event_line(&event, line, sizeof line);
        written[i] = (struct kept){event.time, event.kind, strdup(line)};
        if (i % 10000 == 0)
            assert_int_equal(trace_writer_flush(writer, &err), 0);
    }
    close_writer(writer);

    struct trace_reader *reader = open_reader();
    assert_null(trace_reader_damage(reader));
    assert_string_equal(trace_session_get(trace_reader_session(reader), "command"), "test");
    assert_int_equal(trace_session_number(trace_reader_ending(reader), "exit_status", 0), 3);
    uint64_t total = 0;
    for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
        total += trace_reader_count(reader, kind);
    assert_int_equal(total, EVENTS);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < EVENTS; i++) {
            struct event event;
            assert_int_equal(trace_reader_next(reader, &event, &err), 1);
            event_line(&event, line, sizeof line);
            read[i] = (struct kept){event.time, event.kind, strdup(line)};
            if (i)
                assert_true(read[i - 1].time < event.time ||
                            (read[i - 1].time == event.time && read[i - 1].kind <= event.kind));
        }
        struct event event;
        assert_int_equal(trace_reader_next(reader, &event, &err), 0);
        qsort(written, EVENTS, sizeof *written, by_time_and_kind);
        qsort(read, EVENTS, sizeof *read, by_time_and_kind);
        for (int i = 0; i < EVENTS; i++) {
            assert_string_equal(read[i].line, written[i].line);
            free(read[i].line);
        }
        trace_reader_rewind(reader);
    }
    for (int i = 0; i < EVENTS; i++)
        free(written[i].line);
    trace_reader_close(reader);
}

/* Blocks that are released and allocated again, some of them by other threads, more than a run keeps slots for. */
static void lives_of_blocks_come_back_in_order(void **state)
{
    (void)state;
    enum { THREADS = 3, LIVES = 60000 };
    struct error err;
    char line[LINE_BYTES], same[LINE_BYTES];
    for (unsigned way = 0; way < 4; way++) {
        struct trace_writer *writer = open_writer();
        struct churn churns[THREADS], again[THREADS];
        struct trace_lane lanes[THREADS] = {0};
        for (uint32_t i = 0; i < THREADS; i++)
            again[i] = churns[i] =
                (struct churn){.random = 99 + i, .tid = 1 + i, .exact = way & 1, .long_lived = (way & 2) != 0};
        for (int i = 0; i < LIVES; i++) {
            struct event event = churn_next(&churns[i % THREADS]);
            assert_int_equal(trace_writer_append_lane(writer, &lanes[i % THREADS], &event, &err), 0);
            if (i == LIVES / 4 * 3)
                assert_int_equal(trace_writer_flush(writer, &err), 0);
        }
        for (uint32_t i = 0; i < THREADS; i++)
            trace_lane_drop(&lanes[i]);
        close_writer(writer);
        struct trace_reader *reader = open_reader();
        struct event event;
        for (int i = 0; i < LIVES; i++) {
            assert_int_equal(trace_reader_next(reader, &event, &err), 1);
            struct event expected = churn_next(&again[event.tid - 1]);
            if (memcmp(&event, &expected, sizeof event) == 0)
                continue; /* what is between the fields is alike too */
            event_line(&event, line, sizeof line);
            event_line(&expected, same, sizeof same);
            assert_string_equal(line, same);
        }
        assert_int_equal(trace_reader_next(reader, &event, &err), 0);
        trace_reader_close(reader);
    }
}

static void another_format_is_refused(void **state)
{
    (void)state;
    struct error err = {0};
    close_writer(open_writer());
    FILE *file = fopen(scratch_path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 8, SEEK_SET), 0);
    assert_int_equal(fputc(2, file), 2); /* the lowest byte of the version */
    assert_int_equal(fclose(file), 0);
    assert_null(trace_reader_open(scratch_path, &err));
    assert_non_null(strstr(err.text, "has format 2, this numalens reads format 4"));
}

static void samples_are_found_by_ordinal(void **state)
{
    (void)state;
    struct error err;
    struct wild wild = {.random = 7};
    struct trace_writer *writer = open_writer();
    for (int i = 0; i < EVENTS; i++) {
        struct event event = wild_event(&wild, EVENT_SAMPLE);
        event.time = 1000 + (uint64_t)i / 2;
        assert_int_equal(trace_writer_append(writer, &event, &err), 0);
    }
    close_writer(writer);
    struct trace_reader *reader = open_reader();
    struct event event, again;
    char line[LINE_BYTES], same[LINE_BYTES];
    int count = 0;
    static bool seen[EVENTS];
    trace_reader_only(reader, 1u << EVENT_SAMPLE);
    while (trace_reader_next(reader, &event, &err) == 1) {
        assert_true(event.sample.ordinal < EVENTS);
        assert_false(seen[event.sample.ordinal]);
        seen[event.sample.ordinal] = true;
        assert_int_equal(trace_reader_sample(reader, event.sample.ordinal, &again, &err), 0);
        event_line(&event, line, sizeof line);
        event_line(&again, same, sizeof same);
        assert_string_equal(line, same);
        count++;
    }
    assert_int_equal(count, EVENTS);
    assert_true(trace_reader_sample(reader, EVENTS, &again, &err) < 0);
    trace_reader_close(reader);
}

static void kinds_can_be_left_out(void **state)
{
    (void)state;
    struct error err;
    struct wild wild = {.random = 9};
    struct trace_writer *writer = open_writer();
    for (int i = 0; i < 100; i++) {
        struct event event = wild_event(&wild, i % 2 ? EVENT_ALLOC : EVENT_FREE);
        assert_int_equal(trace_writer_append(writer, &event, &err), 0);
    }
    close_writer(writer);
    struct trace_reader *reader = open_reader();
    trace_reader_only(reader, 1u << EVENT_FREE);
    struct event event;
    int count = 0;
    while (trace_reader_next(reader, &event, &err) == 1) {
        assert_int_equal(event.kind, EVENT_FREE);
        count++;
    }
    assert_int_equal(count, 50);
    trace_reader_close(reader);
}

static void lanes_survive_flushes_and_steps_back(void **state)
{
    (void)state;
    struct error err;
    struct trace_lane lanes[3] = {0};
    struct trace_writer *writer = open_writer();
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 200000; i++) {
        uint32_t thread = i % 3;
        struct event event = {
            .time = 1000 + i - (i % 1000 == 0 ? 900 : 0), .pid = 5, .tid = thread, .kind = EVENT_ALLOC};
        event.alloc = (struct event_alloc){0x10000 + i * 16, i % 77, (uint32_t)(i % 9), 1, ALLOC_MALLOC};
        sum += event.alloc.addr ^ event.alloc.size ^ event.time;
        assert_int_equal(trace_writer_append_lane(writer, &lanes[thread], &event, &err), 0);
        if (i % 7777 == 0)
            assert_int_equal(trace_writer_flush(writer, &err), 0);
    }
    for (int i = 0; i < 3; i++)
        trace_lane_drop(&lanes[i]);
    close_writer(writer);
    struct trace_reader *reader = open_reader();
    struct event event;
    uint64_t last = 0, read = 0;
    while (trace_reader_next(reader, &event, &err) == 1) {
        assert_true(event.time >= last);
        last = event.time;
        read += event.alloc.addr ^ event.alloc.size ^ event.time;
    }
    assert_int_equal(read, sum);
    trace_reader_close(reader);
}

/* Each step back begins a run. Without a bound a block would have more of them than a reader takes. */
static void times_that_go_back_all_the_time(void **state)
{
    (void)state;
    enum { STEPS = 70000 };
    struct error err;
    struct event event = {.kind = EVENT_TOUCH, .pid = 1, .tid = 1};
    struct trace_writer *writer = open_writer();
    for (uint64_t i = 0; i < STEPS; i++) {
        event.time = STEPS - i;
        event.touch.addr = i << 12;
        assert_int_equal(trace_writer_append(writer, &event, &err), 0);
    }
    close_writer(writer);
    struct trace_reader *reader = open_reader();
    assert_null(trace_reader_damage(reader));
    uint64_t last = 0, count = 0;
    while (trace_reader_next(reader, &event, &err) > 0) {
        assert_int_equal(event.time, ++last);
        count++;
    }
    assert_int_equal(count, STEPS);
    trace_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_comes_back_in_order), cmocka_unit_test(lives_of_blocks_come_back_in_order),
        cmocka_unit_test(another_format_is_refused),       cmocka_unit_test(samples_are_found_by_ordinal),
        cmocka_unit_test(kinds_can_be_left_out),           cmocka_unit_test(lanes_survive_flushes_and_steps_back),
        cmocka_unit_test(times_that_go_back_all_the_time),
    };
    return cmocka_run_group_tests_name("roundtrip", tests, scratch_make, scratch_remove);
}
