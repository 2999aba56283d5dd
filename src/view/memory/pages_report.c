/* view/memory/pages_report.c - numalens report pages: which pages were used, by whom and when; or where they are in physical memory.
 *
 * Neighbours that are used alike are one line for people. Programs get each page. */
#include "analysis/facts/page_list.h"

#include "base/json.h"
#include "base/order.h"
#include "base/units.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/problems/problems.h"
#include "view/report/report.h"
#include "view/table.h"

#include <string.h>

enum { NAMED_USERS = 4 };

struct line { /* of adjacent rows that are used alike; in JSON each row is one */
    uint32_t first, last;
    uint64_t pages, reads, writes, unknown, uses, remote;
    uint64_t begun, ended;
    uint32_t min_intervals, max_intervals;
};

struct shown {
    const struct page_list *list;
    const struct view_options *options;
    array_of(uint32_t) rows; /* that pass, in order of address or frame */
    array_of(struct line) lines;
    size_t matching;
    uint64_t pages, bytes, frames;
};

static const struct page_row *row_at(const struct shown *shown, uint32_t at)
{
    return &shown->list->rows.items[shown->rows.items[at]];
}

static uint32_t pid_of(const struct flow *flow, const struct page_row *row)
{
    return row->process != FLOW_NONE ? flow_process(flow, row->process)->pid : 0;
}

/* A page as the row that filters look at. */
static struct row as_row(const struct flow *flow, const struct page_row *page)
{
    struct row row = {.kind = OBJECT_KINDS, .name = "", .label = "", .file = "", .module = "", .via = ""};
    if (page->object != FLOW_NONE)
        row = rows_object(flow, page->object);
    row.pid = pid_of(flow, page);
    row.variable = "";
    row.totals = (struct flow_totals){.samples = page_row_uses(page), .remote = page->remote};
    return row;
}

static bool follows(const struct shown *shown, const struct page_row *before, const struct page_row *row)
{
    if (!page_rows_alike(shown->list, before, row))
        return false;
    return shown->options->physical
               ? before->frame_home == row->frame_home && before->physical + before->size == row->physical
               : before->page + before->size == row->page;
}

static void add_to_line(struct line *line, const struct page_row *row)
{
    line->pages++;
    line->reads += row->reads;
    line->writes += row->writes;
    line->unknown += row->unknown;
    line->uses += page_row_uses(row);
    line->remote += row->remote;
    if (row->first < line->begun)
        line->begun = row->first;
    if (row->last > line->ended)
        line->ended = row->last;
    if (row->intervals < line->min_intervals)
        line->min_intervals = row->intervals;
    if (row->intervals > line->max_intervals)
        line->max_intervals = row->intervals;
}

static int by_frame(const void *left, const void *right, void *context)
{
    const struct page_list *list = context;
    const struct page_row *a = &list->rows.items[*(const uint32_t *)left];
    const struct page_row *b = &list->rows.items[*(const uint32_t *)right];
    return ORDER(a->frame_home, b->frame_home) ?: ORDER(a->physical, b->physical) ?: ORDER(a, b);
}

/* Largest first but for names, addresses and times. */
static int by_key(const void *left, const void *right, void *context)
{
    const struct shown *shown = context;
    const struct line *a = left, *b = right;
    const char *sort = shown->options->sort;
    uint64_t x = 0, y = 0;
    if (strcmp(sort, "first") == 0)
        x = b->begun, y = a->begun;
    else if (strcmp(sort, "last") == 0)
        x = a->ended, y = b->ended;
    else if (strcmp(sort, "intervals") == 0)
        x = a->max_intervals, y = b->max_intervals;
    else if (strcmp(sort, "reads") == 0)
        x = a->reads, y = b->reads;
    else if (strcmp(sort, "writes") == 0)
        x = a->writes, y = b->writes;
    else if (strcmp(sort, "uses") == 0)
        x = a->uses, y = b->uses;
    else if (strcmp(sort, "remote") == 0)
        x = a->remote, y = b->remote;
    else if (strcmp(sort, "pages") == 0)
        x = a->pages, y = b->pages;
    else if (strcmp(sort, "threads") == 0)
        x = row_at(shown, a->first)->user_count, y = row_at(shown, b->first)->user_count;
    return ORDER(y, x) ?: ORDER(a->first, b->first);
}

