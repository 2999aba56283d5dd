/* cli/topology_options.h - --topology, --assign and --homes of commands that read a recording: a child of their own argp, with struct
 * topology_options as its input. */
#pragma once

#include "topology/topology.h"

#include <argp.h>

struct topology_options {
    const char *spec, *assign, *homes;
};

extern const struct argp topology_argp;

/* The topology that was asked for, which the caller frees; NULL without `err` when none was. Negative for a wrong one. */
int topology_options_make(const struct topology_options *options, struct topology **topology, struct error *err);
