/* cli/cmd_record.c - numalens record: the options, then capture/recorder.h, then one or two lines on stderr. */
#include "cli/command.h"

#include "capture/custom_spec.h"
#include "capture/recorder.h"
#include "capture/signals.h"
#include "wire/record.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_BURST = 256,
    KEY_BUDGET,
    KEY_LOADS,
    KEY_STORES,
    KEY_ALL,
    KEY_LATENCY,
    KEY_NO_LATENCY,
    KEY_TOPOLOGY,
    KEY_DEAL,
    KEY_HOMES,
    KEY_SOURCE,
    KEY_TICK,
    KEY_NO_FOLLOW,
    KEY_MEMORY,
    KEY_FRAMES,
    KEY_ALLOC_FN,
    KEY_FREE_FN,
    KEY_POOL_FN,
};

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "write the recording to FILE (numalens.data)", 1},
    {0, 0, 0, 0, "How often:", 2},
    {"frequency", 'F', "HZ", 0, "bursts a second of CPU time of each thread (100)", 2},
    {"period", 'c', "TIME", 0, "instead: mean CPU time between bursts, such as 5ms or 500us", 2},
    {"burst", KEY_BURST, "K", 0, "accesses a burst (16)", 2},
    {"budget", KEY_BUDGET, "PERCENT", 0, "of a thread's CPU time that sampling may cost (2)", 2},
    {0, 0, 0, 0, "What:", 3},
    {"loads", KEY_LOADS, 0, 0, "loads only", 3},
    {"stores", KEY_STORES, 0, 0, "stores only", 3},
    {"all", KEY_ALL, 0, 0, "loads and stores (the default)", 3},
    {"latency", KEY_LATENCY, "NS", 0, "keep only accesses that take at least NS nanoseconds", 3},
    {"no-latency", KEY_NO_LATENCY, 0, 0, "do not measure how long accesses take", 3},
    {"frames", KEY_FRAMES, "N", 0, "call chains of at most N frames (32)", 3},
    {"source", KEY_SOURCE, "WHICH", 0, "of samples: auto, soft, faults, none", 3},
    {"tick", KEY_TICK, "WHICH", 0, "what interrupts threads: auto, perf, timer", 3},
    {"no-follow", KEY_NO_FOLLOW, 0, 0, "leave child processes alone", 3},
    {0, 0, 0, 0, "Allocators of the program's own (docs/custom-allocators.md):", 4},
    {"alloc-fn", KEY_ALLOC_FN, "NAME:HOW", 0, "a function that allocates, such as my_alloc:size=1", 4},
    {"free-fn", KEY_FREE_FN, "NAME:HOW", 0, "a function that frees, such as my_free:ptr=1", 4},
    {"pool-fn", KEY_POOL_FN, "NAME:HOW", 0,
     "a function of pools, such as my_destroy:destroy,pool=1; or a ready set: apr", 4},
    {0, 0, 0, 0, "Pretend another machine:", 5},
    {"topology", KEY_TOPOLOGY, "SPEC", 0, "in hwloc's words, such as \"numa:4 core:2\"", 5},
    {"deal", KEY_DEAL, "HOW", 0, "threads onto its CPUs: packed, round-robin", 5},
    {"homes", KEY_HOMES, "HOW", 0, "of pages: first-touch, bind:N, interleave", 5},
    {0, 0, 0, 0, "The command itself:", 6},
    {"memory", KEY_MEMORY, "MIB", 0, "that the recorder may use (64)", 6},
    {"quiet", 'q', 0, 0, "say nothing but errors", 6},
    {"verbose", 'v', 0, 0, "say more at the end", 6},
    {0},
};

struct wishes {
    struct capture_options options;
    const char *spec, *deal, *homes;
    bool by_frequency, by_period;
    int verbosity;
    struct custom_specs custom;
    char complaint[256]; /* "" when all is possible */
};

static void complain(struct wishes *wishes, const char *option, const char *value, const char *wanted)
{
    if (!*wishes->complaint)
        snprintf(wishes->complaint, sizeof wishes->complaint, "%s '%.60s': %s", option, value, wanted);
}

static double number(struct wishes *wishes, const char *option, const char *text, double least, double most,
                     const char *wanted)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < least || value > most) {
        complain(wishes, option, text, wanted);
        return least;
    }
    return value;
}

static uint64_t duration(struct wishes *wishes, const char *text)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    char *end;
    double value = strtod(text, &end);
    for (unsigned i = 0; end != text && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0 && value * units[i].ns >= 1e4 && value * units[i].ns <= 1e11)
            return (uint64_t)(value * units[i].ns);
    complain(wishes, "--period", text, "a time between 10us and 100s is wanted, with its unit");
    return 1;
}

