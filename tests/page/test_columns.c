/* Every described column is in each of its places: text, JSON and page have it, under its name there, with one value. */
#include "analysis/traffic/traffic.h"
#include "base/mem.h"
#include "page/page.h"
#include "trace/writer.h"
#include "view/columns/columns.h"
#include "base/number.h"
#include "../whole_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { PID = 100, PAGE_SIZE = 4096, LINES = 64 };

static const char *const tables[VIEW_TABLES] = {"objects", "sites", "threads",  "functions",
                                                "lines",   "types", "processes"};

static char path[64];

static void put(struct trace_writer *writer, struct event event)
{
    static uint64_t time;
    struct error err = {0};
    event.time = time += 1000000;
    event.pid = PID;
    event.tid = event.tid ? event.tid : PID;
    assert_int_equal(trace_writer_append(writer, &event, &err), 0);
}

static void put_samples(struct trace_writer *writer, unsigned count, uint32_t tid, uint64_t addr, uint8_t flags)
{
    for (unsigned i = 0; i < count; i++)
        put(writer, (struct event){.kind = EVENT_SAMPLE,
                                   .tid = tid,
                                   .sample = {.addr = addr + i % 8 * 8,
                                              .stack = flags & SAMPLE_WRITE ? 2 : 1,
                                              .size = 8,
                                              .latency = 100 + i,
                                              .flags = flags | SAMPLE_HAS_LATENCY | (i % 8 ? 0 : SAMPLE_FIRST)}});
}

/* Long bursts of one thread, of lines of what is allocated that are never used again: its bytes are known, those of other rows are not. */
static void put_traffic(struct trace_writer *writer)
{
    enum { BURSTS = 8, ACCESSES = 4 << 20, CPU_NS = 1000000 };
    for (uint32_t i = 1; i <= BURSTS; i++) {
        put(writer, (struct event){.kind = EVENT_REUSE,
                                   .tid = PID + 1,
                                   .reuse = {.pc = 0x401000,
                                             .addr = 0x10000,
                                             .count = ACCESSES,
                                             .burst = i,
                                             .bin = (uint16_t)reuse_bin(ACCESSES),
                                             .flags = REUSE_AT_LEAST}});
        put(writer, (struct event){.kind = EVENT_LONG_BURST,
                                   .tid = PID + 1,
                                   .long_burst = {.accesses = ACCESSES,
                                                  .counted = ACCESSES,
                                                  .counted_ns = ACCESSES,
                                                  .process_ns = (uint64_t)i * CPU_NS,
                                                  .burst = i}});
    }
}

/* Two threads; what is allocated, mapped and a stack, each with a number of samples of its own. */
static int write_trace(void **state)
{
    (void)state;
    static const uint64_t chains[2][2] = {{0x401000, 0x402000}, {0x401100, 0x402000}};
    struct error err = {0};
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "traffic", "long");
    trace_session_set(session, "calibration", "1 nodes=1 L1:32768:1:0 L2:1048576:4:3 L3:8388608:30:25 0>0:105:100");
    strcpy(path, "/tmp/numalens-columns-XXXXXX");
    close(mkstemp(path));
    struct trace_writer *writer = trace_writer_open(path, session, &err);
    assert_non_null(writer);
    put(writer, (struct event){.kind = EVENT_PROCESS_START, .process = {.exe = "/bin/none", .command = "made up"}});
    put(writer, (struct event){.kind = EVENT_THREAD_START, .thread = {.name = "one"}});
    put(writer, (struct event){.kind = EVENT_THREAD_START,
                               .tid = PID + 1,
                               .thread = {.name = "two", .stack_low = 0x700000, .stack_high = 0x800000}});
    for (uint32_t i = 0; i < 2; i++)
        put(writer, (struct event){.kind = EVENT_STACK, .stack = {.id = i + 1, .depth = 2, .frames = chains[i]}});
    put(writer, (struct event){.kind = EVENT_ALLOC, .alloc = {.addr = 0x10000, .size = 4 * PAGE_SIZE, .stack = 1}});
    put(writer,
        (struct event){
            .kind = EVENT_MAP,
            .map = {.addr = 0x30000, .size = PAGE_SIZE, .map_kind = MAP_KIND_FILE, .stack = 2, .path = "/data/file"}});
    put(writer, (struct event){.kind = EVENT_TOUCH, .touch = {.addr = 0x10000, .write = true}});
    put_samples(writer, 40, PID, 0x10000, SAMPLE_WRITE);
    put_samples(writer, 60, PID + 1, 0x10000, SAMPLE_READ);
    put_samples(writer, 30, PID + 1, 0x30000, SAMPLE_READ);
    put_samples(writer, 10, PID + 1, 0x7f0000, SAMPLE_WRITE);
    put_traffic(writer);
    put(writer, (struct event){.kind = EVENT_FREE, .free = {.addr = 0x10000}});
    put(writer, (struct event){.kind = EVENT_PROCESS_EXIT, .exit_status = 3 << 8});
    assert_int_equal(trace_writer_close(writer, NULL, &err), 0);
    trace_session_free(session);
    return 0;
}

