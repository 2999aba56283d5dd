/* view/report_text.c - the report for people: answer, evidence, how far to trust it, what to type next. */
#include "view/report.h"

#include "base/text.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/table.h"
#include "view/whole.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_SITES = 10, TOP_THREADS = 8, TOP_FUNCTIONS = 8, TOP_PROCESSES = 8, NAMED_IN_ANSWER = 4, SHOWN_NODES = 12 };

struct report {
    const struct flow *flow;
    const struct view_options *options;
    const struct topology *topology;
    struct flow_totals totals;
    struct whole whole;
    struct rows sites, threads, functions, processes;
    struct row_facts facts;
    const char *unit;
    bool by_remote; /* rows are in order of remote accesses */
    FILE *out;
};

int report_flush(FILE *out, struct error *err)
{
    if (fflush(out) == 0 && !ferror(out))
        return 0;
    return error_set(err, -EIO, "cannot write the report: %s", strerror(errno));
}

static void put_safe(FILE *out, const char *text)
{
    char *safe = text_safe_fit(text, LONGEST_NAME);
    fputs(safe, out);
    free(safe);
}

static void heading(const struct report *report, const char *text)
{
    bool color = report->options->color;
    fprintf(report->out, "\n%s%s%s\n", color ? "\033[1m" : "", text, color ? "\033[0m" : "");
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

#define say(report, ...) paragraph((report)->out, 2, (report)->options->width, "", __VA_ARGS__)

/* How much is remote, or why that cannot be said. */
static void answer_remote(const struct report *report)
{
    const struct flow_totals *totals = &report->totals;
    const struct topology *topology = report->topology;
    if (totals->samples == 0) {
        say(report, "No memory access was sampled. The run may have been too short, or sampling was not possible here: "
                    "numalens doctor tells.");
        return;
    }
    if (topology->node_count == 1) {
        say(report, "This machine has one memory node: nothing can be remote. %s accesses were sampled.",
            number_count(totals->samples));
        return;
    }
    if (totals->home_known == 0) {
        say(report, "Where the pages lie is not known, so nothing can be said about remote accesses. %s were sampled.",
            number_count(totals->samples));
        return;
    }
    const char *color = totals->remote * 10 > totals->home_known ? "\033[1;31m" : "\033[1;32m";
    paragraph(report->out, 2, report->options->width, report->options->color ? color : "",
              "%s of the memory accesses are remote (%s of %s samples), on %s%u nodes%s%s%s.",
              number_percent(totals->remote, totals->home_known), number_count(totals->remote),
              number_count(totals->home_known), topology->pretended ? "a pretended machine of " : "",
              topology->node_count, topology->pretended ? " (" : "", topology->pretended ? topology->spec : "",
              topology->pretended ? ")" : "");
}

/* Faults tell that a page was used, not how often. */
static void answer_pages(const struct report *report)
{
    if (report->totals.samples && strcmp(report->whole.source, "faults") == 0)
        say(report,
            "These come from page faults: a sample is a page that a thread read or wrote in an interval, however "
            "often. numalens report pages lists them.");
}

static void answer_latency(const struct report *report)
{
    const struct row_facts *facts = &report->facts;
    const struct flow_totals *totals = &report->totals;
    if (totals->latency_count == 0)
        return;
    if (!report->topology->pretended && facts->remote_count && facts->local_count)
        say(report, "A remote access takes %s on average, a local one %s.",
            number_latency(facts->remote_sum, facts->remote_count, report->unit),
            number_latency(facts->local_sum, facts->local_count, report->unit));
    else
        say(report, "An access takes %s on average%s.",
            number_latency(totals->latency_sum, totals->latency_count, report->unit),
            report->topology->pretended ? ", as measured here: no node is truly far" : "");
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
static size_t few(const struct report *report, const struct rows *rows, uint64_t whole, uint64_t *sum)
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
    size_t count = few(report, &report->sites, whole, &sum);
    if (count == 0)
        return;
    say(report, "%zu object%s make%s %s of %s:", count, plural(count), count == 1 ? "s" : "",
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
    uint64_t whole = weight(report, &report->totals), sum, most = 0, least = UINT64_MAX;
    size_t active = 0;
    array_each (&report->threads.items, const struct row, row) {
        if (row->totals.samples * 200 < report->totals.samples)
            continue;
        uint64_t part = weight(report, &row->totals);
        active++;
        most = part > most ? part : most;
        least = part < least ? part : least;
    }
    size_t count = few(report, &report->threads, whole, &sum);
    if (active == 0 || count == 0)
        return;
    if (active > NAMED_IN_ANSWER && most < 2 * least) {
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
        plural(report->threads.matching), count == 1 ? "s" : "", number_percent(sum, whole), names);
}

/* A process that became another program by exec is still one. */
static size_t process_count(const struct flow *flow)
{
    size_t count = 0;
    for (uint32_t i = 0; i < flow_process_count(flow); i++)
        count += !flow_process(flow, i)->replaced;
    return count;
}

static void head(const struct report *report)
{
    FILE *out = report->out;
    put_safe(out, *report->whole.command ? report->whole.command : "(no command)");
    size_t processes = process_count(report->flow);
    fprintf(out, "\n%s, %zu process%s, %zu thread%s", number_seconds(report->whole.duration), processes,
            processes == 1 ? "" : "es", flow_thread_count(report->flow), plural(flow_thread_count(report->flow)));
    if (report->whole.has_exit_status && report->whole.exit_status)
        fprintf(out, ", ended with status %d", report->whole.exit_status);
    fputs("\n\n", out);
    if (report->options->filter.pid)
        say(report, "Only process %u is counted here.", report->options->filter.pid);
}

static void evidence(const struct report *report)
{
    const char *order = report->by_remote ? "most remote accesses first" : "most accesses first";
    char title[96];
    if (report->sites.items.count) {
        snprintf(title, sizeof title, "Objects, by where they come from (%s)", order);
        heading(report, title);
        tables_print(&report->sites, report->options, report->unit, 2, report->out);
    }
    if (report->processes.items.count > 1) {
        snprintf(title, sizeof title, "Processes (%s)", order);
        heading(report, title);
        tables_print(&report->processes, report->options, report->unit, 2, report->out);
    }
    if (report->totals.samples) {
        snprintf(title, sizeof title, "Threads (%s)", order);
        heading(report, title);
        tables_print(&report->threads, report->options, report->unit, 2, report->out);
    }
    if (report->functions.items.count) {
        snprintf(title, sizeof title, "Functions (%s)", order);
        heading(report, title);
        tables_print(&report->functions, report->options, report->unit, 2, report->out);
    }
}

static void traffic(const struct report *report)
{
    uint32_t nodes = report->facts.nodes;
    if (nodes < 2 || nodes > SHOWN_NODES || report->totals.home_known == 0)
        return;
    char names[SHOWN_NODES][24];
    heading(report, "Traffic: from the node of the CPU (down) to the node of the memory (across)");
    struct table *table = table_new();
    table_column(table, "", TABLE_LEFT);
    for (uint32_t i = 0; i < nodes; i++) {
        snprintf(names[i], sizeof names[i], "node %d", report->topology->nodes[i].os_index);
        table_column(table, names[i], TABLE_RIGHT);
    }
    for (uint32_t from = 0; from < nodes; from++) {
        table_cell(table, "node %d", report->topology->nodes[from].os_index);
        for (uint32_t home = 0; home < nodes; home++) {
            uint64_t part = report->facts.matrix[from * nodes + home];
            table_cell(table, "%s", number_percent(part, report->totals.home_known));
            if (from != home && part * 10 > report->totals.home_known)
                table_hot(table);
        }
    }
    table_print(table, report->out, 2, report->options->width, report->options->color);
}

/* How pages were made to fault, and what was left out. */
static void how_faults(const struct report *report)
{
    const struct trace_session *session = flow_session(report->flow), *ending = report->options->ending;
    const char *mechanism = session ? trace_session_get(session, "mechanism") : NULL;
    uint64_t interval = session ? trace_session_number(session, "interval_ns", 0) : 0;
    uint64_t own = ending ? trace_session_number(ending, "faults_own", 0) : 0;
    if (!mechanism || !interval)
        return;
    if (strcmp(mechanism, "none") == 0)
        say(report, "Page faults: those that come by themselves, in intervals of %s.",
            number_seconds((double)interval * 1e-9));
    else
        say(report, "Page faults: in intervals of %s, pages are made to fault again by %s.",
            number_seconds((double)interval * 1e-9), mechanism);
    if (own)
        say(report, "%s faults of the profiler itself are left out.", number_count(own));
}

/* What of a trace is known by name; x86-64's opcodes. */
static const char *stop_name(const char *bytes, size_t length)
{
    static const char *const names[][2] = {
        {"0f05", "syscall"}, {"0fa2", "cpuid"},    {"0f0b", "ud2"},      {"9c", "pushf"},    {"9d", "popf"},
        {"cc", "int3"},      {"cd", "int"},        {"f4", "hlt"},        {"0fae", "xsave"},  {"0fc7", "xsavec"},
        {"0f01d6", "xtest"}, {"0f01ee", "rdpkru"}, {"0f01ef", "wrpkru"}, {"0f01d5", "xend"}, {"c7", "xbegin"},
        {"d9", "fnstenv"},   {"dd", "fnsave"},     {"0f34", "sysenter"}, {"ec", "in"},       {"cf", "iret"},
    };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i][0]) == length && strncmp(names[i][0], bytes, length) == 0)
            return names[i][1];
    return NULL;
}

