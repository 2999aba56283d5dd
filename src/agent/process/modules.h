/* agent/process/modules.h - which binaries are loaded, reported to the recorder as they come and go. */
#pragma once

#include "agent/agent.h"

/* Finds the agent's own code and the dynamic linker's. Once, before hooks record anything. */
void modules_setup(void);

/* Reports what was loaded or unloaded since the last time. Call with inside > 0, never from a handler. */
void modules_refresh(struct agent_thread *self);

/* After fork: what another thread was doing here is over. */
void modules_forked(void);

/* True for code of the dynamic linker. It allocates when it loads and releases when it unloads: a hook that it calls
 * sets agent_switch.modules, and the next hook that anyone else calls refreshes. That also sees what libc loads by
 * itself (name services, character sets), and needs no hand in dlopen, whose search depends on who calls it. */
static inline bool modules_is_linker(uint64_t pc)
{
    extern uint64_t modules_linker_start AGENT_OWN, modules_linker_size AGENT_OWN;
    return pc - modules_linker_start < modules_linker_size;
}

/* Code of the agent, as a caller. A function that ends in a jump to malloc calls it with the return address that custom.S
 * put there: that is the program's call. */
static inline bool modules_is_agent(uint64_t pc)
{
    extern const char custom_return[];
    return pc - agent_text_start < agent_text_end - agent_text_start && pc != (uint64_t)custom_return;
}
