/* Views of a made-up recording, compared letter by letter with the files in golden/. NUMALENS_UPDATE_GOLDEN=1
 * rewrites them: look at the difference before it is kept. */
#include "base/mem.h"
#include "base/text.h"
#include "trace/writer.h"
#include "view/refresh.h"
#include "view/table.h"
#include "view/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { PID = 100, PAGE = 4096, SPACING = 10000000 /* ns: as far apart as bursts are */ };

static char path[64];

struct writing {
    struct trace_writer *writer;
    uint64_t time;
};

static void put(struct writing *writing, struct event event)
{
    struct error err = {0};
    event.time = writing->time += SPACING;
    event.pid = event.pid ? event.pid : PID;
    event.tid = event.tid ? event.tid : PID;
    assert_int_equal(trace_writer_append(writing->writer, &event, &err), 0);
}

static void put_samples(struct writing *writing, unsigned count, uint32_t tid, uint64_t addr, uint8_t flags,
                        uint32_t latency)
{
    for (unsigned i = 0; i < count; i++)
        put(writing, (struct event){.kind = EVENT_SAMPLE,
                                    .tid = tid,
                                    .sample = {.addr = addr + i % 8 * 8,
                                               .stack = flags & SAMPLE_WRITE ? 4 : 3,
                                               .latency = latency + i,
                                               .flags = flags | SAMPLE_HAS_LATENCY}});
}

/* Main fills a table that two workers read; a file is mapped; one thread has a name that attacks the terminal. */
static void put_story(struct writing *writing)
{
    static const uint64_t chains[4][2] = {{0x401000, 0x402000}, {0x401100, 0x402000}, {0x403000, 0}, {0x404000, 0}};
    put(writing, (struct event){.kind = EVENT_PROCESS_START, .process = {.exe = "/bin/story", .command = "story 1"}});
    put(writing, (struct event){.kind = EVENT_THREAD_START, .thread = {.name = "story"}});
    put(writing, (struct event){.kind = EVENT_THREAD_START, .tid = 101, .thread = {.name = "worker one"}});
    put(writing, (struct event){.kind = EVENT_THREAD_START,
                                .tid = 102,
                                .thread = {.name = "\033[31mr\xc3\xa9"
                                                   "d\xff",
                                           .stack_low = 0x700000,
                                           .stack_high = 0x800000}});
    for (uint32_t i = 0; i < 4; i++)
        put(writing,
            (struct event){.kind = EVENT_STACK, .stack = {.id = i + 1, .depth = i < 2 ? 2 : 1, .frames = chains[i]}});
    put(writing, (struct event){.kind = EVENT_ALLOC, .alloc = {.addr = 0x10000, .size = 4 * PAGE, .stack = 1}});
    put(writing, (struct event){.kind = EVENT_ALLOC, .tid = 101, .alloc = {.addr = 0x20000, .size = 512, .stack = 2}});
    put(writing, (struct event){.kind = EVENT_MAP,
                                .map = {.addr = 0x30000,
                                        .size = PAGE,
                                        .map_kind = MAP_KIND_FILE,
                                        .stack = 2,
                                        .path = "/data/evil\x1b]0;title\x07"}});
    put(writing, (struct event){.kind = EVENT_TOUCH, .touch = {.addr = 0x10000, .write = true}});
    put(writing, (struct event){.kind = EVENT_TOUCH, .tid = 101, .touch = {.addr = 0x20000, .write = true}});
    put_samples(writing, 20, PID, 0x10000, SAMPLE_WRITE, 80);
    put_samples(writing, 40, 101, 0x10000, SAMPLE_READ, 200);
    put_samples(writing, 40, 102, 0x10000, SAMPLE_READ, 210);
    put_samples(writing, 30, 101, 0x20000, SAMPLE_READ | SAMPLE_WRITE, 60);
    put_samples(writing, 10, 102, 0x30000, SAMPLE_READ, 90);
    put_samples(writing, 5, 102, 0x7f0000, SAMPLE_WRITE, 20);
    put_samples(writing, 3, 102, 0x900000, SAMPLE_READ, 20);
    for (unsigned i = 0; i < 20; i++) /* reads and writes alternate, all of them remote */
        put_samples(writing, 1, 101, 0x10000, i % 2 ? SAMPLE_READ : SAMPLE_WRITE, 220);
    put(writing, (struct event){.kind = EVENT_FREE, .free = {.addr = 0x20000}});
    put(writing, (struct event){.kind = EVENT_LOSS, .loss = {.cause = LOSS_RING_FULL, .count = 1234}});
    put(writing, (struct event){.kind = EVENT_PROCESS_EXIT, .exit_status = 3 << 8});
}