/* "0f05 812, cd 3": instructions by their first bytes, and how many bursts ended before them. */
static void how_stops(const struct report *report, const char *stops)
{
    char text[1024] = "";
    size_t length = 0;
    for (const char *at = stops; *at && length + 64 < sizeof text;) {
        size_t name = strcspn(at, " "), item = strcspn(at, ",");
        unsigned long count = name < item ? strtoul(at + name, NULL, 10) : 0;
        const char *known = stop_name(at, name);
        bool sane = count && name <= 6 && strspn(at, "0123456789abcdefother") >= name;
        if (sane)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s%s%.*s%s %lu", length ? ", " : "",
                                       known ? known : "", known ? " (" : "", (int)name, at, known ? ")" : "", count);
        at += item + strspn(at + item, ", ");
    }
    if (length)
        say(report, "Bursts ended before these instructions: %s.", text);
}

static void how_bursts(const struct report *report, const struct trace_session *ending)
{
    uint64_t handler = trace_session_number(ending, "handler_ns", 0), cpu = trace_session_number(ending, "cpu_ns", 0);
    uint64_t bursts = trace_session_number(ending, "bursts", 0), steps = trace_session_number(ending, "steps", 0);
    const char *stops = trace_session_get(ending, "stops");
    if (handler && cpu)
        say(report, "Sampling took %s of the program's CPU time.", number_percent(handler, cpu));
    if (bursts)
        say(report, "%s bursts, %lu instructions each on average%s.", number_count(bursts),
            (unsigned long)(steps / bursts), stops ? "" : "; none ended at an instruction it could not carry out");
    if (stops)
        how_stops(report, stops);
}