static void choose(struct shown *shown)
{
    const struct page_list *list = shown->list;
    const struct view_options *options = shown->options;
    for (uint32_t i = 0; i < list->rows.count; i++) {
        const struct page_row *page = &list->rows.items[i];
        shown->frames += page->physical != 0;
        struct row row = as_row(list->flow, page);
        if (!row_passes(&options->filter, &row, list->uses) || (options->physical && page->physical == 0))
            continue;
        array_push(&shown->rows, i);
        shown->pages++;
        shown->bytes += page->size;
    }
    if (options->physical && shown->rows.count)
        qsort_r(shown->rows.items, shown->rows.count, sizeof *shown->rows.items, by_frame, (void *)list);
    for (uint32_t i = 0; i < shown->rows.count; i++) {
        const struct page_row *row = row_at(shown, i);
        if (i == 0 || options->json || !follows(shown, row_at(shown, i - 1), row))
            array_push(&shown->lines, (struct line){.first = i, .begun = UINT64_MAX, .min_intervals = UINT32_MAX});
        struct line *line = &shown->lines.items[shown->lines.count - 1];
        line->last = i;
        add_to_line(line, row);
    }
    if (options->sort && strcmp(options->sort, "address") != 0 && shown->lines.count)
        qsort_r(shown->lines.items, shown->lines.count, sizeof *shown->lines.items, by_key, shown);
    shown->matching = shown->lines.count;
    if (options->limit && shown->lines.count > options->limit)
        shown->lines.count = options->limit;
}

static double seconds(const struct flow *flow, uint64_t time)
{
    return time > flow_start(flow) ? (double)(time - flow_start(flow)) / 1e9 : 0;
}

static void put_object(struct json *json, const struct flow *flow, const struct page_row *row)
{
    bool known = row->object != FLOW_NONE;
    struct row named = as_row(flow, row);
    json_number_if(json, "object", known, row->object);
    json_text(json, "kind", known ? view_kind_name(named.kind) : NULL);
    json_text(json, "name", known ? named.name : NULL);
    json_text(json, "site", known ? named.label : NULL);
}

static void put_row(struct json *json, const struct page_list *list, const struct page_row *row)
{
    const struct flow *flow = list->flow;
    json_object(json, NULL);
    json_number(json, "pid", pid_of(flow, row));
    json_number(json, "page", row->page);
    json_number(json, "size", row->size);
    json_number_if(json, "physical", row->physical, row->physical);
    json_integer_if(json, "physical_node", row->physical && row->frame_home >= 0, node_os(flow, row->frame_home));
    put_object(json, flow, row);
    json_integer_if(json, "node", row->home >= 0, node_os(flow, row->home));
    json_array(json, "threads");
    for (uint32_t i = 0; i < row->user_count; i++) {
        const struct page_user *user = &list->users.items[row->first_user + i];
        json_object(json, NULL);
        json_number_if(json, "tid", user->thread != FLOW_NONE, flow_thread(flow, user->thread)->tid);
        json_number(json, "reads", user->reads);
        json_number(json, "writes", user->writes);
        json_number(json, "unknown", user->unknown);
        json_end(json);
    }
    json_end(json);
    json_real(json, "first_s", seconds(flow, row->first), 6);
    json_real(json, "last_s", seconds(flow, row->last), 6);
    json_number(json, "intervals", row->intervals);
    json_number_if(json, "remote", row->home >= 0, row->remote);
    json_array(json, "mechanisms");
    for (unsigned i = 0; i < PAGE_MECHANISMS; i++) {
        if (row->mechanisms >> i & 1)
            json_text(json, NULL, page_mechanism_name(i));
    }
    json_end(json);
    json_end(json);
}

/* What the mechanism of the recording cannot see, as a sentence; "" when that is nothing or not known. */
static const char *not_seen(const struct page_list *list, char *text, size_t room)
{
    const struct trace_session *session = flow_session(list->flow);
    const char *mechanism = session && !list->from_samples ? trace_session_get(session, "mechanism") : NULL;
    *text = 0;
    if (!mechanism)
        return text;
    if (strcmp(mechanism, "none") == 0) {
        snprintf(text, room, "These are first touches only: no mechanism made pages fault again.");
    } else if (strncmp(mechanism, "numa-hint", 9) != 0) {
        snprintf(text, room, "Later reads of a page are not here: %s sees writes.", mechanism);
    } else {
        uint32_t processes = (uint32_t)flow_process_count(list->flow), lone = 0;
        uint32_t *threads = mem_zalloc((processes + 1) * sizeof *threads);
        for (uint32_t i = 0; i < flow_thread_count(list->flow); i++)
            threads[flow_thread(list->flow, i)->process]++;
        for (uint32_t i = 0; i < processes; i++)
            lone += threads[i] == 1;
        free(threads);
        if (lone)
            snprintf(text, room,
                     "%u program%s had one thread only: %s of pages on the node where it ran are not here, because the "
                     "kernel gives no hints for those.",
                     lone, lone == 1 ? "" : "s", strstr(mechanism, "uffd-wp") ? "later reads" : "later uses");
    }
    return text;
}

