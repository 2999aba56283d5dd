/* cli/cmd_import.c - numalens import: what another tool recorded becomes a trace that every report works on. */
#include "cli/command.h"

#include "exchange/perf_import.h"
#include "view/number.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char description[] =
    "Turns a recording of 'perf mem record' or 'perf c2c record' into numalens.data.\v"
    "FILE is perf.data unless named; '-' is standard input. File and pipe mode, compressed or not, of any machine.\n"
    "Static objects, mapped files and sections get their names where the binaries are at hand.\n\n"
    "EXAMPLES\n"
    "  perf mem record ./app && numalens import && numalens report\n"
    "  numalens import -o server.data /tmp/perf.data.server\n"
    "  ssh server perf mem record -o - ./app | numalens import -\n";

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "Write this file instead of numalens.data", 0},
    {"quiet", 'q', NULL, 0, "Say nothing but errors", 0},
    {0},
};

struct arguments {
    const char *path, *output;
    bool quiet;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'o':
        arguments->output = value;
        break;
    case 'q':
        arguments->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (arguments->path)
            argp_error(state, "one recording at a time: '%s' is a second one", value);
        arguments->path = value;
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
        printf("Left out: %s samples that are no memory accesses.\n", number_count(result->other));
    if (result->unreadable)
        printf("Left out: %s samples of no known event or cut short.\n", number_count(result->unreadable));
    if (result->left_out)
        printf("Left out: %s processes without samples.\n", number_count(result->left_out));
    if (result->lost)
        printf("Lost while it was recorded: %s.\n", number_count(result->lost));
    if (*result->damage)
        printf("Damaged: %s.\n", result->damage);
}

int cmd_import(int argc, char **argv)
{
    struct arguments arguments = {.output = "numalens.data"};
    const struct argp parser = {
        .options = option_table, .parser = parse_option, .args_doc = "[FILE]", .doc = description};
    struct perf_import result;
    struct error err = {0};
    if (argp_parse(&parser, argc, argv, 0, NULL, &arguments))
        return EXIT_USAGE;
    if (perf_import(arguments.path ? arguments.path : "perf.data", arguments.output, &result, &err) < 0)
        return command_failed("import", &err);
    if (!arguments.quiet)
        say(&result, arguments.output);
    return EXIT_OK;
}
