#include "cli/topology_options.h"
#include "cli/usage/option_value.h"

#include <errno.h>

enum { OPTION_TOPOLOGY = 0x1000, OPTION_ASSIGN, OPTION_HOMES };

static const struct argp_option option_table[] = {
    {"topology", OPTION_TOPOLOGY, "SPEC", 0, "Simulate this topology on the recording: \"numa:4 core:2\"", 0},
    {"assign", OPTION_ASSIGN, "HOW", 0, "Assign threads to simulated CPUs: round-robin (default), packed, node:NODE",
     0},
    {"homes", OPTION_HOMES, "HOW", 0, "Home nodes of simulated pages: first-touch, interleave or bind:NODE", 0},
    {0},
};

static const struct option_value values[] = {
    OPTION_TEXT(OPTION_TOPOLOGY, struct topology_options, spec),
    OPTION_TEXT(OPTION_ASSIGN, struct topology_options, assign),
    OPTION_TEXT(OPTION_HOMES, struct topology_options, homes),
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    return option_value_take(values, option_table, key, value, state);
}

const struct argp topology_argp = {.options = option_table, .parser = parse};

int topology_options_make(const struct topology_options *options, struct topology **topology, struct error *err)
{
    *topology = NULL;
    if (!options->spec && (options->assign || options->homes))
        return error_set(err, -EINVAL, "--assign and --homes are for a simulated topology: add --topology");
    if (!options->spec)
        return 0;
    *topology = topology_simulate_text(options->spec, options->assign, options->homes, err);
    return *topology ? 0 : -EINVAL;
}