static int pages_json(const struct shown *shown, FILE *out, struct error *err)
{
    const struct flow *flow = shown->list->flow;
    struct json *json = json_new(out);
    char blind[256];
    json_object(json, NULL);
    report_json_head(json, flow, shown->options);
    json_text(json, "pages_from", shown->list->from_samples ? "samples" : "faults");
    json_text(json, "not_seen", *not_seen(shown->list, blind, sizeof blind) ? blind : NULL);
    json_number(json, "pages_without_thread", flow_pages_without_thread(flow));
    json_number(json, "pages_with_frame", shown->frames);
    json_number(json, "matching", shown->matching);
    json_array(json, "pages");
    array_each (&shown->lines, const struct line, line)
        put_row(json, shown->list, row_at(shown, line->first));
    return json_finish(json, err);
}

/* "main (100) rw, worker (101) r": the direction is "?" where it is not reported. */
static void users_cell(struct table *table, const struct page_list *list, const struct page_row *row)
{
    char text[256] = "";
    size_t used = 0;
    uint32_t named = row->user_count < NAMED_USERS ? row->user_count : NAMED_USERS - 1;
    for (uint32_t i = 0; i < named; i++) {
        const struct page_user *user = &list->users.items[row->first_user + i];
        const struct flow_thread *thread = user->thread != FLOW_NONE ? flow_thread(list->flow, user->thread) : NULL;
        const char *how = user->reads && user->writes ? "rw" : user->reads ? "r" : user->writes ? "w" : "?";
        int length = thread ? snprintf(text + used, sizeof text - used, "%s%.24s (%u) %s", i ? ", " : "",
                                       *thread->name ? thread->name : "thread", thread->tid, how)
                            : snprintf(text + used, sizeof text - used, "%sthread unknown %s", i ? ", " : "", how);
        used += length > 0 ? (size_t)length : 0;
        if (used >= sizeof text)
            break;
    }
    if (row->user_count > named && used < sizeof text)
        snprintf(text + used, sizeof text - used, " and %u more", row->user_count - named);
    table_cell(table, "%s", text);
}

static void node_cell(struct table *table, const struct flow *flow, int home)
{
    if (home >= 0)
        table_cell(table, "%d", node_os(flow, home));
    else
        table_cell(table, "?");
}

static void object_cell(struct table *table, const struct flow *flow, const struct page_row *row)
{
    struct row named = as_row(flow, row);
    if (row->object != FLOW_NONE)
        table_object(table, flow, &named);
    else
        table_cell(table, "-");
}

static void put_lines(const struct shown *shown, FILE *out)
{
    const struct flow *flow = shown->list->flow;
    bool physical = shown->options->physical;
    struct table *table = table_new();
    table_column(table, "pages", TABLE_RIGHT);
    if (physical)
        table_column(table, "frames from", TABLE_RIGHT);
    table_column(table, physical ? "page" : "from", TABLE_RIGHT);
    table_column(table, "to", TABLE_RIGHT | TABLE_OPTIONAL);
    table_column(table, "node", TABLE_RIGHT);
    table_columns(table, TABLE_RIGHT | TABLE_OPTIONAL, "first s", "last s", "intervals");
    table_columns(table, TABLE_RIGHT, "reads", "writes");
    table_column(table, "?", TABLE_RIGHT | TABLE_OPTIONAL);
    table_column(table, "object", TABLE_FLEX);
    table_column(table, "threads", TABLE_LEFT);
    array_each (&shown->lines, const struct line, line) {
        const struct page_row *first = row_at(shown, line->first), *last = row_at(shown, line->last);
        table_cell(table, "%s%s", number_count(line->pages), first->size >= HUGE_PAGE ? " huge" : "");
        if (physical)
            table_cell(table, "%llx", (unsigned long long)first->physical);
        table_cell(table, "%llx", (unsigned long long)first->page);
        uint64_t end = last->page + last->size;
        table_cell(table, "%llx", (unsigned long long)end);
        node_cell(table, flow, physical ? first->frame_home : first->home);
        table_cell(table, "%.3f", seconds(flow, line->begun));
        table_cell(table, "%.3f", seconds(flow, line->ended));
        if (line->min_intervals == line->max_intervals)
            table_cell(table, "%u", line->max_intervals);
        else
            table_cell(table, "%u-%u", line->min_intervals, line->max_intervals);
        table_cell(table, "%s", number_count(line->reads));
        table_cell(table, "%s", number_count(line->writes));
        table_cell(table, "%s", line->unknown ? number_count(line->unknown) : "");
        object_cell(table, flow, first);
        users_cell(table, shown->list, first);
    }
    table_print(table, out, 2, shown->options->width, shown->options->color);
    if (shown->matching > shown->lines.count)
        fprintf(out, "  %s more lines\n", number_count(shown->matching - shown->lines.count));
}

