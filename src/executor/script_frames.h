/* executor/script_frames.h - which lines of Python a burst's accesses are made for, by the thread's frames as the burst has left them. */
#pragma once

#include "executor/executor.h"

void script_frames_begin(struct executor_job *job); /* behind pages_begin() */

/* An access that is about to happen, to be noted as this number. */
void script_frames_note(struct executor_job *job, uint32_t number);
