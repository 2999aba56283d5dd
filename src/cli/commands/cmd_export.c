/* cli/commands/cmd_export.c - numalens export: a recording in the formats of other tools. */
#include "cli/command.h"
#include "cli/input/input_files.h"
#include "cli/input/recording.h"
#include "cli/output_options.h"
#include "cli/progress_line.h"
#include "cli/symfs.h"
#include "cli/topology_options.h"

#include "base/progress.h"
#include "base/replace.h"
#include "cli/usage/option_value.h"
#include "exchange/export/export.h"
#include "exchange/export/fields.h"
#include "base/number.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

/* Whether it goes to a terminal; `path` NULL or "-": standard output. */
static bool export_output_is_terminal(const char *path)
{
    return is_stdout(path) && isatty(STDOUT_FILENO);
}

/* `binary`: the name of a format that no terminal can show, or NULL: then a terminal
 * is refused. Before anything is read. */
static int export_output_check(const char *path, const char *binary, struct error *err)
{
    if (binary && export_output_is_terminal(path))
        return error_set(err, -EINVAL, "%s is binary and not for a terminal; name a file with -o", binary);
    return 0;
}

/* Lets `fill` write there. The recording that it reads, `source`, is never written to. */
static int export_output(const struct input *source, const char *path, replace_fill *fill, const void *context,
                         struct error *err)
{
    if (!is_stdout(path)) {
        if (input_has(source, path))
            return error_set(err, -EINVAL, "%s is the recording itself; name another file with -o", path);
        return replace_file(path, REPLACE_FOR_OWNER, fill, context, err);
    }
    int failed = fill(stdout, context, err);
    if (failed == 0 && (fflush(stdout) != 0 || ferror(stdout)))
        failed = error_set(err, -EIO, "cannot write to standard output: %s", strerror(errno));
    return failed;
}

/* Negative with the list of fields when one of these does not exist. */
static int export_fields_are_wrong(const char *fields, struct error *err)
{
    struct fields parsed;
    return fields_parse(&parsed, fields, err);
}

static const char description[] =
    "Prints a recording's samples, or writes it in the format of another tool.\v" INPUT_HELP
    " Without -o, and with -o -, it goes to standard output. docs/export.md has each format's contents.\n"
    "text prints one line a sample, in order of time, those of one process after the other; '-' stands for what is not "
    "known. moca writes pages (of 'numalens record --source faults'), the others samples.\n\n"
    "Fields:";

static const char examples[] = "\nEXAMPLES\n"
                               "  numalens export --format text | head\n"
                               "  numalens export --format text -F name,remote --no-header | sort | uniq -c\n"
                               "  numalens export --format folded --value remote | flamegraph.pl > remote.svg\n"
                               "  numalens export --format folded --value latency -o latency.folded\n"
                               "  numalens export --format pprof -o run.pb\n"
                               "  numalens export --format csv -F time,tid,addr,latency -o samples.csv\n"
                               "  numalens export --format moca -o run.moca\n";

enum { OPTION_VALUE = 1, OPTION_NO_HEADER };

static const struct argp_option option_table[] = {
    {"format", 'f', "NAME", 0, NULL, 0}, /* its text is made of the formats there are */
    {"value", OPTION_VALUE, "WHAT", 0,
     "Folded, firefox: samples (default), remote, latency, timed or home_known; folded: bytes, of a recording with "
     "traffic",
     0},
    {"fields", 'F', "NAME,NAME,...", 0, "Text, csv: these fields, in this order", 0},
    {"no-header", OPTION_NO_HEADER, NULL, 0, "Text, csv: without the first line, which names the fields", 0},
    {0},
};

struct arguments {
    struct output_options output;
    struct topology_options topology;
    struct input input;
    const char *symfs;
    const struct export_format *format;
    bool list, has_value;
    struct export_options options;
};

/* "folded, csv or moca": the formats there are, with `last` before the last one. */
static char *format_list(const char *last)
{
    char *list = mem_strdup("");
    for (const struct export_format *format = export_formats; format->name; format++) {
        char *longer = mem_format("%s%s%s", list, !*list ? "" : format[1].name ? ", " : last, format->name);
        free(list);
        list = longer;
    }
    return list;
}

