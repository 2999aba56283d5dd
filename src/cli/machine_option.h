/* cli/machine_option.h - --machine: the model of a machine that run times are predicted for, and the topology that goes with it. */
#pragma once

#include "cli/topology_options.h"
#include "predict/recorded_machine.h"

struct model;

struct machine_options {
    const char *machine; /* as a user names it, or NULL */
    struct topology_options topology;
};

struct machine_choice {
    struct model *model;       /* NULL: none is known, and nothing is predicted */
    enum machine_from from;    /* how it was chosen */
    struct topology *topology; /* to simulate on the recording; NULL: as it was recorded */
};

/* The machine that is named; else as predict/recorded_machine.h has it. A recording that cannot be opened is
 * no error here. With `err`, -ENOENT when there is no such model or it is a bad one, -EINVAL when the topology is wrong. */
int machine_choose(struct machine_choice *choice, const struct machine_options *options, const char *path,
                   struct error *err);
void machine_choice_free(struct machine_choice *choice);
