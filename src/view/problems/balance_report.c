/* view/problems/balance_report.c - numalens report balance: how evenly threads bear remote accesses. */
#include "analysis/problems/balance.h"
#include "analysis/thresholds.h"

#include "base/json.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/problems/problems.h"
#include "view/table.h"

enum { BAR = 20 };

static void put_spread(struct json *json, const struct flow *flow, const struct balance_spread *spread)
{
    json_number(json, "counted_threads", spread->threads);
    json_real(json, "mean", spread->mean, 2);
    json_real(json, "stddev", spread->stddev, 2);
    json_real(json, "variation", spread->variation, 4);
    json_number_if(json, "critical_tid", spread->critical != FLOW_NONE, flow_thread(flow, spread->critical)->tid);
}

static void put_wait(struct json *json, const struct flow *flow, const struct balance_wait *wait)
{
    bool known = wait->last != FLOW_NONE;
    json_number_if(json, "last_tid", known, flow_thread(flow, wait->last)->tid);
    json_real_if(json, "waited_share", known, wait->share, 4);
}

/* Without home nodes nothing is known to be remote; what is slow is known all the same. */
static bool is_counted(const struct balance *balance)
{
    return balance->threshold || flow_has_homes(balance->accesses->flow);
}

static void put_thread(struct json *json, const struct balance *balance, const struct balance_thread *row)
{
    const struct flow *flow = balance->accesses->flow;
    const struct flow_thread *thread = flow_thread(flow, row->thread);
    json_object(json, NULL);
    json_number(json, "tid", thread->tid);
    json_number(json, "pid", thread->pid);
    json_text(json, "name", thread->name);
    json_integer_if(json, "node", row->node >= 0, node_os(flow, row->node));
    json_bool(json, "counted", row->counted);
    json_number(json, "accesses", row->all.accesses);
    json_number_if(json, "remote", is_counted(balance), row->remote.accesses);
    put_tally(json, "remote_latency", &row->remote);
    json_real(json, "ran", row->ran, 4);
    json_real_if(json, "waited_s", row->at_barrier, row->waited_s, 6);
    json_real_if(json, "waited_share", row->at_barrier, row->waited, 4);
    json_text(json, "waited_by", !row->at_barrier ? NULL : row->sleeps ? "barriers" : "samples");
    json_end(json);
}

static void put_balance(struct json *json, const struct balance *balance)
{
    const struct flow *flow = balance->accesses->flow;
    json_text(json, "remote_by", balance->threshold ? "latency" : "homes");
    json_number_if(json, "threshold", balance->threshold, balance->threshold);
    json_object(json, "verdict");
    json_bool(json, "unbalanced", balance->unbalanced);
    json_text(json, "text", balance->why);
    json_end(json);
    json_array(json, "threads");
    array_each (&balance->threads, const struct balance_thread, row)
        put_thread(json, balance, row);
    json_end(json);
    put_spread(json, flow, &balance->spread);
    json_bool(json, "barriers", balance->barriers);
    put_wait(json, flow, &balance->wait);
    json_array(json, "phases");
    array_each (&balance->phases, const struct balance_phase, phase) {
        json_object(json, NULL);
        json_real(json, "start_s", (double)(phase->start - flow_start(flow)) * 1e-9, 6);
        json_real(json, "end_s", (double)(phase->end - flow_start(flow)) * 1e-9, 6);
        json_number_if(json, "remote", is_counted(balance), phase->spread.remote);
        put_spread(json, flow, &phase->spread);
        put_wait(json, flow, &phase->wait);
        json_end(json);
    }
    json_end(json);
}

/* Whether the barriers themselves reported the last one's waits. */
static bool is_reported(const struct balance *balance)
{
    array_each (&balance->threads, const struct balance_thread, row)
        if (row->thread == balance->wait.last)
            return row->sleeps;
    return false;
}

static void bar_cell(struct table *table, uint64_t part, uint64_t most, bool ascii)
{
    char bar[BAR * 3 + 1] = "";
    size_t used = 0, length = most ? (size_t)((part * BAR + most - 1) / most) : 0;
    for (size_t i = 0; i < length && i < BAR; i++)
        used += (size_t)snprintf(bar + used, sizeof bar - used, "%s", ascii ? "#" : "█");
    table_cell(table, "%s", bar);
}

