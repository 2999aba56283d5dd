/* view/report/report_text.c - the report for people, on one screen: the verdict, the findings, the objects, how it was measured,
 * what to type next. With -v also what report_full.c has. */
#include "view/report/report_parts.h"

#include "analysis/findings/findings.h"
#include "analysis/thresholds.h"
#include "analysis/traffic/traffic.h"
#include "base/text.h"
#include "base/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_SITES = 8, TOP_SITES = 10, TOP_THREADS = 8, TOP_FUNCTIONS = 8, TOP_PROCESSES = 8 };

int report_flush(FILE *out, struct error *err)
{
    if (fflush(out) == 0 && !ferror(out))
        return 0;
    return error_set(err, -EIO, "cannot write the report: %s", strerror(errno));
}

void report_heading(const struct report *report, const char *text)
{
    bool color = report->options->color;
    fprintf(report->out, "\n%s%s%s\n", color ? "\033[1m" : "", text, color ? "\033[0m" : "");
}

/* Why there are no samples. */
static void answer_nothing(const struct report *report)
{
    if (report->options->damage) {
        say(report, "The file is incomplete: %s", report->options->damage);
        say(report, "No memory access was sampled in what there is of it.");
    } else if (strcmp(report->whole.source, "none") == 0) {
        say(report, "No samples were taken, as requested (--source none): objects and threads were recorded.");
    } else {
        say(report, "No memory access was sampled. The run may have been too short, or sampling was not possible here: "
                    "numalens doctor says why.");
    }
}

/* By which rule threads got their nodes: another one may give another verdict. */
static const char *assignment(const struct topology *topology)
{
    switch (topology->assign) {
    case ASSIGN_PACKED:
        return "Threads fill one node's CPUs before the next node's";
    case ASSIGN_NODE:
        return "All threads are assigned to one node";
    default:
        return "Threads are assigned to the nodes in turn, as they are created";
    }
}

/* How much is remote, or why that cannot be said. */
static void answer_remote(const struct report *report, const struct findings *findings)
{
    const struct flow_totals *totals = &report->totals;
    const struct topology *topology = report->topology;
    if (totals->samples == 0) {
        answer_nothing(report);
        return;
    }
    if (topology->node_count == 1) {
        say(report, "This machine has one memory node: nothing can be remote. %s accesses were sampled.",
            number_count(totals->samples));
        return;
    }
    if (totals->home_known == 0) {
        say(report,
            "The home nodes of the pages are not known, so nothing can be said about remote accesses. %s accesses were "
            "sampled.",
            number_count(totals->samples));
        return;
    }
    char *nodes = mem_format("%u %snodes%s%s%s", topology->node_count, topology->simulated ? "simulated " : "",
                             topology->simulated ? " (" : "", topology->simulated ? topology->spec : "",
                             topology->simulated ? ")" : "");
    const bool by_bytes = findings && findings->remote_bytes >= 0;
    const bool much =
        (by_bytes ? findings->remote_bytes : (double)totals->remote / (double)totals->home_known) > thresholds.part;
    const char *color = !report->options->color ? "" : much ? "\033[1;31m" : "\033[1;32m";
    if (findings && findings->facts->weights.by_period)
        paragraph(report->out, 2, report->options->width, color,
                  "%s of the accesses are remote, each sample weighed by its period (%s of %s samples) on %s.",
                  number_percent((uint64_t)(facts_remote_ratio(findings->facts) * 1e6 + 0.5), 1000000),
                  number_count(totals->remote), number_count(totals->home_known), nodes);
    else
        paragraph(report->out, 2, report->options->width, color,
                  "%s of the accesses are remote (%s of %s samples) on %s.",
                  number_percent(totals->remote, totals->home_known), number_count(totals->remote),
                  number_count(totals->home_known), nodes);
    free(nodes);
    if (topology->simulated)
        say(report, "%s (--assign %s).", assignment(topology), whole_assign(topology));
}

/* A process that became another program by exec is still one. */
static size_t process_count(const struct flow *flow)
{
    size_t count = 0;
    for (uint32_t i = 0; i < flow_process_count(flow); i++)
        count += !flow_process(flow, i)->replaced;
    return count;
}

enum { LEAST_COMMAND = 16 }; /* columns of it that are shown on any terminal: a program is known by them */

static void head(const struct report *report)
{
    size_t processes = process_count(report->flow), threads = flow_thread_count(report->flow);
    int status = report->whole.has_exit_status ? report->whole.exit_status : 0;
    char *ended = status ? mem_format(", exit status %d", status) : mem_strdup("");
    char *numbers = mem_format(": %s, %zu process%s, %zu thread%s%s", number_seconds(report->whole.duration), processes,
                               processes == 1 ? "" : "es", threads, text_plural(threads), ended);
    size_t width = (size_t)report->options->width, taken = text_width(numbers);
    char *command = text_safe_fit(*report->whole.command ? report->whole.command : "(no command)",
                                  width == 0                      ? LONGEST_NAME
                                  : width > taken + LEAST_COMMAND ? width - taken
                                                                  : LEAST_COMMAND);
    fprintf(report->out, "%s%s\n\n", command, numbers);
    free(command);
    free(numbers);
    free(ended);
    if (report->options->filter.pid)
        say(report, "Only process %u is counted here.", report->options->filter.pid);
}

static void objects(const struct report *report)
{
    if (report->sites.items.count == 0)
        return;
    report_heading(report,
                   report->by_remote ? "Objects (most remote accesses first)" : "Objects (most accesses first)");
    tables_print(&report->sites, report->options, 2, report->out);
}

struct command {
    char *text;
    const char *why;
};

