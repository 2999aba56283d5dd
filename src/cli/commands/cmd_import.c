/* cli/commands/cmd_import.c - numalens import: what another tool recorded becomes a trace that every report works on. */
#include "cli/command.h"
#include "cli/output_options.h"
#include "cli/progress_line.h"
#include "cli/symfs.h"

#include "base/mem.h"
#include "exchange/moca_import.h"
#include "exchange/perf_import.h"
#include "base/number.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char description[] =
    "Turns a recording of 'perf mem record', 'perf c2c record' or MOCA into numalens.data, or what -o names.\v"
    "FILE is perf.data unless named; '-' is standard input. File and pipe mode, compressed or not, of any machine.\n"
    "Static objects, mapped files and sections get their names where the binaries are at hand.\n"
    "With --format moca: MOCA's lines T, C, A, of all tasks in one file or one for each.\n\n"
    "EXAMPLES\n"
    "  perf mem record ./app && numalens import && numalens report\n"
    "  numalens import -o server.data /tmp/perf.data.server\n"
    "  ssh server perf mem record -o - ./app | numalens import -\n"
    "  numalens import --format moca Moca-task*\n";

static const struct argp_option option_table[] = {
    {"input", 'i', "FILE", 0, "The recording, instead of naming it last", 0},
    {"format", 'f', "NAME", 0, "perf (the default) or moca", 0},
    {0},
};

struct arguments {
    const char **paths;
    size_t path_count;
    struct output_options output;
    const char *symfs;
    bool moca;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->output;
        state->child_inputs[1] = &arguments->symfs;
        break;
    case 'i':
    case ARGP_KEY_ARG:
        arguments->paths[arguments->path_count++] = value;
        break;
    case 'f':
        if (strcmp(value, "perf") != 0 && strcmp(value, "moca") != 0)
            argp_error(state, "--format: '%s' is neither perf nor moca", value);
        arguments->moca = strcmp(value, "perf") != 0;
        break;
    case ARGP_KEY_END:
        if (arguments->path_count > 1 && !arguments->moca)
            argp_error(state, "one recording at a time: '%s' is a second one", arguments->paths[1]);
        if (arguments->symfs && arguments->moca)
            argp_error(state, "--symfs is for recordings of perf");
        if (arguments->path_count == 0 && arguments->moca)
            argp_error(state, "which file? MOCA's are called Moca-task0 and so on");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void say(const struct perf_import *result, const char *output)
{
    printf("%s memory samples (%s loads, %s stores) of %s thread%s, over %s, into %s\n", number_count(result->samples),
           number_count(result->loads), number_count(result->stores), number_count(result->threads),
           result->threads == 1 ? "" : "s", number_seconds((double)result->span_ns / 1e9), output);
    printf("Source %s; %s.\n", result->source, result->topology);
    if (result->other)
        printf("Skipped: %s samples that are not memory accesses.\n", number_count(result->other));
    if (result->unreadable)
        printf("Skipped: %s samples of an unknown event or truncated.\n", number_count(result->unreadable));
    if (result->skipped)
        printf("Skipped: %s processes without samples.\n", number_count(result->skipped));
    if (result->lost)
        printf("Lost while it was recorded: %s.\n", number_count(result->lost));
    if (*result->damage)
        printf("Damaged: %s.\n", result->damage);
}

static int import_moca(const struct arguments *arguments, struct error *err)
{
    struct moca_import result;
    if (moca_import(arguments->paths, arguments->path_count, arguments->output.path, &result, err) < 0)
        return -1;
    if (arguments->output.quiet)
        return 0;
    printf("%s page uses of %s task%s, over %s, into %s\n", number_count(result.accesses), number_count(result.tasks),
           result.tasks == 1 ? "" : "s", number_seconds((double)result.span / 1e9), arguments->output.path);
    return 0;
}

static int import_perf(const struct arguments *arguments, struct error *err)
{
    struct perf_import result;
    if (perf_import(arguments->path_count ? arguments->paths[0] : "perf.data", arguments->symfs, arguments->output.path,
                    &result, err) < 0)
        return -1;
    if (!arguments->output.quiet)
        say(&result, arguments->output.path);
    return 0;
}

int cmd_import(int argc, char **argv)
{
    struct arguments arguments = {.output.path = "numalens.data"};
    const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {&symfs_argp, 0, NULL, 0}, {0}};
    const struct argp parser = {.options = option_table,
                                .parser = parse_option,
                                .args_doc = "[FILE...]",
                                .doc = description,
                                .children = children};
    struct error err = {0};
    arguments.paths = mem_zalloc(((size_t)argc + 1) * sizeof *arguments.paths);
    if (argp_parse(&parser, argc, argv, 0, NULL, &arguments)) {
        free(arguments.paths);
        return EXIT_USAGE;
    }
    progress_line_begin("import", arguments.output.quiet, false);
    int failed = arguments.moca ? import_moca(&arguments, &err) : import_perf(&arguments, &err);
    free(arguments.paths);
    return failed < 0 ? command_failed("import", &err) : EXIT_OK;
}
