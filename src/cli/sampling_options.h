/* cli/sampling_options.h - the options that every command which samples a program has in common: how often, what, on
 * which machine. A child of the command's own argp, with struct sampling_options as its input. */
#pragma once

#include "capture/options.h"

#include <argp.h>

enum { SAMPLING_KEY = 512, SAMPLING_LAST_GROUP = 5 }; /* keys and groups from here on are taken */

struct sampling_options {
    struct capture_options capture;
    const char *spec, *assign, *homes; /* --topology and what belongs to it */
    bool by_frequency, by_period;
    int verbosity; /* -1 with -q, 1 with -v */
};

extern const struct argp_child sampling_children[]; /* for the command's own argp */

/* For a command's own parser to end with: its values; -o, -q, -v, the program with its arguments, the input of sampling_children. */
struct option_value;
error_t sampling_options_parse(struct sampling_options *options, const struct option_value *own,
                               const struct argp_option *own_options, int key, char *text, struct argp_state *state);

/* The defaults. */
void sampling_options_init(struct sampling_options *options);

/* What single options do not show: call after argp_parse. Ends the program where they do not go together. */
void sampling_options_check(struct sampling_options *options);

/* The machine that was asked for; the caller frees it. */
struct topology *sampling_options_topology(const struct sampling_options *options, struct error *err);

/* For the command's own options. */
void option_pids(struct sampling_options *options, char *text); /* PID, or PID,PID,...: --pid */
void option_cgroup(struct sampling_options *options, const char *text);
void option_container(struct sampling_options *options, const char *text);