static void put_threads(const struct balance *balance, const struct view_options *options, FILE *out)
{
    const struct flow *flow = balance->accesses->flow;
    struct table *table = table_new();
    uint64_t most = 0;
    size_t shown = 0;
    array_each (&balance->threads, const struct balance_thread, row)
        most = row->remote.accesses > most ? row->remote.accesses : most;
    table_column(table, balance->threshold ? "slow" : "remote", TABLE_RIGHT);
    table_columns(table, TABLE_RIGHT, "of its own", "AL", "node");
    table_columns(table, TABLE_RIGHT | TABLE_OPTIONAL, "ran", "waited");
    table_column(table, "", TABLE_LEFT | TABLE_OPTIONAL);
    table_column(table, "thread", TABLE_FLEX);
    array_each (&balance->threads, const struct balance_thread, row) {
        if (options->limit && shown++ >= options->limit)
            break;
        bool critical = row->thread == balance->spread.critical;
        table_cell(table, "%s", is_counted(balance) ? number_count(row->remote.accesses) : "-");
        if (critical && balance->unbalanced)
            table_hot(table);
        table_cell(table, "%s", number_percent(row->remote.accesses, is_counted(balance) ? row->all.accesses : 0));
        if (row->remote.timed)
            table_cell(table, "%.1f", tally_mean(&row->remote));
        else
            table_cell(table, "-");
        if (row->node >= 0)
            table_cell(table, "%d", node_os(flow, row->node));
        else
            table_cell(table, "-");
        table_cell(table, "%.0f%%", 100 * row->ran);
        table_cell(table, "%s", row->at_barrier ? number_seconds(row->waited_s) : "");
        bar_cell(table, row->remote.accesses, most, options->ascii);
        const struct flow_thread *thread = flow_thread(flow, row->thread);
        table_cell(table, "%s (%u)%s", *thread->name ? thread->name : "thread", thread->tid,
                   !row->counted ? ", not counted: too few accesses"
                   : critical    ? ", critical"
                                 : "");
    }
    table_print(table, out, 2, options->width, options->color);
    if (options->limit && balance->threads.count > options->limit)
        fprintf(out, "  %s more\n", number_count(balance->threads.count - options->limit));
}

static void put_phases(const struct balance *balance, const struct view_options *options, FILE *out)
{
    const struct flow *flow = balance->accesses->flow;
    struct table *table = table_new();
    table_columns(table, TABLE_RIGHT, "from", "to", "remote", "mean", "deviation", "variation");
    if (balance->barriers) {
        table_column(table, "waited", TABLE_RIGHT);
        table_column(table, "for", TABLE_LEFT | TABLE_OPTIONAL);
    }
    table_column(table, "critical thread", TABLE_FLEX);
    array_each (&balance->phases, const struct balance_phase, phase) {
        table_cell(table, "%s", number_seconds((double)(phase->start - flow_start(flow)) * 1e-9));
        table_cell(table, "%s", number_seconds((double)(phase->end - flow_start(flow)) * 1e-9));
        table_cell(table, "%s", is_counted(balance) ? number_count(phase->spread.remote) : "-");
        table_cell(table, "%.1f", phase->spread.mean);
        table_cell(table, "%.2f", phase->spread.stddev);
        table_cell(table, "%.2f", phase->spread.variation);
        if (balance->barriers)
            table_cell(table, "%.0f%%", 100 * phase->wait.share);
        if (balance->barriers && phase->wait.last != FLOW_NONE)
            thread_cell(table, flow, phase->wait.last);
        else if (balance->barriers)
            table_cell(table, "none");
        if (phase->spread.critical != FLOW_NONE && phase->spread.variation >= thresholds.variation)
            thread_cell(table, flow, phase->spread.critical);
        else
            table_cell(table, "none");
    }
    table_print(table, out, 2, options->width, options->color);
}

static void balance_text(const struct balance *balance, const struct view_options *options, FILE *out)
{
    const char *color = !options->color || balance->too_few ? "" : balance->unbalanced ? "\033[1;31m" : "\033[1;32m";
    paragraph(out, 2, options->width, color, "%s", balance->why);
    if (balance->threshold)
        paragraph(out, 2, options->width, "", "Slow: above %u %s, from --thresholds; home nodes do not count.",
                  balance->threshold, accesses_unit(balance->accesses->flow));
    problem_heading(options, out, "Threads");
    put_threads(balance, options, out);
    if (balance->phases.count > 1) {
        problem_heading(options, out, "Phases");
        put_phases(balance, options, out);
    }
    if (balance->wait.last == FLOW_NONE)
        return;
    const struct flow_thread *last = flow_thread(balance->accesses->flow, balance->wait.last);
    paragraph(out, 2, options->width, "",
              "Waited: at barriers; %.0f%% of the others' time on average, most of it for %s (%u), which waits least. "
              "%s.",
              100 * balance->wait.share, *last->name ? last->name : "thread", last->tid,
              is_reported(balance) ? "Measured at each barrier" : "Estimated from samples");
}

void balance_show(const struct accesses *accesses, const struct view_options *options, struct json *json, FILE *out)
{
    struct balance *balance =
        balance_make(accesses, options->thresholds && options->threshold_count ? options->thresholds[0] : 0);
    if (json)
        put_balance(json, balance);
    else
        balance_text(balance, options, out);
    balance_free(balance);
}