/* Main makes a table of 64 pages; two workers on another node each look things up in it and one of them writes. */
static void put_shared_table(struct writing *writing)
{
    enum { PAGES = 64, BURSTS = 200, BURST = 8 };
    static const uint64_t chains[2][2] = {{0x401000, 0x402000}, {0x403000, 0}};
    uint64_t random = 1;
    uint32_t tid = 101;
    put(writing, (struct event){.kind = EVENT_PROCESS_START, .process = {.exe = "/bin/story", .command = "story 2"}});
    put(writing, (struct event){.kind = EVENT_THREAD_START, .thread = {.name = "story"}});
    put(writing, (struct event){.kind = EVENT_THREAD_START, .tid = 101, .thread = {.name = "one"}});
    put(writing, (struct event){.kind = EVENT_THREAD_START, .tid = 102, .thread = {.name = "\033[31mtwo"}});
    for (uint32_t i = 0; i < 2; i++)
        put(writing, (struct event){.kind = EVENT_STACK, .stack = {.id = i + 1, .depth = 2 - i, .frames = chains[i]}});
    put(writing, (struct event){.kind = EVENT_ALLOC, .alloc = {.addr = 0x100000, .size = PAGES * PAGE, .stack = 1}});
    for (uint64_t i = 0; i < PAGES; i++)
        put(writing, (struct event){.kind = EVENT_TOUCH, .touch = {.addr = 0x100000 + i * PAGE, .write = true}});
    for (unsigned i = 0; i < BURSTS * BURST; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        if (i % BURST == 0)
            tid = 101 + (uint32_t)(random >> 40 & 1);
        else
            writing->time -= SPACING - 1000; /* a burst is over in a moment */
        uint8_t flags =
            (uint8_t)((i % BURST ? 0 : SAMPLE_FIRST) | (i % 4 ? SAMPLE_READ | SAMPLE_HAS_LATENCY : SAMPLE_WRITE));
        put(writing, (struct event){.kind = EVENT_SAMPLE,
                                    .tid = tid,
                                    .sample = {.addr = 0x100000 + (random >> 33) % (PAGES * PAGE / 8) * 8,
                                               .stack = 2,
                                               .size = 8,
                                               .latency = i % 4 ? 90 + i % 20 : 0,
                                               .flags = flags}});
    }
    put(writing, (struct event){.kind = EVENT_PROCESS_EXIT, .exit_status = 0});
}

static void write_trace(void (*story)(struct writing *))
{
    struct error err = {0};
    snprintf(path, sizeof path, "/tmp/numalens-view-%d.data", (int)getpid());
    struct trace_session *session = trace_session_new(), *ending = trace_session_new();
    trace_session_set(session, "command", "story 1 \x1b[2J");
    trace_session_set(session, "source", "soft");
    trace_session_set(session, "tick", "perf");
    trace_session_set(session, "period_ns", "2000000");
    trace_session_set(session, "burst", "8");
    trace_session_set(session, "latency_unit", "ns");
    trace_session_set(session, "first_touch", "faults");
    trace_session_set(ending, "exit_status", "3");
    trace_session_set(ending, "duration_ns", "2500000000");
    trace_session_set(ending, "handler_ns", "20000000");
    trace_session_set(ending, "cpu_ns", "4000000000");
    struct writing writing = {.writer = trace_writer_open(path, session, &err)};
    assert_non_null(writing.writer);
    if (story)
        story(&writing);
    assert_int_equal(trace_writer_close(writing.writer, ending, &err), 0);
    trace_session_free(session);
    trace_session_free(ending);
}

