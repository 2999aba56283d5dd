/* cli/commands/cmd_stat.c - numalens stat: memory traffic per node, while a program runs or for a time. */
#include "cli/command.h"
#include "cli/usage/command_options.h"

#include "base/replace.h"
#include "capture/recorder_signals.h"
#include "cli/sampling_options.h"
#include "cli/stat_text.h"
#include "cli/usage/option_value.h"

#include <errno.h>
#include <string.h>

enum { KEY_ROOT = 256 };

static const struct argp_option option_table[] = {
    {"interval", 'I', "MS", 0, "also print each interval of MS milliseconds", 0},
    {"duration", 'd', "SECONDS", 0, "without a program: stop after so long, else at Ctrl-C", 0},
    {"source", 's', "NAME", 0, "count with auto, uncore, resctrl or numastat (auto: the best available)", 0},
    {"output", 'o', "FILE", 0, "write to FILE; else to stdout, or to stderr when a program runs", 0},
    {"json", 'j', 0, 0, "for programs to read", 0},
    {"quiet", 'q', 0, 0, "only the figures", 0},
    {"root", KEY_ROOT, "DIR", OPTION_HIDDEN, 0, 0}, /* another machine's /sys and /proc, for tests */
    {"event", 'e', "EVENT", OPTION_HIDDEN, 0, 0},   /* of perf: docs/perf.md */
    {0},
};

struct stat_command {
    struct sampling_options checks; /* what all commands that run a program have in common */
    struct count_request request;
    struct count_run run;
    struct stat_text_options text_options;
};

static const struct option_value values[] = {
    OPTION_FLAG('j', struct stat_command, text_options.json),
    OPTION_TEXT(KEY_ROOT, struct stat_command, request.root),
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    static const char *const sources[] = {"auto", "uncore", "resctrl", "numastat", NULL};
    struct stat_command *command = state->input;
    switch (key) {
    case 'I':
        command->run.interval_ns = option_whole("interval", text, 1, 3600000) * 1000000;
        break;
    case 'd':
        command->run.duration_ns = (uint64_t)(option_number("duration", text, 0.001, 1e8) * 1e9);
        break;
    case 's':
        command->request.source = option_choice("source", text, sources) - 1;
        break;
    case 'e':
        command_instead(state, "-e", text,
                        "memory traffic per node is counted, by events chosen for it; for others: perf stat");
        break;
    default:
        return sampling_options_parse(&command->checks, values, option_table, key, text, state);
    }
    return 0;
}

static const struct argp parser = {
    option_table,
    parse,
    "[[--] PROGRAM [ARGUMENT...]]",
    "Counts memory traffic per node, for the whole machine: while PROGRAM runs, for a time, or until Ctrl-C.\vThe best "
    "counters available are taken: those of the memory controllers, else resctrl's, else the kernel's page allocations "
    "per node, which are not traffic. The output begins with the source that was used and why no better one was.\n\n"
    "EXAMPLES\n"
    "  numalens stat -- ./app args\n"
    "  numalens stat -I 500 -d 10\n"
    "  numalens stat --json -o traffic.json -- ./app\n\n"
    "The exit status is the program's; 127 and 126 when it cannot be found or run, 1 for a failure, 2 for wrong usage.",
    NULL,
    NULL,
    NULL,
};

static bool print_interval(void *context, const struct count_reading *from, const struct count_reading *to)
{
    return stat_text_interval(context, from, to);
}

static int count_and_report(struct stat_command *command, struct count_session *session,
                            struct count_run_result *result, struct error *err)
{
    struct stat_text *writer = stat_text_begin(session, &command->text_options);
    command->run.context = writer;
    command->run.interval = print_interval;
    int code = count_run(session, &command->run, result, err);
    struct error write_error = {0};
    int written = stat_text_end(writer, code == 0 ? result : NULL, &write_error);
    if (code == 0 && written < 0) {
        command_failed("stat", &write_error);
        result->exit_status = result->exit_status ? result->exit_status : EXIT_FAILED;
    }
    count_reading_free(&result->first);
    count_reading_free(&result->last);
    return code;
}

int cmd_stat(int argc, char **argv)
{
    struct stat_command command = {.request = {.source = COUNT_AUTO}};
    struct count_run_result result = {.exit_status = EXIT_FAILED};
    struct error err = {0};
    argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &command);
    const char *output = command.checks.capture.output;
    command.run.command = command.checks.capture.command;
    command.text_options.quiet = command.checks.verbosity < 0;
    if (command.run.command && command.run.duration_ns)
        option_complain("duration", "together with a program", "counting ends when the program does");
    struct count_session *session = count_session_open(&command.request, &err);
    if (!session)
        return command_failed("stat", &err);
    FILE *file = output ? replace_stream(output, &err) : NULL;
    if (output && !file) {
        count_session_close(session);
        return command_failed("stat", &err);
    }
    command.text_options.out = file ? file : command.run.command ? stderr : stdout;
    command.text_options.command = command.run.command;
    command.text_options.interval_ns = command.run.interval_ns;
    if (count_and_report(&command, session, &result, &err) < 0)
        command_failed("stat", &err);
    if (file && fclose(file) != 0) {
        error_set(&err, -errno, "cannot write %s: %s", output, strerror(errno));
        command_failed("stat", &err);
    }
    count_session_close(session);
    if (result.signal) {
        fflush(NULL);
        signals_die_of(result.signal);
    }
    return result.exit_status;
}
