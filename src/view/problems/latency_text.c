/* view/problems/latency_text.c - latencies for people: the verdict, a histogram, who waits for what. */
#include "view/problems/latency_report.h"

#include "base/number.h"
#include "view/paragraph.h"
#include "view/problems/problems.h"
#include "view/table.h"

#include <math.h>
#include <string.h>

enum { BAR = 50, STEP = 4 /* buckets in a line: half a power of two */, SPARK_STEP = 8, TOP = 10 };

static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

/* A bar as long as the number's logarithm: a tail of ten in a million can still be seen. */
static void put_bar(FILE *out, uint64_t number, uint64_t most, bool ascii)
{
    double part = log2((double)number + 1) / log2((double)most + 1);
    unsigned length = (unsigned)(part * BAR * 8 + 0.5);
    for (unsigned i = 0; i < length / 8; i++)
        fputs(ascii ? "#" : eighths[8], out);
    if (!ascii)
        fputs(eighths[length % 8], out);
    else if (length < 8)
        fputc(':', out);
}

static uint64_t in_step(const struct latency_histogram *histogram, unsigned step, unsigned width)
{
    uint64_t sum = 0;
    for (unsigned i = step * width; i < (step + 1) * width && i < LATENCY_BUCKETS; i++)
        sum += histogram->counts[i];
    return sum;
}

static void put_histogram(const struct latency *latency, const struct view_options *options, FILE *out)
{
    const struct latency_histogram *histogram = &latency->histogram;
    unsigned first = LATENCY_BUCKETS / STEP, last = 0;
    uint64_t most = 0;
    for (unsigned i = 0; i < LATENCY_BUCKETS / STEP; i++) {
        uint64_t number = in_step(histogram, i, STEP);
        most = number > most ? number : most;
        if (number) {
            first = i < first ? i : first;
            last = i;
        }
    }
    for (unsigned i = first; i <= last; i++) {
        uint64_t number = in_step(histogram, i, STEP);
        fprintf(out, "  %8s %10s  ", number_count(latency_bucket_start(i * STEP)), number ? number_count(number) : "");
        if (number)
            put_bar(out, number, most, options->ascii);
        fputc('\n', out);
    }
}

/* The histogram in a cell: a character for each power of two from 8 on, what is less in the first. */
static void spark_cell(struct table *table, const struct latency_histogram *histogram, bool ascii)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char plain[] = ".:-=+*#@";
    enum { POWERS = 12 };
    char text[POWERS * 3 + 1] = "";
    size_t used = 0;
    uint64_t counts[POWERS] = {0}, most = 1;
    for (unsigned i = 0; histogram && i < LATENCY_BUCKETS / SPARK_STEP; i++) {
        unsigned at = i < POWERS ? i : POWERS - 1;
        counts[at] += in_step(histogram, i, SPARK_STEP);
        most = counts[at] > most ? counts[at] : most;
    }
    for (unsigned i = 0; histogram && i < POWERS; i++) {
        unsigned height = (unsigned)(7 * log2((double)counts[i] + 1) / log2((double)most + 1) + 0.5);
        if (ascii)
            used += (size_t)snprintf(text + used, sizeof text - used, "%c", counts[i] ? plain[height] : ' ');
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", counts[i] ? heights[height] : " ");
    }
    table_cell(table, "%s", text);
}

static void put_thresholds(const struct latency *latency, const struct view_options *options, FILE *out)
{
    struct table *table = table_new();
    const struct access_tally *all = &latency->at.above[latency->threshold_count];
    table_column(table, "above", TABLE_RIGHT);
    tally_columns(table, "TL", "TN", "AL");
    table_columns(table, TABLE_RIGHT, "of the accesses", "of the latency");
    for (unsigned i = 0; i <= latency->threshold_count; i++) {
        unsigned at = i ? i - 1 : latency->threshold_count;
        const struct access_tally *tally = &latency->at.above[at];
        if (i)
            table_cell(table, "%s", number_count(latency->thresholds[at]));
        else
            table_cell(table, "all");
        tally_cells(table, tally);
        table_cell(table, "%s", number_percent(tally->timed, all->timed));
        table_cell(table, "%s", number_percent(tally->latency, all->latency));
    }
    table_print(table, out, 2, options->width, options->color);
}

static void put_levels(const struct latency *latency, const struct view_options *options, FILE *out)
{
    struct table *table = table_new();
    table_column(table, "answered by", TABLE_LEFT);
    tally_columns(table, "TL", "TN", "AL");
    table_column(table, "of the accesses", TABLE_RIGHT);
    for (unsigned i = 0; i < LATENCY_LEVELS; i++) {
        if (latency->levels[i].timed == 0)
            continue;
        table_cell(table, "%s", sample_level_name(i));
        tally_cells(table, &latency->levels[i]);
        table_cell(table, "%s", number_percent(latency->levels[i].timed, latency->histogram.number));
    }
    table_print(table, out, 2, options->width, options->color);
}

