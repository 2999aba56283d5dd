/* cli/commands/cmd_report.c - numalens report: what is remote, what causes it, how slow it is. */
#include "cli/command.h"
#include "cli/commands/report/report_words.h"
#include "cli/usage/command_options.h"

#include "base/text.h"
#include "cli/usage/option_value.h"
#include "cli/usage/perf_habits.h"
#include "cli/progress_line.h"
#include "cli/input/recording.h"
#include "cli/report_html.h"
#include "cli/symfs.h"
#include "cli/report_job.h"
#include "cli/slower_than.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

static const char description[] =
    "Prints how much memory traffic is remote, which objects and threads cause it, what it costs and what to "
    "change.\vWithout a table: the report on one screen; -v for all of it. Tables: patterns (what is wrong and what to "
    "do), objects, sites, threads, functions, lines, types, processes; sharing (private and shared data), latency "
    "(distribution, "
    "tail, contention), balance (remote accesses of each thread), or several of these three with commas; pages (by "
    "thread and time), map (memory over time, drawn), traffic (bytes from memory); or "
    "'object ID' for one object, 'annotate FILE|FUNCTION' for source with what its lines access, 'type NAME' for a "
    "struct with the use of its fields.\n"
    "FILE is numalens.data unless named. A folder holds the traces of a job's ranks, which are reported together "
    "(docs/jobs.md), or the files of one recording with --rotate. Several FILEs are files of one such recording, read "
    "as "
    "one.\n\n"
    "EXAMPLES\n"
    "  numalens report\n"
    "  numalens report patterns\n"
    "  numalens report objects --sort remote --limit 5\n"
    "  numalens report sites --filter kind=heap --filter min-share=1%\n"
    "  numalens report object 12\n"
    "  numalens report annotate solver.c\n"
    "  numalens report map --gantt --from 1.5 --to 2\n"
    "  numalens report latency --thresholds 100,300,1000\n"
    "  numalens report sharing,latency,balance\n"
    "  numalens report --machine xeon-8360y\n"
    "  numalens report --topology \"numa:4 core:2\" --homes interleave\n"
    "  numalens report --json other.data\n"
    "  numalens report numalens.1234567/\n"
    "  numalens report numalens.*.data --since -10m\n"
    "  numalens report --html page.html\n"
    "  numalens report --html both.html -i before.data --against after.data\n";

enum {
    OPTION_THRESHOLDS = 1,
    OPTION_PHYSICAL,
    OPTION_HTML,
    OPTION_AGAINST,
    OPTION_GANTT,
    OPTION_HEIGHT,
    OPTION_BY,
    OPTION_FROM,
    OPTION_TO,
    OPTION_ASCII,
    OPTION_STDIO,
    OPTION_TUI,
    OPTION_CHILDREN,
    OPTION_SINCE,
    OPTION_UNTIL,
    OPTION_MACHINE,
    DEFAULT_LIMIT = 20
};

static const struct argp_option option_table[] = {
    {"html", OPTION_HTML, "PAGE", 0, "Write everything into one HTML page instead; docs/view.md shows what is in it",
     0},
    {"against", OPTION_AGAINST, "FILE", 0,
     "With --html: another recording, side by side in the same page; given again for several files of one", 0},
    {"input", 'i', "FILE", 0, "The recording, instead of naming it last", 0},
    {"sort", 's', "KEY", 0, "samples, remote, remote-share, reads, writes, latency, size, count, allocated or name", 0},
    {"filter", 'f', "WHAT", 0,
     "A text in the name, or kind=heap, min-share=2%, min-remote=50%, min-samples=10, pid=12; may be given again", 0},
    {"since", OPTION_SINCE, "TIME", 0,
     "Only samples since then: 90s after the start, -90s before the end, 15:30, 2026-11-16T15:30", 0},
    {"until", OPTION_UNTIL, "TIME", 0, "Only samples until then, likewise", 0},
    {"limit", 'n', "N", 0, "Rows of a table; 0 for all (20 as text, all with --json)", 0},
    {"thresholds", OPTION_THRESHOLDS, "N,N,...", 0,
     "Latencies above which accesses are counted (latency: 100,300,1000); balance: count slow ones instead of remote "
     "ones",
     0},
    {"physical", OPTION_PHYSICAL, NULL, 0, "Pages: by physical address, node and frame; map: likewise", 0},
    {"gantt", OPTION_GANTT, NULL, 0, "Map: one row of memory per thread", 0},
    {"by", OPTION_BY, "WHAT", 0, "Map: what colours mean: remote, shared or write", 0},
    {"from", OPTION_FROM, "SECONDS", 0, "Map: start of the time range", 0},
    {"to", OPTION_TO, "SECONDS", 0, "Map: end of the time range", 0},
    {"height", OPTION_HEIGHT, "ROWS", 0, "Map: rows of the picture (24)", 0},
    {"ascii", OPTION_ASCII, NULL, 0, "Map: with ASCII letters only, as where the locale is not UTF-8", 0},
    {"machine", OPTION_MACHINE, "NAME", 0,
     "Judge on this machine and simulate its nodes; 'numalens machines' lists them; or a file "
     "(./my.machine)",
     0},
    {"verbose", 'v', NULL, 0, "The report: also threads, functions, processes, traffic between nodes, every loss", 0},
    {"stdio", OPTION_STDIO, NULL, OPTION_HIDDEN, NULL, 0}, /* of perf, as are the next: docs/perf.md */
    {"tui", OPTION_TUI, NULL, OPTION_HIDDEN, NULL, 0},
    {"gtk", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
    {"call-graph", 'g', "HOW", OPTION_HIDDEN | OPTION_ARG_OPTIONAL, NULL, 0},
    {"children", OPTION_CHILDREN, NULL, OPTION_HIDDEN, NULL, 0},
    {"no-children", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
    {0},
};

static double parse_seconds(struct argp_state *state, const char *name, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= 0 && seconds < 1e9))
        argp_error(state, "--%s: '%s' is no number of seconds", name, text);
    return seconds;
}