static void how_measured(const struct report *report)
{
    const struct trace_session *session = flow_session(report->flow), *ending = report->options->ending;
    const struct topology *topology = report->topology;
    char burst[48] = "";
    heading(report, "How this was measured");
    if (report->whole.burst)
        snprintf(burst, sizeof burst, ", %lu accesses a burst", (unsigned long)report->whole.burst);
    say(report, "Source: %s%s%s%s%s%s%s.", report->whole.source, *report->whole.tick ? ", tick " : "",
        report->whole.tick, report->whole.period_ns ? ", a burst every " : "",
        report->whole.period_ns ? number_seconds((double)report->whole.period_ns * 1e-9) : "",
        report->whole.period_ns ? " of a thread's CPU time on average" : "", burst);
    const char *hardware = session && !*report->whole.tick ? trace_session_get(session, "source_reason") : NULL;
    bool by_faults = strcmp(report->whole.source, "faults") == 0;
    if (hardware && *hardware && by_faults)
        say(report, "The samples are page faults, as the kernel reported them.");
    else if (hardware && *hardware)
        say(report, "The processor itself took the samples, by %s.", hardware);
    how_faults(report);
    if (topology->pretended)
        say(report, "The topology is pretended: threads are dealt %s onto its CPUs, pages have their homes by %s.",
            whole_deal(topology), whole_homes(topology));
    if (topology->node_count > 1 && report->totals.home_known < report->totals.samples)
        say(report, "The home of the page is known for %s of the samples.",
            number_percent(report->totals.home_known, report->totals.samples));
    const char *first_touch = session ? trace_session_get(session, "first_touch") : NULL;
    const char *reason = session ? trace_session_get(session, "first_touch_reason") : NULL;
    if (topology->pretended && first_touch && strcmp(first_touch, "samples") == 0)
        say(report, "Page faults could not be recorded%s%s%s: the first sampled access stands for the first touch.",
            reason && *reason ? " (" : "", reason ? reason : "", reason && *reason ? ")" : "");
    uint64_t handler = ending ? trace_session_number(ending, "handler_ns", 0) : 0;
    uint64_t cpu = ending ? trace_session_number(ending, "cpu_ns", 0) : 0;
    uint64_t tracking = ending ? trace_session_number(ending, "tracking_ns", 0) : 0;
    if (handler && cpu && tracking)
        say(report, "Sampling took %s of the program's CPU time, tracking its objects %s.",
            number_percent(handler, cpu), number_percent(tracking, cpu));
    else if (handler && cpu)
        say(report, "Sampling took %s of the program's CPU time.", number_percent(handler, cpu));
    if (report->options->verbose && ending)
        how_bursts(report, ending);
}