static void parse_format(struct arguments *arguments, const char *name, struct argp_state *state)
{
    arguments->list = strcmp(name, "list") == 0;
    arguments->format = export_format_named(name);
    if (!arguments->format && !arguments->list) {
        char *list = format_list(", ");
        argp_error(state, "--format: '%s' is none of %s", name, list);
        free(list);
    }
}

static void check(struct arguments *arguments, struct argp_state *state)
{
    const struct export_format *format = arguments->format;
    if (arguments->list)
        return;
    if (!format) {
        char *list = format_list(", ");
        argp_error(state, "--format is missing: %s", list);
        free(list);
        return;
    }
    if (arguments->has_value && !format->one_value)
        argp_error(state, "--value is for --format folded and firefox: the other formats have all values");
    if (arguments->options.value == TALLY_BYTES && !format->has_bytes)
        argp_error(state, "--value bytes is for --format folded: single samples have none");
    if ((arguments->options.fields || arguments->options.without_head) && !format->has_fields)
        argp_error(state, "--fields and --no-header are for --format text and csv");
    if (!format->write && (arguments->topology.spec || arguments->topology.assign || arguments->topology.homes))
        argp_error(state, "--topology, --assign and --homes are not for --format %s, which has no nodes", format->name);
}

static const struct option_value values[] = {
    OPTION_TEXT('F', struct arguments, options.fields),
    OPTION_FLAG(OPTION_NO_HEADER, struct arguments, options.without_head),
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'f':
        parse_format(arguments, value, state);
        break;
    case OPTION_VALUE:
        arguments->options.value = tally_value_named(value);
        arguments->has_value = true;
        if (arguments->options.value == TALLY_VALUES)
            argp_error(state, "--value: '%s' is none of samples, remote, latency, timed, home_known, bytes", value);
        break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->output;
        state->child_inputs[1] = &arguments->topology;
        state->child_inputs[2] = &arguments->symfs;
        state->child_inputs[3] = &arguments->input;
        break;
    case ARGP_KEY_END:
        check(arguments, state);
        break;
    default:
        return option_value_take(values, option_table, key, value, state);
    }
    return 0;
}

struct trace_export {
    const struct export_format *format;
    struct trace_reader *reader;
    struct moca_export *result;
};

static int fill_from_trace(FILE *out, const void *context, struct error *err)
{
    const struct trace_export *export = context;
    const struct export_format *format = export->format;
    return format->write_events ? format->write_events(export->reader, out, &export->result->accesses, err)
                                : format->write_pages(export->reader, out, export->result, err);
}

static int trace_to(struct trace_reader *reader, const struct arguments *arguments, struct moca_export *result,
                    struct error *err)
{
    if (arguments->format->write_pages && trace_reader_count(reader, EVENT_PAGE) == 0 &&
        !trace_session_get(trace_reader_session(reader), "imported"))
        return error_set(err, -ENODATA, "%s has no pages in it; 'numalens record --source faults' records them",
                         arguments->input.name);
    return export_output(&arguments->input, arguments->output.path, fill_from_trace,
                         &(struct trace_export){arguments->format, reader, result}, err);
}

static int export_trace(struct arguments *arguments, struct error *err)
{
    struct moca_export result;
    struct trace_reader *reader =
        input_merge(&arguments->input, err) < 0 ? NULL : trace_reader_open(arguments->input.path, err);
    int failed = reader ? trace_to(reader, arguments, &result, err) : -1;
    if (reader && trace_reader_damage(reader))
        fprintf(stderr, "numalens export: %s: %s\n", arguments->input.name, trace_reader_damage(reader));
    trace_reader_close(reader);
    if (failed < 0 || arguments->output.quiet || !arguments->output.path)
        return failed;
    if (arguments->format->write_events) {
        printf("%s events into %s\n", number_count(result.accesses), arguments->output.path);
        return 0;
    }
    printf("%s pages of %s task%s into %s\n", number_count(result.accesses), number_count(result.tasks),
           result.tasks == 1 ? "" : "s", arguments->output.path);
    if (result.without_thread)
        printf("Of %s it is not known which thread used them: they are of a task with process id 0.\n",
               number_count(result.without_thread));
    return 0;
}

