/* capture/faults/own_memory.h - where the profiler's own memory is in the processes it watches: the agent's code and
 * data, and what it shares with the recorder. Nothing there is the program's. */
#pragma once

#include "base/array.h"
#include "base/map64.h"

#include <stdbool.h>
#include <stdint.h>

struct own_range {
    uint64_t start, end;
};

struct own_process {
    array_of(struct own_range) ranges;
};

struct own_memory {         /* zeroed = empty and ready */
    struct map64 by_pid;    /* to struct own_process * */
    uint32_t pid;           /* asked for last */
    struct own_process *of; /* it */
};

/* Something was mapped; kept when it is ours. */
void own_memory_map(struct own_memory *own, uint32_t pid, uint64_t addr, uint64_t size, const char *path);
void own_memory_fork(struct own_memory *own, uint32_t pid, uint32_t parent);
void own_memory_forget(struct own_memory *own, uint32_t pid);
void own_memory_free(struct own_memory *own);

bool own_memory_has(struct own_memory *own, uint32_t pid, uint64_t addr);