/* Functions that the user named and that were not hooked. Names come from the trace: hostile. */
static void named_functions(const struct report *report)
{
    static const char *const keys[][2] = {{"custom_missing", "Never found in the program or its libraries"},
                                          {"custom_refused", "Found, but not hooked"}};
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *names = report->options->ending ? trace_session_get(report->options->ending, keys[i][0]) : NULL;
        char *safe = names ? text_safe(names) : NULL;
        if (safe)
            say(report, "%s: %s.", keys[i][1], safe);
        free(safe);
    }
}

/* When it was that something of this cause was lost, where that is known. */
static void gaps_of(const struct report *report, unsigned cause)
{
    enum { SHOWN = 5 };
    const struct flow_gap *gaps;
    size_t count = flow_gaps(report->flow, &gaps), found = 0;
    uint64_t start = flow_start(report->flow);
    for (size_t i = 0; i < count; i++) {
        const struct flow_gap *gap = &gaps[i];
        if (gap->cause != cause || ++found > SHOWN)
            continue;
        double from = gap->from > start ? (double)(gap->from - start) / 1e9 : 0;
        if (gap->until != UINT64_MAX)
            fprintf(report->out, "    %12s  from %.1f s to %.1f s\n", "", from,
                    (double)(gap->until > start ? gap->until - start : 0) / 1e9);
        else if (gap->pid)
            fprintf(report->out, "    %12s  process %u from %.1f s on\n", "", gap->pid, from);
        else
            fprintf(report->out, "    %12s  from %.1f s on\n", "", from);
    }
    if (found > SHOWN)
        fprintf(report->out, "    %12s  and %s more\n", "", number_count(found - SHOWN));
}

static void not_known(const struct report *report)
{
    FILE *out = report->out;
    const char *const *reasons;
    const uint64_t *counts;
    size_t count = flow_unattributed(report->flow, &reasons, &counts);
    uint64_t missed = report->totals.samples - flow_attributed(report->flow);
    if (missed)
        say(report, "%s of the samples belong to no known object:", number_percent(missed, report->totals.samples));
    for (size_t i = 0; i < count; i++)
        fprintf(out, "    %12s  %s\n", number_count(counts[i]), reasons[i]);
    const uint64_t *losses = flow_losses(report->flow);
    bool any = false;
    for (unsigned i = 0; i < LOSS_CAUSES; i++) {
        if (losses[i] == 0)
            continue;
        if (!any)
            fputs("  Lost or skipped:\n", out);
        any = true;
        fprintf(out, "    %12s  %s\n", number_count(losses[i]), loss_text(i));
        gaps_of(report, i);
    }
    if (!any && !report->options->damage)
        fputs("  Nothing was lost.\n", out);
    named_functions(report);
    if (report->options->damage)
        say(report, "The file is not whole: %s", report->options->damage);
}

