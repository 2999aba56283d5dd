/* agent/process.h - what the recorder is told of a process when it begins. */
#ifndef NUMALENS_AGENT_PROCESS_H
#define NUMALENS_AGENT_PROCESS_H

#include "agent/agent.h"

/* Who this is: parent, executable, command line. */
void process_tell(struct agent_thread *self, bool forked);

/* The main thread, which `self` is, with its stack, and the heap that is already there. */
void process_tell_main(struct agent_thread *self);

#endif
