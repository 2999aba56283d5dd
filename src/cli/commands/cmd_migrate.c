/* cli/commands/cmd_migrate.c - numalens migrate: the options, then migrate/migrate_run.h, then what came of it. */
#include "cli/command.h"
#include "base/text.h"

#include "base/array.h"
#include "base/replace.h"
#include "capture/recorder_signals.h"
#include "cli/sampling_options.h"
#include "cli/usage/option_value.h"
#include "capture/process/procfs.h"
#include "migrate/migrate_run.h"
#include "migrate/migrate_text.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    KEY_POLICY = 256,
    KEY_INTERVAL,
    KEY_MAX_PAGES,
    KEY_MAX_BYTES,
    KEY_LEAST,
    KEY_DRY_RUN,
    KEY_KEEP_GOING,
    KEY_MAX_OVERHEAD,
    KEY_PIN,
    KEY_MEMORY,
    KEY_JSON,
    KEY_LIST,
    GROUP_OUTPUT = SAMPLING_LAST_GROUP + 1,
};

static const struct argp_option option_table[] = {
    {"policy", KEY_POLICY, "NAME", 0,
     "decision rule: regions, access, latency, neighbours:K, none, or ./mine.so (regions)", 1},
    {"interval", KEY_INTERVAL, "TIME", 0, "between two decisions (500ms)", 1},
    {"pid", 'p', "PID", 0, "migrate the pages of a running process", 1},
    {"dry-run", KEY_DRY_RUN, 0, 0, "print what would be moved, and move nothing", 1},
    {"max-pages", KEY_MAX_PAGES, "N", 0, "pages moved in an interval at most (65536)", 1},
    {"max-bytes", KEY_MAX_BYTES, "SIZE", 0, "bytes likewise, such as 64M (256M)", 1},
    {"min-accesses", KEY_LEAST, "N", 0, "leave pages with fewer sampled accesses in an interval (1)", 1},
    {"max-overhead", KEY_MAX_OVERHEAD, "PERCENT", 0,
     "pause when it costs more than this part of the program's CPU time (10)", 1},
    {"keep-going", KEY_KEEP_GOING, 0, 0, "never pause, even when it does not pay off", 1},
    {"pin", KEY_PIN, "CPU", 0, "keep numalens itself on this CPU", 1},
    {"list-policies", KEY_LIST, 0, 0, "name the built-in policies", 1},
    {0, 0, 0, 0, "The command itself:", GROUP_OUTPUT},
    {"output", 'o', "FILE", 0, "also keep a recording that `report` understands", GROUP_OUTPUT},
    {"json", KEY_JSON, "FILE", OPTION_ARG_OPTIONAL, "the summary and all intervals as JSON, to FILE or stdout",
     GROUP_OUTPUT},
    {"memory", KEY_MEMORY, "MIB", 0, "memory that numalens may use beside its buffers (256)", GROUP_OUTPUT},
    {"quiet", 'q', 0, 0, "print nothing but errors", GROUP_OUTPUT},
    {"verbose", 'v', 0, 0, "a line for each interval", GROUP_OUTPUT},
    {0},
};

enum { INTERVALS_KEPT = 16384 }; /* for JSON */

struct migrate_command {
    struct sampling_options sampling;
    struct loop_options loop;
    bool json, list;
    const char *json_path; /* NULL: stdout */
    array_of(struct loop_interval) intervals;
    uint64_t intervals_dropped;
};

static uint64_t parse_size(const char *name, const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    if (end != text && unit && end[1] == 0)
        value *= (double)((uint64_t)1 << (10 * (unit - units + 1)));
    if (end == text || (*end && (!unit || end[1])) || !(value >= 1) || value > 1e18)
        option_complain(name, text, "a number of bytes is wanted, such as 64M");
    return (uint64_t)value;
}