static int remove_trace(void **state)
{
    (void)state;
    return unlink(path);
}

struct made {
    struct topology *topology;
    struct trace_reader *reader;
    struct symbols *symbols;
    struct flow *flow;
    char *page; /* its JSON */
    struct view_options options;
};

static void made_open(struct made *made)
{
    struct error err = {0};
    struct container_bytes bytes;
    uint32_t size;
    *made = (struct made){.topology = topology_simulate("numa:2 core:1", ASSIGN_PACKED, &err),
                          .reader = trace_reader_open(path, &err),
                          .symbols = symbols_new(),
                          .options = {.path = path, .filter = {.kind = -1}}};
    assert_non_null(made->reader);
    made->flow = flow_build(made->reader, made->symbols, &(struct flow_options){.topology = made->topology}, &err);
    assert_non_null(made->flow);
    const struct page_run run = {.flow = made->flow, .view = &made->options, .label = "A"};
    assert_int_equal(page_container(&run, &bytes, &err), 0);
    memcpy(&size, bytes.data + 8, sizeof size);
    made->page = strndup((const char *)bytes.data + 16, size);
    free(bytes.data);
}

static void made_close(struct made *made)
{
    free(made->page);
    flow_free(made->flow);
    symbols_free(made->symbols);
    trace_reader_close(made->reader);
    topology_free(made->topology);
}

static char *shown(struct made *made, enum view_table table, bool json)
{
    struct error err = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    made->options.json = json;
    assert_int_equal(view_rows(made->flow, table, &made->options, out, &err), 0);
    fclose(out);
    return text;
}

/* The `index`th object of the array of that name, as text; the names in the story have no brackets. */
static char *object_in(const char *json, const char *array, unsigned index)
{
    char key[32], spaced[32];
    snprintf(key, sizeof key, "\"%s\":[", array);
    snprintf(spaced, sizeof spaced, "\"%s\": [", array);
    const char *at = strstr(json, key) ? strstr(json, key) : strstr(json, spaced), *start = NULL;
    assert_non_null(at);
    unsigned depth = 0, found = 0;
    for (at = strchr(at, '['); *at; at++) {
        if (*at == '{' && depth == 1 && found++ == index)
            start = at;
        depth += *at == '[' || *at == '{';
        depth -= *at == ']' || *at == '}';
        if (start && depth == 1)
            return strndup(start, (size_t)(at + 1 - start));
    }
    fail_msg("no %s %u", array, index);
    return NULL;
}

/* What stands behind a name, or NULL. */
static const char *field_in(const char *object, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(object, key);
    return at ? at + strlen(key) + (at[strlen(key)] == ' ') : NULL;
}

static bool is_real(const struct value *value, const struct flow *flow, double *real)
{
    bool ratio = value->type == VALUE_SHARE || (value->type == VALUE_MEAN && value->of);
    *real = ratio                       ? (double)value->number / (double)value->of
            : value->type == VALUE_TIME ? (double)(value->number - flow_start(flow)) * 1e-9
                                        : value->real;
    return ratio || (value->type == VALUE_TIME && value->number != UINT64_MAX) || value->type == VALUE_SECONDS ||
           value->type == VALUE_RATE;
}

static char *expected(const struct value *value, bool page)
{
    if (value->type == VALUE_UNKNOWN) /* its text is for people */
        return mem_strdup("null");
    bool unknown = (value->type == VALUE_INDEX && value->number == FLOW_NONE) ||
                   (value->type == VALUE_LINE && value->number == 0) || value->type == VALUE_UNKNOWN ||
                   value->type == VALUE_TIME || value->type == VALUE_MEAN;
    if (value->text)
        return !*value->text && !page && value->type == VALUE_TEXT_OR_NULL ? mem_strdup("null")
                                                                           : mem_format("\"%s\"", value->text);
    if (value->type == VALUE_TEXT || value->type == VALUE_TEXT_OR_NULL)
        return mem_strdup("null");
    if (unknown)
        return mem_strdup(page && value->type == VALUE_INDEX ? "-1" : page && value->type == VALUE_LINE ? "0" : "null");
    if (value->type == VALUE_BOOL)
        return mem_strdup(value->number ? "true" : "false");
    return mem_format("%ld", (long)value->number);
}

