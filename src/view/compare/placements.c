/* view/compare/placements.c - numalens compare -- PROGRAM: one table over all placements, as text and JSON. */
#include "base/text.h"
#include "base/json.h"
#include "view/compare/compare.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/problems/problems.h"
#include "view/report/report.h"
#include "view/table.h"

#include <math.h>
#include <string.h>

static const char *contention_word(enum contention contention)
{
    return contention == CONTENTION_LINK ? "link" : contention == CONTENTION_MEMORY ? "memory" : "none";
}

static void time_cells(struct table *table, struct middle middle, bool spread)
{
    table_cell(table, "%s", number_seconds(middle.median));
    if (spread)
        table_cell(table, "%s", number_seconds(middle.max - middle.min));
    else
        table_cell(table, "-");
}

static void mean_cell(struct table *table, const struct access_tally *tally)
{
    if (tally->timed)
        table_cell(table, "%.1f", tally_mean(tally));
    else
        table_cell(table, "-");
}

static void put_table(const struct placements_run *run, const struct view_options *options, FILE *out)
{
    const struct figures_options *figures = run->figures;
    struct table *table = table_new();
    char titles[LATENCY_THRESHOLDS][16];
    table_column(table, "placement", TABLE_LEFT);
    table_column(table, run->plain ? "time" : "recorded", TABLE_RIGHT);
    table_column(table, "spread", TABLE_RIGHT);
    if (run->plain)
        table_column(table, "recorded", TABLE_RIGHT | TABLE_OPTIONAL);
    table_columns(table, TABLE_RIGHT, "remote", "TL private");
    table_column(table, "TN", TABLE_RIGHT | TABLE_OPTIONAL);
    table_columns(table, TABLE_RIGHT, "AL", "TL shared");
    table_column(table, "TN", TABLE_RIGHT | TABLE_OPTIONAL);
    table_column(table, "AL", TABLE_RIGHT);
    for (unsigned i = 0; i < figures->threshold_count; i++) {
        snprintf(titles[i], sizeof titles[i], ">%u", figures->thresholds[i]);
        table_column(table, titles[i], TABLE_RIGHT | TABLE_OPTIONAL);
    }
    table_column(table, "deviation", TABLE_RIGHT | TABLE_OPTIONAL);
    for (uint32_t i = 0; i < run->count; i++) {
        const struct placed *placed = &run->items[i];
        if (placed->runs.count == 0)
            continue;
        struct figures middle = placed_median(placed, figures->threshold_count);
        bool spread = placed->runs.count > 1;
        table_cell(table, "%s", placed->name);
        time_cells(table, placed_middle(placed, run->plain ? figure_plain : figure_recorded), spread);
        if (run->plain)
            table_cell(table, "%s", number_seconds(middle.recorded_s));
        table_cell(table, "%s", number_percent(middle.remote, middle.home_known));
        table_cell(table, "%s", number_count(middle.private_data.latency));
        table_cell(table, "%s", number_count(middle.private_data.timed));
        mean_cell(table, &middle.private_data);
        table_cell(table, "%s", number_count(middle.shared.latency));
        table_cell(table, "%s", number_count(middle.shared.timed));
        mean_cell(table, &middle.shared);
        for (unsigned k = 0; k < figures->threshold_count; k++)
            table_cell(table, "%s", number_count(middle.above[k]));
        table_cell(table, "%.1f", middle.deviation);
    }
    table_print(table, out, 2, options->width, options->color);
}

/* The first two that ran, as a user would compare them. */
static void put_next(const struct placements_run *run, const struct view_options *options, FILE *out)
{
    const char *names[2] = {NULL, NULL};
    for (uint32_t i = 0, found = 0; i < run->count && found < 2; i++)
        if (run->items[i].runs.count)
            names[found++] = run->items[i].name;
    if (!names[1])
        return;
    char *kept = text_shell(run->kept);
    paragraph(out, 2, options->width, "", "The recordings are in %s; next: numalens compare %s/%s-1.data %s/%s-1.data",
              run->kept, kept, names[0], kept, names[1]);
    free(kept);
}

static void put_legend(const struct placements_run *run, const struct view_options *options, FILE *out)
{
    unsigned longest = 0;
    for (uint32_t i = 0; i < run->count; i++)
        longest = strlen(run->items[i].name) > longest ? (unsigned)strlen(run->items[i].name) : longest;
    fputc('\n', out);
    for (uint32_t i = 0; i < run->count; i++)
        paragraph_labelled(out, run->items[i].name, 2, longest + 4, options->width, "%s%s.",
                           run->items[i].placement.possible ? "" : "skipped: ", run->items[i].placement.text);
    fputc('\n', out);
    paragraph(out, 2, options->width, "",
              "%u run%s of each, in alternating order; %s. Each figure is the median over the runs; spread is from the "
              "fastest to the slowest. TL: total latency in %s, TN: accesses that carry one, AL: the one by the other; "
              "private and shared by %s%s. Behind >: accesses slower than that. Deviation: of remote accesses over the "
              "threads.",
              run->repeat, run->repeat == 1 ? "" : "s",
              run->plain ? "time is without recording, and everything else of recorded runs"
                         : "run times are with recording",
              run->unit, run->figures->grain == GRAIN_LINE ? "cache " : "", sharing_grain_name(run->figures->grain));
    if (run->plain && !run->simulated)
        paragraph(out, 2, options->width, "",
                  "Without recording, threads are not assigned one by one: distributed then leaves them to the kernel, "
                  "on the same CPUs.");
    if (run->simulated)
        paragraph(out, 2, options->width, "",
                  "The nodes are simulated: run times and latencies are those of this machine and say nothing about "
                  "placement.");
    if (run->same_output)
        paragraph(out, 2, options->width, "", "All runs printed the same and ended with the same status.");
    if (run->kept)
        put_next(run, options, out);
}

