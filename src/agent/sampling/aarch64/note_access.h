/* agent/sampling/aarch64/note_access.h - what a burst does before an access that isa/aarch64 is about to carry out. */
#pragma once

#include "isa/aarch64/cpu.h"

/* OUTCOME_ENOUGH: the burst is over; OUTCOME_UNKNOWN: a restartable sequence begins. `cpu->user` is the struct agent_thread. */
enum outcome step_note_access(struct cpu *cpu, uint64_t addr, unsigned size, unsigned flags);
