/* capture/process/procfs.h - what /proc says of a process and of the kernel's own balancing. */
#pragma once

#include "topology/topology.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* /proc/PID/NAME for reading, or NULL. */
FILE *procfs_open(uint32_t pid, const char *name);

/* CPU time of all its threads so far, in ns; 0 when it has ended. */
uint64_t procfs_cpu_ns(uint32_t pid);

/* That of its children that it waited for included, and who its parent is (0 when it has ended). */
uint64_t procfs_cpu_and_parent(uint32_t pid, uint32_t *parent);

uint32_t procfs_parent(uint32_t pid); /* 0 when it has ended */

/* When it began, in the kernel's ticks since boot: with its number that names one process for good. 0: ended. */
uint64_t procfs_start(uint32_t pid);

/* Which nodes its cpuset allows, by index of the topology. All when that cannot be read. */
void procfs_open_nodes(uint32_t pid, const struct topology *topology, bool *open);

/* The number of a thread that is `local` in its own PID namespace. 0 when the process has none of that number; -1 when it
 * cannot be looked at. */
int64_t procfs_thread(uint32_t pid, uint32_t local);

/* The number of a thread, or of a process, in its own PID namespace; 0 when that cannot be known. */
uint32_t procfs_local_thread(uint32_t pid, uint32_t tid);
uint32_t procfs_local(uint32_t pid);

/* Whether the process is in another namespace ("net", "pid") than this one; false when that cannot be known. */
bool procfs_is_apart(uint32_t pid, const char *space);

/* Which files it sees: 0 when those that this process sees, else a number that those processes have in common that see the same. */
uint64_t procfs_files(uint32_t pid);

/* The number that the kernel has for this process's PID namespace, or 0. */
uint64_t procfs_pid_namespace(void);

/* How much this process's monotonic clocks are ahead of the kernel's own, by which perf counts, in ns: a time namespace's. */
int64_t procfs_clock_ahead(void);

/* kernel.numa_balancing: its value, or -1 when the kernel has none. */
int procfs_numa_balancing(void);
