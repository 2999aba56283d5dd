/* machine/measure.h - a model of the machine at hand: latencies as calibrate measures them, and bandwidth by reading.
 *
 * Threads of its own do it: affinity and memory policy of the caller stay as they are. Takes a second and about 200 ms for
 * each pair of nodes, and up to 2 GiB of memory, a quarter of what is free at most. */
#pragma once

#include "machine/model.h"

/* NULL with `err` when a pair of nodes cannot be measured: a model with holes would be none. */
struct model *model_measure(struct error *err);
