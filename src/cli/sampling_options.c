#include "cli/sampling_options.h"
#include "cli/usage/option_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_BURST = SAMPLING_KEY,
    KEY_BUDGET,
    KEY_LOADS,
    KEY_STORES,
    KEY_ALL,
    KEY_LATENCY,
    KEY_NO_LATENCY,
    KEY_NO_TRAFFIC,
    KEY_TOPOLOGY,
    KEY_ASSIGN,
    KEY_HOMES,
    KEY_SOURCE,
    KEY_TICK,
    KEY_NO_FOLLOW,
};

static const struct argp_option option_table[] = {
    {0, 0, 0, 0, "How often:", 2},
    {"frequency", 'F', "HZ", 0, "bursts per second of each thread's CPU time (200)", 2},
    {"period", 'c', "TIME", 0,
     "instead of -F: mean CPU time between bursts, such as 5ms; or a number of hardware events", 2},
    {"burst", KEY_BURST, "K", 0, "accesses per burst (28)", 2},
    {"budget", KEY_BUDGET, "PERCENT", 0, "sampling may cost this share of a thread's CPU time (2; faults: 4)", 2},
    {0, 0, 0, 0, "What:", 3},
    {"loads", KEY_LOADS, 0, 0, "loads only", 3},
    {"stores", KEY_STORES, 0, 0, "stores only", 3},
    {"all", KEY_ALL, 0, 0, "loads and stores (the default)", 3},
    {"latency", KEY_LATENCY, "NS", 0, "keep only accesses that take at least NS nanoseconds", 3},
    {"no-latency", KEY_NO_LATENCY, 0, 0, "do not measure how long accesses take", 3},
    {"no-traffic", KEY_NO_TRAFFIC, 0, 0,
     "no bytes from memory (docs/traffic.md): no long bursts, no counters of memory", 3},
    {"source", KEY_SOURCE, "WHICH", 0, "source of samples: auto, pebs, ibs, spe, soft, outside, faults, none", 3},
    {"tick", KEY_TICK, "WHICH", 0, "what interrupts threads: auto, perf, timer", 3},
    {"no-follow", KEY_NO_FOLLOW, 0, 0, "do not record child processes", 3},
    {0, 0, 0, 0, "Simulate another topology:", SAMPLING_LAST_GROUP},
    {"topology", KEY_TOPOLOGY, "SPEC", 0, "nodes and CPUs in hwloc's synthetic syntax, such as \"numa:4 core:2\"",
     SAMPLING_LAST_GROUP},
    {"assign", KEY_ASSIGN, "HOW", 0, "assign threads to its CPUs: round-robin (default), packed, node:N",
     SAMPLING_LAST_GROUP},
    {"homes", KEY_HOMES, "HOW", 0, "home nodes of its pages: first-touch, bind:N, interleave", SAMPLING_LAST_GROUP},
    {0},
};

void option_pids(struct sampling_options *options, char *text)
{
    struct capture_options *capture = &options->capture;
    const unsigned most = sizeof capture->pids / sizeof *capture->pids - 1;
    unsigned count = 0;
    for (char *rest = text, *word; (word = strsep(&rest, ","));) {
        uint32_t pid = (uint32_t)option_whole("pid", word, 1, INT32_MAX);
        if (count > most)
            option_complain("pid", text, "at most 16 processes are possible");
        else if (count++ == 0)
            capture->pid = pid;
        else
            capture->pids[count - 2] = pid;
    }
}

void option_cgroup(struct sampling_options *options, const char *text)
{
    options->capture.query.cgroup = text;
    if (*text != '/' || strncmp(text, "/sys/fs/cgroup", 14) == 0)
        option_complain("cgroup", text,
                        "a path from /, as in /proc/PID/cgroup, is wanted: /system.slice/redis.service");
}

void option_container(struct sampling_options *options, const char *text)
{
    options->capture.query.container = text;
    if (strlen(text) < 12)
        option_complain("container", text, "12 or more letters of its ID are wanted");
}

