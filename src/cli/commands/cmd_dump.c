/* cli/commands/cmd_dump.c - numalens dump: one line a sample. */
#include "cli/command.h"
#include "cli/export_output.h"
#include "cli/progress_line.h"
#include "cli/recording.h"
#include "cli/symfs.h"
#include "cli/topology_options.h"

#include "base/array.h"
#include "base/progress.h"
#include "exchange/export/fields.h"

#include <argp.h>
#include <stdlib.h>

static const char description[] = "Prints one line a sample, the fields with tabs between them.\v"
                                  "FILE is numalens.data unless named. '-' stands for what is not known. Lines are in "
                                  "order of time, those of one process "
                                  "after the other.\n";

static const char examples[] = "\nEXAMPLES\n"
                               "  numalens dump | head\n"
                               "  numalens dump -F time,tid,cpu,addr,latency run.data\n"
                               "  numalens dump -F name,remote --no-header | sort | uniq -c\n";

enum { OPTION_NO_HEADER = 1 };

static const struct argp_option option_table[] = {
    {"fields", 'F', "NAME,NAME,...", 0, "These fields, in this order", 0},
    {"input", 'i', "FILE", 0, "The recording, instead of naming it last", 0},
    {"output", 'o', "FILE", 0, "Write this file instead of standard output", 0},
    {"no-header", OPTION_NO_HEADER, NULL, 0, "Without the first line, which names the fields", 0},
    {0},
};

struct arguments {
    const char *path, *output, *symfs;
    struct topology_options topology;
    struct export_options options;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->topology;
        state->child_inputs[1] = &arguments->symfs;
        break;
    case 'F':
        arguments->options.fields = value;
        break;
    case 'o':
        arguments->output = value;
        break;
    case OPTION_NO_HEADER:
        arguments->options.without_head = true;
        break;
    case 'i':
    case ARGP_KEY_ARG:
        if (arguments->path)
            argp_error(state, "one trace at a time: '%s' is a second one", value);
        arguments->path = value;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* --help ends with every field and what it is. */
static char *whole_description(void)
{
    char *text = mem_format("%sFields:", description);
    const struct field *field;
    for (unsigned i = 0; (field = field_at(i)); i++) {
        char *longer = mem_format("%s%s %s (%s)", text, i ? "," : "", field_name(field), field_help(field));
        free(text);
        text = longer;
    }
    char *whole = mem_format("%s.\n%s", text, examples);
    free(text);
    return whole;
}

static int dump(const struct arguments *arguments, const struct topology *topology, struct error *err)
{
    struct recording recording;
    int failed = recording_open(&recording, "dump", arguments->path,
                                &(struct flow_options){.topology = topology, .symfs = arguments->symfs}, err);
    if (failed < 0)
        return failed;
    progress_begin("writing", 0);
    failed = export_output(&(struct export_job){export_dump, recording.flow, &arguments->options, arguments->path},
                           arguments->output, err);
    recording_close(&recording);
    return failed;
}

int cmd_dump(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct topology *topology = NULL;
    struct error err = {0};
    char *doc = whole_description();
    const struct argp_child children[] = {{&topology_argp, 0, NULL, 0}, {&symfs_argp, 0, NULL, 0}, {0}};
    const struct argp parser = {
        .options = option_table, .parser = parse_option, .args_doc = "[FILE]", .doc = doc, .children = children};
    int wrong = argp_parse(&parser, argc, argv, 0, NULL, &arguments);
    free(doc);
    if (wrong)
        return EXIT_USAGE;
    if ((arguments.options.fields && export_fields_are_wrong(arguments.options.fields, &err)) ||
        topology_options_make(&arguments.topology, &topology, &err) < 0) {
        command_failed("dump", &err);
        return EXIT_USAGE;
    }
    if (!arguments.path)
        arguments.path = "numalens.data";
    progress_line_begin("dump", false, false);
    int failed = dump(&arguments, topology, &err);
    topology_free(topology);
    return failed < 0 ? command_failed("dump", &err) : EXIT_OK;
}
