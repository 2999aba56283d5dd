/* capture/outside/stop_registers.h - the registers of a thread that has stopped for us, which differ by processor. */
#pragma once

#include "capture/outside/thread_stop.h"

/* Copies them into the job, unless the thread is in a system call (STOP_IN_CALL) or there is no job. A call that the stop has made
 * fail is made again: see docs/outside.md. Never STOP_ENDED; STOP_OTHER: a signal came meanwhile, and it was let go. */
enum stop_state stop_registers(pid_t tid, struct executor_job *job);
