/* topology/placement_here.c - what the kernel lets this process use, and binding to it. */
#include "topology/placement.h"

#include "base/small_file.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WEIGHTED_INTERLEAVE = 6 }; /* MPOL_WEIGHTED_INTERLEAVE, which older headers do not have */

static void read_weights(struct placement_limits *limits)
{
    static const char bandwidth_file[] = "/sys/devices/system/node/node%u/access0/initiators/read_bandwidth";
    bool weighs = true, measured = true; /* where the first node has a file */
    for (uint32_t node = 0; node < PLACEMENT_CPUS && (weighs || measured); node++) {
        int64_t weight =
            weighs ? small_file_number(-1, "/sys/kernel/mm/mempolicy/weighted_interleave/node%u", node) : -1;
        int64_t bandwidth = measured ? small_file_number(-1, bandwidth_file, node) : -1;
        weighs = weighs && (weight >= 0 || node);
        measured = measured && (bandwidth >= 0 || node);
        limits->weights[node] = weight > 0 && weight <= UINT8_MAX ? (uint8_t)weight : 0;
        limits->bandwidths[node] = bandwidth > 0 ? (uint32_t)bandwidth : 0;
    }
}

void placement_limits_here(struct placement_limits *limits)
{
    *limits = (struct placement_limits){0};
    read_weights(limits);
    /* The raw call fails on sets smaller than the kernel's own; on such a machine every CPU that fits may be tried. */
    if (syscall(SYS_sched_getaffinity, 0, sizeof limits->cpus, limits->cpus.words) < 0)
        memset(&limits->cpus, 0xff, sizeof limits->cpus);
    if (syscall(SYS_get_mempolicy, NULL, limits->nodes.words, (unsigned long)PLACEMENT_CPUS, NULL,
                MPOL_F_MEMS_ALLOWED) == 0)
        return;
    memset(&limits->nodes, 0xff, sizeof limits->nodes);
    if (errno == ENOSYS)
        snprintf(limits->refused, sizeof limits->refused, "this kernel has no memory policies (CONFIG_NUMA)");
    else
        snprintf(limits->refused, sizeof limits->refused,
                 "memory cannot be placed here: %s; a container needs --cap-add SYS_NICE", strerror(errno));
}

int placement_apply(const struct placement *placement)
{
    static const int modes[] = {MPOL_DEFAULT, MPOL_BIND, MPOL_INTERLEAVE, WEIGHTED_INTERLEAVE};
    const struct placement_set *cpus = placement->assigned ? &placement->assign[0] : &placement->cpus;
    if (syscall(SYS_sched_setaffinity, 0, sizeof *cpus, cpus->words) < 0)
        return errno;
    bool touched = placement->memory == PLACEMENT_TOUCHED;
    /* The kernel takes one bit less than it is given of. */
    if (syscall(SYS_set_mempolicy, modes[placement->memory], touched ? NULL : placement->nodes.words,
                touched ? 0ul : PLACEMENT_CPUS + 1ul) == 0)
        return 0;
    return touched ? 0 : errno; /* that is the usual policy anyway */
}
