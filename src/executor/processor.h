/* executor/processor.h - what of an executor differs by processor: its engine and how it gets a thread's registers
 * (executor/CPU/processor.c), and what the engine asks executor.c. */
#pragma once

#include "executor/native_frames.h"

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

/* What the kernel calls this processor, and the one system call that bursts may need here beside those of every processor. */
extern const uint32_t processor_audit, processor_call;

/* Once: the engine in `reserved`, processor_bytes() of address space. */
size_t processor_bytes(void);
bool processor_make(void *reserved);

/* Takes the job's registers; false: no burst from them. Then carries out up to `most` instructions: steps and end are the job's. */
bool processor_begin(const struct executor_job *job, uint8_t *state);
void processor_run(struct executor_job *job, uint64_t most);

/* A fault: the context goes back into the engine; false: it is none of its own. */
bool processor_fault(ucontext_t *context);

/* executor.c: an access that is about to happen, or code that is about to run. False: the burst ends before it, and the job says why. */
bool job_note(const struct native_at *at, uint64_t addr, uint64_t size, unsigned flags);
bool job_may_run(uint64_t pc);

void executor_main(const uint64_t *initial) __attribute__((noreturn));
void executor_restore(void) __attribute__((visibility("hidden"))); /* from a signal; CPU/processor.c */
