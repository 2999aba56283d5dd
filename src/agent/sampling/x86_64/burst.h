/* agent/sampling/x86_64/burst.h - bursts by the engine (isa/x86_64/engine.h) of a thread of the agent's. */
#pragma once

#include "agent/agent.h"
#include "isa/x86_64/engine.h"

/* One burst on the copied frame. */
void engine_burst(struct engine *engine, struct agent_thread *self, ucontext_t *context);
