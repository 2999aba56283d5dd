/* agent/process/locals.h - thread-local variables of the program and its libraries: where each thread has its own.
 *
 * What is loaded at the start has its blocks at fixed distances from each other, the same in every thread. A
 * library that is loaded later gets blocks from malloc, thread by thread; those are malloc'd blocks like any other. */
#pragma once

#include "agent/agent.h"

/* Finds the distances. Once, before the program's first thread begins. */
void locals_setup(void);

/* Reports the calling thread's blocks. Call with inside > 0, on a thread that has a ring. */
void locals_report(struct agent_thread *self);
