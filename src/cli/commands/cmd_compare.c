/* cli/commands/cmd_compare.c - numalens compare: two recordings, or one program under several placements. */
#include "cli/command.h"

#include "capture/process/program.h"
#include "capture/recorder_signals.h"
#include "cli/allocator_option.h"
#include "cli/commands/compare/compare_runs.h"
#include "cli/progress_line.h"
#include "cli/input/recording.h"
#include "cli/symfs.h"
#include "cli/terminal.h"
#include "cli/slower_than.h"
#include "cli/topology_options.h"
#include "cli/usage/option_value.h"
#include "view/compare/compare.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char description[] =
    "Prints what changed significantly between two recordings; or runs a program under several placements of its "
    "threads and memory, records each run, and names the best one and the reason.\vBEFORE and AFTER are a file or a "
    "folder of files of one recording with --rotate each, or such files one after the other.\n\n"
    "EXAMPLES\n"
    "  numalens compare before.data after.data\n"
    "  numalens compare --filter kind=heap --limit 5 before.data after.data\n"
    "  numalens compare monday/ tuesday/\n"
    "  numalens compare -- ./app args\n"
    "  numalens compare --placements cluster,distributed --repeat 5 --plain --same-output -- ./app\n"
    "  numalens compare --placements local,interleave,plan:app.plan -- ./app\n"
    "  numalens compare --topology \"numa:2 core:8\" -- ./app         simulate two nodes\n"
    "  numalens compare -- -F 500 --threads 8 -- ./app              with options of record\n\n"
    "What the program prints is not shown. The exit status is 0; 1 when something failed or --same-output does not "
    "hold; 2 for wrong usage; the program's when it fails, 128 and the signal's number when it is killed.\n";

enum {
    KEY_PLACEMENTS = 256,
    KEY_REPEAT,
    KEY_SAME_OUTPUT,
    KEY_PLAIN,
    KEY_KEEP,
    KEY_THRESHOLDS,
    KEY_GRAIN,
    KEY_TABLE,
    KEY_ALL,
    DEFAULT_LIMIT = 10,
    DEFAULT_REPEAT = 3,
    COMPARED_MOST = 64, /* compare/verdict.h */
};

static const struct argp_option option_table[] = {
    {0, 0, 0, 0, "A program under several placements:", 1},
    {"placements", KEY_PLACEMENTS, "LIST", 0, "of " CANDIDATE_NAMES " (the first seven that are possible)", 1},
    {"repeat", KEY_REPEAT, "N", 0, "runs of each (3)", 1},
    {"same-output", KEY_SAME_OUTPUT, 0, 0, "all runs must print the same", 1},
    {"plain", KEY_PLAIN, 0, 0, "time it without recording too, and judge by that", 1},
    {"keep", KEY_KEEP, "DIR", 0, "keep the recordings there: PLACEMENT-RUN.data", 1},
    {"thresholds", KEY_THRESHOLDS, "N,N,...", 0, "latencies above which accesses are counted (100,300,1000)", 1},
    {"grain", KEY_GRAIN, "WHAT", 0, "of private and shared data: address, line, page, object (line)", 1},
    {0, 0, 0, 0, "Two recordings:", 2},
    {"table", KEY_TABLE, "NAME", 0,
     "objects, sites, functions or threads; may be given again (all but sites; all with --json)", 2},
    {"all", KEY_ALL, 0, 0, "also show rows that did not change significantly", 2},
    {"filter", 'f', "WHAT", 0,
     "A text in the name, or kind=heap, min-share=2%, min-remote=50%, min-samples=10, in one of both; may be given "
     "again",
     2},
    {"limit", 'n', "N", 0, "rows of a table; 0 for all (10 as text, all with --json)", 2},
    {0, 0, 0, 0, "Both:", 3},
    {"quiet", 'q', 0, 0, "do not print which run is going on", 3},
    {0},
};

struct arguments {
    struct input words, sides[2];
    struct topology_options topology;
    const char *symfs;
    bool has_limit, for_runs, for_traces;
    struct view_options view;
    struct terminal_options terminal;
    unsigned tables;
    bool with_noise;
    char *names[COMPARED_MOST];
    uint32_t name_count;
    bool chosen; /* these names */
    char *agent;
    struct plan_allocators allocators;
    struct compare_runs_options runs;
};

static void parse_placements(struct argp_state *state, struct arguments *arguments, const char *text)
{
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        char *name = mem_format("%.*s", (int)length, at);
        if (!candidate_is_name(name))
            argp_error(state, "--placements: there is no '%s'; there are " CANDIDATE_NAMES, name);
        if (arguments->name_count == COMPARED_MOST)
            argp_error(state, "--placements: %d at most", COMPARED_MOST);
        for (uint32_t i = 0; i < arguments->name_count; i++)
            if (strcmp(arguments->names[i], name) == 0)
                argp_error(state, "--placements: '%s' is there twice", name);
        arguments->names[arguments->name_count++] = name;
        at += length;
        if (!*at)
            return;
    }
}

