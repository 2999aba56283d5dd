/* capture/outside/glibc_heap.h - heap objects of a process that runs already: what malloc of glibc has in use, read from its memory.
 *
 * Sizes are malloc's own (what can be used of a chunk), there are no call chains, and what a thread keeps at hand for its next
 * malloc counts as in use. Objects that were made and freed between two looks are not seen. The process runs on meanwhile: a heap
 * whose chunks do not lead to its end is looked at again later. Other allocators' memory stays what it is: mappings. */
#pragma once

#include "capture/sink.h"

struct glibc_heap;

struct glibc_heap *glibc_heap_new(uint32_t pid, size_t most); /* of objects */
void glibc_heap_free(struct glibc_heap *heap);

/* Whether an object was there at the last look. */
bool glibc_heap_knows(const struct glibc_heap *heap, uint64_t addr);

/* Reports what is new as allocated and what is no more as freed, at `time`. True: something is new. */
bool glibc_heap_look(struct glibc_heap *heap, struct sink *sink, uint64_t time);