static const struct option_value values[] = {
    OPTION_NUMBER(KEY_BURST, struct sampling_options, capture.burst, 1, 1024),
    OPTION_NUMBER(KEY_LATENCY, struct sampling_options, capture.latency_threshold, 0, 1000000000),
    OPTION_NOT(KEY_NO_TRAFFIC, struct sampling_options, capture.traffic),
    OPTION_NOT(KEY_NO_LATENCY, struct sampling_options, capture.latency),
    OPTION_NOT(KEY_NO_FOLLOW, struct sampling_options, capture.follow),
    OPTION_TEXT(KEY_TOPOLOGY, struct sampling_options, spec),
    OPTION_TEXT(KEY_ASSIGN, struct sampling_options, assign),
    OPTION_TEXT(KEY_HOMES, struct sampling_options, homes),
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    static const char *const samples[] = {"auto", "soft", "faults", "none", "outside", "pebs", "ibs", "spe", NULL};
    static const char *const ticks[] = {"auto", "perf", "timer", NULL};
    struct sampling_options *options = state->input;
    struct capture_options *capture = &options->capture;
    switch (key) {
    case 'F':
        capture->tick_ns = (uint64_t)(1e9 / option_number("frequency", text, 0.01, 100000));
        options->by_frequency = true;
        break;
    case 'c':
        if (*text && text[strspn(text, "0123456789")] == 0)
            capture->period = option_whole("period", text, 1, 1000000000000);
        else
            capture->tick_ns = option_time("period", text, 1e4, 1e11,
                                           "a time between 10us and 100s is wanted, with its unit; or, for hardware, a "
                                           "number of events");
        options->by_period = true;
        break;
    case KEY_BUDGET:
        capture->budget_ppm = (uint32_t)(option_number("budget", text, 0.01, 100) * 10000);
        capture->fault_budget_ppm = capture->budget_ppm;
        break;
    case KEY_LOADS:
    case KEY_STORES:
    case KEY_ALL:
        capture->loads = key != KEY_STORES;
        capture->stores = key != KEY_LOADS;
        break;
    case KEY_SOURCE:
        capture->samples = (enum capture_samples)option_choice("source", text, samples);
        capture->faults |= capture->samples == SAMPLES_FAULTS;
        break;
    case KEY_TICK:
        capture->tick = (enum capture_tick)option_choice("tick", text, ticks);
        break;
    default:
        return option_value_take(values, option_table, key, text, state);
    }
    return 0;
}

static const struct argp sampling_argp = {option_table, parse, NULL, NULL, NULL, NULL, NULL};
const struct argp_child sampling_children[] = {{&sampling_argp, 0, NULL, 0}, {0}};

error_t sampling_options_parse(struct sampling_options *options, const struct option_value *own,
                               const struct argp_option *own_options, int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 'o':
        options->capture.output = text;
        if (!*text)
            option_complain("output", text, "a file name is wanted");
        break;
    case 'q':
        options->verbosity = -1;
        break;
    case 'v':
        options->verbosity = 1;
        break;
    case ARGP_KEY_ARGS:
        options->capture.command = state->argv + state->next;
        state->next = state->argc;
        break;
    case ARGP_KEY_INIT:
        if (state->child_inputs)
            state->child_inputs[0] = options;
        break;
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_END:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_ERROR:
    case ARGP_KEY_FINI:
        break;
    default:
        return option_value_take(own, own_options, key, text, state);
    }
    return 0;
}

void sampling_options_init(struct sampling_options *options)
{
    *options = (struct sampling_options){.capture = {.tick_ns = 5000000,
                                                     .burst = 28,
                                                     .budget_ppm = 20000,
                                                     .max_frames = 32,
                                                     .loads = true,
                                                     .stores = true,
                                                     .latency = true,
                                                     .traffic = true,
                                                     .interval_ns = 50000000,
                                                     .fault_budget_ppm = 40000,
                                                     .chunks = 1024,
                                                     .chunk_pages = 16384,
                                                     .follow = true,
                                                     .memory = (size_t)64 << 20}};
}

void sampling_options_check(struct sampling_options *options)
{
    static const char missing[] = "this is for a simulated topology: --topology is missing";
    const struct capture_options *capture = &options->capture;
    if (options->by_frequency && options->by_period)
        option_complain("period", "together with --frequency", "only one of both is possible");
    if (!capture->latency && capture->latency_threshold)
        option_complain("latency", "together with --no-latency", "only one of both is possible");
    if (capture->period && capture->samples != SAMPLES_AUTO && capture->samples < SAMPLES_PEBS)
        option_complain("period", "in events", "only hardware counts them: a time such as 5ms is wanted");
    if (!options->spec && options->assign)
        option_complain("assign", options->assign, missing);
    if (!options->spec && options->homes)
        option_complain("homes", options->homes, missing);
}

struct topology *sampling_options_topology(const struct sampling_options *options, struct error *err)
{
    if (!options->spec)
        return topology_load(err);
    return topology_simulate_text(options->spec, options->assign, options->homes, err);
}
