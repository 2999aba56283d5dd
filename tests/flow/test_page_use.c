/* Pages used during an interval: their accesses, objects, threads, homes. */
#include "feeding.h"
#include "trace/writer.h"

#include <stdio.h>
#include <unistd.h>

enum { INTERVAL = 1000, PAGE = 4096 };

static char path[64];
static struct trace_writer *writer;

static void begin(void)
{
    struct error err = {0};
    snprintf(path, sizeof path, "/tmp/numalens-test-%d.data", (int)getpid());
    struct trace_session *session = trace_session_new();
    writer = trace_writer_open(path, session, &err);
    assert_non_null(writer);
    trace_session_free(session);
}

static void put(struct event event)
{
    struct error err = {0};
    event.pid = PID;
    if (event.tid == 0 && event.kind != EVENT_PAGE)
        event.tid = PID;
    assert_int_equal(trace_writer_append(writer, &event, &err), 0);
}

static void put_page(uint32_t tid, uint64_t interval, uint64_t page, uint32_t reads, uint32_t writes)
{
    static const uint64_t cpus[] = {0, 1 << 2}; /* CPU 66 */
    put((struct event){.time = interval * INTERVAL,
                       .tid = tid,
                       .kind = EVENT_PAGE,
                       .page = {.page = page,
                                .size = PAGE,
                                .until = (interval + 1) * INTERVAL,
                                .reads = reads,
                                .writes = writes,
                                .mechanism = PAGE_NUMA_HINT,
                                .cpu_words = 2,
                                .cpus = cpus}});
}

struct opened {
    struct trace_reader *reader;
    struct symbols *symbols;
    struct flow *flow;
};

static struct opened end(void)
{
    struct error err = {0};
    struct opened opened = {.symbols = symbols_new()};
    assert_int_equal(trace_writer_close(writer, NULL, &err), 0);
    opened.reader = trace_reader_open(path, &err);
    assert_non_null(opened.reader);
    opened.flow = flow_build(opened.reader, opened.symbols, NULL, &err);
    assert_non_null(opened.flow);
    return opened;
}

static void close_all(struct opened *opened)
{
    flow_free(opened->flow);
    symbols_free(opened->symbols);
    trace_reader_close(opened->reader);
    unlink(path);
}

static void start_program(void)
{
    put((struct event){.time = 1, .kind = EVENT_PROCESS_START, .process = {.exe = "/bin/it", .command = "it"}});
}

static const struct flow_object *object_at(const struct flow *flow, uint64_t addr)
{
    const struct flow_object *object = flow_object_at(flow, 0, addr, 100 * INTERVAL);
    assert_non_null(object);
    return object;
}

static void an_access_for_reads_and_one_for_writes(void **state)
{
    (void)state;
    begin();
    start_program();
    put((struct event){.time = 2, .kind = EVENT_ALLOC, .alloc = {.addr = 0x100010, .size = 3 * PAGE}});
    put_page(PID, 1, 0x100000, 3, 0); /* the block begins behind its header: most of the page is its */
    put_page(PID, 1, 0x101000, 0, 2);
    put_page(PID, 2, 0x102000, 1, 1);
    put((struct event){.time = 2 * INTERVAL,
                       .tid = PID,
                       .kind = EVENT_PAGE,
                       .page = {.page = 0x101000, .size = PAGE, .until = 3 * INTERVAL, .unknown = 4}});
    struct opened opened = end();
    struct flow_totals totals = flow_totals(opened.flow);
    assert_int_equal(totals.samples, 5);
    assert_int_equal(totals.reads, 2);
    assert_int_equal(totals.writes, 2);
    assert_int_equal(totals.latency_count, 0);
    assert_int_equal(flow_attributed(opened.flow), 5);
    assert_int_equal(object_at(opened.flow, 0x100010)->totals.samples, 5);
    assert_int_equal(flow_page_count(opened.flow), 4);

    struct flow_iter *iter = flow_accesses(opened.flow);
    struct flow_access access;
    static const struct {
        uint64_t addr;
        uint8_t flags;
    } expected[] = {{0x100000, SAMPLE_READ},
                    {0x101000, SAMPLE_WRITE},
                    {0x102000, SAMPLE_READ},
                    {0x102000, SAMPLE_WRITE},
                    {0x101000, 0}};
    for (unsigned i = 0; i < 5; i++) {
        assert_true(flow_next(iter, &access));
        assert_int_equal(access.addr, expected[i].addr);
        assert_int_equal(access.flags, expected[i].flags);
        assert_int_equal(access.source, SOURCE_FAULTS);
        assert_int_equal(access.thread, 0);
        assert_int_equal(access.object, 0);
        assert_int_equal(access.cpu, i < 4 ? 66 : UINT16_MAX);
        assert_false(access.has_latency);
    }
    assert_false(flow_next(iter, &access));
    flow_iter_free(iter);
    close_all(&opened);
}