static void check_field(const char *object, const char *name, const struct column *column, const struct value *value,
                        const struct flow *flow, bool page)
{
    const char *field = field_in(object, name);
    double real;
    if (value->type == VALUE_ABSENT || (value->type == VALUE_TEXT_OR_ABSENT && !value->text)) {
        assert_true(column->put || !field);
        return;
    }
    if (!field)
        fail_msg("%s is not in %s", name, object);
    if (is_real(value, flow, &real)) {
        double most = value->type == VALUE_RATE   ? 0.51
                      : value->type == VALUE_MEAN ? 0.051
                                                  : 0.00000051; /* what its decimals do not show */
        assert_true(strtod(field, NULL) - real < most && real - strtod(field, NULL) < most);
    } else if (value->type == VALUE_NODES) {
        assert_int_equal(*field, page ? '[' : '{');
    } else {
        char *text = expected(value, page);
        if (strncmp(field, text, strlen(text)) != 0 || !strchr(",}\n", field[strlen(text)]))
            fail_msg("%s is not %s in %s", name, text, object);
        free(text);
    }
}

static const char *cell_of(const struct value *value, const struct flow *flow)
{
    static char number[24];
    switch (value->type) {
    case VALUE_NUMBER:
    case VALUE_INDEX:
        snprintf(number, sizeof number, "%lu", (unsigned long)value->number);
        return number;
    case VALUE_RATE:
        snprintf(number, sizeof number, "%.2f", value->real / 1e9);
        return number;
    case VALUE_COUNT:
        return number_count(value->number);
    case VALUE_BYTES:
        return number_bytes(value->number);
    case VALUE_PART:
    case VALUE_SHARE:
        return number_percent(value->number, value->of);
    case VALUE_LATENCY:
        return number_latency(value->number, 1, latency_unit(flow));
    case VALUE_MEAN:
        return number_latency(value->number, value->of, latency_unit(flow));
    default:
        return value->text ? value->text : "";
    }
}

/* A cell that is empty may have no column at all; what a cell of its own says is its business, but it is there. */
static void check_text(const struct column *column, const struct rows *rows, const struct value *value,
                       const char *headings, const char *line)
{
    const char *cell = cell_of(value, rows->flow);
    bool in_text = column->text.heading && (!column->tables || column->tables & 1u << rows->table);
    if (!in_text || (!column->cell && !*cell))
        return;
    if (!strstr(headings, column->text.heading) || (!column->cell && !strstr(line, cell)))
        fail_msg("%s is not %s in: %s", column->text.heading, cell, line);
}

/* The page's number of a row; FLOW_NONE for one that only views have: what nobody allocated is no site there. */
static uint32_t page_index(const struct made *made, const struct rows *rows, const struct row *row)
{
    uint32_t index = 0;
    if (rows->table == VIEW_SITES) {
        for (const struct row *before = rows->items.items; before < row; before++)
            index += before->id != FLOW_NONE;
        return row->id == FLOW_NONE ? FLOW_NONE : index;
    }
    for (; rows->table == VIEW_OBJECTS; index++) {
        char *object = object_in(made->page, "objects", index);
        bool found = (uint32_t)strtoul(field_in(object, "number"), NULL, 10) == row->id;
        free(object);
        if (found)
            return index;
    }
    return row->id;
}

struct places { /* of one row; page: NULL for a row that only views have */
    char *json, *page;
    const char *headings, *line;
};

static void check_columns(const struct column *columns, const struct rows *rows, const struct row *row,
                          const struct places *places)
{
    for (const struct column *column = columns; !column_is_end(column); column++) {
        const char *name = column_page_name(column, rows->table);
        const struct value value = column_value(column, rows, row);
        if (column->json)
            check_field(places->json, column->json, column, &value, rows->flow, false);
        if (name && places->page)
            check_field(places->page, name, column, &value, rows->flow, true);
        check_text(column, rows, &value, places->headings, places->line);
    }
}

static void check_row(struct made *made, const struct rows *rows, const struct row *row, const char *json,
                      const char *headings, const char *line)
{
    uint32_t index = page_index(made, rows, row);
    struct places places = {.headings = headings, .line = line};
    assert_non_null(line);
    places.json = object_in(json, tables[rows->table], (unsigned)(row - rows->items.items));
    places.page = index != FLOW_NONE ? object_in(made->page, tables[rows->table], index) : NULL;
    for (const struct column *const *columns = columns_of(rows->table); *columns; columns++)
        check_columns(*columns, rows, row, &places);
    check_columns(facts_columns, rows, row, &places);
    free(places.json);
    free(places.page);
}