char *report_file(const struct view_options *options)
{
    char *file = text_safe_fit(options->path ? options->path : "", LONGEST_NAME);
    bool standard = strcmp(file, "") == 0 || strcmp(file, "numalens.data") == 0;
    char *word = text_shell(file), *text = standard ? mem_strdup("") : mem_format(" %s", word);
    free(word);
    free(file);
    return text;
}

/* `arguments` is taken over. */
static struct command command(const struct report *report, char *arguments, const char *why)
{
    char *file = report_file(report->options);
    char *text = mem_format("numalens report %s%s", arguments, file);
    free(file);
    free(arguments);
    return (struct command){text, why};
}

enum { NEXT = 10 }; /* columns of the label */

static void next_commands(const struct report *report)
{
    struct command commands[5];
    unsigned count = 0;
    int width = 0;
    if (report->topology->node_count == 1 && report->totals.samples)
        commands[count++] =
            command(report,
                    mem_format("--topology \"numa:2 core:%u\"",
                               report->topology->cpu_count > 1 ? (report->topology->cpu_count + 1) / 2 : 1),
                    "what would be remote on two nodes");
    if (report->totals.samples) {
        commands[count++] = command(report, mem_strdup("patterns"), "evidence, and code to change");
        if (report->sites.items.count)
            commands[count++] = command(report, mem_format("object %u", report->sites.items.items[0].object),
                                        "who uses the first object");
    }
    if (report->traffic)
        commands[count++] = command(report, mem_strdup("traffic"), "bytes from memory");
    commands[count++] = report->options->verbose
                            ? command(report, mem_strdup("objects"), "each object by itself, with its id")
                            : command(report, mem_strdup("-v"), "threads, functions, nodes, losses");
    for (unsigned i = 0; i < count; i++)
        width = (int)text_width(commands[i].text) > width ? (int)text_width(commands[i].text) : width;
    for (unsigned i = 0; i < count; i++) {
        int pad = width - (int)text_width(commands[i].text);
        bool fits =
            !report->options->width || NEXT + (size_t)width + 2 + strlen(commands[i].why) <= report->options->width;
        fprintf(report->out, "%-*s%s%*s  %s\n", NEXT, i ? "" : "Next", commands[i].text, fits ? pad : 0, "",
                fits ? commands[i].why : "");
        free(commands[i].text);
    }
}

static void put(const struct report *report)
{
    objects(report);
    if (report->options->verbose) {
        report_tables(report);
        report_measured(report);
        fputc('\n', report->out);
    } else {
        report_measured_short(report);
    }
    next_commands(report);
}

int report_text(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err)
{
    struct report report = {.flow = flow,
                            .options = options,
                            .topology = flow_topology(flow),
                            .totals = flow_totals(flow),
                            .whole = whole_of(flow, options),
                            .unit = latency_unit(flow),
                            .out = out};
    report.by_remote = report.totals.remote > 0 && !options->sort;
    const char *sort = report.by_remote ? "remote" : NULL;
    size_t limit = options->limit;
    rows_make(&report.sites, flow, VIEW_SITES, options, sort,
              limit              ? limit
              : options->verbose ? TOP_SITES
                                 : SHORT_SITES);
    rows_make(&report.threads, flow, VIEW_THREADS, options, sort, limit ? limit : TOP_THREADS);
    rows_make(&report.functions, flow, VIEW_FUNCTIONS, options, sort, limit ? limit : TOP_FUNCTIONS);
    rows_make(&report.processes, flow, VIEW_PROCESSES, options, sort, limit ? limit : TOP_PROCESSES);
    report.traffic = rows_traffic(flow, options);
    report.sites.traffic = report.threads.traffic = report.functions.traffic = report.traffic;
    int failed = rows_facts(&report.sites, &report.facts, err);
    if (failed == 0) {
        array_each (&report.threads.items, struct row, row) {
            row->homes = mem_zalloc(report.facts.nodes * sizeof *row->homes);
            memcpy(row->homes, report.facts.thread_nodes + (size_t)row->id * report.facts.nodes,
                   report.facts.nodes * sizeof *row->homes);
        }
        struct findings *findings;
        failed = report_judge(&findings, flow, options, err);
        head(&report);
        report_verdict(findings, options, out);
        answer_remote(&report, findings);
        if (options->verbose)
            report_answer(&report);
        report_notes(&report);
        report_findings(findings, options, out);
        put(&report);
        findings_free(findings);
        failed = failed ? failed : report_flush(out, err);
    }
    traffic_free(report.traffic);
    row_facts_free(&report.facts);
    rows_free(&report.sites);
    rows_free(&report.threads);
    rows_free(&report.functions);
    rows_free(&report.processes);
    return failed;
}

int rows_text(const struct rows *rows, const struct view_options *options, FILE *out, struct error *err)
{
    static const char *const nouns[VIEW_TABLES][2] = {
        {"object", "objects"}, {"site", "sites"}, {"thread", "threads"},   {"function", "functions"},
        {"line", "lines"},     {"type", "types"}, {"process", "processes"}};
    struct flow_totals totals = flow_totals(rows->flow);
    fprintf(out, "%s %s, %s samples", number_count(rows->matching), nouns[rows->table][rows->matching != 1],
            number_count(totals.samples));
    if (options->filter.pid)
        fprintf(out, " of process %u", options->filter.pid);
    const struct topology *topology = flow_topology(rows->flow);
    if (topology->node_count > 1)
        fprintf(out, ", %s%s", number_remote(totals.remote, totals.home_known),
                topology->simulated ? " (simulated topology)" : "");
    fputs("\n\n", out);
    tables_print(rows, options, 0, out);
    return report_flush(out, err);
}