static void put_middle(struct json *json, const char *key, struct middle middle)
{
    json_object(json, key);
    json_real(json, "median", middle.median, 6);
    json_real(json, "least", middle.min, 6);
    json_real(json, "most", middle.max, 6);
    json_end(json);
}

static void put_figures(struct json *json, const struct figures *figures, const struct placements_run *run)
{
    json_real(json, "recorded_s", figures->recorded_s, 6);
    json_real(json, "plain_s", figures->plain_s >= 0 ? figures->plain_s : NAN, 6);
    json_number(json, "samples", figures->samples);
    json_number_if(json, "remote", figures->home_known > 0 || figures->samples == 0, figures->remote);
    json_number(json, "home_known", figures->home_known);
    json_real(json, "remote_ratio", figures->home_known ? figures_remote(figures) : NAN, 6);
    put_tally(json, "private", &figures->private_data);
    put_tally(json, "shared", &figures->shared);
    put_tally(json, "cross_node", &figures->cross_node);
    json_number(json, "shared_by_nodes", figures->mixed);
    json_array(json, "above");
    for (unsigned i = 0; i < run->figures->threshold_count; i++) {
        json_object(json, NULL);
        json_number(json, "threshold", run->figures->thresholds[i]);
        json_number(json, "TN", figures->above[i]);
        json_end(json);
    }
    json_end(json);
    json_real(json, "deviation", figures->deviation, 2);
    json_real(json, "variation", figures->variation, 4);
    json_number(json, "threads", figures->threads);
    json_bool(json, "unbalanced", figures->unbalanced);
    json_text(json, "contention", contention_word(figures->contention));
}

static void put_placed(struct json *json, const struct placed *placed, const struct placements_run *run)
{
    json_object(json, NULL);
    json_text(json, "placement", placed->name);
    json_bool(json, "possible", placed->placement.possible);
    json_text(json, "text", placed->placement.text);
    json_number_if(json, "cpus", placed->placement.possible && !run->simulated, placed->placement.cpu_count);
    if (placed->runs.count) {
        struct figures middle = placed_median(placed, run->figures->threshold_count);
        put_middle(json, "recorded", placed_middle(placed, figure_recorded));
        if (run->plain)
            put_middle(json, "plain", placed_middle(placed, figure_plain));
        json_object(json, "median");
        put_figures(json, &middle, run);
        json_end(json);
    }
    json_array(json, "runs");
    array_each (&placed->runs, const struct figures, figures) {
        json_object(json, NULL);
        put_figures(json, figures, run);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void put_verdict(struct json *json, const struct placements_run *run)
{
    static const char *const by[] = {"recorded time", "plain time", "remote accesses"};
    const struct verdict *verdict = run->verdict;
    json_object(json, "verdict");
    json_text(json, "by", by[verdict->by]);
    json_bool(json, "differ", verdict->differ);
    json_array(json, "best");
    for (uint32_t i = 0, ran = 0; i < run->count; i++) {
        if (run->items[i].runs.count == 0)
            continue;
        if (verdict->differ && (verdict->as_good >> ran & 1))
            json_text(json, NULL, run->items[i].name);
        ran++;
    }
    json_end(json);
    json_text(json, "problem", problem_name(verdict->problem));
    json_array(json, "problems");
    for (unsigned i = PROBLEM_NONE + 1; i < PROBLEMS; i++)
        if (verdict->has[i])
            json_text(json, NULL, problem_name((enum problem)i));
    json_end(json);
    json_text(json, "text", verdict->text);
    json_text(json, "why", *verdict->why ? verdict->why : NULL);
    json_end(json);
}

static int placements_json(const struct placements_run *run, FILE *out, struct error *err)
{
    struct json *json = json_new(out);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_text(json, "command", run->command);
    json_bool(json, "simulated", run->simulated);
    json_number(json, "repeat", run->repeat);
    json_text(json, "latency_unit", run->unit);
    json_text(json, "grain", sharing_grain_name(run->figures->grain));
    json_bool_if(json, "same_output", run->same_output, true);
    json_text(json, "kept", run->kept);
    put_verdict(json, run);
    json_array(json, "placements");
    for (uint32_t i = 0; i < run->count; i++)
        put_placed(json, &run->items[i], run);
    return json_finish(json, err);
}

int view_placements(const struct placements_run *run, const struct view_options *options, FILE *out, struct error *err)
{
    if (options->json)
        return placements_json(run, out, err);
    paragraph(out, 2, options->width, options->color ? "\033[1m" : "", "%s", run->verdict->text);
    if (*run->verdict->why)
        paragraph(out, 2, options->width, "", "%s", run->verdict->why);
    problem_heading(options, out, "Placements");
    put_table(run, options, out);
    put_legend(run, options, out);
    return report_flush(out, err);
}
