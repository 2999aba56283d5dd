/* analysis/reuse/reuse_phases.h - when threads of a process work together, and when one of them works alone.
 *
 * The two are different programs, one after the other: mostly initialisation and computation. A footprint of both mixed would be too small
 * for the larger one. The recording is cut into equal slices; in each, samples say which threads ran. */
#pragma once

#include "flow/flow.h"

enum reuse_phase { REUSE_ALONE, REUSE_TOGETHER, REUSE_PHASES };

struct reuse_phases;

struct reuse_phases *reuse_phases_new(const struct flow *flow);
void reuse_phases_free(struct reuse_phases *phases);

enum reuse_phase reuse_phase_at(const struct reuse_phases *phases, uint32_t process, uint64_t time);
