/* view/report/report_full.c - what `numalens report -v` adds to the screen: who makes most of it, every table, the nodes. */
#include "analysis/thresholds.h"
#include "analysis/traffic/traffic.h"
#include "base/text.h"
#include "view/node_matrix.h"
#include "base/number.h"
#include "view/report/report_parts.h"
#include "view/table.h"

#include <string.h>

enum { NAMED_IN_ANSWER = 4 };

static void answer_latency(const struct report *report)
{
    const struct row_facts *facts = &report->facts;
    const struct flow_totals *totals = &report->totals;
    if (totals->latency_count == 0)
        return;
    if (!report->topology->simulated && facts->remote_count && facts->local_count)
        say(report, "A remote access takes %s on average, a local one %s.",
            number_latency(facts->remote_sum, facts->remote_count, report->unit),
            number_latency(facts->local_sum, facts->local_count, report->unit));
    else
        say(report, "An access takes %s on average%s.",
            number_latency(totals->latency_sum, totals->latency_count, report->unit),
            report->topology->simulated ? ", as measured on this machine: simulated nodes are all equally near" : "");
}

static uint64_t weight(const struct report *report, const struct flow_totals *totals)
{
    return report->by_remote ? totals->remote : totals->samples;
}

static const char *mean_text(const struct report *report, const struct flow_totals *totals)
{
    static _Thread_local char text[48];
    snprintf(text, sizeof text, ", %s", number_latency(totals->latency_sum, totals->latency_count, report->unit));
    return text;
}

/* The few that make most of it: as many as it takes for four fifths, at most a handful. */
static size_t top_rows(const struct report *report, const struct rows *rows, uint64_t whole, uint64_t *sum)
{
    size_t count = 0;
    *sum = 0;
    while (count < rows->items.count && count < NAMED_IN_ANSWER && *sum * 5 < whole * 4) {
        uint64_t part = weight(report, &rows->items.items[count].totals);
        if (part * 50 < whole)
            break;
        *sum += part;
        count++;
    }
    return count;
}

static void answer_objects(const struct report *report)
{
    uint64_t whole = weight(report, &report->totals), sum;
    size_t count = top_rows(report, &report->sites, whole, &sum);
    if (count == 0)
        return;
    say(report, "%zu object%s make%s %s of %s:", count, text_plural(count), count == 1 ? "s" : "",
        number_percent(sum, whole), report->by_remote ? "the remote accesses" : "all accesses");
    struct table *table = table_new();
    table_column(table, "", TABLE_RIGHT);
    table_column(table, "", TABLE_FLEX);
    table_column(table, "", TABLE_LEFT);
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &report->sites.items.items[i];
        table_cell(table, "%s", number_percent(weight(report, &row->totals), whole));
        table_object(table, report->flow, row);
        table_cell(table, "%s %s%s%s%s%s", number_bytes(row->size), view_kind_name(row->kind),
                   row->count > 1 ? " in " : "", row->count > 1 ? number_count(row->count) : "",
                   row->count > 1 ? " pieces" : "", row->totals.latency_count ? mean_text(report, &row->totals) : "");
    }
    table_print(table, report->out, 4, report->options->width, report->options->color);
}

static void answer_threads(const struct report *report)
{
    uint64_t whole = weight(report, &report->totals), sum, most = 0, fewest = UINT64_MAX;
    size_t active = 0;
    array_each (&report->threads.items, const struct row, row) {
        if (row->totals.samples * 200 < report->totals.samples)
            continue;
        uint64_t part = weight(report, &row->totals);
        active++;
        most = part > most ? part : most;
        fewest = part < fewest ? part : fewest;
    }
    size_t count = top_rows(report, &report->threads, whole, &sum);
    if (active == 0 || count == 0)
        return;
    if (active > NAMED_IN_ANSWER && most < 2 * fewest) {
        say(report, "%zu threads share them about evenly.", active);
        return;
    }
    char names[NAMED_IN_ANSWER * 48] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct flow_thread *thread = flow_thread(report->flow, report->threads.items.items[i].id);
        char name[24];
        snprintf(name, sizeof name, "%u", thread->tid);
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.20s %s", i ? ", " : "",
                                 *thread->name ? thread->name : name,
                                 number_percent(weight(report, &thread->totals), whole));
    }
    say(report, "%zu of %zu thread%s make%s %s of them: %s.", count, report->threads.matching,
        text_plural(report->threads.matching), count == 1 ? "s" : "", number_percent(sum, whole), names);
}

void report_answer(const struct report *report)
{
    answer_objects(report);
    answer_threads(report);
    answer_latency(report);
}

static void tables(const struct report *report)
{
    const char *order = report->by_remote ? "most remote accesses first" : "most accesses first";
    char title[96];
    if (report->processes.items.count > 1) {
        snprintf(title, sizeof title, "Processes (%s)", order);
        report_heading(report, title);
        tables_print(&report->processes, report->options, 2, report->out);
    }
    if (report->totals.samples) {
        snprintf(title, sizeof title, "Threads (%s)", order);
        report_heading(report, title);
        tables_print(&report->threads, report->options, 2, report->out);
    }
    if (report->functions.items.count) {
        snprintf(title, sizeof title, "Functions (%s)", order);
        report_heading(report, title);
        tables_print(&report->functions, report->options, 2, report->out);
    }
}

static void bytes_cell(struct table *table, uint32_t from, uint32_t to, const void *argument)
{
    const struct traffic *traffic = argument;
    double part = traffic->node_pairs[from * traffic->node_count + to];
    table_cell(table, "%.2f", part / 1e9);
    if (from != to && part * 10 > traffic_total(&traffic->all))
        table_hot(table);
}

static void matrix(const struct report *report)
{
    if (report->facts.nodes < 2 || report->totals.home_known == 0)
        return;
    report_heading(report, "Accesses from the CPU's node (rows) to the memory's home node (columns)");
    node_matrix_accesses(report->topology, report->facts.matrix, report->totals.home_known, report->out,
                         report->options->width, report->options->color);
    if (!report->traffic || !report->traffic->all.is_rated)
        return;
    report_heading(report, report->traffic->source == TRAFFIC_DATA_SOURCES
                               ? "GB/s from memory of a node (columns) to the caches of a node (rows), at least"
                               : "GB/s between the caches of a node (rows) and the memory of a node (columns)");
    node_matrix_print(report->topology, bytes_cell, report->traffic, report->out, report->options->width,
                      report->options->color);
    if (report->traffic->unplaced > thresholds.worth_saying * traffic_total(&report->traffic->all))
        say(report, "The home node of another %.2f GB/s is not known.", report->traffic->unplaced / 1e9);
}

void report_tables(const struct report *report)
{
    tables(report);
    matrix(report);
}