static const struct option_value values[] = {
    OPTION_TEXT(KEY_POLICY, struct migrate_command, loop.policy),
    OPTION_NUMBER('p', struct migrate_command, sampling.capture.pid, 1, INT32_MAX),
    OPTION_NUMBER(KEY_MAX_PAGES, struct migrate_command, loop.limits.pages, 1, 1000000000000),
    OPTION_NUMBER(KEY_LEAST, struct migrate_command, loop.limits.min_accesses, 1, 1000000000),
    OPTION_FLAG(KEY_DRY_RUN, struct migrate_command, loop.dry_run),
    OPTION_FLAG(KEY_KEEP_GOING, struct migrate_command, loop.never_rest),
    OPTION_NUMBER(KEY_PIN, struct migrate_command, loop.pin, 0, 65535),
    OPTION_FLAG(KEY_LIST, struct migrate_command, list),
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct migrate_command *command = state->input;
    struct loop_options *loop = &command->loop;
    switch (key) {
    case KEY_INTERVAL:
        loop->interval_ns =
            option_time("interval", text, 1e6, 3.6e12, "a time between 1ms and an hour is wanted, with its unit");
        break;
    case KEY_MAX_BYTES:
        loop->limits.bytes = parse_size("max-bytes", text);
        break;
    case KEY_MAX_OVERHEAD:
        loop->most_cost = option_number("max-overhead", text, 0.01, 1000) / 100;
        break;
    case KEY_MEMORY:
        loop->memory = option_whole("memory", text, 1, 65536) << 20;
        break;
    case KEY_JSON:
        command->json = true;
        command->json_path = text;
        break;
    default:
        return sampling_options_parse(&command->sampling, values, option_table, key, text, state);
    }
    return 0;
}

static const struct argp parser = {
    option_table,
    parse,
    "[--] PROGRAM [ARGUMENT...]\n-p PID",
    "Runs PROGRAM, samples its memory accesses, and moves pages to the nodes that use them.\vExamples:\n"
    "  numalens migrate -v -- ./app args\n"
    "  numalens migrate --policy access --interval 500ms -- ./app\n"
    "  numalens migrate --dry-run -p 4711\n"
    "  numalens migrate --policy neighbours:64 -- ./app          large arrays: samples are few\n"
    "  numalens migrate --topology \"numa:4 core:2\" -- ./app     try it on a simulated topology\n\n"
    "Bursts come more often than with `record` and are shorter: --frequency 1000 --burst 4.\n"
    "The exit status is the program's; 127 and 126 when it cannot be found or run, 1 when it cannot be migrated, 2 for "
    "wrong usage.",
    sampling_children,
    NULL,
    NULL,
};

static void check_together(struct migrate_command *command)
{
    struct sampling_options *sampling = &command->sampling;
    const struct capture_options *capture = &sampling->capture;
    bool program = capture->command && *capture->command;
    sampling_options_check(sampling);
    if (!program && !capture->pid)
        option_refuse("a program to run is missing: numalens migrate -- ./app, or -p PID");
    else if (program && capture->pid)
        option_complain("pid", "together with a program", "only one of both is possible");
    else if (capture->pid && (capture->samples == SAMPLES_SOFT || capture->samples == SAMPLES_FAULTS))
        option_complain(
            "source", "for a running process",
            "nothing is put into a process that runs already: only auto, outside and hardware are possible");
    else if (!capture->pid && capture->samples == SAMPLES_OUTSIDE)
        option_complain("source", "outside", "pages of a program are moved by the agent's samples, or by faults");
    else if (capture->samples == SAMPLES_NONE)
        option_complain("source", "none", "without samples there is nothing to decide by");
}

static void see_interval(void *context, const struct loop_interval *interval, const struct plan_move *moves,
                         size_t count)
{
    struct migrate_command *command = context;
    (void)moves;
    (void)count;
    if (command->sampling.verbosity > 0) {
        fputs("numalens migrate: ", stderr);
        print_interval(stderr, interval, command->loop.dry_run);
    }
    if (!command->json)
        return;
    if (command->intervals.count < INTERVALS_KEPT)
        array_push(&command->intervals, *interval);
    else
        command->intervals_dropped++;
}

static void note_machine(const struct migrate_command *command)
{
    int balancing = procfs_numa_balancing();
    if (command->sampling.verbosity >= 0 && command->loop.topology->node_count < 2)
        fputs("numalens migrate: note: this machine has one memory node: there is nowhere to move pages to; --topology "
              "\"numa:4 core:2\" simulates more\n",
              stderr);
    if (command->sampling.verbosity < 0 || command->loop.topology->simulated || balancing <= 0)
        return;
    fputs("numalens migrate: note: kernel.numa_balancing is on: the kernel moves pages too, by its own rules. Both "
          "work towards the threads, but may undo each other's moves, and each hinting fault costs the program time; "
          "an administrator can switch it off with sysctl kernel.numa_balancing=0\n",
          stderr);
}

struct json_result {
    struct migrate_command *command;
    const struct loop_summary *summary;
    uint64_t cpu_ns;
    int exit_status;
};

