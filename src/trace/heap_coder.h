/* trace/heap_coder.h - the writing end of runs of allocations and releases: which slot an address has. Private to
 * src/trace.
 *
 * The table forgets when it is crowded: a release that finds no slot writes its address out. */
#pragma once

#include "trace/heap_model.h"
#include "trace/run.h"

enum { HEAP_WAYS = 8 };

struct heap_entry_set {
    _Alignas(32) uint32_t ways[HEAP_WAYS]; /* upper half: of the address; lower half: slot + 1; or 0 */
};

struct heap_coder {
    struct heap_model model;
    struct heap_entry_set *sets;
    uint32_t set_mask, replacements; /* sets - 1 */
};

struct heap_coder *heap_coder_new(void);
void heap_coder_begin(struct heap_coder *coder);
void heap_coder_free(struct heap_coder *coder);
size_t heap_coder_memory(const struct heap_coder *coder);

/* Appends to a run of kind TRACE_HEAP that has room; the time is written already. */
void heap_put_alloc(struct trace_run *run, const struct event_alloc *alloc);
void heap_put_free(struct trace_run *run, const struct event_free *release);