enum what { REPORT = VIEW_TABLES, OBJECT, FINDINGS, LATENCY, METRICS };

static char *shown(const char *machine, unsigned what, struct view_options options)
{
    struct error err = {0};
    struct topology *topology = machine ? topology_simulate(machine, ASSIGN_PACKED, &err) : NULL;
    struct trace_reader *reader = trace_reader_open(path, &err);
    struct symbols *symbols = symbols_new();
    assert_non_null(reader);
    struct flow *flow = flow_build(reader, symbols, &(struct flow_options){.topology = topology}, &err);
    assert_non_null(flow);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    options.path = "numalens.data";
    options.ending = trace_reader_ending(reader);
    if (options.filter.kind == 0 && !options.filter.text)
        options.filter.kind = -1;
    int failed = what == REPORT     ? view_report(flow, &options, out, &err)
                 : what == OBJECT   ? view_object(flow, 1, &options, out, &err)
                 : what == FINDINGS ? view_patterns(flow, &options, out, &err)
                 : what == METRICS  ? view_metrics(flow, &(struct view_refresh){.pid = PID, .name = "st\"o\\ry\n"},
                                                   &options, out, &err)
                 : what == LATENCY  ? view_problems(flow, VIEW_LATENCY, &options, out, &err)
                                    : view_rows(flow, what, &options, out, &err);
    assert_int_equal(failed, 0);
    fclose(out);
    flow_free(flow);
    symbols_free(symbols);
    trace_reader_close(reader);
    topology_free(topology);
    return text;
}

static void same_as_golden(const char *name, char *text)
{
    const char *folder = getenv("NUMALENS_GOLDEN");
    char file[512];
    assert_non_null(folder);
    snprintf(file, sizeof file, "%s/%s", folder, name);
    if (getenv("NUMALENS_UPDATE_GOLDEN")) {
        FILE *out = fopen(file, "w");
        assert_non_null(out);
        fputs(text, out);
        fclose(out);
    }
    FILE *in = fopen(file, "r");
    assert_non_null(in);
    static char expected[1 << 16];
    size_t length = fread(expected, 1, sizeof expected - 1, in);
    expected[length] = '\0';
    fclose(in);
    assert_string_equal(text, expected);
    free(text);
}

static int begin(void **state)
{
    (void)state;
    write_trace(put_story);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return unlink(path);
}

static void the_report(void **state)
{
    (void)state;
    same_as_golden("report_two_nodes.txt", shown("numa:2 core:1", REPORT, (struct view_options){.width = 100}));
    same_as_golden("report_one_node.txt", shown(NULL, REPORT, (struct view_options){.width = 100}));
    same_as_golden("report_narrow.txt", shown("numa:2 core:1", REPORT, (struct view_options){.width = 60, .limit = 2}));
    same_as_golden("report.json", shown("numa:2 core:1", REPORT, (struct view_options){.json = true}));
}

/* At 100 columns the report is one screen, and -v adds to it. */
static void the_report_is_one_screen(void **state)
{
    (void)state;
    char *text = shown("numa:2 core:1", REPORT, (struct view_options){.width = 100});
    unsigned lines = 0;
    for (char *line = text; *line; lines++) {
        size_t length = strcspn(line, "\n");
        char *end = line + length;
        *end = '\0';
        assert_true(text_width(line) <= 100);
        line = end + 1;
    }
    assert_true(lines <= 40);
    free(text);
    text = shown("numa:2 core:1", REPORT, (struct view_options){.width = 100, .verbose = true});
    static const char *const more[] = {"\nThreads (", "\nFunctions (", "\nAccesses from the CPU's node",
                                       "\nHow this was measured\n",
                                       "1,234  allocations or releases not recorded: ring full"};
    for (unsigned i = 0; i < sizeof more / sizeof *more; i++)
        assert_non_null(strstr(text, more[i]));
    free(text);
}