static void put_pairs(const struct latency *latency, const struct view_options *options, FILE *out)
{
    const struct flow *flow = latency->accesses->flow;
    struct table *table = table_new();
    table_columns(table, TABLE_RIGHT, "from", "to");
    tally_columns(table, "TL", "TN", "AL");
    table_columns(table, TABLE_RIGHT, "median", "p99", "unloaded", "tail");
    table_column(table, "8 .. 8192", TABLE_LEFT | TABLE_OPTIONAL);
    size_t shown = 0;
    array_each (&latency->pairs, const struct latency_pair, pair) {
        if (pair->histogram.number == 0 || (options->limit && shown++ >= options->limit))
            continue;
        table_cell(table, "%d", node_os(flow, pair->from));
        table_cell(table, "%d", node_os(flow, pair->home));
        tally_cells(table, &pair->at.above[latency->threshold_count]);
        table_cell(table, "%u", latency_quantile(&pair->histogram, 0.5));
        table_cell(table, "%u", latency_quantile(&pair->histogram, 0.99));
        if (pair->unloaded > 0)
            table_cell(table, "%s%.0f", pair->calibrated ? "" : "~", pair->unloaded);
        else
            table_cell(table, "-");
        table_cell(table, "%s", number_percent(pair->tail, pair->memory));
        if (pair->contended)
            table_hot(table);
        spark_cell(table, &pair->histogram, options->ascii);
    }
    table_print(table, out, 2, options->width, options->color);
}

static void row_columns(struct table *table, const char *name)
{
    tally_columns(table, "TL", "TN", "AL");
    table_column(table, "of the tail", TABLE_RIGHT | TABLE_OPTIONAL);
    table_column(table, "8 .. 8192", TABLE_LEFT | TABLE_OPTIONAL);
    table_column(table, name, TABLE_FLEX);
}

/* Cells of what is in the tail. */
static void row_cells(struct table *table, const struct latency *latency, const struct latency_row *row, bool ascii)
{
    const struct access_tally *tail = &row->at.above[latency->tail];
    tally_cells(table, tail);
    table_cell(table, "%s", number_percent(tail->timed, latency->at.above[latency->tail].timed));
    spark_cell(table, row->histogram, ascii);
}

static void put_rows(const struct latency *latency, const struct view_options *options, FILE *out)
{
    const struct accesses *accesses = latency->accesses;
    size_t most = options->limit && options->limit < TOP ? options->limit : TOP, shown = 0;
    struct table *things = table_new(), *threads = table_new(), *functions = table_new();
    row_columns(things, "object");
    array_each (&latency->things, const struct latency_row, row) {
        if (row->at.above[latency->tail].timed == 0 || !thing_passes(accesses, row->index, options) || shown++ >= most)
            continue;
        struct row named = thing_row(accesses, row->index);
        row_cells(things, latency, row, options->ascii);
        table_object(things, accesses->flow, &named);
    }
    table_print(things, out, 2, options->width, options->color);
    row_columns(threads, "thread");
    shown = 0;
    array_each (&latency->threads, const struct latency_row, row) {
        if (row->at.above[latency->tail].timed == 0 || shown++ >= most)
            continue;
        row_cells(threads, latency, row, options->ascii);
        thread_cell(threads, accesses->flow, row->index);
    }
    fputc('\n', out);
    table_print(threads, out, 2, options->width, options->color);
    row_columns(functions, "function");
    shown = 0;
    array_each (&latency->functions, const struct latency_row, row) {
        if (shown++ >= most)
            continue;
        row_cells(functions, latency, row, options->ascii);
        table_cell(functions, "%s", flow_function(accesses->flow, row->index)->function);
    }
    if (latency->functions.count)
        fputc('\n', out);
    table_print(functions, out, 2, options->width, options->color);
}

/* Who makes the accesses above the largest threshold that any is above. */
static void put_tail(const struct latency *latency, const struct view_options *options, const char *unit, FILE *out)
{
    uint32_t threshold = latency->tail < latency->threshold_count ? latency->thresholds[latency->tail] : 0;
    if (latency->at.above[latency->tail].timed == 0) {
        fputc('\n', out);
        paragraph(out, 2, options->width, "", "There is no tail: no access took more than %u %s.", threshold, unit);
        return;
    }
    problem_heading(options, out, "The tail, above %u %s", threshold, unit);
    put_rows(latency, options, out);
}

/* Then latencies say nothing of memory, whatever their distribution. */
static void note_all_l1(const struct latency *latency, const struct view_options *options, FILE *out)
{
    uint64_t number = latency->histogram.number;
    if (number && latency->levels[LEVEL_L1].timed == number)
        paragraph(out, 2, options->width, "",
                  "All %s timed accesses were answered by the L1 cache: this recording has none that went to memory. "
                  "Either the data fits into the cache, or the event counts cache hits only.",
                  number_count(number));
}

void latency_text(const struct latency *latency, const struct calibration *calibration,
                  const struct view_options *options, FILE *out)
{
    bool contended = latency->contention == CONTENTION_MEMORY || latency->contention == CONTENTION_LINK;
    const char *color = !options->color ? "" : contended ? "\033[1;31m" : "\033[1;32m";
    const char *unit = accesses_unit(latency->accesses->flow);
    paragraph(out, 2, options->width, color, "%s", latency->why);
    if (latency->histogram.number == 0)
        return;
    note_all_l1(latency, options, out);
    if (!calibration)
        paragraph(out, 2, options->width, "",
                  "This recording has no calibration; memory latency on an idle machine is estimated.");
    problem_heading(options, out, "Latencies in %s (from, number; bars by logarithm)", unit);
    put_histogram(latency, options, out);
    problem_heading(options, out, "Above thresholds (TL in all, TN accesses, AL on average)");
    put_thresholds(latency, options, out);
    if (latency->levels[LEVEL_UNKNOWN].timed < latency->histogram.number) {
        problem_heading(options, out, "Caches and memory");
        put_levels(latency, options, out);
    }
    problem_heading(options, out, "From node to node");
    put_pairs(latency, options, out);
    put_tail(latency, options, unit, out);
}
