/* A page of a made-up recording: everything is in it, and its maps get coarser when it has to be small. */
#include "page/encode.h"
#include "page/page.h"
#include "trace/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

enum { PID = 100, PAGES = 3000, CHAINS = 900, BASE = 0x10000000, ROOM = 64 << 20 };

static char path[64];

static void put(struct trace_writer *writer, struct event event)
{
    struct error err = {0};
    event.pid = PID;
    event.tid = event.tid ? event.tid : PID;
    assert_int_equal(trace_writer_append(writer, &event, &err), 0);
}

/* Two threads that go over pages in an order that compresses badly; sample by sample in one call chain after the other. Every fourth
 * is an atomic update. */
static void write_trace(uint64_t samples, uint32_t chains, uint32_t pages)
{
    struct error err = {0};
    struct trace_session *session = trace_session_new();
    strcpy(path, "/tmp/numalens-page-XXXXXX");
    close(mkstemp(path));
    trace_session_set(session, "command", "made up");
    struct trace_writer *writer = trace_writer_open(path, session, &err);
    assert_non_null(writer);
    put(writer,
        (struct event){.time = 1, .kind = EVENT_PROCESS_START, .process = {.exe = "/bin/none", .command = "made up"}});
    put(writer, (struct event){.time = 2, .kind = EVENT_THREAD_START, .thread = {.name = "one"}});
    put(writer, (struct event){.time = 3, .tid = PID + 1, .kind = EVENT_THREAD_START, .thread = {.name = "two"}});
    for (uint32_t i = 1; i <= chains; i++) {
        const uint64_t chain[] = {0x401000 + i * 16ul};
        put(writer, (struct event){.time = 4, .kind = EVENT_STACK, .stack = {.id = i, .depth = 1, .frames = chain}});
    }
    put(writer,
        (struct event){.time = 5, .kind = EVENT_ALLOC, .alloc = {.addr = BASE, .size = pages * 4096ul, .stack = 1}});
    uint64_t random = 1;
    for (uint64_t i = 0; i < samples; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        put(writer, (struct event){.time = 1000 + i * 1000,
                                   .tid = PID + (uint32_t)(i & 1),
                                   .kind = EVENT_SAMPLE,
                                   .sample = {.addr = BASE + (random >> 33) % pages * 4096,
                                              .stack = 1 + (uint32_t)(i % chains),
                                              .size = 8,
                                              .latency = (uint32_t)(random >> 50),
                                              .flags = SAMPLE_READ | SAMPLE_HAS_LATENCY | (i % 4 ? 0 : SAMPLE_WRITE)}});
    }
    assert_int_equal(trace_writer_close(writer, NULL, &err), 0);
    trace_session_free(session);
}

static int write_pages(void **state)
{
    (void)state;
    write_trace(PAGES, 1, PAGES);
    return 0;
}

static int write_chains(void **state)
{
    (void)state;
    write_trace(64 * 1100, CHAINS, 1); /* the map of more pages is no matter here, and would take most of the time */
    return 0;
}

static int remove_trace(void **state)
{
    (void)state;
    return unlink(path);
}

/* How many there are of a column of what was packed, and the sum of one of 32 bits. */
static size_t column_of(const struct container_bytes *packed, const char *column, uint64_t *sum)
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
    size_t count, offset;
    assert_int_equal(sscanf(strstr(at, "\"offset\":"), "\"offset\":%zu,\"count\":%zu", &offset, &count), 2);
    for (size_t i = 0; sum && i < count; i++) {
        uint32_t value;
        memcpy(&value, bytes + 16 + (json_size + 7) / 8 * 8 + offset + i * sizeof value, sizeof value);
        *sum += value;
    }
    free(json);
    free(bytes);
    return count;
}

static size_t count_of(const struct container_bytes *packed, const char *column)
{
    return column_of(packed, column, NULL);
}

static uint64_t sum_of(const struct container_bytes *packed, const char *column)
{
    uint64_t sum = 0;
    column_of(packed, column, &sum);
    return sum;
}

struct made {
    struct trace_reader *reader;
    struct symbols *symbols;
    struct flow *flow;
    struct view_options view;
    struct page_run run;
};

static void made_open(struct made *made)
{
    struct error err = {0};
    *made = (struct made){.reader = trace_reader_open(path, &err), .symbols = symbols_new(), .view = {.path = path}};
    assert_non_null(made->reader);
    made->flow = flow_build(made->reader, made->symbols, &(struct flow_options){0}, &err);
    assert_non_null(made->flow);
    made->run = (struct page_run){.flow = made->flow, .view = &made->view, .label = "A"};
}

static void made_close(struct made *made)
{
    flow_free(made->flow);
    symbols_free(made->symbols);
    trace_reader_close(made->reader);
}

static void a_page_fits(void **state)
{
    (void)state;
    struct error err = {0};
    struct made made;
    struct container_bytes large, small;
    made_open(&made);
    assert_int_equal(page_packed(&made.run, SIZE_MAX, &large, &err), 0);
    size_t cells = count_of(&large, "v.cell.leaf"), size = encode_base64_size(large.size);
    assert_true(cells > PAGES / 2);
    assert_int_equal(count_of(&large, "f.parent"), 2);    /* all, and the one function */
    assert_int_equal(count_of(&large, "c.node"), 2 * 64); /* one chain and object, two threads, as many slices */
    static const char *const prefixes[] = {"v.cell", "s", "c"};
    for (unsigned i = 0; i < 3; i++) { /* an update is one sample, which reads and writes */
        char samples[24], reads[24], writes[24];
        snprintf(samples, sizeof samples, "%s.samples", prefixes[i]);
        snprintf(reads, sizeof reads, "%s.reads", prefixes[i]);
        snprintf(writes, sizeof writes, "%s.writes", prefixes[i]);
        assert_int_equal(sum_of(&large, samples), PAGES);
        assert_int_equal(sum_of(&large, reads), PAGES);
        assert_int_equal(sum_of(&large, writes), PAGES / 4);
    }
    assert_int_equal(page_packed(&made.run, size / 2, &small, &err), 0);
    assert_true(encode_base64_size(small.size) <= size / 2);
    assert_in_range(count_of(&small, "v.cell.leaf"), 100, cells / 2);
    assert_int_equal(count_of(&small, "s.object"), count_of(&large, "s.object"));
    free(large.data);
    free(small.data);
    made_close(&made);
}

/* Every chain in every slice would be too many: time is kept more coarsely, and nothing is lost. */
static void chains_fit(void **state)
{
    (void)state;
    struct error err = {0};
    struct made made;
    struct container_bytes packed;
    made_open(&made);
    assert_int_equal(page_packed(&made.run, SIZE_MAX, &packed, &err), 0);
    assert_int_equal(count_of(&packed, "c.node"), CHAINS * 32);
    free(packed.data);
    made_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(a_page_fits, write_pages, remove_trace),
                                       cmocka_unit_test_setup_teardown(chains_fit, write_chains, remove_trace)};
    return cmocka_run_group_tests_name("fits", tests, NULL, NULL);
}
