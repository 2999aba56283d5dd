/* Asking for homes, and frames with a kernel of our own: home_query and frame_query are defined here. */
#include "../scratch_file.h"
#include "capture/homes.h"
#include "topology/page_frame.h"
#include "topology/home.h"
#include "trace/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { PID = 42, SECOND = 1000000000 };

static int32_t node_of_even = 1; /* odd pages are on node 0; page 13 is nowhere */
static int answer;
static unsigned asked;

int home_query(pid_t pid, const uint64_t *pages, size_t count, int32_t *nodes, struct error *err)
{
    if (answer < 0)
        return error_set(err, answer, "refused");
    assert_int_equal(pid, PID);
    asked += count;
    for (size_t i = 0; i < count; i++) {
        uint64_t page = pages[i] / (uint64_t)sysconf(_SC_PAGESIZE);
        nodes[i] = page == 13 ? -ENOENT : page % 2 ? 0 : node_of_even;
    }
    return 0;
}

static uint64_t moved_by;

int frame_query(pid_t pid, const uint64_t *pages, size_t count, uint64_t *frames, struct error *err)
{
    if (answer < 0)
        return error_set(err, answer, "refused");
    assert_int_equal(pid, PID);
    for (size_t i = 0; i < count; i++)
        frames[i] = pages[i] / (uint64_t)sysconf(_SC_PAGESIZE) == 13 ? 0 : pages[i] + moved_by;
    return 0;
}

static uint64_t address(uint64_t page)
{
    return page * (uint64_t)sysconf(_SC_PAGESIZE) + 123;
}

static struct sink open_sink(void)
{
    struct sink sink = {0};
    struct trace_session *session = trace_session_new();
    sink.writer = trace_writer_open(scratch_path, session, NULL);
    trace_session_free(session);
    assert_non_null(sink.writer);
    return sink;
}

static void new_and_moved_pages_are_reported(void **state)
{
    (void)state;
    struct sink sink = open_sink();
    struct homes *homes = homes_new(&sink, 1 << 20, true, false);
    for (uint64_t i = 0; i < 30; i++)
        homes_sample(homes, PID, address(10 + i % 4), 100 + i);
    homes_ask(homes, 500);
    assert_int_equal(asked, 4);
    assert_int_equal(sink.counts[EVENT_HOME], 3);
    assert_int_equal(sink.lost[LOSS_HOME_UNKNOWN], 1);
    /* Nothing new: nothing is asked or reported. */
    homes_sample(homes, PID, address(10), 600);
    homes_ask(homes, 700);
    assert_int_equal(asked, 4);
    /* After a second the sampled ones are asked for again; one has moved. */
    homes_ask(homes, 700 + SECOND);
    homes_sample(homes, PID, address(10), 800 + SECOND);
    homes_sample(homes, PID, address(11), 800 + SECOND);
    node_of_even = 3;
    homes_ask(homes, 900 + (uint64_t)2 * SECOND);
    assert_int_equal(sink.counts[EVENT_HOME], 4);
    /* The process has exited. */
    homes_sample(homes, PID, address(20), 950);
    answer = -ESRCH;
    homes_ask(homes, 900 + (uint64_t)3 * SECOND);
    assert_int_equal(sink.lost[LOSS_HOME_UNKNOWN], 2);
    homes_free(homes);
    assert_int_equal(trace_writer_close(sink.writer, NULL, NULL), 0);

    struct error err;
    struct event event;
    struct trace_reader *reader = trace_reader_open(scratch_path, &err);
    trace_reader_only(reader, 1u << EVENT_HOME);
    /* The first sampled page comes with the time of that sample, the moved one with the time of the question. */
    assert_int_equal(trace_reader_next(reader, &event, &err), 1);
    assert_int_equal(event.time, 100);
    assert_int_equal(event.home.page, address(10) - 123);
    assert_int_equal(event.home.node, 1);
    while (trace_reader_next(reader, &event, &err) == 1 && event.time < SECOND)
        ;
    assert_int_equal(event.home.page, address(10) - 123);
    assert_int_equal(event.home.node, 3);
    assert_int_equal(event.time, 900 + (uint64_t)2 * SECOND);
    trace_reader_close(reader);
}

static void frames_are_reported_without_nodes(void **state)
{
    (void)state;
    struct sink sink = open_sink();
    struct homes *homes = homes_new(&sink, 1 << 20, false, true);
    answer = 0;
    asked = 0;
    moved_by = 1 << 30;
    for (uint64_t i = 0; i < 30; i++)
        homes_sample(homes, PID, address(10 + i % 4), 100 + i);
    homes_ask(homes, SECOND);
    assert_int_equal(sink.counts[EVENT_FRAME], 3);
    /* The same again is nothing new; another frame is. */
    homes_sample(homes, PID, address(10), SECOND + 1);
    homes_ask(homes, (uint64_t)2 * SECOND);
    assert_int_equal(sink.counts[EVENT_FRAME], 3);
    moved_by = (uint64_t)2 << 30;
    homes_sample(homes, PID, address(10), (uint64_t)2 * SECOND + 1);
    homes_ask(homes, (uint64_t)3 * SECOND);
    assert_int_equal(sink.counts[EVENT_FRAME], 4);
    answer = -ESRCH;
    homes_sample(homes, PID, address(20), (uint64_t)3 * SECOND + 1);
    homes_ask(homes, (uint64_t)4 * SECOND);
    assert_int_equal(homes_memory(homes), 0); /* it has exited */
    assert_int_equal(asked, 0);
    assert_int_equal(sink.counts[EVENT_HOME] + sink.lost[LOSS_HOME_UNKNOWN], 0);
    homes_free(homes);
    trace_writer_close(sink.writer, NULL, NULL);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    struct sink sink = open_sink();
    struct homes *homes = homes_new(&sink, 1 << 16, true, false);
    answer = 0;
    for (uint64_t page = 100; page < 100000; page++) {
        homes_sample(homes, PID, address(page), page);
        if (page % 100 == 0)
            homes_ask(homes, page);
        assert_true(homes_memory(homes) <= 1 << 16);
    }
    assert_true(sink.counts[EVENT_HOME] > 99000);
    homes_free(homes);
    trace_writer_close(sink.writer, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_and_moved_pages_are_reported),
        cmocka_unit_test(frames_are_reported_without_nodes),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests_name("homes", tests, scratch_make, scratch_remove);
}