static int fill_json(FILE *out, const void *context, struct error *err)
{
    const struct json_result *result = context;
    const struct migrate_command *command = result->command;
    const struct loop_summary *summary = result->summary;
    struct json *json = json_new(out);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_bool(json, "dry_run", command->loop.dry_run);
    json_bool(json, "simulated", command->loop.topology->simulated);
    json_integer(json, "exit_status", result->exit_status);
    print_summary_json(json, summary, result->cpu_ns);
    json_array(json, "intervals");
    array_each (&command->intervals, struct loop_interval, interval)
        print_interval_json(json, interval, summary->total.began);
    json_end(json);
    json_number(json, "intervals_dropped", command->intervals_dropped);
    return json_finish(json, err);
}

static int write_json(const struct json_result *result, struct error *err)
{
    const char *path = result->command->json_path;
    return path ? replace_file(path, REPLACE_BY_UMASK, fill_json, result, err) : fill_json(stdout, result, err);
}

static void print_result(struct migrate_command *command, const struct loop_summary *summary, uint64_t cpu_ns,
                         int *exit_status)
{
    struct error err = {0};
    if (command->sampling.verbosity >= 0) {
        if (command->loop.topology->simulated)
            fputs("numalens migrate: simulated nodes: no page was really moved\n", stderr);
        print_summary(stderr, "numalens migrate", summary, command->loop.dry_run, cpu_ns);
    }
    if (command->json && write_json(&(struct json_result){command, summary, cpu_ns, *exit_status}, &err) < 0) {
        command_failed("migrate", &err);
        if (*exit_status == 0)
            *exit_status = EXIT_FAILED;
    }
}

static void print_end(uint32_t pid, const struct recorder_result *result)
{
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    bool ended = process < 0 || poll(&(struct pollfd){.fd = process, .events = POLLIN}, 1, 0) > 0; /* a zombie has */
    if (process >= 0)
        close(process);
    fprintf(stderr, "numalens migrate: process %u %s; seen of it: %s\n", pid,
            ended ? "ended" : "goes on without numalens", result->source);
}

static int run(struct migrate_command *command, struct error *err)
{
    struct capture_options *capture = &command->sampling.capture;
    struct loop_listener listener = {command, see_interval};
    struct recorder_result result;
    struct loop_summary summary;
    if (!capture->output)
        capture->max_frames = 1; /* nobody looks at call chains */
    if (migrate_run(capture, &command->loop, &listener, &result, &summary, err) < 0) {
        int failed = command_failed("migrate", err);
        return capture->pid ? failed : result.exit_status;
    }
    if (result.write_failure.code)
        fprintf(stderr, "numalens migrate: %s is not whole: %s\n", capture->output, result.write_failure.text);
    if (command->sampling.verbosity >= 0 && *result.notes && (!capture->pid || capture->output))
        fprintf(stderr, "numalens migrate: note: %s\n", result.notes);
    if (command->sampling.verbosity >= 0 && capture->pid)
        print_end(capture->pid, &result);
    print_result(command, &summary, result.target_cpu_ns, &result.exit_status);
    if (command->sampling.verbosity >= 0 && capture->output) {
        char *word = text_shell(capture->output);
        fprintf(stderr, "numalens migrate: recorded in %s; next: numalens report %s\n", capture->output, word);
        free(word);
    }
    if (result.signal) {
        fflush(NULL);
        signals_die_of(result.signal);
    }
    return result.exit_status;
}

static int list_policies(void)
{
    for (unsigned i = 0; policies_builtin[i]; i++)
        printf("%-18s %s\n", policies_builtin[i]->name, policies_builtin[i]->summary);
    return EXIT_OK;
}

int cmd_migrate(int argc, char **argv)
{
    struct migrate_command command = {
        .loop = {.policy = "regions",
                 .interval_ns = 500000000,
                 .limits = {.pages = 65536, .bytes = (uint64_t)256 << 20, .min_accesses = 1},
                 .most_cost = 0.10,
                 .pin = -1,
                 .memory = (size_t)256 << 20},
    };
    struct sampling_options *sampling = &command.sampling;
    struct error err = {0};
    sampling_options_init(sampling);
    /* Many pages matter more here than many accesses of one: a burst mostly stays on a page. */
    sampling->capture.tick_ns = 1000000;
    sampling->capture.burst = 4;
    argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &command);
    if (command.list)
        return list_policies();
    check_together(&command);
    struct topology *topology = sampling_options_topology(sampling, &err);
    if (!topology) {
        command_failed("migrate", &err);
        return sampling->spec ? EXIT_USAGE : EXIT_FAILED;
    }
    command.loop.topology = sampling->capture.topology = topology;
    note_machine(&command);
    int exit_status = run(&command, &err);
    array_free(&command.intervals);
    topology_free(topology);
    return exit_status;
}
