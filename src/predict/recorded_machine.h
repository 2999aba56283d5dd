/* predict/recorded_machine.h - the machine that a recording is judged on where none is named. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct model;
struct topology;
struct trace_session;

/* The name of a model of the machine that it was recorded on. */
#define MACHINE_HERE "this machine"

enum machine_from {
    MACHINE_NAMED,
    MACHINE_RECORDED, /* the recording was made for it: record --machine */
    MACHINE_GENERIC,  /* with as many nodes as the simulated topology */
    MACHINE_MEASURED, /* the one that it was recorded on, as far as that was measured */
};

/* NULL: none is known. `from`: how it was chosen; may be NULL. `topology` is what the recording is looked at with. */
struct model *recorded_machine(const struct trace_session *session, const struct topology *topology,
                               enum machine_from *from);

/* What a thread of the flow has of this machine's caches, in bytes; 0: its model does not say. */
struct flow;
double machine_cache(const struct model *machine, const struct flow *flow, bool all_cpus);
