/* capture/faults/instructions.h - reads or writes: looks at the instruction that faulted, in the file it was mapped
 * from or else in the target's memory, and remembers the answer. Bounded: emptied when full. */
#pragma once

#include "base/map64.h"
#include "capture/faults/code_files.h"
#include "isa/direction.h"

#include <stdint.h>

struct instructions {   /* zeroed = ready */
    struct map64 known; /* process and address, to what it is */
    struct code_files files;
};

/* DIRECTION_UNKNOWN for the kernel's own instructions, for code that changes (code_files.h), and for generated ones when the process ends before the first
 * look. `registers` may be NULL. */
enum direction instructions_direction(struct instructions *instructions, uint32_t pid, uint64_t ip,
                                      const struct direction_registers *registers, uint64_t addr);

/* Another program runs in the process now, or none. */
void instructions_forget(struct instructions *instructions, uint32_t pid);

void instructions_free(struct instructions *instructions);