/* A column of names gives up other columns first, then the middle of the name, never the place behind it. */
static void names_say_what_they_are(void **state)
{
    (void)state;
    for (unsigned width = 100; width >= 30; width -= 10) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        struct table *table = table_new();
        table_column(table, "share", TABLE_RIGHT);
        table_column(table, "latency", TABLE_RIGHT | TABLE_OPTIONAL);
        table_column(table, "allocated at", TABLE_FLEX);
        table_cell(table, "%s", "37.8%");
        table_cell(table, "%s", "212 ns");
        table_cell(table, "%s", "simulation->conductivity(demo.c:32) in simulation_init");
        table_shorter(table, "%s", "simulation->conductivity(demo.c:32)");
        table_print(table, out, 2, width, false);
        fclose(out);
        assert_non_null(strstr(text, width >= 50   ? "simulation->conductivity(demo.c:32)"
                                     : width >= 40 ? "conductivity(demo.c:32)"
                                                   : "(demo.c:32)"));
        assert_int_equal(strstr(text, "212 ns") != NULL, width >= 60);
        free(text);
    }
}

static void tables(void **state)
{
    (void)state;
    same_as_golden("objects.txt", shown("numa:2 core:1", VIEW_OBJECTS, (struct view_options){.width = 100}));
    same_as_golden("objects_by_size.txt", shown("numa:2 core:1", VIEW_OBJECTS,
                                                (struct view_options){.width = 100, .sort = "size", .limit = 2}));
    same_as_golden("sites.json", shown("numa:2 core:1", VIEW_SITES, (struct view_options){.json = true, .limit = 2}));
    same_as_golden("threads.txt", shown("numa:2 core:1", VIEW_THREADS, (struct view_options){.width = 100}));
    same_as_golden("functions.txt", shown("numa:2 core:1", VIEW_FUNCTIONS, (struct view_options){.width = 100}));
    same_as_golden("lines.txt", shown("numa:2 core:1", VIEW_LINES, (struct view_options){.width = 100}));
    same_as_golden("processes.txt", shown("numa:2 core:1", VIEW_PROCESSES, (struct view_options){.width = 100}));
    same_as_golden("files_only.txt", shown("numa:2 core:1", VIEW_OBJECTS,
                                           (struct view_options){.width = 100, .filter = {.kind = OBJECT_FILE}}));
}

static void one_object(void **state)
{
    (void)state;
    same_as_golden("object.txt", shown("numa:2 core:1", OBJECT, (struct view_options){.width = 100, .ascii = true}));
}

static void patterns(void **state)
{
    (void)state;
    unlink(path);
    write_trace(put_shared_table);
    same_as_golden("patterns.txt", shown("numa:2 core:1", FINDINGS, (struct view_options){.width = 80}));
    same_as_golden("patterns.json", shown("numa:2 core:1", FINDINGS, (struct view_options){.json = true}));
    same_as_golden("patterns_none.txt",
                   shown("numa:2 core:1", FINDINGS, (struct view_options){.width = 80, .filter = {.text = "nowhere"}}));
    same_as_golden("patterns_one_node.txt", shown(NULL, FINDINGS, (struct view_options){.width = 80}));
}

