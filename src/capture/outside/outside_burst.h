/* capture/outside/outside_burst.h - one burst of a thread, from its stop to the samples. */
#pragma once

#include "capture/outside/outside_process.h"

/* A thread that was asked to stop, when it has; one of a process that has ended or has no executor is let go only. False: not yet. */
bool outside_take_stop(struct outside *outside, struct outside_process *process, struct outside_thread *thread);
