/* cli/usage/perf_habits.h - what users of perf type: it does what they expect, or one line says what to use instead (docs/perf.md). */
#pragma once

#include "cli/sampling_options.h"

/* record -e EVENTS: memory events, with commas between them, choose source and direction. NULL, or what to use instead. May be
 * given again: `seen` is 0 before the first. */
const char *perf_events(const char *events, struct capture_options *options, unsigned *seen);

/* record --call-graph HOW: NULL where it is what happens anyway. */
const char *perf_call_graph(const char *how);

/* report --sort KEY: a key of perf that is one of ours, else the key itself. */
const char *perf_sort_key(const char *key);

/* For a key that cannot be sorted by: the report that shows what perf sorts by it, "numalens report functions"; or NULL. */
const char *perf_sort_report(const char *key);

/* A command or an option that perf has and numalens has not: what to use instead; or NULL. `command`: "diff", "numalens
 * report"; `option`: "-F", "--fields". */
const char *perf_command(const char *command);
const char *perf_option(const char *command, const char *option);
