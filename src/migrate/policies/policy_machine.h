/* migrate/policies/policy_machine.h - what policies see of the machine, made from a topology: levels of groups by distance, and where
 * pages may go. */
#pragma once

#include "numalens/policy.h"
#include "topology/topology.h"

#include <stdbool.h>

/* The caller frees it with machine_free. Every node with memory is open to pages. */
struct nlens_machine *machine_new(const struct topology *topology);
void machine_free(struct nlens_machine *machine);

/* Reads how much memory is free on each node now. Nothing to read on a simulated machine. */
void machine_refresh(struct nlens_machine *machine, const struct topology *topology);

/* Only these nodes are open to pages from now on (true: by index). */
void machine_open(struct nlens_machine *machine, const bool *open);
