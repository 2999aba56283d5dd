/* test_moca_export.c - however little is held at once, what is written is the same. */
#include "exchange/moca_export.h"
#include "trace/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { PID = 100, THREADS = 5, INTERVALS = 12, PAGES = 9, INTERVAL = 50 };

static char path[] = "/tmp/numalens-moca-XXXXXX";

/* Each thread in each interval, but the third one, which is there for one only. */
static int write_trace(void **state)
{
    (void)state;
    struct trace_session *session = trace_session_new();
    close(mkstemp(path));
    struct trace_writer *writer = trace_writer_open(path, session, NULL);
    assert_non_null(writer);
    for (uint32_t interval = 0; interval < INTERVALS; interval++)
        for (uint32_t thread = 0; thread < THREADS; thread++)
            for (uint64_t page = 0; page < PAGES && (thread != 3 || interval == 5); page++) {
                uint64_t cpus = UINT64_C(1) << (thread * 7 + interval);
                struct event event = {
                    .time = 1000 + interval * INTERVAL, .pid = PID, .tid = PID + thread, .kind = EVENT_PAGE};
                event.page = (struct event_page){.page = (thread * 1000 + page) * 4096,
                                                 .size = 4096,
                                                 .until = event.time + INTERVAL,
                                                 .reads = interval,
                                                 .writes = (uint32_t)page,
                                                 .mechanism = PAGE_UFFD_WP,
                                                 .cpu_words = 1,
                                                 .cpus = &cpus};
                assert_int_equal(trace_writer_append(writer, &event, NULL), 0);
            }
    assert_int_equal(trace_writer_close(writer, session, NULL), 0);
    trace_session_free(session);
    return 0;
}

static int remove_trace(void **state)
{
    (void)state;
    return unlink(path);
}

/* The caller frees it. */
static char *written(size_t most)
{
    char *text = NULL;
    size_t size;
    struct moca_export result;
    struct error err = {0};
    struct trace_reader *reader = trace_reader_open(path, &err);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(reader);
    assert_int_equal(moca_export(reader, most, out, &result, &err), 0);
    fclose(out);
    trace_reader_close(reader);
    assert_int_equal(result.tasks, THREADS);
    assert_int_equal(result.accesses, ((THREADS - 1) * INTERVALS + 1) * PAGES);
    return text;
}

static void test_same(void **state)
{
    (void)state;
    static const size_t least[] = {1, 2, PAGES, PAGES + 1, 3 * PAGES * INTERVALS, 1000};
    char *all = written(0);
    assert_non_null(strstr(all, "\nC 11 9 1550 1600 "));
    for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
        char *same = written(least[i]);
        assert_string_equal(same, all);
        free(same);
    }
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};
    return cmocka_run_group_tests(tests, write_trace, remove_trace);
}