static void parse_table(struct argp_state *state, struct arguments *arguments, const char *text)
{
    for (unsigned table = 0; table < PROFILE_TABLES; table++) {
        if (strcmp(profile_table_name((enum profile_table)table), text) == 0) {
            arguments->tables |= 1u << table;
            return;
        }
    }
    argp_error(state, "--table: there is no '%s'; there are objects, sites, functions, threads", text);
}

static void parse_grain(struct argp_state *state, struct figures_options *figures, const char *text)
{
    for (unsigned grain = 0; grain < GRAINS; grain++) {
        if (strcmp(sharing_grain_name((enum sharing_grain)grain), text) == 0) {
            figures->grain = (enum sharing_grain)grain;
            return;
        }
    }
    argp_error(state, "--grain: '%s' is none of address, line, page, object", text);
}

static const struct option_value values[] = {
    OPTION_NUMBER(KEY_REPEAT, struct arguments, runs.repeat, 1, 1000),
    OPTION_FLAG(KEY_SAME_OUTPUT, struct arguments, runs.same_output),
    OPTION_FLAG(KEY_PLAIN, struct arguments, runs.plain),
    OPTION_FLAG('q', struct arguments, runs.quiet),
    {0},
};

static error_t parse_runs(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    arguments->for_runs = true;
    switch (key) {
    case KEY_PLACEMENTS:
        while (arguments->name_count)
            free(arguments->names[--arguments->name_count]);
        arguments->chosen = true;
        parse_placements(state, arguments, value);
        break;
    case KEY_KEEP:
        if (!*value)
            argp_error(state, "--keep: the name of a folder is wanted");
        arguments->runs.keep = value;
        break;
    case KEY_THRESHOLDS:
        arguments->runs.figures.threshold_count = thresholds_parse(state, value, arguments->runs.figures.thresholds);
        break;
    case KEY_GRAIN:
        parse_grain(state, &arguments->runs.figures, value);
        break;
    default:
        return option_value_take(values, option_table, key, value, state);
    }
    return 0;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct error err;
    if (key >= KEY_PLACEMENTS && key <= KEY_GRAIN)
        return parse_runs(key, value, state);
    switch (key) {
    case KEY_TABLE:
        arguments->for_traces = true;
        parse_table(state, arguments, value);
        break;
    case KEY_ALL:
        arguments->for_traces = arguments->with_noise = true;
        break;
    case 'f':
        arguments->for_traces = true;
        if (view_filter_parse(&arguments->view.filter, value, &err) < 0)
            argp_error(state, "--filter: %s", err.text);
        if (arguments->view.filter.pid)
            argp_error(state, "--filter: processes have other numbers in another run; filter by text");
        break;
    case 'n':
        arguments->for_traces = arguments->has_limit = true;
        arguments->view.limit = option_whole("limit", value, 0, 1000000000);
        break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->symfs;
        state->child_inputs[1] = &arguments->topology;
        state->child_inputs[2] = &arguments->terminal;
        state->child_inputs[3] = &arguments->allocators;
        break;
    case ARGP_KEY_ARG:
        input_parse(&arguments->words, state, value);
        break;
    default:
        return option_value_take(values, option_table, key, value, state);
    }
    return 0;
}

/* Splits "... -- [record options --] program ...": what is in front of the first -- is left for argp. */
static int split_program(int argc, char **argv, struct compare_runs_options *runs)
{
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0)
        own++;
    if (own == argc)
        return argc;
    char **words = argv + own + 1;
    if (*words && **words == '-' && strcmp(*words, "--") != 0) {
        runs->record_options = words;
        while (*words && strcmp(*words, "--") != 0)
            words++;
        runs->record_option_count = (unsigned)(words - runs->record_options);
        words += *words != NULL;
    }
    runs->command = words;
    return own;
}

static int check_record_options(const struct compare_runs_options *runs, struct error *err)
{
    static const char *const ours[] = {"--topology", "--placement", "--assign", "--homes", "--output", "-o"};
    for (unsigned i = 0; i < runs->record_option_count; i++) {
        const char *word = runs->record_options[i];
        for (unsigned k = 0; k < sizeof ours / sizeof *ours; k++)
            if (strncmp(word, ours[k], strlen(ours[k])) == 0)
                return error_set(err, -EINVAL, "'%s' cannot be an option of record here: %s", word,
                                 k == 0   ? "give --topology to compare itself"
                                 : k <= 4 ? "placements set that"
                                          : "--keep DIR keeps the recordings");
    }
    return 0;
}

