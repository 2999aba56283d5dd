/* capture/outside/attach_check.h - whether a process may be looked at from outside, and if not, why and what helps. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* 0, or negative with `err`: cause and remedy in one line. Nothing is done to the process. */
int attach_check(uint32_t pid, struct error *err);

/* Negative with `err`: why there is no process of this number. */
int attach_missing(uint32_t pid, struct error *err);

/* The process that traces its first thread; 0: none. */
long attach_tracer(uint32_t pid);

/* What keeps unprivileged users from it on this machine; for those who may look, 0 as well. */
int attach_allowed_here(struct error *err);
