/* cli/commands/cmd_apply.c - numalens apply: a program with its memory and threads where a plan wants them. */
#include "cli/command.h"

#include "base/json.h"
#include "base/replace.h"
#include "capture/process/program.h"
#include "capture/recorder_signals.h"
#include "cli/allocator_option.h"
#include "cli/commands/compare/candidate.h"
#include "cli/usage/option_value.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char description[] =
    "Runs PROGRAM with its memory and threads on the nodes that PLAN names, from the first touch on: without a "
    "rebuild and without privileges.\vPLAN is what `numalens advise` writes, a text of your own, or a location file of "
    "FlexMalloc's (docs/plan.md).\n\n"
    "EXAMPLES\n"
    "  numalens advise -o app.plan\n"
    "  numalens apply app.plan -- ./app args\n"
    "  numalens apply --map --json placed.json app.plan -- ./app args\n"
    "  numalens apply --allocator 'memkind/pmem=preferred 1' locations -- ./app\n\n"
    "The program's input and output are its own. When it has ended, what could not be placed is listed with the "
    "reason. A plan that "
    "cannot be read, or names a node that is not here, ends the command before the program is started. The exit "
    "status is the program's; 127 and 126 when it cannot be found or run, 1 for a failure, 2 for wrong usage.\n";

enum { KEY_JSON = 256, KEY_MAP };

static const struct argp_option option_table[] = {
    {"json", KEY_JSON, "FILE", 0, "Also write what was placed, and what was not and why, as JSON", 0},
    {"map", KEY_MAP, 0, 0, "Of a plan for another machine: its n-th node is the n-th here, from the start again", 0},
    {"quiet", 'q', 0, 0, "Print nothing but errors", 0},
    {0},
};

struct apply_command {
    const char *plan_path, *json;
    char **program;
    bool maps, quiet;
    struct plan_allocators allocators;
};

static const struct option_value values[] = {
    OPTION_TEXT(KEY_JSON, struct apply_command, json),
    OPTION_FLAG(KEY_MAP, struct apply_command, maps),
    OPTION_FLAG('q', struct apply_command, quiet),
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct apply_command *command = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->allocators;
        break;
    case ARGP_KEY_ARG:
        if (!command->plan_path) {
            command->plan_path = text;
            break;
        }
        command->program = &state->argv[state->next - 1];
        state->next = state->argc;
        break;
    case ARGP_KEY_END:
        if (!command->program)
            argp_error(state, "%s: numalens apply PLAN -- ./app args",
                       command->plan_path ? "a program to run is missing" : "a plan and a program to run are missing");
        break;
    default:
        return option_value_take(values, option_table, key, text, state);
    }
    return 0;
}

struct applied {
    const struct apply_command *command;
    const struct placement_plan *plan;
    const struct plan_table *table;
    int exit_status;
};

static int fill_json(FILE *out, const void *context, struct error *err)
{
    const struct applied *applied = context;
    struct json *json = json_new(out);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_text(json, "plan", applied->plan->name);
    json_integer(json, "exit_status", applied->exit_status);
    json_number(json, "processes", applied->table->shared->processes);
    json_array(json, "entries");
    for (size_t i = 0; i < applied->plan->entries.count; i++) {
        const struct plan_entry *entry = &applied->plan->entries.items[i];
        struct plan_result result = plan_result(applied->table, applied->plan, i);
        char *wants = plan_entry_wants(entry);
        json_object(json, NULL);
        json_number(json, "line", entry->line);
        json_text(json, "kind", plan_kind_name(entry->kind));
        json_text(json, "site", entry->what);
        json_text(json, "wanted", wants);
        json_bool(json, "applied", result.applied);
        json_text(json, "by", result.by);
        json_number(json, "count", result.count);
        json_number(json, "bytes", result.bytes);
        json_number(json, "huge_bytes", result.huge_bytes);
        json_number(json, "failed", result.failed);
        json_text(json, "reason", result.reason);
        json_end(json);
        free(wants);
        free(result.reason);
    }
    return json_finish(json, err);
}

