/* cli/commands/cmd_export.c - numalens export: a trace's pages for other tools. */
#include "cli/command.h"
#include "cli/output_options.h"

#include "exchange/moca_export.h"
#include "trace/file.h"
#include "view/number.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char description[] = "Writes the pages of a trace as another tool has them.\v"
                                  "FILE is numalens.data unless named; without -o its pages go to standard output. "
                                  "Formats: moca (lines T, C, A), moca-csv (its single table).\n"
                                  "Pages are recorded by 'numalens record --source faults'.\n\n"
                                  "EXAMPLES\n"
                                  "  numalens export --format moca -o run.moca\n"
                                  "  numalens export --format moca-csv numalens.data > run.csv\n";

static const struct argp_option option_table[] = {
    {"format", 'f', "NAME", 0, "moca or moca-csv", 0},
    {0},
};

struct arguments {
    struct output_options output;
    const char *path;
    bool has_format, csv;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'f':
        if (strcmp(value, "moca") != 0 && strcmp(value, "moca-csv") != 0)
            argp_error(state, "--format: '%s' is none of moca, moca-csv", value);
        arguments->csv = strcmp(value, "moca-csv") == 0;
        arguments->has_format = true;
        break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->output;
        break;
    case ARGP_KEY_ARG:
        if (arguments->path)
            argp_error(state, "one trace at a time: '%s' is a second one", value);
        arguments->path = value;
        break;
    case ARGP_KEY_END:
        if (!arguments->has_format)
            argp_error(state, "--format is missing: moca or moca-csv");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static FILE *open_output(const char *path, struct error *err)
{
    int fd = trace_file_create(path, err);
    return fd < 0 ? NULL : fdopen(fd, "w");
}

static int export_to(struct trace_reader *reader, const struct arguments *arguments, struct moca_export *result,
                     struct error *err)
{
    if (trace_reader_count(reader, EVENT_PAGE) == 0 && !trace_session_get(trace_reader_session(reader), "imported"))
        return error_set(err, -ENODATA, "%s has no pages in it; 'numalens record --source faults' records them",
                         arguments->path);
    if (!arguments->output.path)
        return moca_export(reader, arguments->csv, 0, stdout, result, err);
    FILE *out = open_output(arguments->output.path, err);
    if (!out)
        return -1;
    int failed = moca_export(reader, arguments->csv, 0, out, result, err);
    if (fclose(out) != 0 && failed == 0)
        failed = error_set(err, -errno, "cannot write: %s", strerror(errno));
    if (failed < 0) {
        trace_file_remove(arguments->output.path);
        error_prefix(err, "%s", arguments->output.path);
    }
    return failed;
}

int cmd_export(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct argp parser = {.options = option_table,
                                .parser = parse_option,
                                .args_doc = "[FILE]",
                                .doc = description,
                                .children = output_children};
    struct moca_export result;
    struct error err = {0};
    if (argp_parse(&parser, argc, argv, 0, NULL, &arguments))
        return EXIT_USAGE;
    if (!arguments.path)
        arguments.path = "numalens.data";
    struct trace_reader *reader = trace_reader_open(arguments.path, &err);
    int failed = reader ? export_to(reader, &arguments, &result, &err) : -1;
    if (reader && trace_reader_damage(reader))
        fprintf(stderr, "numalens export: %s: %s\n", arguments.path, trace_reader_damage(reader));
    trace_reader_close(reader);
    if (failed < 0)
        return command_failed("export", &err);
    if (arguments.output.quiet || !arguments.output.path)
        return EXIT_OK;
    printf("%s pages of %s task%s into %s\n", number_count(result.accesses), number_count(result.tasks),
           result.tasks == 1 ? "" : "s", arguments.output.path);
    if (result.without_thread)
        printf("Of %s it is not known which thread used them: they are of a task with process id 0.\n",
               number_count(result.without_thread));
    return EXIT_OK;
}
