/* agent/hooks/heap.h - what the hooks of allocation and release have in common.
 *
 * A release is recorded before it happens, an allocation after: so that between the two records of one address, in
 * whichever rings they are, the times are in the order of the lives. */
#pragma once

#include "agent/region/attach.h"
#include "agent/process/modules.h"
#include "agent/region/hook_record.h"
#include "agent/self.h"
#include "agent/unwind/stack.h"

/* A hook that is called by the code of an operator new or delete has nothing of its own to report. Known by the address
 * of that code, not by a mark that an exception might leave behind. Forms of new come first; set by hook_new.c. */
struct heap_operator {
    uint64_t start, size;
};
enum { HEAP_NEWS = 8, HEAP_OPERATORS = 20 };
enum {
    HEAP_ARRAY_LEAST = 4 << 10
}; /* bytes: smaller arrays have no page of their own, and are not worth a look at the stack */
extern struct heap_operator heap_operators[HEAP_OPERATORS] AGENT_OWN;
extern uint64_t heap_operators_start AGENT_OWN, heap_operators_span AGENT_OWN; /* all of them are inside */

/* Of a hook whose caller has these registers. Returns the block. */
void *heap_allocated(void *block, size_t size, enum alloc_fn fn, uint64_t pc, uint64_t sp, uint64_t fp);
#define HEAP_ALLOCATED(block, size, fn)                                                                                \
    ({                                                                                                                 \
        struct unwind_regs caller_ = UNWIND_CALLER_REGS();                                                             \
        heap_allocated(block, size, fn, caller_.pc, caller_.sp, caller_.fp);                                           \
    })

void heap_freed(void *block, enum alloc_fn fn, uint64_t pc);
