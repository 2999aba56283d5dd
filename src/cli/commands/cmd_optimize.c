/* cli/commands/cmd_optimize.c - numalens optimize: record, advise, apply, measure; keep what is measured to help. */
#include "cli/command.h"

#include "base/json.h"
#include "base/replace.h"
#include "base/text.h"
#include "capture/process/procfs.h"
#include "capture/process/program.h"
#include "cli/allocator_option.h"
#include "cli/commands/optimize/optimize_runs.h"
#include "cli/commands/optimize/optimize_seen.h"
#include "cli/usage/option_value.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char description[] =
    "Finds out by experiment which placement of memory and threads makes PROGRAM faster, and keeps a plan only when it "
    "is measured to help.\vPROGRAM is recorded once; then the plan that the recording asks for, and the kernel's own "
    "ways, "
    "each run alternately with the default placement until it is sure which is faster. Ctrl-C ends the search and "
    "keeps the "
    "best so far. What the program prints is not shown; standard input is the same for each run.\n\n"
    "EXAMPLES\n"
    "  numalens optimize -- ./app args\n"
    "  numalens optimize --metric 'Triad: *([0-9.]+)' -- ./stream\n"
    "  numalens optimize --runs 30 --json=result.json -o app.plan -- ./app\n"
    "  numalens optimize --plan mine.plan -- ./app          is my plan any good?\n\n"
    "The exit status is 0, also when the default placement is best; 1 for a failure, 2 for wrong usage; the program's "
    "when "
    "it fails.\n";

enum { KEY_RUNS = 256, KEY_METRIC, KEY_LESS, KEY_PLAN, KEY_JSON, KEY_BALANCING, DEFAULT_PAIRS = 12 };

static const struct argp_option option_table[] = {
    {"runs", KEY_RUNS, "N", 0, "Runs of each placement, at most (12)", 0},
    {"metric", KEY_METRIC, "REGEX", 0,
     "Judge by a number that the program prints, not by its time: the last match of this extended regular expression, "
     "its first "
     "group; more is better",
     0},
    {"less-is-better", KEY_LESS, 0, 0, "Of that number", 0},
    {"plan", KEY_PLAN, "PLAN", 0, "Try this plan instead of the one that a recording asks for", 0},
    {"numa-balancing", KEY_BALANCING, 0, 0,
     "Also try kernel.numa_balancing the other way: it is the whole machine's, for as long as a run takes", 0},
    {"output", 'o', "PLAN", 0, "Write the plan that is kept to this file (numalens.plan)", 0},
    {"json", KEY_JSON, "FILE", OPTION_ARG_OPTIONAL, "The result and all runs as JSON, to FILE or standard output", 0},
    {"quiet", 'q', 0, 0, "Print the verdict only", 0},
    {0},
};

struct optimize_command {
    const char *metric_text, *plan_path, *output, *json_path;
    struct plan_allocators allocators;
    bool json, balancing, nothing; /* nothing: to try */
    struct trials trials;
    array_of(struct trial *) candidates;
    struct trial *kept;
    struct placement_limits limits;
    struct topology *topology;
    struct candidates_here here;
    char *program, *folder;
};

static const struct option_value values[] = {
    OPTION_NUMBER(KEY_RUNS, struct optimize_command, trials.most, 4, PAIRED_MOST),
    OPTION_TEXT(KEY_METRIC, struct optimize_command, metric_text),
    OPTION_FLAG(KEY_LESS, struct optimize_command, trials.less_is_better),
    OPTION_TEXT(KEY_PLAN, struct optimize_command, plan_path),
    OPTION_FLAG(KEY_BALANCING, struct optimize_command, balancing),
    OPTION_TEXT('o', struct optimize_command, output),
    OPTION_FLAG('q', struct optimize_command, trials.quiet),
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct optimize_command *command = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->allocators;
        break;
    case KEY_JSON:
        command->json = true;
        command->json_path = text;
        break;
    case ARGP_KEY_ARG:
        command->trials.command = &state->argv[state->next - 1];
        state->next = state->argc;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a program to run is missing: numalens optimize -- ./app args");
        break;
    default:
        return option_value_take(values, option_table, key, text, state);
    }
    return 0;
}