/* Entries next to each other that were not applied for one reason are reported together. */
static void print_reason(const struct applied *applied, size_t first, size_t last, const struct plan_result *result)
{
    const struct plan_entry *entry = &applied->plan->entries.items[first];
    fprintf(stderr, "numalens apply: %s, line", applied->plan->name);
    if (last > first) {
        fprintf(stderr, "s %u to %u: none of %zu entries applied: %s\n", entry->line,
                applied->plan->entries.items[last].line, last - first + 1, result->reason);
        return;
    }
    char *wants = plan_entry_wants(entry);
    fprintf(stderr, " %u: %s %s @ %s: %s: %s\n", entry->line, plan_kind_name(entry->kind), entry->what, wants,
            result->applied ? "not all applied" : "not applied", result->reason);
    free(wants);
}

static void print_results(const struct applied *applied)
{
    size_t placed = 0, count = applied->plan->entries.count;
    for (size_t i = 0, last; i < count; i = last + 1) {
        struct plan_result result = plan_result(applied->table, applied->plan, i);
        bool same = !result.applied;
        for (last = i; same && last + 1 < count; last += same) {
            struct plan_result next = plan_result(applied->table, applied->plan, last + 1);
            same = !next.applied && strcmp(next.reason, result.reason) == 0;
            free(next.reason);
        }
        placed += result.applied;
        if (!result.applied || *result.reason)
            print_reason(applied, i, last, &result);
        free(result.reason);
    }
    fprintf(stderr, "numalens apply: %zu of %zu entries applied\n", placed, count);
}

static int run(const struct apply_command *command, struct candidate *candidate, int *exit_status, int *killed_by,
               struct error *err)
{
    struct compare_child child;
    char *agent, *refused;
    struct plan_table *table = &candidate->table;
    int status = 0, code = candidate_agent(command->program, &agent, &refused, exit_status, err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < candidate->plan.entries.count && refused; i++) {
        free(table->reasons[i]);
        table->places[i] = PLAN_NOWHERE;
        table->reasons[i] = mem_strdup(refused);
    }
    code = compare_child_open(&child, false, err);
    if (code == 0)
        code = candidate_run(refused ? &CANDIDATE_NONE : candidate, &child, NULL, command->program, agent,
                             STDOUT_FILENO, &status, NULL, err);
    if (code == -EINTR) /* the program has had the signal too, and its end says what it made of it */
        code = 0;
    else if (code < 0)
        *exit_status = code == -ENOENT ? PROGRAM_NOT_FOUND : PROGRAM_NOT_EXECUTABLE;
    compare_child_close(&child);
    if (code == 0) {
        *killed_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        *exit_status = *killed_by ? 128 + *killed_by : WEXITSTATUS(status);
    }
    free(agent);
    free(refused);
    return code;
}

static int apply(const struct apply_command *command, int *exit_status, int *killed_by, struct error *err)
{
    struct candidate candidate = CANDIDATE_NONE;
    struct placement_limits limits;
    int cause;
    int code = plan_read(&candidate.plan, command->plan_path, &command->allocators, err);
    if (code < 0)
        return code;
    struct topology *topology = topology_load(err);
    char *program = program_find(command->program[0], &cause);
    placement_limits_here(&limits);
    struct plan_machine machine = {topology, &limits, command->maps};
    code = topology ? plan_table_make(&candidate.table, &candidate.plan, program, &machine, err) : err->code;
    if (code == 0)
        code = run(command, &candidate, exit_status, killed_by, err);
    if (code == 0) {
        struct applied applied = {command, &candidate.plan, &candidate.table, *exit_status};
        if (!command->quiet)
            print_results(&applied);
        struct error failed = {0};
        if (command->json && replace_file(command->json, REPLACE_BY_UMASK, fill_json, &applied, &failed) < 0) {
            command_failed("apply", &failed);
            *exit_status = *exit_status ? *exit_status : EXIT_FAILED;
        }
    }
    free(program);
    topology_free(topology);
    candidate_free(&candidate);
    return code;
}

int cmd_apply(int argc, char **argv)
{
    struct apply_command command = {0};
    static const struct argp_child children[] = {{&allocator_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {option_table, parse, "PLAN [--] PROGRAM [ARGUMENT...]", description, children,
                              NULL,         NULL};
    struct error err = {0};
    int exit_status = EXIT_FAILED, killed_by = 0;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &command);
    int code = apply(&command, &exit_status, &killed_by, &err);
    plan_allocators_free(&command.allocators);
    if (code < 0) {
        command_failed("apply", &err);
        return exit_status;
    }
    if (killed_by) {
        fflush(NULL);
        signals_die_of(killed_by);
    }
    return exit_status;
}
