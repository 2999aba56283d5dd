/* executor/native_frames.h - the callers that a burst's accesses are made for, by .eh_frame's rules, which the recorder is asked for, and by frame
 * pointers in code that has none. */
#pragma once

#include "executor/executor.h"

struct native_at { /* an access that is about to happen: the registers that a walk begins with */
    uint64_t pc, sp, fp, lr;
};

void native_frames_begin(struct executor_job *job); /* behind pages_begin() */

/* To be noted as this number. */
void native_frames_note(struct executor_job *job, uint32_t number, const struct native_at *at);

/* executor.c: has the recorder answer in job->rule. */
void executor_ask(struct executor_job *job, uint64_t address);
