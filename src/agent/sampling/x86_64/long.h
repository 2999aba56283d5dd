/* agent/sampling/x86_64/long.h - faults in long runs: see long.c. */
#pragma once

#include <stdbool.h>
#include <ucontext.h>

/* As engine_fault(). */
bool long_fault(ucontext_t *context);
