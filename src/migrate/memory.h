/* migrate/memory.h - home nodes of pages and what moves them: the kernel, or a simulated machine.
 *
 * Nodes are indices into the topology. Answers for single pages are a node, or a negative errno as the kernel gives it:
 * -ENOENT not there, -EACCES used by several processes, -EBUSY, -ENOMEM no room on the node, -EFAULT no memory there. */
#pragma once

#include "base/error.h"
#include "topology/topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory {
    void *context;
    /* Both return 0, or a negative code when nothing can be said of that process: -ESRCH it has exited, -EPERM. */
    int (*locate)(void *context, uint32_t pid, const uint64_t *pages, size_t count, int32_t *homes, struct error *err);
    /* Moves pages[i] to nodes[i]; answers[i] is its home node afterwards. Several pages of one huge page count as one:
     * give only one. */
    int (*move)(void *context, uint32_t pid, const uint64_t *pages, const uint32_t *nodes, size_t count,
                int32_t *answers, struct error *err);
    void (*close)(void *context);
};

/* move_pages in batches. `topology` must outlive it. */
struct memory memory_kernel(const struct topology *topology);

/* A table: pages are where they were first touched, or as the topology's home rule says, until they are moved. */
struct memory memory_simulated(const struct topology *topology);

/* A page of a simulated machine was touched from a node. `fault`: for the first time, as the kernel says, and maybe its
 * neighbours with it (a huge page); else this is a sampled access, which counts only when nothing is known. From any
 * thread. */
void memory_touch(const struct memory *memory, uint32_t pid, uint64_t addr, uint32_t node, bool fault);

/* All that is known of a process's pages is void: it began another program. Likewise. */
void memory_forget(const struct memory *memory, uint32_t pid);