/* Whatever the target calls itself, no control character reaches the terminal. */
static void nothing_attacks_the_terminal(void **state)
{
    (void)state;
    for (unsigned what = 0; what <= FINDINGS; what++) {
        char *text = shown("numa:2 core:1", what, (struct view_options){.width = 200});
        for (const char *at = text; *at; at++)
            assert_true((unsigned char)*at >= 0x20 || *at == '\n');
        free(text);
    }
    char *colored = shown("numa:2 core:1", REPORT, (struct view_options){.width = 100, .color = true});
    assert_non_null(strstr(colored, "\033[1m"));
    assert_null(strstr(colored, "\033[31mr"));
    free(colored);
}

static void an_empty_recording_says_so(void **state)
{
    (void)state;
    unlink(path);
    write_trace(NULL);
    char *text = shown(NULL, REPORT, (struct view_options){.width = 100});
    assert_non_null(strstr(text, "No memory access was sampled"));
    free(text);
    for (unsigned what = 0; what < VIEW_TABLES; what++)
        free(shown(NULL, what, (struct view_options){.json = what % 2}));
}

/* Reads that the L1 cache answered, in 5 ns each; after them one that memory did, in 400. */
/* Blocks at one address and threads of one number, one after the other, with names that a page's reader could trip over. */
static void put_again(struct writing *writing)
{
    static const uint64_t chain[] = {0x401000};
    put(writing,
        (struct event){.kind = EVENT_PROCESS_START, .process = {.exe = "/bin/st\"o\\ry\n", .command = "story 3"}});
    put(writing, (struct event){.kind = EVENT_THREAD_START, .thread = {.name = "a\"b\\c\nd\xff"}});
    put(writing, (struct event){.kind = EVENT_STACK, .stack = {.id = 1, .depth = 1, .frames = chain}});
    for (unsigned i = 0; i < 3; i++) {
        put(writing, (struct event){.kind = EVENT_THREAD_START, .tid = 101, .thread = {.name = "again"}});
        put(writing,
            (struct event){.kind = EVENT_ALLOC, .tid = 101, .alloc = {.addr = 0x10000, .size = PAGE, .stack = 1}});
        put(writing,
            (struct event){.kind = EVENT_TOUCH, .tid = i ? 101 : PID, .touch = {.addr = 0x10000, .write = true}});
        put_samples(writing, 10 + i, 101, 0x10000, SAMPLE_READ, 80);
        put_samples(writing, 10, PID, 0x10000, SAMPLE_WRITE, 80);
        put(writing, (struct event){.kind = EVENT_FREE, .tid = 101, .free = {.addr = 0x10000}});
        put(writing, (struct event){.kind = EVENT_THREAD_EXIT, .tid = 101});
    }
}

/* name="value",...: what is behind the closing brace, or NULL where the format is not kept. */
static const char *after_labels(const char *at)
{
    for (;;) {
        size_t name = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        if (!name || strncmp(at + name, "=\"", 2) != 0)
            return NULL;
        for (at += name + 2; *at != '"'; at += *at == '\\' ? 2 : 1)
            if (!*at || *at == '\n' || (*at == '\\' && !strchr("\"\\n", at[1])))
                return NULL;
        if (*++at == '}')
            return at + 1;
        if (*at++ != ',')
            return NULL;
    }
}

static void each_series_is_there_once(void **state)
{
    (void)state;
    write_trace(put_again);
    char *text = shown("numa:2 core:1", METRICS, (struct view_options){0}), *save = NULL;
    char *lines[64];
    size_t count = 0;
    double objects = 0, threads = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (*line == '#')
            continue;
        char *brace = strchr(line, '{');
        const char *value = brace ? after_labels(brace + 1) : NULL;
        if (!value || *value != ' ')
            fail_msg("no series: %s", line);
        size_t length = (size_t)(value - line);
        for (size_t i = 0; i < count; i++)
            if (strncmp(lines[i], line, length + 1) == 0)
                fail_msg("twice: %s and %s", lines[i], line);
        objects += strncmp(line, "numalens_object_access_ratio{", 29) == 0 ? atof(value) : 0;
        threads += strncmp(line, "numalens_thread_access_ratio{", 29) == 0 ? atof(value) : 0;
        assert_true(count < sizeof lines / sizeof *lines);
        lines[count++] = line;
    }
    assert_true(objects > 0.999 && objects < 1.001 && threads > 0.999 && threads < 1.001);
    free(text);
    unlink(path);
}

