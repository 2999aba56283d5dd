/* agent/sampling/x86_64/burst.h - bursts by the engine (isa/x86_64/engine.h): the loop over blocks, and faults in slots. */
#pragma once

#include "agent/agent.h"
#include "isa/x86_64/engine.h"

/* One burst on the copied frame. */
void engine_burst(struct engine *engine, struct agent_thread *self, ucontext_t *context);

/* A fault at an instruction in the slots: the context goes back into the engine, which ends the burst before it. */
bool engine_fault(struct engine *engine, ucontext_t *context);