static void answer(const struct shown *shown, FILE *out)
{
    const struct page_list *list = shown->list;
    unsigned width = shown->options->width;
    paragraph(out, 2, width, "", "%s page%s (%s) in use, as %s.", number_count(shown->pages),
              shown->pages == 1 ? "" : "s", number_bytes(shown->bytes),
              list->from_samples
                  ? "samples touched them: a page that no sample hit is not here, and intervals are of 50 ms"
                  : "page faults recorded, interval by interval");
    char blind[256];
    if (*not_seen(list, blind, sizeof blind))
        paragraph(out, 2, width, "", "%s", blind);
    uint64_t nobody = flow_pages_without_thread(list->flow);
    if (nobody)
        paragraph(out, 2, width, "", "Of %s uses the thread is not known: the mechanism does not report it.",
                  number_count(nobody));
}

static void frames_missing(const struct shown *shown, FILE *out)
{
    const struct trace_session *session = flow_session(shown->list->flow);
    const char *why = session ? trace_session_get(session, "frames_reason") : NULL;
    if (shown->frames)
        return;
    paragraph(out, 2, shown->options->width, "",
              "No page frame was recorded%s%s. Frames need the privilege to read "
              "them from /proc/PID/pagemap: run numalens record as root or with CAP_SYS_ADMIN.",
              why ? ": " : "", why ? why : "");
}

/* How many of the frames are on each node. */
static void put_nodes(const struct shown *shown, FILE *out)
{
    const struct topology *topology = flow_topology(shown->list->flow);
    struct table *table = table_new();
    table_column(table, "node", TABLE_LEFT);
    table_columns(table, TABLE_RIGHT, "frames", "lowest", "highest");
    for (int node = -1; node < (int)topology->node_count; node++) {
        uint64_t count = 0, low = UINT64_MAX, high = 0;
        for (uint32_t i = 0; i < shown->rows.count; i++) {
            const struct page_row *row = row_at(shown, i);
            if (row->frame_home != node)
                continue;
            count++;
            low = row->physical < low ? row->physical : low;
            high = row->physical > high ? row->physical : high;
        }
        if (count == 0)
            continue;
        node_cell(table, shown->list->flow, node);
        table_cell(table, "%s", number_count(count));
        table_cell(table, "%llx", (unsigned long long)low);
        table_cell(table, "%llx", (unsigned long long)high);
    }
    table_print(table, out, 2, shown->options->width, shown->options->color);
}

static void pages_text(const struct shown *shown, FILE *out)
{
    const struct view_options *options = shown->options;
    if (options->physical && shown->frames == 0) {
        frames_missing(shown, out);
        return;
    }
    answer(shown, out);
    if (options->physical) {
        problem_heading(options, out, "Frames by node");
        put_nodes(shown, out);
    }
    problem_heading(options, out,
                    options->physical ? "Frames by node and address (neighbours used alike are one line)"
                                      : "Pages (neighbours used alike are one line)");
    put_lines(shown, out);
}

const char *view_page_sort_keys(void)
{
    return "address, first, last, intervals, reads, writes, uses, remote, pages, threads";
}

int view_pages(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err)
{
    struct page_list *list = page_list_make(flow, err);
    if (!list)
        return -1;
    struct shown shown = {.list = list, .options = options};
    int failed = 0;
    choose(&shown);
    if (options->json) {
        failed = pages_json(&shown, out, err);
    } else {
        pages_text(&shown, out);
        failed = report_flush(out, err);
    }
    array_free(&shown.rows);
    array_free(&shown.lines);
    page_list_free(list);
    return failed;
}
