/* cases.h - what the four case studies share. They are the paper's programs in small (MemProf, sections 5.2 to 5.5): the
 * same objects, made and used in the same way, without what else those programs do. Each prints one line that does not
 * depend on the mode, the machine or the profiler. */
#ifndef NUMALENS_CASES_H
#define NUMALENS_CASES_H

#include "../example.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

enum { SIMULATED_NODES = 4 };

/* Whether the kernel has several nodes, and not only --topology. */
static inline bool case_real_nodes(void)
{
    return access("/sys/devices/system/node/node1", F_OK) == 0;
}

/* The node of the calling thread, the `order`th of the process (main is 0). A simulated machine cannot be asked: there
 * it is what --topology "numa:4 core:CORES" assigns, and what a kernel would say that had pinned the threads so. */
static inline unsigned case_node(unsigned order, unsigned cores)
{
    unsigned cpu = 0, node = 0;
    if (!case_real_nodes())
        return order / cores % SIMULATED_NODES;
    example_need(getcpu(&cpu, &node) == 0, "getcpu");
    return node;
}

#endif
