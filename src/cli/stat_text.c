#include "cli/stat_text.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "view/paragraph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODE_WIDTH = 6, CELL_WIDTH = 12, TEXT_WIDTH = 110, HEAD_EVERY = 40 };

struct stat_text {
    struct count_session *session;
    const struct count_plan *plan;
    uint32_t whats;
    struct stat_text_options options;
    struct json *json;
    bool begun; /* the title is out */
    bool paint; /* faint words on a terminal */
    uint64_t start;
    size_t lines; /* since the last head */
};

enum cell_kind { CELL_AMOUNT, CELL_COUNT, CELL_CHANGE, CELL_RATE, CELL_SHARE };

static const struct column {
    const char *title, *json; /* json: for shares only; amounts have their own names */
    enum cell_kind kind;
    enum count_what what;  /* that is reported; of a share the part */
    enum count_what other; /* part and this are the whole */
} columns[] = {
    {"read", NULL, CELL_AMOUNT, COUNT_READ, 0},
    {"write", NULL, CELL_AMOUNT, COUNT_WRITE, 0},
    {"total", NULL, CELL_AMOUNT, COUNT_TOTAL, 0},
    {"a second", NULL, CELL_RATE, COUNT_TOTAL, 0},
    {"local", NULL, CELL_AMOUNT, COUNT_LOCAL, 0},
    {"remote", NULL, CELL_AMOUNT, COUNT_REMOTE, 0},
    {"remote %", "remote_ratio", CELL_SHARE, COUNT_REMOTE, COUNT_LOCAL},
    {"hit", NULL, CELL_COUNT, COUNT_HIT, 0},
    {"miss", NULL, CELL_COUNT, COUNT_MISS, 0},
    {"foreign", NULL, CELL_COUNT, COUNT_FOREIGN, 0},
    {"own CPUs", NULL, CELL_COUNT, COUNT_NEAR, 0},
    {"other CPUs", NULL, CELL_COUNT, COUNT_FAR, 0},
    {"remote %", "remote_ratio", CELL_SHARE, COUNT_FAR, COUNT_NEAR},
    {"in use", NULL, CELL_CHANGE, COUNT_NET, 0},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool has_column(const struct stat_text *writer, const struct column *column)
{
    uint32_t wanted = 1u << column->what | (column->kind == CELL_SHARE ? 1u << column->other : 0);
    return (writer->whats & wanted) == wanted;
}

/* The nodes' rows follow each other; the row after them is the sum of those that are known. */
static double amount_of(const struct stat_text *writer, const struct count_reading *from,
                        const struct count_reading *to, size_t row, enum count_what what)
{
    if (row < writer->plan->rows.count)
        return count_amount(from, to, row, what);
    double sum = NAN;
    for (size_t i = 0; i < writer->plan->rows.count; i++) {
        double amount = count_amount(from, to, i, what);
        if (!isnan(amount))
            sum = isnan(sum) ? amount : sum + amount;
    }
    return sum;
}

static uint64_t whole(double amount)
{
    return amount < 0.5 ? 0 : amount >= 1.8e19 ? UINT64_MAX : (uint64_t)(amount + 0.5);
}

/* One cell, in `text`. */
static void cell_text(const struct stat_text *writer, const struct column *column, double amount, double other,
                      double seconds, char *text, size_t size)
{
    const char *(*number)(uint64_t) =
        column->kind == CELL_CHANGE || (column->kind != CELL_COUNT && writer->plan->in_bytes) ? number_bytes
                                                                                              : number_count;
    if (isnan(amount) || (column->kind == CELL_SHARE && isnan(other)))
        snprintf(text, size, "-");
    else if (column->kind == CELL_SHARE)
        snprintf(text, size, "%s", number_percent(whole(amount), whole(amount) + whole(other)));
    else if (column->kind == CELL_RATE)
        snprintf(text, size, "%s", seconds > 0 ? number(whole(amount / seconds)) : "-");
    else if (column->kind == CELL_CHANGE)
        snprintf(text, size, "%s%s", amount > 0 ? "+" : amount < 0 ? "-" : "", number(whole(fabs(amount))));
    else
        snprintf(text, size, "%s", number(whole(amount)));
}

static const char *faint(const struct stat_text *writer)
{
    return writer->paint ? "\033[2m" : "";
}

static const char *plain(const struct stat_text *writer)
{
    return writer->paint ? "\033[0m" : "";
}

static void print_head(struct stat_text *writer, bool times)
{
    FILE *out = writer->options.out;
    fprintf(out, "%s%s%*s", faint(writer), times ? "      time  " : "  ", NODE_WIDTH, "node");
    for (size_t i = 0; i < COLUMNS; i++)
        if (has_column(writer, &columns[i]))
            fprintf(out, "%*s", CELL_WIDTH, columns[i].title);
    fprintf(out, "%s\n", plain(writer));
}

static void print_rows(struct stat_text *writer, const struct count_reading *from, const struct count_reading *to,
                       bool times)
{
    FILE *out = writer->options.out;
    size_t rows = writer->plan->rows.count;
    double seconds = (double)(to->time - from->time) / 1e9;
    for (size_t row = 0; row < rows + (rows > 1); row++) {
        char label[64] = "all", cell[64];
        if (row < rows)
            count_row_label(&writer->plan->rows.items[row], label, sizeof label);
        if (times && row == 0)
            fprintf(out, "%8.3f s  ", (double)(to->time - writer->start) / 1e9);
        else
            fputs(times ? "            " : "  ", out);
        fprintf(out, "%*s", NODE_WIDTH, label);
        for (size_t i = 0; i < COLUMNS; i++) {
            if (!has_column(writer, &columns[i]))
                continue;
            cell_text(writer, &columns[i], amount_of(writer, from, to, row, columns[i].what),
                      amount_of(writer, from, to, row, columns[i].other), seconds, cell, sizeof cell);
            fprintf(out, "%*s", CELL_WIDTH, cell);
        }
        fputc('\n', out);
        writer->lines++;
    }
}

static const char *meaning(const struct count_plan *plan)
{
    switch (plan->side) {
    case COUNT_AT_MEMORY:
        return "Traffic of each node's memory, whoever on the machine causes it";
    case COUNT_AT_CPUS:
        return "Traffic that the CPUs of each node cause, to any node's memory, by any program";
    default:
        return "Pages handed out on each node to anyone on the machine: allocations, not traffic. Reads and writes of "
               "memory in use are not seen, and a huge page counts once";
    }
}

static void print_title(struct stat_text *writer)
{
    FILE *out = writer->options.out;
    const struct count_refusal *refusals;
    size_t count = count_session_refusals(writer->session, &refusals),
           counters = count_session_quality(writer->session).counters;
    char *title = mem_format(
        "%s (%s, %zu counter%s%s).", meaning(writer->plan), writer->plan->devices, counters, counters == 1 ? "" : "s",
        writer->plan->source == COUNT_NUMASTAT || writer->plan->in_bytes ? "" : "; in events of unknown size");
    paragraph(out, 0, TEXT_WIDTH, "", "%s", title);
    free(title);
    for (size_t i = 0; i < count; i++) {
        paragraph_labelled(out, "Not from ", 0, 2, TEXT_WIDTH, "%s: %s.", refusals[i].devices, refusals[i].reason);
    }
    array_each (&writer->plan->rows, struct count_row, row) {
        char label[64];
        count_row_label(row, label, sizeof label);
        if (row->nodes.count > 1)
            fprintf(out, "Nodes %s share their counters and cannot be distinguished.\n", label);
    }
    if (writer->plan->note)
        paragraph(out, 0, TEXT_WIDTH, "", "%s", writer->plan->note);
    fputc('\n', out);
}

static void json_rows(struct stat_text *writer, const struct count_reading *from, const struct count_reading *to)
{
    struct json *json = writer->json;
    json_array(json, "nodes");
    for (size_t row = 0; row < writer->plan->rows.count; row++) {
        json_object(json, NULL);
        json_array(json, "nodes");
        array_each (&writer->plan->rows.items[row].nodes, int32_t, node)
            json_integer(json, NULL, *node);
        json_end(json);
        for (size_t i = 0; i < COLUMNS; i++) {
            double amount = count_amount(from, to, row, columns[i].what);
            double other = count_amount(from, to, row, columns[i].other);
            if (!has_column(writer, &columns[i]) || columns[i].kind == CELL_RATE)
                continue;
            if (columns[i].kind == CELL_SHARE)
                json_real(json, columns[i].json, amount + other > 0 ? amount / (amount + other) : NAN, 6);
            else
                json_integer_if(json, count_what_name(columns[i].what), !isnan(amount),
                                amount < 0 ? -(int64_t)whole(-amount) : (int64_t)whole(amount));
        }
        json_end(json);
    }
    json_end(json);
}

static void json_title(struct stat_text *writer)
{
    static const char *const sides[] = {
        [COUNT_AT_MEMORY] = "memory", [COUNT_AT_CPUS] = "cpus", [COUNT_AT_ALLOCATION] = "allocation"};
    struct json *json = writer->json;
    const struct count_refusal *refusals;
    size_t count = count_session_refusals(writer->session, &refusals);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_text(json, "source", count_source_name(writer->plan->source));
    json_text(json, "devices", writer->plan->devices);
    json_text(json, "counted_at", sides[writer->plan->side]);
    json_text(json, "unit",
              writer->plan->source == COUNT_NUMASTAT ? "allocations"
              : writer->plan->in_bytes               ? "bytes"
                                                     : "events");
    json_text(json, "note", writer->plan->note);
    json_array(json, "refused");
    for (size_t i = 0; i < count; i++) {
        json_object(json, NULL);
        json_text(json, "source", count_source_name(refusals[i].source));
        json_text(json, "devices", refusals[i].devices);
        json_text(json, "reason", refusals[i].reason);
        json_end(json);
    }
    json_end(json);
    if (writer->options.command) {
        json_array(json, "command");
        for (char **word = writer->options.command; *word; word++)
            json_text(json, NULL, *word);
        json_end(json);
    } else {
        json_null(json, "command");
    }
    json_array(json, "intervals");
}

static void print_beginning(struct stat_text *writer)
{
    const struct stat_text_options *options = &writer->options;
    if (writer->begun)
        return;
    writer->begun = true;
    if (options->json) {
        writer->json = json_new(options->out);
        json_title(writer);
    } else {
        if (!options->quiet)
            print_title(writer);
        if (options->interval_ns)
            print_head(writer, true);
    }
    fflush(options->out);
}

struct stat_text *stat_text_begin(struct count_session *session, const struct stat_text_options *options)
{
    struct stat_text *writer = mem_zalloc(sizeof *writer);
    writer->session = session;
    writer->plan = count_session_plan(session);
    writer->whats = count_session_whats(session);
    writer->options = *options;
    writer->paint = !options->json && isatty(fileno(options->out)) == 1 && !getenv("NO_COLOR");
    /* A program may fail to start: then there is nothing to report. */
    if (!options->command)
        print_beginning(writer);
    return writer;
}

bool stat_text_interval(struct stat_text *writer, const struct count_reading *from, const struct count_reading *to)
{
    print_beginning(writer);
    if (writer->start == 0)
        writer->start = from->time;
    if (writer->json) {
        json_object(writer->json, NULL);
        json_real(writer->json, "start_s", (double)(from->time - writer->start) / 1e9, 6);
        json_real(writer->json, "end_s", (double)(to->time - writer->start) / 1e9, 6);
        json_rows(writer, from, to);
        json_end(writer->json);
    } else {
        if (writer->paint && writer->lines >= HEAD_EVERY) {
            print_head(writer, true);
            writer->lines = 0;
        }
        print_rows(writer, from, to, true);
    }
    return fflush(writer->options.out) == 0 && !ferror(writer->options.out);
}

static void print_end(struct stat_text *writer, const struct count_run_result *result)
{
    FILE *out = writer->options.out;
    struct count_quality quality = count_session_quality(writer->session);
    fprintf(out, "%sIn %s%s\n", writer->options.interval_ns ? "\n" : "",
            number_seconds((double)(result->last.time - result->first.time) / 1e9),
            writer->options.interval_ns ? ", all:" : ":");
    print_head(writer, false);
    print_rows(writer, &result->first, &result->last, false);
    if (quality.never)
        fprintf(out, "%zu of %zu counters never ran: others use the hardware; figures are too low.\n", quality.never,
                quality.counters);
    else if (quality.shared)
        fprintf(out,
                "%zu of %zu counters shared the hardware and ran %s of the time at least; figures are scaled up.\n",
                quality.shared, quality.counters, number_percent(whole(quality.running * 1e6), 1000000));
    if (quality.lost)
        fprintf(out, "%zu of %zu counters were lost during the run, %s first: figures are too low.\n", quality.lost,
                quality.counters, quality.first_lost);
    if (result->merged)
        fprintf(out, "%s intervals were joined to the ones before: reading the counters takes longer than they last.\n",
                number_count(result->merged));
}

static void json_finishing(struct stat_text *writer, const struct count_run_result *result)
{
    struct json *json = writer->json;
    struct count_quality quality = count_session_quality(writer->session);
    json_end(json);
    if (!result)
        return;
    json_object(json, "total");
    json_real(json, "duration_s", (double)(result->last.time - result->first.time) / 1e9, 6);
    json_rows(writer, &result->first, &result->last);
    json_end(json);
    json_number(json, "counters", quality.counters);
    json_number(json, "counters_lost", quality.lost);
    json_number(json, "counters_shared", quality.shared);
    json_number(json, "counters_starved", quality.never);
    json_real(json, "running_ratio", quality.running, 6);
    json_number(json, "intervals_joined", result->merged);
    json_integer_if(json, "exit_status", writer->options.command, result->exit_status);
}

int stat_text_end(struct stat_text *writer, const struct count_run_result *result, struct error *err)
{
    int code = 0;
    if (result)
        print_beginning(writer);
    if (writer->json) {
        json_finishing(writer, result);
        code = json_finish(writer->json, err);
    } else if (result) {
        print_end(writer, result);
    }
    if (code == 0 && (fflush(writer->options.out) != 0 || ferror(writer->options.out)))
        code = error_set(err, -EIO, "cannot write the figures: %s", strerror(errno));
    free(writer);
    return code;
}
