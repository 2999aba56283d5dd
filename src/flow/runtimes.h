/* flow/runtimes.h - frames of interpreters and JITs in chains, and what runtimes call the memory that they map. */
#pragma once

#include "flow/state.h"

/* Whether a module stands for code that no file has (live_code.c). */
static inline bool runtime_module(const struct module_info *module)
{
    return module->name[0] == '[' && (module->name[1] == 'p' || module->name[1] == 'j');
}

/* Whether a source file came with the language or with a package, so that a program's own line is further out. */
bool runtime_library_file(const char *file);

/* What a runtime uses the memory for that it maps in this function: "Java heap"; or NULL. `rank`: a lower one says more. */
const char *runtime_region(const char *function, unsigned *rank);

/* Likewise for a block that a runtime allocates in this function, for no line of the program that is known. */
const char *runtime_block(const char *module, const char *function);

/* Whether what this function allocates is OpenMP's own: its teams and tasks, not what a program asks it for. */
bool runtime_openmp(const char *module, const char *function);

/* Likewise by the module that maps it. */
const char *runtime_module_region(const char *module);

/* What array the chain allocates, where the agent could read it: "numpy.ndarray float32 (3000, 3000)"; or "". */
const char *runtime_array(const struct flow *flow, const struct stack *stack);

/* The innermost frame of a chain that such code has a name for, or FLOW_NONE. */
uint32_t runtime_frame(struct flow *flow, const struct stack *stack);
