/* agent/sampling/sequences.h - modules with restartable sequences (rseq), whose code long bursts leave alone.
 *
 * While a thread is in a sequence the kernel must see it at the sequence's own addresses: else it is not started again when the
 * thread loses its CPU. What writes them (librseq, tcmalloc) puts a description of each into a section __rseq_cs. */
#pragma once

#include "agent/unwind/unwind_modules.h"

/* Also when its file cannot be read. The answer is kept. In handlers, of one thread at a time. */
bool sequences_may_be_in(const struct unwind_module *module);
