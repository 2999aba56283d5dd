/* agent/process/assign.h - puts new threads and forked processes on the nodes' CPUs in turn, where the user asked for that
 * placement (topology/placement.h: distributed). The only thing that the agent changes about a program on purpose. */
#pragma once

#include <stdint.h>

/* The next place, taken where a thread is created: so they are in order of creation. 0 when nothing is assigned. */
uint32_t assign_next(void);

/* Moves the calling thread to that place; 0: nowhere. One whose CPUs the program has chosen itself stays. */
void assign_go(uint32_t place);
