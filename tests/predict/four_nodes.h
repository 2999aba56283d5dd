/* A made-up machine for tests: four nodes with eight CPUs each, 90 ns and 60 GB/s to a node's own memory, 150 ns and 20 GB/s to
 * the others', 12 GB/s for a core. */
#ifndef NUMALENS_TESTS_PREDICT_FOUR_NODES_H
#define NUMALENS_TESTS_PREDICT_FOUR_NODES_H

#include "machine/model.h"

#include <stdbool.h>

enum { NODES = 4, CPUS = 8 };

static struct model *four_nodes(void)
{
    struct model *machine = model_new(NODES);
    machine->cpus_per_node = CPUS;
    machine->core = 12;
    machine->mixed = 1;
    for (unsigned i = 0; i < NODES * NODES; i++) {
        bool own = i / NODES == i % NODES;
        machine->latency[i] = own ? 90 : 150;
        machine->read[i] = own ? 60 : 20;
    }
    return machine;
}

#endif
