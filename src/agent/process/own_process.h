/* agent/process/own_process.h - what the recorder learns of a process when it begins. */
#pragma once

#include "agent/agent.h"

/* From now on the recorder has yet to learn who this is: the first thread that gets a ring does it. */
void process_owe(bool forked);

/* Who this is: parent, executable, command line. Nothing when it was reported. Safe in handlers. */
void process_report(struct agent_thread *self);

/* The main thread, which `self` is, with its stack, and the heap that is already there. */
void process_report_main(struct agent_thread *self);

/* Only the heap and the main thread's stack, by any thread. */
void process_report_maps(struct agent_thread *self);
