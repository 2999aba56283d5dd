/* capture/signal_cost.h - what a signal costs on this machine: some 2 us on most, fifty times that in an emulator. The agent's
 * account of its own cost, and so the budget, rests on it. Measured in the recorder, which may take signals as it likes; in
 * the program under test none would go unnoticed. */
#ifndef NUMALENS_CAPTURE_SIGNAL_COST_H
#define NUMALENS_CAPTURE_SIGNAL_COST_H

#include <stdint.h>

/* Nanoseconds from sending a signal to oneself until its handler has returned; 0 when that cannot be tried. Measured at the
 * first call, in about 50 signals' time. Not for programs that are not ours: it sets a handler for a while. */
uint32_t signal_cost_ns(void);

#endif
