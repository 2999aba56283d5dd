/* capture/agent/signal_cost.h - what a tick costs on this machine: some 2 us on most, fifty times that in an emulator. The agent's
 * account of its own cost, and so the budget, rests on it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds that a thread loses to a tick whose handler does nothing; 0 when that cannot be tried. With `perf_tick` that is
 * the interrupt, the signal and the way back, as seen by a loop that is interrupted; else a signal that a thread sends to
 * itself: a timer's tick comes with an interrupt that is there anyhow. Measured at the first call, in some milliseconds, in
 * a short-lived child with signal handlers of its own: this process, which need not be ours, notices nothing. The caller's
 * signals wait meanwhile. One thread at a time. */
uint32_t signal_cost_ns(bool perf_tick);
