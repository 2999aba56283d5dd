/* capture/outside/outside_locals.h - where threads have the thread-local variables of their program's executable. */
#pragma once

#include "capture/sink.h"

/* Reports the block of a thread with that thread pointer; of a library it is not known. */
void outside_locals(struct sink *sink, uint32_t pid, uint32_t tid, uint64_t pointer, uint64_t time);