static int choice(struct wishes *wishes, const char *option, const char *text, const char *const *names,
                  const char *wanted)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    complain(wishes, option, text, wanted);
    return 0;
}

static void name_function(struct wishes *wishes, enum custom_option option, const char *text)
{
    static const char *const names[] = {"--alloc-fn", "--free-fn", "--pool-fn"};
    struct error err = {0};
    if (custom_spec_add(&wishes->custom, option, text, &err) < 0 && !*wishes->complaint)
        snprintf(wishes->complaint, sizeof wishes->complaint, "%s %.240s", names[option], err.text);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    static const char *const samples[] = {"auto", "soft", "faults", "none", NULL};
    static const char *const ticks[] = {"auto", "perf", "timer", NULL};
    struct wishes *wishes = state->input;
    struct capture_options *options = &wishes->options;
    switch (key) {
    case 'o':
        options->output = text;
        if (!*text)
            complain(wishes, "--output", text, "a file name is wanted");
        break;
    case 'F':
        options->tick_ns = (uint64_t)(1e9 / number(wishes, "--frequency", text, 0.01, 100000,
                                                   "bursts a second between 0.01 and 100000 are wanted"));
        wishes->by_frequency = true;
        break;
    case 'c':
        options->tick_ns = duration(wishes, text);
        wishes->by_period = true;
        break;
    case KEY_BURST:
        options->burst = (uint32_t)number(wishes, "--burst", text, 1, 1024, "accesses between 1 and 1024 are wanted");
        break;
    case KEY_BUDGET:
        options->budget_ppm =
            (uint32_t)(number(wishes, "--budget", text, 0.01, 100, "a percentage between 0.01 and 100 is wanted") *
                       10000);
        break;
    case KEY_LOADS:
    case KEY_STORES:
    case KEY_ALL:
        options->loads = key != KEY_STORES;
        options->stores = key != KEY_LOADS;
        break;
    case KEY_LATENCY:
        options->latency_threshold =
            (uint32_t)number(wishes, "--latency", text, 0, 1e9, "nanoseconds between 0 and 1000000000 are wanted");
        break;
    case KEY_NO_LATENCY:
        options->latency = false;
        break;
    case KEY_FRAMES:
        options->max_frames =
            (uint32_t)number(wishes, "--frames", text, 1, WIRE_MAX_FRAMES, "between 1 and 64 frames are wanted");
        break;
    case KEY_SOURCE:
        options->samples =
            (enum capture_samples)choice(wishes, "--source", text, samples, "there are auto, soft, faults, none");
        break;
    case KEY_TICK:
        options->tick = (enum capture_tick)choice(wishes, "--tick", text, ticks, "there are auto, perf, timer");
        break;
    case KEY_NO_FOLLOW:
        options->follow = false;
        break;
    case KEY_ALLOC_FN:
        name_function(wishes, CUSTOM_ALLOC_FN, text);
        break;
    case KEY_FREE_FN:
        name_function(wishes, CUSTOM_FREE_FN, text);
        break;
    case KEY_POOL_FN:
        name_function(wishes, CUSTOM_POOL_FN, text);
        break;
    case KEY_MEMORY:
        options->memory = (size_t)number(wishes, "--memory", text, 16, 65536, "between 16 and 65536 MiB are wanted")
                          << 20;
        break;
    case KEY_TOPOLOGY:
        wishes->spec = text;
        break;
    case KEY_DEAL:
        wishes->deal = text;
        break;
    case KEY_HOMES:
        wishes->homes = text;
        break;
    case 'q':
        wishes->verbosity = -1;
        break;
    case 'v':
        wishes->verbosity = 1;
        break;
    case ARGP_KEY_ARGS:
        options->command = state->argv + state->next;
        state->next = state->argc;
        break;
    case ARGP_KEY_INIT:
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_END:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_ERROR:
    case ARGP_KEY_FINI:
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp parser = {
    option_table,
    parse,
    "[--] PROGRAM [ARGUMENT...]",
    "Runs PROGRAM, samples its memory accesses, follows its objects, and writes numalens.data.\v"
    "Examples:\n"
    "  numalens record -- ./app args\n"
    "  numalens record --topology \"numa:4 core:2\" -- ./app     pretend four nodes\n"
    "  numalens record --stores -F 500 -o stores.data -- ./app\n\n"
    "The exit status is the program's; 127 and 126 when it cannot be found or run, 1 when it cannot be "
    "recorded, 2 for wrong usage.",
    NULL,
    NULL,
    NULL,
};

/* What single options cannot tell. */
static void check_together(struct wishes *wishes)
{
    const struct capture_options *options = &wishes->options;
    if (wishes->by_frequency && wishes->by_period)
        complain(wishes, "--period", "together with --frequency", "only one of both is possible");
    if (!options->latency && options->latency_threshold)
        complain(wishes, "--latency", "together with --no-latency", "only one of both is possible");
    if (!wishes->spec && wishes->deal)
        complain(wishes, "--deal", wishes->deal, "this is for a pretended machine: --topology is missing");
    if (!wishes->spec && wishes->homes)
        complain(wishes, "--homes", wishes->homes, "this is for a pretended machine: --topology is missing");
}

static struct topology *make_topology(const struct wishes *wishes, struct error *err)
{
    if (!wishes->spec)
        return topology_load(err);
    return topology_pretend_text(wishes->spec, wishes->deal, wishes->homes, err);
}

static void print_size(FILE *out, uint64_t bytes)
{
    if (bytes < 1 << 20)
        fprintf(out, "%.0f KiB", (double)bytes / 1024);
    else
        fprintf(out, "%.1f MiB", (double)bytes / (1 << 20));
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

static void summarise(const struct wishes *wishes, const struct recorder_result *result)
{
    const char *file = wishes->options.output;
    fprintf(stderr, "numalens record: %" PRIu64 " samples, %" PRIu64 " objects in %s (", result->samples,
            result->objects, file);
    print_size(stderr, result->bytes);
    fprintf(stderr, "); sampling took %.1f%% of the program's CPU time",
            percent(result->handler_ns, result->target_cpu_ns));
    if (result->drops)
        fprintf(stderr, "; %" PRIu64 " events lost", result->drops);
    bool usual = strcmp(file, "numalens.data") == 0;
    fprintf(stderr, "; next: numalens report%s%s\n", usual ? "" : " ", usual ? "" : file);
    if (*result->notes)
        fprintf(stderr, "numalens record: note: %s\n", result->notes);
    if (*result->custom_missing)
        fprintf(stderr, "numalens record: never found in the program or its libraries: %s\n", result->custom_missing);
    if (*result->custom_refused)
        fprintf(stderr, "numalens record: found, but not hooked: %s\n", result->custom_refused);
    if (wishes->verbosity > 0)
        fprintf(stderr,
                "numalens record: samples from %s; %" PRIu64 " threads in %" PRIu64
                " programs; %.2f s, %.2f s of CPU time, and %.2f s for the recorder\n",
                result->source, result->threads, result->processes, (double)result->duration_ns / 1e9,
                (double)result->target_cpu_ns / 1e9, (double)result->recorder_cpu_ns / 1e9);
}

int cmd_record(int argc, char **argv)
{
    struct wishes wishes = {
        .options = {.output = "numalens.data",
                    .tick_ns = 10000000,
                    .burst = 16,
                    .budget_ppm = 20000,
                    .max_frames = 32,
                    .loads = true,
                    .stores = true,
                    .latency = true,
                    .follow = true,
                    .memory = (size_t)64 << 20},
    };
    struct error err = {0};
    argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &wishes);
    check_together(&wishes);
    if (!*wishes.complaint && (!wishes.options.command || !*wishes.options.command))
        snprintf(wishes.complaint, sizeof wishes.complaint, "a program to run is missing: numalens record -- ./app");
    struct topology *topology = *wishes.complaint ? NULL : make_topology(&wishes, &err);
    if (!topology) {
        fprintf(stderr, "numalens record: %s\n", *wishes.complaint ? wishes.complaint : err.text);
        return *wishes.complaint || wishes.spec ? EXIT_USAGE : EXIT_FAILED;
    }
    wishes.options.topology = topology;
    wishes.options.custom = wishes.custom.items;
    wishes.options.custom_count = wishes.custom.count;
    struct recorder_result result;
    int code = recorder_run(&wishes.options, &result, &err);
    topology_free(topology);
    if (code < 0) {
        command_failed("record", &err);
        return result.exit_status;
    }
    if (result.write_failure.code)
        fprintf(stderr, "numalens record: %s is not whole: %s\n", wishes.options.output, result.write_failure.text);
    if (wishes.verbosity >= 0)
        summarise(&wishes, &result);
    if (result.signal) {
        fflush(NULL);
        signals_die_of(result.signal);
    }
    return result.exit_status;
}