/* What is allocated, and who starts, within an interval is there only at its end; what ends in it only at its start. */
static void what_comes_and_goes_within_an_interval_counts(void **state)
{
    (void)state;
    begin();
    start_program();
    put((struct event){.time = 2, .kind = EVENT_ALLOC, .alloc = {.addr = 0x200000, .size = PAGE}});
    put_page(PID + 3, 1, 0x300000, 0, 1);
    put_page(PID, 1, 0x200000, 1, 0);
    put((struct event){.time = INTERVAL + 10, .kind = EVENT_FREE, .free = {.addr = 0x200000}});
    for (uint32_t i = 1; i <= 3; i++)
        put((struct event){
            .time = INTERVAL + 20 + i, .tid = PID + i, .kind = EVENT_THREAD_START, .thread = {.name = "worker"}});
    put((struct event){.time = INTERVAL + 50, .kind = EVENT_ALLOC, .alloc = {.addr = 0x300000, .size = PAGE}});
    put((struct event){.time = 9 * INTERVAL, .kind = EVENT_PROCESS_EXIT});
    struct opened opened = end();
    assert_int_equal(flow_attributed(opened.flow), 2);
    assert_int_equal(flow_sampled_object_count(opened.flow), 2);
    assert_int_equal(flow_object(opened.flow, 0)->addr, 0x200000);
    assert_int_equal(flow_object(opened.flow, 1)->addr, 0x300000);
    /* Threads are assigned to simulated nodes in the order in which they began, not in which pages name them. */
    assert_int_equal(flow_thread_count(opened.flow), 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(flow_thread(opened.flow, i)->tid, PID + i);
    close_all(&opened);
}

/* Two objects are allocated and freed one after the other where a page is used: it is the one's that had most of it.
 * Both have what is below and beside. */
static void what_lives_within_an_interval_counts(void **state)
{
    (void)state;
    begin();
    start_program();
    put((struct event){.time = 2,
                       .kind = EVENT_MAP,
                       .map = {.addr = 0x500000, .size = 64 * PAGE, .map_kind = MAP_KIND_ANONYMOUS, .path = ""}});
    for (uint64_t page = 0; page < 6; page++)
        put_page(PID, 1, 0x500000 + page * PAGE, 0, 1);
    put((struct event){.time = INTERVAL + 10, .kind = EVENT_ALLOC, .alloc = {.addr = 0x501100, .size = PAGE / 4}});
    put((struct event){.time = INTERVAL + 20, .kind = EVENT_FREE, .free = {.addr = 0x501100}});
    put((struct event){.time = INTERVAL + 30, .kind = EVENT_ALLOC, .alloc = {.addr = 0x501010, .size = 3 * PAGE}});
    put((struct event){.time = INTERVAL + 40, .kind = EVENT_FREE, .free = {.addr = 0x501010}});
    put((struct event){.time = 9 * INTERVAL, .kind = EVENT_PROCESS_EXIT});
    struct opened opened = end();
    assert_int_equal(flow_attributed(opened.flow), 6);
    assert_int_equal(object_at(opened.flow, 0x500000)->totals.samples, 2);
    uint64_t samples = 0;
    for (uint32_t i = 0; i < flow_sampled_object_count(opened.flow); i++)
        if (flow_object(opened.flow, i)->addr == 0x501010)
            samples += flow_object(opened.flow, i)->totals.samples;
    assert_int_equal(samples, 4);
    close_all(&opened);
}

static void the_end_of_a_block_is_more_than_what_lies_below(void **state)
{
    (void)state;
    begin();
    start_program();
    put((struct event){.time = 2,
                       .kind = EVENT_MAP,
                       .map = {.addr = 0x600000, .size = 8 * PAGE, .map_kind = MAP_KIND_ANONYMOUS, .path = ""}});
    put((struct event){.time = 3, .kind = EVENT_ALLOC, .alloc = {.addr = 0x600010, .size = 2 * PAGE}});
    for (uint64_t page = 0; page < 4; page++)
        put_page(PID, 1, 0x600000 + page * PAGE, 0, 1);
    struct opened opened = end();
    assert_int_equal(object_at(opened.flow, 0x600010)->totals.samples, 3);
    assert_int_equal(object_at(opened.flow, 0x604000)->totals.samples, 1);
    close_all(&opened);
}

struct seen {
    const struct flow *flow;
    uint32_t count, without_thread, cpu66;
    uint64_t last;
};

static void see(void *context, const struct flow_page *page)
{
    struct seen *seen = context;
    assert_true(page->time >= seen->last);
    assert_int_equal(page->process, 0);
    assert_int_equal(page->until, page->time + INTERVAL);
    seen->last = page->time;
    seen->count++;
    seen->without_thread += page->thread == FLOW_NONE;
    seen->cpu66 += page->cpu_words == 2 && page->cpus[1] == 1 << 2;
    if (page->page == 0x400000)
        assert_int_equal(flow_object(seen->flow, page->object)->addr, 0x400000);
}

static void unknown_threads_are_not_made_up(void **state)
{
    (void)state;
    struct error err = {0};
    begin();
    start_program();
    put((struct event){.time = 2, .kind = EVENT_ALLOC, .alloc = {.addr = 0x400000, .size = 4 * PAGE}});
    put_page(PID, 1, 0x400000, 1, 0);
    put_page(0, 1, 0x401000, 0, 1);
    put_page(0, 2, 0x400000, 0, 1);
    struct opened opened = end();
    assert_int_equal(flow_totals(opened.flow).samples, 1);
    assert_int_equal(flow_thread_count(opened.flow), 1);
    assert_int_equal(flow_pages_without_thread(opened.flow), 2);
    struct seen seen = {.flow = opened.flow};
    for (int twice = 0; twice < 2; twice++)
        assert_int_equal(flow_each_page(opened.flow, see, &(struct seen){.flow = opened.flow}, &err), 0);
    assert_int_equal(flow_each_page(opened.flow, see, &seen, &err), 0);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.without_thread, 2);
    assert_int_equal(seen.cpu66, 3);
    close_all(&opened);
}

