/* cli/commands/cmd_merge.c - numalens merge: the files of one recording with --rotate as one. */
#include "cli/command.h"
#include "base/text.h"

#include "cli/progress_line.h"
#include "cli/input/input_files.h"
#include "base/mem.h"
#include "cli/usage/option_value.h"
#include "trace/file.h"
#include "trace/merge.h"
#include "trace/redact.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char description[] =
    "Makes one recording of the files of one 'numalens record --rotate', to hand one file over.\vFILE... are in any "
    "order; a folder stands for the files in it. Each sample and each object is in the result once, as if it had "
    "been "
    "recorded into one file. The files must follow one another: those of different runs, and such that one between "
    "them is "
    "missing, are refused. When the first ones are missing (--keep), the result begins later, and reports say so. "
    "No command needs a merge: each takes FILE... or the folder.\n\n"
    "EXAMPLES\n"
    "  numalens merge -o hour.data numalens.*.data\n"
    "  numalens merge -o hour.data /var/log/service/\n"
    "  numalens merge --redact -o public.data numalens.data\n\n"
    "The exit status is 0, 1 when the files cannot be read or do not belong together, 2 for wrong usage.\n";

enum { OPTION_REDACT = 256 };

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "Write the recording to FILE (numalens.data)", 0},
    {"redact", OPTION_REDACT, 0, 0,
     "Remove arguments, paths, host and thread names (docs/security.md); of one file too", 0},
    {"quiet", 'q', 0, 0, "Print nothing but errors", 0},
    {0},
};

struct arguments {
    const char *output;
    bool quiet, redact;
    struct input files;
};

static const struct option_value values[] = {
    OPTION_TEXT('o', struct arguments, output),
    OPTION_FLAG(OPTION_REDACT, struct arguments, redact),
    OPTION_FLAG('q', struct arguments, quiet),
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        input_parse(&arguments->files, state, value);
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the files to merge are missing: numalens merge -o hour.data numalens.*.data");
        break;
    default:
        return option_value_take(values, option_table, key, value, state);
    }
    return 0;
}

/* Of one file, or of several that are first put together beside the output. */
static int redact(struct arguments *arguments, struct error *err)
{
    struct input *files = &arguments->files;
    if (files->files.count == 1)
        return trace_redact(files->files.items[0], arguments->output, err);
    char *together = mem_format("%s.merging", arguments->output);
    int code = trace_merge((const char *const *)files->files.items, files->files.count, together, NULL, err);
    if (code == 0) {
        code = trace_redact(together, arguments->output, err);
        trace_file_remove(together);
    }
    free(together);
    return code;
}

static int merge(struct arguments *arguments, struct error *err)
{
    struct trace_merged merged;
    struct stat found;
    struct input *files = &arguments->files;
    progress_line_begin("merge", arguments->quiet, false);
    int code = input_find(files, err);
    if (code == 0 && arguments->redact)
        return redact(arguments, err);
    if (code == 0)
        code =
            trace_merge((const char *const *)files->files.items, files->files.count, arguments->output, &merged, err);
    if (code < 0 || arguments->quiet)
        return code;
    double bytes = stat(arguments->output, &found) == 0 ? (double)found.st_size : 0;
    fprintf(stderr, "numalens merge: files %" PRIu64 " to %" PRIu64 " of the run%s in %s (%.0f KiB)", merged.first,
            merged.last, merged.ended ? ", which ended with the last" : "", arguments->output, bytes / 1024);
    if (merged.first > 1)
        fprintf(stderr, "; %s before %s missing", merged.first == 2 ? "the one" : "those",
                merged.first == 2 ? "is" : "are");
    char *word = text_shell(arguments->output);
    fprintf(stderr, "; next: numalens report %s\n", word);
    free(word);
    return 0;
}

int cmd_merge(int argc, char **argv)
{
    struct arguments arguments = {.output = "numalens.data"};
    const struct argp argp = {option_table, parse, "FILE...", description, NULL, NULL, NULL};
    struct error err = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    int status = EXIT_OK;
    if (strcmp(arguments.output, "-") == 0) {
        error_set(&err, -EINVAL, "-o -: a recording has an index and is no stream: name a file");
        command_failed("merge", &err);
        status = EXIT_USAGE;
    } else if (merge(&arguments, &err) < 0) {
        status = command_failed("merge", &err);
    }
    input_free(&arguments.files);
    return status;
}