struct samples_export {
    const struct export_format *format;
    const struct flow *flow;
    const struct export_options *options;
};

static int fill_from_flow(FILE *out, const void *context, struct error *err)
{
    const struct samples_export *export = context;
    return export->format->write(export->flow, export->options, out, err);
}

static int export_samples(struct arguments *arguments, const struct topology *topology, struct error *err)
{
    struct recording recording;
    const struct export_format *format = arguments->format;
    if (format->missing)
        return error_set(err, -ENOTSUP, "--format %s: %s", format->name, format->missing);
    int failed = export_output_check(arguments->output.path, format->binary ? format->name : NULL, err);
    if (failed == 0)
        failed = recording_open(&recording, "export", &arguments->input,
                                &(struct flow_options){.topology = topology, .symfs = arguments->symfs}, NULL, err);
    if (failed < 0)
        return failed;
    uint64_t samples = flow_totals(recording.flow).samples;
    progress_begin("writing", 0);
    failed = export_output(&arguments->input, arguments->output.path, fill_from_flow,
                           &(struct samples_export){format, recording.flow, &arguments->options}, err);
    recording_close(&recording);
    if (failed == 0 && arguments->output.path && !arguments->output.quiet)
        printf("%s samples into %s\n", number_count(samples), arguments->output.path);
    return failed;
}

static int list_formats(void)
{
    for (const struct export_format *format = export_formats; format->name; format++)
        printf("%-12s%s%s%s\n", format->name, format->line, format->missing ? "; not in this build: " : "",
               format->missing ? format->missing : "");
    return EXIT_OK;
}

/* --help ends with every field and what it is. */
static char *whole_description(void)
{
    char *text = mem_strdup(description);
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

static error_t parse(int argc, char **argv, struct arguments *arguments)
{
    struct argp_option options[sizeof option_table / sizeof *option_table];
    memcpy(options, option_table, sizeof options);
    char *doc = whole_description(), *list = format_list(" or "), *formats = mem_format("%s; list: what each is", list);
    options[0].doc = formats;
    const struct argp_child children[] = {{&output_argp, 0, NULL, 0},
                                          {&topology_argp, 0, NULL, 0},
                                          {&symfs_argp, 0, NULL, 0},
                                          {&input_argp, 0, NULL, 0},
                                          {0}};
    const struct argp parser = {
        .options = options, .parser = parse_option, .args_doc = "[FILE...]", .doc = doc, .children = children};
    error_t wrong = argp_parse(&parser, argc, argv, 0, NULL, arguments);
    free(formats);
    free(list);
    free(doc);
    return wrong;
}

int cmd_export(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct topology *topology = NULL;
    struct error err = {0};
    if (parse(argc, argv, &arguments))
        return EXIT_USAGE;
    if (arguments.list)
        return list_formats();
    if (arguments.output.path && strcmp(arguments.output.path, "-") == 0)
        arguments.output.path = NULL;
    arguments.options.for_terminal = export_output_is_terminal(arguments.output.path);
    if ((arguments.options.fields && export_fields_are_wrong(arguments.options.fields, &err)) ||
        topology_options_make(&arguments.topology, &topology, &err) < 0) {
        command_failed("export", &err);
        return EXIT_USAGE;
    }
    progress_line_begin("export", arguments.output.quiet, false);
    int failed = input_find(&arguments.input, &err);
    if (failed == 0)
        failed = arguments.format->write_pages || arguments.format->write_events
                     ? export_trace(&arguments, &err)
                     : export_samples(&arguments, topology, &err);
    input_free(&arguments.input);
    topology_free(topology);
    return failed < 0 ? command_failed("export", &err) : EXIT_OK;
}