static void check_rate(const struct rows *rows)
{
    const double right = rows->traffic->all.read; /* of which two threads and one object have a good part each */
    const struct traffic_bytes *bytes = NULL;
    array_each (&rows->items, const struct row, row)
        bytes = bytes ? bytes : row_traffic(rows, row);
    assert_true(bytes && bytes->is_rated && bytes->read > 0.2 * right && bytes->read <= 1.001 * right);
}

static void columns_are_everywhere(void **state)
{
    (void)state;
    struct made made;
    struct error err = {0};
    made_open(&made);
    for (enum view_table table = 0; table < VIEW_TABLES; table++) {
        struct rows rows;
        if (table == VIEW_TYPES) /* made of debug information: tests/integration/test_types.py */
            continue;
        char *text = shown(&made, table, false), *json = shown(&made, table, true);
        rows_make(&rows, made.flow, table, &made.options, NULL, 0);
        rows.traffic = table == VIEW_PROCESSES ? NULL : rows_traffic(made.flow, &made.options);
        assert_int_equal(table == VIEW_FUNCTIONS ? 0 : rows_facts(&rows, NULL, &err), 0);
        if (table == VIEW_OBJECTS || table == VIEW_SITES)
            assert_non_null(rows.facts = facts_make(made.flow, &err));
        assert_true(rows.items.count > 0);
        char *lines[LINES] = {0}, *rest = NULL, *line = strtok_r(text, "\n", &rest); /* the count; headings; rows */
        for (unsigned i = 0; line && i < LINES; i++, line = strtok_r(NULL, "\n", &rest))
            lines[i] = line;
        array_each (&rows.items, const struct row, row)
            check_row(&made, &rows, row, json, lines[1], lines[2 + (row - rows.items.items)]);
        if (table != VIEW_PROCESSES) /* the first row's bytes are known; that is what is compared above */
            check_rate(&rows);
        traffic_free(rows.traffic);
        rows_free(&rows);
        free(text);
        free(json);
    }
    made_close(&made);
}

static bool same_value(const struct column *a, const struct column *b)
{
    return a->get == b->get && a->type == b->type && a->base == b->base && a->offset == b->offset && a->of == b->of &&
           a->all == b->all;
}

/* What people see programs can have too. */
static void text_has_nothing_of_its_own(void **state)
{
    (void)state;
    for (enum view_table table = 0; table <= VIEW_GROUPS; table++) {
        struct column_list list = columns_text(table);
        assert_true(list.count > 0);
        for (unsigned i = 0; i < list.count; i++) {
            bool found = false;
            for (const struct column *const *columns = columns_of(table); *columns; columns++) {
                for (const struct column *column = *columns; !column_is_end(column); column++)
                    found |= column->json && same_value(column, list.items[i]);
            }
            if (!found)
                fail_msg("%s is in no JSON", list.items[i]->text.heading);
        }
    }
}

static char *doc_open(const char *name)
{
    assert_non_null(getenv("NUMALENS_DOCS"));
    char *file = mem_format("%s/%s", getenv("NUMALENS_DOCS"), name);
    size_t size;
    uint8_t *bytes = whole_file(file, &size);
    char *text = strndup((const char *)bytes, size);
    free(bytes);
    free(file);
    return text;
}

/* As a word of its own. */
static void check_documented(const char *doc, const char *name)
{
    static const char inside[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    for (const char *at = name ? strstr(doc, name) : NULL; at; at = strstr(at + 1, name)) {
        const char after = at[strlen(name)];
        if ((at == doc || !strchr(inside, at[-1])) && (after == '\0' || !strchr(inside, after)))
            return;
    }
    if (name)
        fail_msg("the documentation does not have %s", name);
}

static void check_names(const struct column *columns, const char *json, const char *page)
{
    for (const struct column *column = columns; !column_is_end(column); column++) {
        check_documented(json, column->json);
        check_documented(page, column->page.name);
        check_documented(page, column->site_page.name);
    }
}

static void columns_are_documented(void **state)
{
    (void)state;
    char *json = doc_open("json.md"), *page = doc_open("view.md");
    for (enum view_table table = 0; table <= VIEW_GROUPS; table++) {
        for (const struct column *const *columns = columns_of(table); *columns; columns++)
            check_names(*columns, json, page);
    }
    check_names(facts_columns, json, page);
    for (const struct fact *fact = fact_table; fact < fact_table + FACTS; fact++)
        if (fact->shown & (FACT_TABLES | FACT_OBJECT))
            check_documented(json, fact->name);
    free(json);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_are_everywhere, write_trace, remove_trace),
        cmocka_unit_test(text_has_nothing_of_its_own),
        cmocka_unit_test(columns_are_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