static enum view_map_by parse_by(struct argp_state *state, const char *text)
{
    static const char *const names[] = {
        [MAP_BY_REMOTE] = "remote", [MAP_BY_SHARED] = "shared", [MAP_BY_WRITE] = "write"};
    for (unsigned i = MAP_BY_REMOTE; i <= MAP_BY_WRITE; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    argp_error(state, "--by: '%s' is none of remote, shared, write", text);
    return MAP_BY_DEFAULT;
}

/* Options of 'report map' alone. */
static bool parse_map_option(int key, char *value, struct argp_state *state, struct report_arguments *arguments)
{
    struct view_options *view = &arguments->view;
    switch (key) {
    case OPTION_GANTT:
        view->gantt = true;
        break;
    case OPTION_HEIGHT:
        view->height = (unsigned)option_whole("height", value, 0, 10000);
        break;
    case OPTION_BY:
        view->by = parse_by(state, value);
        break;
    case OPTION_FROM:
        view->from_s = parse_seconds(state, "from", value);
        break;
    case OPTION_TO:
        view->to_s = parse_seconds(state, "to", value);
        break;
    case OPTION_ASCII:
        arguments->ascii = true;
        break;
    default:
        return false;
    }
    return arguments->for_map = true;
}

/* Options of perf report. */
static bool parse_perf_option(int key, const struct argp_state *state)
{
    switch (key) {
    case OPTION_STDIO: /* as it is */
        return true;
    case OPTION_TUI:
        command_instead(state, "--tui", NULL, "numalens view shows a recording in a browser");
        return true;
    case 'g':
        command_instead(
            state, "-g", NULL,
            "numalens report sites has the call chains that allocate, numalens report functions what accesses");
        return true;
    case OPTION_CHILDREN:
        command_instead(state, "--children", NULL,
                        "samples count where they are; numalens report functions lists these");
        return true;
    default:
        return false;
    }
}

static const struct option_value values[] = {
    OPTION_TEXT(OPTION_HTML, struct report_arguments, html),
    OPTION_FLAG(OPTION_PHYSICAL, struct report_arguments, view.physical),
    OPTION_TEXT(OPTION_MACHINE, struct report_arguments, machine.machine),
    OPTION_FLAG('v', struct report_arguments, view.verbose),
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct report_arguments *arguments = state->input;
    struct error err;
    switch (key) {
    case OPTION_AGAINST:
        input_parse(&arguments->against, state, value);
        break;
    case 'i':
        input_parse(&arguments->input, state, value);
        break;
    case 's':
        arguments->view.sort = perf_sort_key(value);
        break;
    case 'f':
        if (view_filter_parse(&arguments->view.filter, value, &err) < 0)
            argp_error(state, "--filter: %s", err.text);
        break;
    case OPTION_SINCE:
        time_window_option(state, "since", value, &arguments->window.since);
        break;
    case OPTION_UNTIL:
        time_window_option(state, "until", value, &arguments->window.until);
        break;
    case 'n':
        arguments->view.limit = option_whole("limit", value, 0, 1000000000);
        arguments->has_limit = true;
        break;
    case OPTION_THRESHOLDS:
        arguments->view.threshold_count = thresholds_parse(state, value, arguments->thresholds);
        arguments->view.thresholds = arguments->thresholds;
        break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->machine.topology;
        state->child_inputs[1] = &arguments->symfs;
        state->child_inputs[2] = &arguments->terminal;
        break;
    case ARGP_KEY_ARG:
        input_parse(&arguments->words, state, value);
        break;
    default:
        if (parse_map_option(key, value, state, arguments) || parse_perf_option(key, state))
            return 0;
        return option_value_take(values, option_table, key, value, state);
    }
    return 0;
}

static bool has_process(const struct flow *flow, uint32_t pid)
{
    for (uint32_t i = 0; i < flow_process_count(flow); i++) {
        if (flow_process(flow, i)->pid == pid)
            return true;
    }
    return false;
}

static int show(const struct report_arguments *arguments, const struct flow *flow, struct error *err)
{
    uint32_t pid = arguments->view.filter.pid;
    if (pid && !has_process(flow, pid))
        return error_set(err, -ENOENT, "there is no process %u in it; 'numalens report processes' lists them", pid);
    if (arguments->one_object)
        return view_object(flow, arguments->object, &arguments->view, stdout, err);
    if (arguments->type)
        return view_type(flow, arguments->type, &arguments->view, stdout, err);
    if (arguments->annotated)
        return view_annotate(flow, arguments->annotated, &arguments->view, stdout, err);
    if (arguments->problem)
        return arguments->problem(flow, &arguments->view, stdout, err);
    if (arguments->accesses)
        return view_problems(flow, arguments->accesses, &arguments->view, stdout, err);
    if (arguments->table == VIEW_TABLES)
        return view_report(flow, &arguments->view, stdout, err);
    return view_rows(flow, arguments->table, &arguments->view, stdout, err);
}

static int report(struct report_arguments *arguments, const struct topology *topology, struct error *err)
{
    struct flow_options options = {.topology = topology, .pid = arguments->view.filter.pid, .symfs = arguments->symfs};
    bool has_other = arguments->against.files.count > 0;
    if (has_other && input_find(&arguments->against, err) < 0)
        return -1;
    if (arguments->html)
        return report_html(&(struct report_html){arguments->html, &arguments->input,
                                                 has_other ? &arguments->against : NULL, options, &arguments->window,
                                                 arguments->view.machine},
                           err);
    if (input_is_folder(arguments->input.path))
        return report_job(arguments->input.path, &options, &arguments->view, err);
    struct recording recording;
    int failed = recording_open(&recording, "report", &arguments->input, &options, &arguments->window, err);
    if (failed)
        return failed;
    arguments->view.ending = recording.ending;
    arguments->view.damage = recording.damage;
    failed = show(arguments, recording.flow, err);
    recording_close(&recording);
    return failed;
}

static void free_arguments(struct report_arguments *arguments)
{
    input_free(&arguments->words);
    input_free(&arguments->input);
    input_free(&arguments->against);
}

int cmd_report(int argc, char **argv)
{
    struct report_arguments arguments = {.view = {.filter = {.kind = -1}}, .terminal = {.view = &arguments.view}};
    const struct argp_child children[] = {
        {&topology_argp, 0, NULL, 0}, {&symfs_argp, 0, NULL, 0}, {&terminal_argp, 0, NULL, 0}, {0}};
    struct argp argp = {option_table, parse_option, "[TABLE] [FILE...]", description, children, NULL, NULL};
    struct machine_choice machine = {0};
    struct error err = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (report_understand(&arguments, &err) < 0) {
        free_arguments(&arguments);
        command_failed("report", &err);
        return EXIT_USAGE;
    }
    int chosen = machine_choose(&machine, &arguments.machine, arguments.input.path, &err);
    if (chosen < 0) {
        free_arguments(&arguments);
        command_failed("report", &err);
        return chosen == -ENOENT ? EXIT_FAILED : EXIT_USAGE;
    }
    arguments.view.machine = machine.model;
    terminal_look(&arguments.terminal);
    arguments.view.ascii |= arguments.ascii;
    if (arguments.ascii)
        text_ascii_only();
    bool has_rows = arguments.table != VIEW_TABLES || arguments.accesses || input_is_folder(arguments.input.path) ||
                    (arguments.problem && arguments.problem != view_patterns);
    if (!arguments.has_limit && !arguments.view.json && has_rows)
        arguments.view.limit = DEFAULT_LIMIT;
    arguments.view.path = arguments.input.name;
    progress_line_begin("report", false, arguments.view.json);
    int failed = report(&arguments, machine.topology, &err);
    machine_choice_free(&machine);
    free_arguments(&arguments);
    return failed ? command_failed("report", &err) : EXIT_OK;
}
