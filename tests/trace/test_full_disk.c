/* The disk is full at every byte of a trace in turn: what was written whole is there, the rest is counted and reported. */
#include "trace/reader.h"
#include "trace/writer.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

enum { FLUSHES = 6, EVENTS = 40 };

struct written {
    uint64_t bytes[FLUSHES + 1]; /* in the file after each flush; the first: when it was opened */
    uint64_t unwritten;
    int opened, closed;
};

static struct written write_trace(const char *path)
{
    struct written written = {.opened = -1};
    struct error err = {0};
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "command", "none");
    struct trace_writer *writer = trace_writer_open(path, session, &err);
    if (writer) {
        written.opened = 0;
        written.bytes[0] = trace_writer_bytes(writer);
        for (unsigned flush = 1; flush <= FLUSHES; flush++) {
            for (unsigned i = 0; i < EVENTS; i++) {
                struct event event = {.time = 1000 * flush + i, .pid = 1, .tid = 1, .kind = EVENT_TOUCH};
                event.touch.addr = (uint64_t)flush * i * 0x9e3779b97f4a7c15u >> 8;
                trace_writer_append(writer, &event, NULL);
            }
            trace_writer_flush(writer, NULL);
            written.bytes[flush] = trace_writer_bytes(writer);
        }
        written.unwritten = trace_writer_unwritten(writer);
        written.closed = trace_writer_close(writer, session, &err);
    }
    trace_session_free(session);
    return written;
}

static void limit(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void full_at_every_byte(void **state)
{
    (void)state;
    struct error err;
    char path[] = "/tmp/numalens-full-XXXXXX";
    close(mkstemp(path));
    signal(SIGXFSZ, SIG_IGN);
    struct written whole = write_trace(path);
    assert_int_equal(whole.closed, 0);
    for (uint64_t room = 0; room <= whole.bytes[FLUSHES]; room++) {
        limit(room);
        struct written cut = write_trace(path);
        limit(RLIM_INFINITY);
        unsigned blocks = 0;
        while (blocks < FLUSHES && whole.bytes[blocks + 1] <= room)
            blocks++;
        assert_int_equal(cut.opened, room >= whole.bytes[0] ? 0 : -1);
        if (cut.opened < 0)
            continue;
        assert_int_equal(cut.unwritten, (FLUSHES - blocks) * EVENTS);
        assert_true(cut.closed < 0); /* even if only the last block found no room */
        struct trace_reader *reader = trace_reader_open(path, &err);
        assert_non_null(reader);
        assert_int_equal(trace_reader_count(reader, EVENT_TOUCH), blocks * EVENTS);
        assert_true(trace_reader_damage(reader) || trace_reader_ending(reader));
        trace_reader_close(reader);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(full_at_every_byte)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