static int check(struct arguments *arguments, struct error *err)
{
    const struct compare_runs_options *runs = &arguments->runs;
    if (runs->command) {
        if (!*runs->command)
            return error_set(err, -EINVAL, "a program to run is missing behind --: numalens compare -- ./app");
        if (arguments->words.files.count)
            return error_set(err, -EINVAL, "'%s': recordings and a program cannot be compared with each other",
                             arguments->words.files.items[0]);
        if (arguments->for_traces || arguments->symfs || arguments->topology.assign || arguments->topology.homes)
            return error_set(err, -EINVAL,
                             "--table, --all, --filter, --limit, --symfs, --assign and --homes are for two recordings");
        return check_record_options(runs, err);
    }
    if (arguments->for_runs)
        return error_set(err, -EINVAL, "a program to run is missing: numalens compare [options] -- ./app");
    return input_split(&arguments->words, arguments->sides, err);
}

static struct profile *read_profile(struct input *input, const struct flow_options *flow, const char **damaged,
                                    struct error *err)
{
    struct recording recording;
    if (input_find(input, err) < 0 || recording_open(&recording, "compare", input, flow, NULL, err) < 0)
        return NULL;
    struct profile *profile = profile_make(recording.flow, input->name, recording.ending, err);
    if (!profile)
        error_prefix(err, "%s", input->name);
    if (recording.damage)
        *damaged = input->name;
    recording_close(&recording);
    return profile;
}

static int compare_traces(struct arguments *arguments)
{
    struct error err = {0};
    struct topology *topology = NULL;
    struct profile *before = NULL, *after = NULL;
    struct difference *difference = NULL;
    struct compare_options options = {
        .view = &arguments->view, .tables = arguments->tables, .with_noise = arguments->with_noise};
    int status = EXIT_OK;
    if (topology_options_make(&arguments->topology, &topology, &err) < 0) {
        command_failed("compare", &err);
        return EXIT_USAGE;
    }
    if (!arguments->has_limit && !arguments->view.json)
        arguments->view.limit = DEFAULT_LIMIT;
    if (!options.tables)
        options.tables = arguments->view.json ? (1u << PROFILE_TABLES) - 1
                                              : 1u << PROFILE_OBJECTS | 1u << PROFILE_FUNCTIONS | 1u << PROFILE_THREADS;
    const struct flow_options flow = {.topology = topology, .symfs = arguments->symfs};
    if (!(before = read_profile(&arguments->sides[0], &flow, &options.damaged, &err)) ||
        !(after = read_profile(&arguments->sides[1], &flow, &options.damaged, &err))) {
        status = command_failed("compare", &err);
        goto cleanup;
    }
    difference = difference_make(before, after);
    if (view_difference(difference, &options, stdout, &err) < 0)
        status = command_failed("compare", &err);
cleanup:
    difference_free(difference);
    profile_free(before);
    profile_free(after);
    topology_free(topology);
    return status;
}

/* Works out what each placement means here. Fails when there are not two to compare, unless one was all that was asked
 * for. */
static int work_out(struct arguments *arguments, struct compare_runs *runs, const struct candidates_here *here,
                    struct error *err)
{
    uint32_t possible = 0;
    for (uint32_t i = 0; arguments->name_count < PLACEMENTS && !arguments->chosen; i++)
        arguments->names[arguments->name_count++] = mem_strdup(placement_name((enum placement_kind)i));
    runs->items = mem_zalloc(arguments->name_count * sizeof *runs->items);
    runs->candidates = mem_zalloc(arguments->name_count * sizeof *runs->candidates);
    for (uint32_t i = 0; i < arguments->name_count; i++) {
        struct candidate *candidate = &runs->candidates[runs->count++];
        int code = candidate_make(candidate, arguments->names[i], here, err);
        if (code < 0)
            return code;
        runs->items[i] = (struct placed){.name = candidate->name, .placement = candidate->placement};
        possible += candidate->placement.possible;
        if (!candidate->placement.possible)
            fprintf(stderr, "numalens compare: %s is skipped: %s\n", candidate->name, candidate->placement.text);
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(runs->items[k].name, candidate->name) == 0)
                return error_set(err, -EINVAL, "two placements are called %s: give the plans other names",
                                 candidate->name);
    }
    if (possible >= 2 || (possible == 1 && runs->count == 1))
        return 0;
    return error_set(err, -ENODEV, "there are no two placements to compare here%s",
                     here->topology->node_count == 1
                         ? ": the machine has one node; --topology \"numa:2 core:4\" simulates two"
                         : "");
}

/* Whether the agent can follow plans in the program. A program that cannot be run is found out when it is. */
static int find_agent(const struct arguments *arguments, struct candidates_here *here, struct error *err)
{
    bool plans = false;
    int unused;
    for (uint32_t i = 0; i < arguments->name_count; i++)
        plans |= strncmp(arguments->names[i], "plan:", 5) == 0;
    return plans ? candidate_agent(arguments->runs.command, &here->agent, &here->refused, &unused, err) : 0;
}

