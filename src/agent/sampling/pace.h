/* agent/sampling/pace.h - how often a thread is sampled: what ticks and bursts cost, what the budget allows, and which kind of tick a
 * thread has. */
#pragma once

#include "agent/agent.h"

#include <ucontext.h>

/* Once per process, before the rest. The recorder says how fast the counter runs; where it cannot, one look at both clocks must
 * do. */
void pace_learn_counter(void);

/* Gives this thread its tick; false when there is none to be had. Not in handlers. */
bool pace_start(struct agent_thread *self);

/* wire_counter() ticks as time. */
uint64_t pace_to_ns(uint64_t ticks);

/* How long a load of the line at `addr` takes; false when that says nothing, or is not to be measured. */
bool pace_time_load(uint64_t addr, uint32_t *ns);

/* What a tick costs, its way through the kernel and back. */
uint64_t pace_delivery_ns(void);

/* The mean spacing of bursts that the budget allows. A tick that starts none costs its signal all the same; where ticks alone
 * would take most of the budget, a quarter of it is left for bursts. */
uint64_t pace_period(const struct sampler_thread *sampler);

/* At each tick. Where timers are coarse or slow (in an emulator, on a busy virtual machine) ticks come more rarely than they were
 * asked for: then more of them are chosen. Much more rarely, as was seen in an emulator (asked for every 74 us, they came every
 * 1.5 to 25 ms): the kernel seems not to keep up, and asking for fewer gives more. May give the thread another kind of tick; false
 * when there is none to be had any more. */
bool pace_learn_spacing(struct agent_thread *self);

/* Whether this tick is to start a burst: chosen at random, so that the mean spacing is the one in force. */
bool pace_chooses(struct agent_thread *self);

/* At the end of a burst: what it cost. */
void pace_learn_cost(struct agent_thread *self);