static void put_cached(struct writing *writing, bool memory_too)
{
    put(writing, (struct event){.kind = EVENT_PROCESS_START, .process = {.exe = "/bin/story", .command = "story 3"}});
    put(writing, (struct event){.kind = EVENT_THREAD_START, .thread = {.name = "story"}});
    for (unsigned i = 0; i < 50u + memory_too; i++)
        put(writing, (struct event){.kind = EVENT_SAMPLE,
                                    .sample = {.addr = 0x10000 + i % 8 * 8,
                                               .latency = i < 50 ? 5 : 400,
                                               .level = i < 50 ? LEVEL_L1 : LEVEL_RAM,
                                               .flags = SAMPLE_READ | SAMPLE_HAS_LATENCY}});
}

static void put_all_cached(struct writing *writing)
{
    put_cached(writing, false);
}

static void put_one_uncached(struct writing *writing)
{
    put_cached(writing, true);
}

static void latencies_say_what_they_are(void **state)
{
    (void)state;
    write_trace(put_all_cached);
    char *text = shown(NULL, LATENCY, (struct view_options){.width = 0});
    assert_non_null(strstr(text, "All 50 timed accesses were answered by the L1 cache"));
    assert_non_null(strstr(text, "There is no tail: no access took more than 100 ns."));
    assert_null(strstr(text, "of the tail"));
    free(text);
    unlink(path);
    write_trace(put_one_uncached);
    text = shown(NULL, LATENCY, (struct view_options){.width = 0});
    assert_null(strstr(text, "answered by the L1 cache"));
    assert_non_null(strstr(text, "The tail, above 300 ns"));
    assert_non_null(strstr(text, "of the tail"));
    assert_null(strstr(text, "of all accesses"));
    free(text);
    unlink(path);
}

static void filters_are_understood(void **state)
{
    (void)state;
    struct view_filter filter = {.kind = -1};
    struct error err = {0};
    assert_int_equal(view_filter_parse(&filter, "kind=stack", &err), 0);
    assert_int_equal(filter.kind, OBJECT_STACK);
    assert_int_equal(view_filter_parse(&filter, "min-share=2.5%", &err), 0);
    assert_true(filter.min_share > 0.0249 && filter.min_share < 0.0251);
    assert_int_equal(view_filter_parse(&filter, "plate", &err), 0);
    assert_string_equal(filter.text, "plate");
    assert_true(view_filter_parse(&filter, "kind=mouse", &err) < 0);
    assert_true(view_filter_parse(&filter, "min-share=150%", &err) < 0);
    assert_true(view_filter_parse(&filter, "min-samples=-1", &err) < 0);
    assert_true(view_filter_parse(&filter, "pid=x", &err) < 0);
    assert_true(view_sort_key(VIEW_OBJECTS, "size"));
    assert_false(view_sort_key(VIEW_THREADS, "size"));
    assert_false(view_sort_key(VIEW_THREADS, ""));
    assert_true(view_sort_key(VIEW_THREADS, "name"));
    assert_false(view_sort_key(VIEW_THREADS, "remote-"));
}

int main(void)
{
#define with_story(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        with_story(the_report),
        with_story(the_report_is_one_screen),
        cmocka_unit_test(names_say_what_they_are),
        with_story(tables),
        with_story(one_object),
        with_story(patterns),
        with_story(nothing_attacks_the_terminal),
        with_story(an_empty_recording_says_so),
        cmocka_unit_test(latencies_say_what_they_are),
        cmocka_unit_test(each_series_is_there_once),
        cmocka_unit_test(filters_are_understood),
    };
    return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
