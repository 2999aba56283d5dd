/* A page of a made-up recording: everything is in it, and its maps get coarser when it has to be small. */
#include "page/encode.h"
#include "page/page.h"
#include "trace/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

enum { PID = 100, PAGES = 6000, BASE = 0x10000000, ROOM = 64 << 20 };

static char path[64];

static void put(struct trace_writer *writer, struct event event)
{
    struct error err = {0};
    event.pid = PID;
    event.tid = event.tid ? event.tid : PID;
    assert_int_equal(trace_writer_append(writer, &event, &err), 0);
}

/* Two threads that go over many pages in an order that compresses badly. */
static int write_trace(void **state)
{
    (void)state;
    struct error err = {0};
    struct trace_session *session = trace_session_new();
    strcpy(path, "/tmp/numalens-page-XXXXXX");
    close(mkstemp(path));
    trace_session_set(session, "command", "made up");
    struct trace_writer *writer = trace_writer_open(path, session, &err);
    assert_non_null(writer);
    static const uint64_t chain[] = {0x401000};
    put(writer,
        (struct event){.time = 1, .kind = EVENT_PROCESS_START, .process = {.exe = "/bin/none", .command = "made up"}});
    put(writer, (struct event){.time = 2, .kind = EVENT_THREAD_START, .thread = {.name = "one"}});
    put(writer, (struct event){.time = 3, .tid = PID + 1, .kind = EVENT_THREAD_START, .thread = {.name = "two"}});
    put(writer, (struct event){.time = 4, .kind = EVENT_STACK, .stack = {.id = 1, .depth = 1, .frames = chain}});
    put(writer,
        (struct event){.time = 5, .kind = EVENT_ALLOC, .alloc = {.addr = BASE, .size = PAGES * 4096ul, .stack = 1}});
    uint64_t random = 1;
    for (uint64_t i = 0; i < PAGES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        put(writer, (struct event){.time = 1000 + i * 1000,
                                   .tid = PID + (uint32_t)(i & 1),
                                   .kind = EVENT_SAMPLE,
                                   .sample = {.addr = BASE + (random >> 33) % PAGES * 4096,
                                              .stack = 1,
                                              .size = 8,
                                              .latency = (uint32_t)(random >> 50),
                                              .flags = SAMPLE_READ | SAMPLE_HAS_LATENCY}});
    }
    assert_int_equal(trace_writer_close(writer, NULL, &err), 0);
    trace_session_free(session);
    return 0;
}

static int remove_trace(void **state)
{
    (void)state;
    return unlink(path);
}

/* How many there are of a column of what was packed. */
static size_t count_of(const struct container_bytes *packed, const char *column)
{
    uint8_t *bytes = malloc(ROOM);
    uLongf size = ROOM;
    assert_int_equal(uncompress(bytes, &size, packed->data, packed->size), Z_OK);
    assert_memory_equal(bytes, "NLPG", 4);
    uint32_t json_size;
    memcpy(&json_size, bytes + 8, sizeof json_size);
    char *json = strndup((const char *)bytes + 16, json_size), key[64];
    snprintf(key, sizeof key, "\"%s\":{", column);
    const char *at = strstr(json, key);
    assert_non_null(at);
    size_t count;
    assert_int_equal(sscanf(strstr(at, "\"count\":"), "\"count\":%zu", &count), 1);
    free(json);
    free(bytes);
    return count;
}

static void a_page_fits(void **state)
{
    (void)state;
    struct error err = {0};
    struct trace_reader *reader = trace_reader_open(path, &err);
    assert_non_null(reader);
    struct symbols *symbols = symbols_new();
    struct flow *flow = flow_build(reader, symbols, &(struct flow_options){0}, &err);
    assert_non_null(flow);
    struct view_options view = {.path = path};
    struct page_run run = {.flow = flow, .view = &view, .label = "A"};
    struct container_bytes large, small;
    assert_int_equal(page_packed(&run, SIZE_MAX, &large, &err), 0);
    size_t cells = count_of(&large, "v.cell.leaf"), size = encode_base64_size(large.size);
    assert_true(cells > PAGES / 2);
    assert_int_equal(count_of(&large, "f.parent"), 2); /* all, and the one function */
    assert_int_equal(page_packed(&run, size / 2, &small, &err), 0);
    assert_true(encode_base64_size(small.size) <= size / 2);
    assert_in_range(count_of(&small, "v.cell.leaf"), 100, cells / 2);
    assert_int_equal(count_of(&small, "s.object"), count_of(&large, "s.object"));
    free(large.data);
    free(small.data);
    flow_free(flow);
    symbols_free(symbols);
    trace_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(a_page_fits, write_trace, remove_trace)};
    return cmocka_run_group_tests_name("fits", tests, NULL, NULL);
}
