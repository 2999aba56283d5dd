/* agent/region/attach.h - how the agent finds its recorder, survives forks and lets go.
 *
 * Hooks run before any constructor of ours: whichever comes first attaches. */
#pragma once

#include "agent/agent.h"

/* For a hook that found the switch off: attaches when that was not tried yet, attaches again in a fork's child, and
 * otherwise does nothing. Cheap when there is nothing to do. */
void attach_look(void);

/* Called in the child by the hooks of fork; the same as what the first hook would find out by itself. */
void attach_forked(void);

/* For the constructor of the preloaded agent, once the region is there: starts sampling, if that is wanted. */
void attach_begin_sampling(void);

/* At the very end of the program: stops sampling here and says what is still to be reported. */
void attach_finish(void);

/* Instead of all that: the recorder is this process itself and hands its region over (agent/join.h). The calling thread has a
 * block. Once; false when
 * the process is attached already. */
bool attach_join(struct wire_region *region);

/* The recorder has ended or wants no more: nothing is recorded in this process from now on. Safe in handlers. */
void attach_give_up(void);

/* The program is locking itself up (seccomp): from now on the agent makes no system call that only adds detail. */
void attach_restrict(void);
bool attach_is_restricted(void);

/* Whether this process is sampled. */
bool attach_is_sampling(void);

/* Nothing is recorded in this process, for good: no recorder, or it has ended. */
extern bool attach_is_off AGENT_OWN;

/* Whether allocations are recorded; asked at the top of every hook. */
static inline bool attach_heap(void)
{
    if (__builtin_expect(agent_switch.heap, 1))
        return true;
    attach_look();
    return agent_switch.heap;
}

/* Whether anything is recorded. */
static inline bool attach_live(void)
{
    if (__builtin_expect(agent_switch.live, 1))
        return true;
    attach_look();
    return agent_switch.live;
}
