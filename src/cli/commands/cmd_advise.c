/* cli/commands/cmd_advise.c - numalens advise: the placement plan that a recording's findings ask for. */
#include "cli/command.h"

#include "base/replace.h"
#include "base/text.h"
#include "cli/allocator_option.h"
#include "cli/input/recording.h"
#include "cli/progress_line.h"
#include "cli/topology_options.h"
#include "cli/usage/option_value.h"
#include "plan/plan_advise.h"
#include "predict/first_line.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

static const char description[] =
    "Writes a placement plan: which memory and which threads of the recorded program to put on which nodes, with the "
    "evidence for each.\v" INPUT_HELP
    " A plan is a text to read and to edit (docs/plan.md); `numalens apply` follows it without a rebuild.\n\n"
    "EXAMPLES\n"
    "  numalens advise -o app.plan\n"
    "  numalens advise --topology \"numa:4 core:2\" recording.data     for another machine\n"
    "  numalens advise --format flexmalloc --allocator 'memkind/pmem=preferred 1' -o locations\n"
    "  numalens apply app.plan -- ./app args\n\n"
    "The exit status is 0, also when there is nothing to place; 1 when the recording cannot be read, 2 for wrong "
    "usage.\n";

enum { KEY_FORMAT = 256 };

static const struct argp_option option_table[] = {
    {"format", KEY_FORMAT, "NAME", 0, "plan, or flexmalloc: a location file of FlexMalloc's (plan)", 0},
    {"output", 'o', "PLAN", 0, "Write the plan to this file (standard output)", 0},
    {"quiet", 'q', 0, 0, "Print nothing but errors", 0},
    {0},
};

struct advise_command {
    struct input files;
    struct topology_options topology;
    const char *output;
    struct plan_allocators allocators;
    bool flexmalloc, quiet;
};

static const struct option_value values[] = {
    OPTION_TEXT('o', struct advise_command, output),
    OPTION_FLAG('q', struct advise_command, quiet),
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct advise_command *command = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->topology;
        state->child_inputs[1] = &command->files;
        state->child_inputs[2] = &command->allocators;
        break;
    case KEY_FORMAT:
        command->flexmalloc = strcmp(text, "flexmalloc") == 0;
        if (!command->flexmalloc && strcmp(text, "plan") != 0)
            argp_error(state, "--format: there is no '%s'; there are plan and flexmalloc", text);
        break;
    default:
        return option_value_take(values, option_table, key, text, state);
    }
    return 0;
}

struct written {
    const struct advise_command *command;
    const struct placement_plan *plan;
};

static int fill(FILE *out, const void *context, struct error *err)
{
    const struct written *written = context;
    (void)err;
    if (written->command->flexmalloc)
        flexmalloc_write(out, written->plan, &written->command->allocators);
    else
        plan_write(out, written->plan);
    return 0;
}

/* Notes the entries that the format has no words for; how many it has. */
static size_t note_entries(const struct advise_command *command, const struct placement_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->entries.count; i++) {
        const struct plan_entry *entry = &plan->entries.items[i];
        const char *reason = command->flexmalloc ? flexmalloc_refuses(plan, i) : NULL;
        count += !reason;
        if (reason && !command->quiet)
            fprintf(stderr, "numalens advise: %s %s is not written: %s\n", plan_kind_name(entry->kind), entry->what,
                    reason);
    }
    return count;
}

static int advise(struct advise_command *command, const struct flow *flow, struct error *err)
{
    struct placement_plan plan = {0};
    struct plan_expected expected;
    struct findings *findings = findings_of(flow, NULL, err);
    int code = findings ? plan_advise(&plan, findings, &expected, err) : err->code;
    progress_line_end();
    struct written written = {command, &plan};
    if (code == 0)
        code = command->output ? replace_file(command->output, REPLACE_BY_UMASK, fill, &written, err)
                               : fill(stdout, &written, err);
    size_t count = code == 0 ? note_entries(command, &plan) : 0;
    if (code == 0 && command->output && !command->quiet) {
        char *word = text_shell(command->output);
        if (count)
            fprintf(stderr, "numalens advise: %zu entr%s in %s; next: numalens apply %s -- PROGRAM\n", count,
                    count == 1 ? "y" : "ies", command->output, word);
        else
            fprintf(stderr, "numalens advise: no entries in %s, which says why\n", command->output);
        free(word);
    }
    placement_plan_free(&plan);
    findings_free(findings);
    return code;
}

int cmd_advise(int argc, char **argv)
{
    struct advise_command command = {0};
    static const struct argp_child children[] = {
        {&topology_argp, 0, "", 0}, {&input_argp, 0, "", 0}, {&allocator_argp, 0, "", 0}, {0}};
    const struct argp argp = {option_table, parse, "[FILE...]", description, children, NULL, NULL};
    struct error err = {0};
    struct recording recording;
    struct topology *topology = NULL;
    argp_parse(&argp, argc, argv, 0, NULL, &command);
    progress_line_begin("advise", command.quiet, false);
    int code = topology_options_make(&command.topology, &topology, &err);
    if (code < 0) {
        command_failed("advise", &err);
        return EXIT_USAGE;
    }
    struct flow_options options = {.topology = topology};
    code = input_find(&command.files, &err);
    if (code == 0)
        code = recording_open(&recording, "advise", &command.files, &options, NULL, &err);
    if (code == 0) {
        code = advise(&command, recording.flow, &err);
        recording_close(&recording);
    }
    input_free(&command.files);
    topology_free(topology);
    plan_allocators_free(&command.allocators);
    return code < 0 ? command_failed("advise", &err) : EXIT_OK;
}