static void note(const struct optimize_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(const struct optimize_command *command, const char *format, ...)
{
    va_list args;
    if (command->trials.quiet)
        return;
    va_start(args, format);
    fputs("numalens optimize: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static void free_trial(struct trial *trial)
{
    candidate_free(&trial->candidate);
    free(trial);
}

static struct trial *add_trial(struct optimize_command *command)
{
    struct trial *trial = mem_zalloc(sizeof *trial);
    *trial = (struct trial){.candidate = CANDIDATE_NONE, .sharing = 1, .seen = TRIAL_UNSEEN};
    array_push(&command->candidates, trial);
    return trial;
}

/* The last one: it has nothing to try. */
static void drop_trial(struct optimize_command *command)
{
    free_trial(command->candidates.items[--command->candidates.count]);
}

static int record(struct optimize_command *command, struct trial *trial, struct placement_plan *plan, int *exit_status,
                  struct error *err)
{
    char *path = mem_format("%s/run.data", command->folder);
    note(command, "%s: a recorded run", trial->candidate.name);
    int code = trials_record(&command->trials, trial, path, exit_status, err);
    if (code == 0)
        code = optimize_seen(path, &trial->seen, plan, err);
    unlink(path);
    free(path);
    return code;
}

static void copy_entry(struct placement_plan *to, const struct placement_plan *from, size_t index)
{
    const struct plan_entry *entry = &from->entries.items[index];
    struct plan_entry *copy = placement_plan_add(to, entry->kind, entry->what, entry->policy);
    copy->all = entry->all;
    copy->cpus = entry->cpus;
    copy->huge = entry->huge;
    copy->line = entry->line;
    copy->evidence = entry->evidence ? mem_strdup(entry->evidence) : NULL;
    array_each (&entry->parts, struct plan_part, part)
        array_push(&copy->parts, *part);
}

/* The entries of a plan that `wanted` has, with all about threads. */
static int add_part(struct optimize_command *command, const struct placement_plan *whole, const bool *wanted,
                    const char *name, struct trial **trial, struct error *err)
{
    struct placement_plan plan = {.name = mem_strdup(name), .has_nodes = whole->has_nodes, .nodes = whole->nodes};
    *trial = add_trial(command);
    array_each (&whole->programs, struct plan_program, program)
        array_push(&plan.programs,
                   (struct plan_program){program->line, mem_strdup(program->path), mem_strdup(program->build_id)});
    for (size_t i = 0; i < whole->entries.count; i++)
        if (wanted[i] || whole->entries.items[i].kind == PLACE_THREAD)
            copy_entry(&plan, whole, i);
    return candidate_take_plan(&(*trial)->candidate, name, &plan, &command->here, err);
}

static int try(struct optimize_command *command, struct trial *trial, int *exit_status, struct error *err)
{
    int code = trials_compare(&command->trials, trial, exit_status, err);
    if (code == 0 && trial->answer == PAIRED_FASTER &&
        (!command->kept || trial->gain.factor > command->kept->gain.factor))
        command->kept = trial;
    return code;
}

/* An entry that places something here, and not where all threads are. */
static bool is_tried_alone(const struct trial *whole, size_t index)
{
    return whole->candidate.plan.entries.items[index].kind != PLACE_THREAD && !whole->candidate.table.reasons[index];
}

/* A plan that does not help as a whole may have entries that do: each alone, then those that help together. To keep one by chance is as
 * likely as to keep the whole plan by chance. */
static int try_entries(struct optimize_command *command, const struct trial *whole, int *exit_status, struct error *err)
{
    size_t count = whole->candidate.plan.entries.count, helping = 0;
    bool *wanted = mem_zalloc(count + 1), *helps = mem_zalloc(count + 1);
    struct trial *trial;
    int code = 0;
    unsigned places = 0;
    for (size_t i = 0; i < count; i++)
        places += is_tried_alone(whole, i);
    for (size_t i = 0; i < count && code == 0 && places > 1; i++) {
        const struct plan_entry *entry = &whole->candidate.plan.entries.items[i];
        if (!is_tried_alone(whole, i))
            continue;
        char *name = mem_format("plan: %s %s", plan_kind_name(entry->kind), entry->what);
        memset(wanted, 0, count);
        wanted[i] = true;
        code = add_part(command, &whole->candidate.plan, wanted, name, &trial, err);
        trial->sharing = places;
        if (code == 0)
            code = try(command, trial, exit_status, err);
        helps[i] = code == 0 && trial->answer == PAIRED_FASTER;
        helping += helps[i];
        free(name);
    }
    if (code == 0 && helping > 1) {
        code = add_part(command, &whole->candidate.plan, helps, "plan: entries that help", &trial, err);
        if (code == 0)
            code = try(command, trial, exit_status, err);
    }
    free(wanted);
    free(helps);
    return code;
}

static int try_plan(struct optimize_command *command, struct placement_plan *plan, int *exit_status, struct error *err)
{
    struct trial *trial = add_trial(command);
    const struct candidate *candidate = &trial->candidate;
    int code = candidate_take_plan(&trial->candidate, "plan", plan, &command->here, err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < candidate->plan.entries.count; i++)
        if (candidate->table.reasons[i])
            note(command, "%s %s is not tried: %s", plan_kind_name(candidate->plan.entries.items[i].kind),
                 candidate->plan.entries.items[i].what, candidate->table.reasons[i]);
    if (plan_table_is_empty(&candidate->table)) {
        note(command, "the plan is not tried: no entry of it places anything here");
        drop_trial(command);
        return 0;
    }
    code = try(command, trial, exit_status, err);
    return code == 0 && trial->answer != PAIRED_FASTER ? try_entries(command, trial, exit_status, err) : code;
}

/* All threads on the nodes in turn, and nothing else. */
static int try_spreading(struct optimize_command *command, int *exit_status, struct error *err)
{
    struct placement_plan plan = {.name = mem_strdup("plan: spread threads")};
    struct trial *trial = add_trial(command);
    placement_plan_add(&plan, PLACE_THREAD, "*", PLACE_DISTRIBUTE);
    int code = candidate_take_plan(&trial->candidate, "plan: spread threads", &plan, &command->here, err);
    return code == 0 ? try(command, trial, exit_status, err) : code;
}

static int try_kernel(struct optimize_command *command, int *exit_status, struct error *err)
{
    const char *names[] = {"interleave", "weighted", "local",
                           !command->balancing           ? NULL
                           : procfs_numa_balancing() > 0 ? "balancing-off"
                                                         : "balancing-on"};
    int code = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names && names[i] && code == 0; i++) {
        struct trial *trial = add_trial(command);
        code = candidate_make(&trial->candidate, names[i], &command->here, err);
        if (code == 0 && trial->candidate.placement.possible) {
            code = try(command, trial, exit_status, err);
            continue;
        }
        if (code == 0)
            note(command, "%s is not tried: %s", names[i], trial->candidate.placement.text);
        drop_trial(command);
    }
    return code;
}

static int search(struct optimize_command *command, int *exit_status, struct error *err)
{
    struct placement_plan plan = {0};
    struct candidates_here *here = &command->here;
    int code = candidate_agent(command->trials.command, &here->agent, &here->refused, exit_status, err);
    bool enters = here->agent;
    command->trials.agent = here->agent;
    if (code < 0 || command->nothing)
        return code;
    if (here->refused)
        note(command, "no plan is tried: %s", here->refused);
    if (code == 0 && command->plan_path)
        code = plan_read(&plan, command->plan_path, &command->allocators, err);
    if (code == 0 && enters)
        code = record(command, &command->trials.standard, command->plan_path ? NULL : &plan, exit_status, err);
    if (code == 0 && enters && plan.entries.count)
        code = try_plan(command, &plan, exit_status, err);
    else if (code == 0 && enters && !command->plan_path)
        note(command, "the recording asks for no plan%s%s", plan.head ? ": " : "", plan.head ? plan.head : "");
    if (code == 0 && enters && !command->plan_path)
        code = try_spreading(command, exit_status, err);
    if (code == 0 && !command->plan_path)
        code = try_kernel(command, exit_status, err);
    if (code == 0 && command->kept && enters)
        code = record(command, command->kept, NULL, exit_status, err);
    if (code == -EINTR && command->trials.interrupted)
        code = 0;
    placement_plan_free(&plan);
    return code;
}

static bool is_measured(const struct optimize_command *command)
{
    array_each (&command->candidates, struct trial *, trial)
        if ((*trial)->pairs.count)
            return true;
    return false;
}

static const char *as_far_as(const struct optimize_command *command)
{
    return command->trials.interrupted ? ", as far as it was tried" : "";
}

/* Its runs leave open whether it gains something, and more than what is kept. */
static bool is_open(const struct optimize_command *command, const struct trial *trial)
{
    return trial->answer == PAIRED_NOT_FASTER && trial->pairs.count >= command->trials.most &&
           trial->gain.high >= (command->kept ? command->kept->gain.high : TRIAL_OPEN);
}

static bool any_open(const struct optimize_command *command)
{
    array_each (&command->candidates, struct trial *, trial)
        if (is_open(command, *trial))
            return true;
    return false;
}

static char *verdict_of(const struct optimize_command *command)
{
    const struct trial *kept = command->kept;
    const char *refused = command->here.refused;
    if (command->nothing)
        return mem_strdup("the default placement is best: there is one NUMA node to use here, so nothing was run");
    if (!is_measured(command))
        return mem_strdup("nothing was measured: it was interrupted before the first pair of runs had ended");
    if (!kept)
        return mem_format("%s%s%s%s",
                          any_open(command) ? "no placement was faster for sure" : "the default placement is best",
                          as_far_as(command), refused ? "; no plan was tried: " : "", refused ? refused : "");
    return mem_format("%s%s is %.2f times as fast as the default placement (%.2f to %.2f, from %u pairs of runs)%s",
                      kept->candidate.table.shared ? "the " : "", kept->candidate.name, kept->gain.factor,
                      kept->gain.low, kept->gain.high, kept->pairs.count, as_far_as(command));
}

static double known(double value)
{
    return value < 0 ? NAN : value;
}

static int fill_json(FILE *out, const void *context, struct error *err)
{
    const struct optimize_command *command = context;
    const struct trial *kept = command->kept;
    struct json *json = json_new(out);
    char *verdict = verdict_of(command);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_array(json, "runs");
    array_each (&command->trials.runs, struct trial_run, run) {
        json_object(json, NULL);
        json_text(json, "plan", run->name);
        json_real(json, "time_s", run->time_s, 6);
        json_real(json, "metric", run->metric, 6);
        const struct trial_seen *seen = &run->trial->seen;
        json_real(json, "remote_share", known(seen->remote_share), 4);
        json_real(json, "remote_bytes_share", known(seen->remote_bytes), 4);
        json_real(json, "latency_ns", known(seen->latency_ns), 1);
        json_end(json);
    }
    json_end(json);
    json_array(json, "tried");
    array_each (&command->candidates, struct trial *, tried) {
        const struct trial *trial = *tried;
        json_object(json, NULL);
        json_text(json, "plan", trial->candidate.name);
        json_number(json, "pairs", trial->pairs.count);
        json_text(json, "answer",
                  trial->answer == PAIRED_FASTER       ? "faster"
                  : trial->answer == PAIRED_NOT_FASTER ? "not faster"
                                                       : "open");
        json_real(json, "factor", trial->gain.factor, 4);
        json_real(json, "low", trial->gain.low, 4);
        json_real(json, "high", trial->gain.high, 4);
        json_end(json);
    }
    json_end(json);
    json_text(json, "kept", kept ? kept->candidate.name : "default");
    json_text(json, "verdict", verdict);
    json_object(json, "gain");
    json_real(json, "factor", kept ? kept->gain.factor : 1, 4);
    json_real(json, "low", kept ? kept->gain.low : 1, 4);
    json_real(json, "high", kept ? kept->gain.high : 1, 4);
    json_end(json);
    json_bool(json, "interrupted", command->trials.interrupted);
    free(verdict);
    return json_finish(json, err);
}

static int fill_plan(FILE *out, const void *context, struct error *err)
{
    (void)err;
    plan_write(out, context);
    return 0;
}

static void print_command(FILE *out, char **words)
{
    for (; *words; words++) {
        char *word = text_shell(*words);
        fprintf(out, " %s", word);
        free(word);
    }
    fputc('\n', out);
}

/* All pairs were run, and what they show may still be a gain. */
static void note_undecided(const struct optimize_command *command)
{
    array_each (&command->candidates, struct trial *, tried) {
        const struct trial *trial = *tried;
        if (is_open(command, trial))
            note(command,
                 "%s was %.2f times as fast (%.2f to %.2f at 95%%), but runs differ so much that %u pairs cannot make "
                 "that "
                 "sure: try --runs %u, or a machine with less else to do",
                 trial->candidate.name, trial->gain.factor, trial->gain.low, trial->gain.high, trial->pairs.count,
                 4 * trial->pairs.count < PAIRED_MOST ? 4 * trial->pairs.count : PAIRED_MOST);
    }
}

static int print_result(struct optimize_command *command, struct error *err)
{
    const struct trial *kept = command->kept;
    FILE *out = command->json && !command->json_path ? stderr : stdout;
    char *verdict = verdict_of(command);
    int code = 0;
    if (kept && kept->candidate.table.shared) {
        free(command->kept->candidate.plan.head);
        command->kept->candidate.plan.head = mem_strdup(verdict);
        code = replace_file(command->output, REPLACE_BY_UMASK, fill_plan, &kept->candidate.plan, err);
    }
    bool names = kept && !kept->candidate.table.shared; /* as --placements has it */
    fprintf(out, "%c%s.\n", names ? verdict[0] : toupper((unsigned char)verdict[0]), verdict + 1);
    note_undecided(command);
    if (command->nothing) {
        fputs("Run it on several nodes. What two would change: numalens compare --topology \"numa:2 core:4\" --", out);
        print_command(out, command->trials.command);
    }
    if (kept)
        optimize_seen_print(out, &command->trials.standard.seen, &kept->seen);
    if (kept && kept->candidate.table.shared) {
        char *word = text_shell(command->output);
        fprintf(out, "Keep it: numalens apply %s --", word);
        free(word);
        print_command(out, command->trials.command);
    } else if (kept && !kept->candidate.as_is) {
        enum placement_kind kind = kept->candidate.placement.kind;
        fprintf(out, "Keep it: numactl --%s --",
                kind == PLACEMENT_INTERLEAVE ? "interleave=all"
                : kind == PLACEMENT_WEIGHTED ? "weighted-interleave=all"
                                             : "localalloc");
        print_command(out, command->trials.command);
    } else if (kept) {
        fprintf(out, "Keep it: sysctl kernel.numa_balancing=%d\n", kept->candidate.balancing);
    }
    free(verdict);
    if (code == 0 && command->json)
        code = command->json_path ? replace_file(command->json_path, REPLACE_BY_UMASK, fill_json, command, err)
                                  : fill_json(stdout, command, err);
    return code;
}

static int optimize(struct optimize_command *command, int *exit_status, struct error *err)
{
    const char *where = getenv("TMPDIR");
    int cause;
    command->folder = mem_format("%s/numalens-optimize-XXXXXX", where && *where ? where : "/tmp");
    if (!mkdtemp(command->folder))
        return error_set(err, -errno, "cannot make the folder %s for recordings: %s", command->folder, strerror(errno));
    command->topology = topology_load(err);
    command->program = program_find(command->trials.command[0], &cause);
    placement_limits_here(&command->limits);
    command->here = (struct candidates_here){
        command->topology, &command->limits, &command->allocators, command->program, NULL, NULL};
    command->nothing =
        command->topology && !command->plan_path && placement_memory_nodes(command->topology, &command->limits) < 2;
    int code = command->topology ? compare_child_open(&command->trials.child, true, err) : err->code;
    if (code == 0)
        code = search(command, exit_status, err);
    if (command->topology)
        compare_child_close(&command->trials.child);
    rmdir(command->folder);
    if (code == 0 && !command->nothing && !command->trials.interrupted && !is_measured(command))
        code = error_set(err, -ENOTSUP, "nothing could be measured: %s",
                         command->here.refused ? command->here.refused : "no entry of the plan places anything here");
    return code == 0 ? print_result(command, err) : code;
}

static void free_command(struct optimize_command *command)
{
    array_each (&command->candidates, struct trial *, trial)
        free_trial(*trial);
    array_free(&command->candidates);
    array_free(&command->trials.runs);
    topology_free(command->topology);
    plan_allocators_free(&command->allocators);
    free(command->here.agent);
    free(command->here.refused);
    free(command->program);
    free(command->folder);
}

int cmd_optimize(int argc, char **argv)
{
    struct optimize_command command = {
        .output = "numalens.plan",
        .trials = {.most = DEFAULT_PAIRS,
                   .chance = 0.002, /* with five placements, one wrong verdict in a hundred programs */
                   .standard = {.candidate = CANDIDATE_NONE, .seen = TRIAL_UNSEEN}},
    };
    static const struct argp_child children[] = {{&allocator_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {option_table, parse, "[--] PROGRAM [ARGUMENT...]", description, children, NULL, NULL};
    struct error err = {0};
    command.trials.standard.candidate.name = "default";
    regex_t metric;
    int exit_status = EXIT_FAILED;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &command);
    if (command.metric_text) {
        int wrong = regcomp(&metric, command.metric_text, REG_EXTENDED | REG_NEWLINE);
        if (wrong) {
            char text[200];
            regerror(wrong, &metric, text, sizeof text);
            fprintf(stderr, "numalens optimize: --metric %s: %s\n", command.metric_text, text);
            return EXIT_USAGE;
        }
        command.trials.metric = &metric;
    }
    int code = optimize(&command, &exit_status, &err);
    if (code < 0)
        command_failed("optimize", &err);
    if (command.metric_text)
        regfree(&metric);
    free_command(&command);
    return code < 0 ? exit_status : EXIT_OK;
}