static int plan(struct arguments *arguments, struct compare_runs *runs, bool *simulated, struct error *err)
{
    struct placement_limits limits;
    int cause;
    struct topology *topology = arguments->topology.spec
                                    ? topology_simulate_text(arguments->topology.spec, NULL, NULL, err)
                                    : topology_load(err);
    if (!topology)
        return -1;
    *simulated = topology->simulated;
    placement_limits_here(&limits);
    char *program = program_find(arguments->runs.command[0], &cause);
    struct candidates_here here = {topology, &limits, &arguments->allocators, program, NULL, NULL};
    int code = find_agent(arguments, &here, err);
    if (code == 0)
        code = work_out(arguments, runs, &here, err);
    arguments->agent = here.agent;
    free(here.refused);
    free(program);
    topology_free(topology);
    return code;
}

static char *command_text(char **command)
{
    char *text = mem_strdup(*command);
    for (command++; *command; command++) {
        char *longer = mem_format("%s %s", text, *command);
        free(text);
        text = longer;
    }
    return text;
}

static int show_runs(const struct arguments *arguments, const struct compare_runs *runs, bool simulated,
                     struct error *err)
{
    const struct placed **ran = mem_alloc((runs->count + 1ul) * sizeof *ran);
    uint32_t count = 0;
    struct verdict verdict;
    for (uint32_t i = 0; i < runs->count; i++)
        if (runs->items[i].runs.count)
            ran[count++] = &runs->items[i];
    verdict_make(&verdict, ran, count, simulated);
    free(ran);
    char *command = command_text(arguments->runs.command);
    struct placements_run shown = {.command = command,
                                   .items = runs->items,
                                   .count = runs->count,
                                   .repeat = arguments->runs.repeat,
                                   .simulated = simulated,
                                   .plain = arguments->runs.plain,
                                   .same_output = arguments->runs.same_output,
                                   .figures = &arguments->runs.figures,
                                   .unit = runs->unit,
                                   .kept = arguments->runs.keep,
                                   .verdict = &verdict};
    int failed = view_placements(&shown, &arguments->view, stdout, err);
    free(command);
    return failed;
}

static int compare_placements(struct arguments *arguments)
{
    struct compare_runs runs = {0};
    struct error err = {0};
    bool simulated = false;
    int status = EXIT_OK, signal = 0;
    arguments->runs.topology = arguments->topology.spec;
    int code = plan(arguments, &runs, &simulated, &err);
    arguments->runs.agent = arguments->agent;
    if (code < 0)
        status = command_failed("compare", &err);
    else if (compare_runs_make(&runs, &arguments->runs, &status, &signal, &err) < 0)
        command_failed("compare", &err);
    else if (show_runs(arguments, &runs, simulated, &err) < 0)
        status = command_failed("compare", &err);
    compare_runs_free(&runs);
    while (arguments->name_count)
        free(arguments->names[--arguments->name_count]);
    free(arguments->agent);
    plan_allocators_free(&arguments->allocators);
    if (signal) {
        fflush(NULL);
        signals_die_of(signal);
    }
    return status;
}

int cmd_compare(int argc, char **argv)
{
    struct arguments arguments = {
        .view = {.filter = {.kind = -1}},
        .terminal = {.view = &arguments.view},
        .runs = {.repeat = DEFAULT_REPEAT,
                 .figures = {.thresholds = {100, 300, 1000}, .threshold_count = 3, .grain = GRAIN_LINE}}};
    const struct argp_child children[] = {{&symfs_argp, 0, NULL, 2},
                                          {&topology_argp, 0, NULL, 3},
                                          {&terminal_argp, 0, NULL, 3},
                                          {&allocator_argp, 0, NULL, 1},
                                          {0}};
    struct argp argp = {option_table, parse_option, "BEFORE... AFTER...\n-- [RECORD OPTIONS --] PROGRAM [ARGUMENT...]",
                        description,  children,     NULL,
                        NULL};
    struct error err = {0};
    int own = split_program(argc, argv, &arguments.runs);
    argp_parse(&argp, own, argv, 0, NULL, &arguments);
    if (check(&arguments, &err) < 0) {
        command_failed("compare", &err);
        return EXIT_USAGE;
    }
    terminal_look(&arguments.terminal);
    if (arguments.runs.command)
        return compare_placements(&arguments);
    progress_line_begin("compare", arguments.runs.quiet, arguments.view.json);
    int status = compare_traces(&arguments);
    input_free(&arguments.sides[0]);
    input_free(&arguments.sides[1]);
    return status;
}