static void put_command(const struct report *report, const char *arguments, const char *why)
{
    char *file = text_safe_fit(report->options->path ? report->options->path : "", LONGEST_NAME);
    bool standard = strcmp(file, "") == 0 || strcmp(file, "numalens.data") == 0;
    char *command = mem_format("numalens report %s%s%s", arguments, standard ? "" : " ", standard ? "" : file);
    fprintf(report->out, "  %-44s  %s\n", command, why);
    free(command);
    free(file);
}

static void dig_deeper(const struct report *report)
{
    heading(report, "To dig deeper");
    if (report->topology->node_count == 1) {
        char *pretend = mem_format("--topology \"numa:2 core:%u\"",
                                   report->topology->cpu_count > 1 ? (report->topology->cpu_count + 1) / 2 : 1);
        put_command(report, pretend, "what would be remote on two nodes");
        free(pretend);
    }
    if (report->totals.samples == 0)
        return;
    put_command(report, "patterns", "what is wrong, the evidence, and what to do");
    put_command(report, report->by_remote ? "objects --sort remote" : "objects", "each object by itself, with its id");
    if (report->sites.items.count) {
        char *object = mem_format("object %u", report->sites.items.items[0].object);
        put_command(report, object, "one object: its life and who uses it when");
        free(object);
    }
    put_command(report, "sites", "every place that allocates");
    put_command(report, "functions", "every function that touches memory");
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
    rows_make(&report.sites, flow, VIEW_SITES, options, sort, limit ? limit : TOP_SITES);
    rows_make(&report.threads, flow, VIEW_THREADS, options, sort, limit ? limit : TOP_THREADS);
    rows_make(&report.functions, flow, VIEW_FUNCTIONS, options, sort, limit ? limit : TOP_FUNCTIONS);
    rows_make(&report.processes, flow, VIEW_PROCESSES, options, sort, limit ? limit : TOP_PROCESSES);
    int failed = rows_facts(&report.sites, &report.facts, err);
    if (failed == 0) {
        array_each (&report.threads.items, struct row, row) {
            row->homes = mem_zalloc(report.facts.nodes * sizeof *row->homes);
            memcpy(row->homes, report.facts.thread_nodes + (size_t)row->id * report.facts.nodes,
                   report.facts.nodes * sizeof *row->homes);
        }
        head(&report);
        failed = report_findings(flow, options, out, err);
        answer_remote(&report);
        answer_objects(&report);
        answer_threads(&report);
        answer_pages(&report);
        answer_latency(&report);
        evidence(&report);
        traffic(&report);
        how_measured(&report);
        not_known(&report);
        dig_deeper(&report);
        failed = failed ? failed : report_flush(out, err);
    }
    row_facts_free(&report.facts);
    rows_free(&report.sites);
    rows_free(&report.threads);
    rows_free(&report.functions);
    rows_free(&report.processes);
    return failed;
}

int rows_text(const struct rows *rows, const struct view_options *options, FILE *out, struct error *err)
{
    static const char *const nouns[VIEW_TABLES][2] = {{"object", "objects"},
                                                      {"site", "sites"},
                                                      {"thread", "threads"},
                                                      {"function", "functions"},
                                                      {"process", "processes"}};
    struct flow_totals totals = flow_totals(rows->flow);
    fprintf(out, "%s %s, %s samples", number_count(rows->matching), nouns[rows->table][rows->matching != 1],
            number_count(totals.samples));
    if (options->filter.pid)
        fprintf(out, " of process %u", options->filter.pid);
    const struct topology *topology = flow_topology(rows->flow);
    if (topology->node_count > 1)
        fprintf(out, ", %s remote%s", number_percent(totals.remote, totals.home_known),
                topology->pretended ? " (pretended topology)" : "");
    fputs("\n\n", out);
    tables_print(rows, options, latency_unit(rows->flow), 0, out);
    return report_flush(out, err);
}