/* The program's last interval: a block is freed in it, and of its pages nobody knows any more who wrote them. What is
 * left where it was is a map. */
static void a_freed_block_is_more_than_the_map_that_is_left(void **state)
{
    (void)state;
    struct error err = {0};
    begin();
    start_program();
    put((struct event){.time = 2,
                       .kind = EVENT_MAP,
                       .map = {.addr = 0x3f0000, .size = 64 * PAGE, .map_kind = MAP_KIND_ANONYMOUS, .path = ""}});
    put((struct event){.time = 3, .kind = EVENT_ALLOC, .alloc = {.addr = 0x400000, .size = 4 * PAGE}});
    put_page(PID, 1, 0x3f0000, 0, 1);
    put_page(PID, 1, 0x400000, 0, 1);
    put_page(0, 2, 0x400000, 0, 1);
    put((struct event){.time = 2 * INTERVAL + 10, .kind = EVENT_FREE, .free = {.addr = 0x400000}});
    struct opened opened = end();
    struct seen seen = {.flow = opened.flow};
    assert_int_equal(flow_each_page(opened.flow, see, &seen, &err), 0);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.without_thread, 1);
    close_all(&opened);
}

static void samples_are_not_mixed_with_pages(void **state)
{
    (void)state;
    struct error err = {0};
    begin();
    start_program();
    put((struct event){.time = 2, .kind = EVENT_ALLOC, .alloc = {.addr = 0x400000, .size = 4 * PAGE}});
    put((struct event){.time = INTERVAL + 1, .kind = EVENT_SAMPLE, .sample = {.addr = 0x400008, .flags = SAMPLE_READ}});
    put_page(PID, 1, 0x400000, 1, 1);
    put_page(PID, 2, 0x403000, 1, 1);
    struct opened opened = end();
    assert_int_equal(flow_totals(opened.flow).samples, 1);
    struct seen seen = {.flow = opened.flow};
    assert_int_equal(flow_each_page(opened.flow, see, &seen, &err), 0);
    assert_int_equal(seen.count, 2);
    close_all(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_access_for_reads_and_one_for_writes),
        cmocka_unit_test(what_comes_and_goes_within_an_interval_counts),
        cmocka_unit_test(what_lives_within_an_interval_counts),
        cmocka_unit_test(the_end_of_a_block_is_more_than_what_lies_below),
        cmocka_unit_test(unknown_threads_are_not_made_up),
        cmocka_unit_test(a_freed_block_is_more_than_the_map_that_is_left),
        cmocka_unit_test(samples_are_not_mixed_with_pages),
    };
    return cmocka_run_group_tests_name("page_use", tests, NULL, NULL);
}
