/* capture/faults/mechanism.h - ways to make pages fault again, and which of them work here: found out by trying. */
#pragma once

#include "base/error.h"
#include "capture/options.h"

#include <stdbool.h>
#include <stdint.h>

/* "numa-hint"; also for MECHANISM_AUTO and MECHANISM_NONE. */
const char *mechanism_name(enum fault_mechanism mechanism);

/* What a user gets from it, in a phrase. */
const char *mechanism_sees(enum fault_mechanism mechanism);

/* Tries it on memory of our own (for numa-hint: opens the settings, changes nothing). False with `why`, which names what
 * is missing. */
bool mechanism_works(enum fault_mechanism mechanism, struct error *why);

/* Whether auto may take it on this machine without changing home nodes of pages; false with `why`. */
bool mechanism_unharmful(enum fault_mechanism mechanism, const struct topology *topology, struct error *why);

/* What is in force when `wanted` is asked for: never AUTO. `why` gets what speaks against those that auto skipped
 * ("" when nothing does). Negative with `err` when one that was named does not work. */
int mechanism_choose(enum fault_mechanism wanted, const struct topology *topology, enum fault_mechanism *chosen,
                     char *why, size_t room, struct error *err);

/* What one fault costs the program, measured here. */
uint64_t mechanism_fault_ns(void);

/* System call filters on this process; agents under more of them make no descriptor. */
uint32_t mechanism_filters(void);
