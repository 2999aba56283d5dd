/* topology/placement_here.c - what the kernel lets this process use, and binding to it. */
#include "topology/placement.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WEIGHTED_INTERLEAVE = 6 }; /* MPOL_WEIGHTED_INTERLEAVE, which older headers do not have */

/* The number in a node's file; 0: it has none. `*there`: it has the file. */
static unsigned read_of_node(const char *format, uint32_t node, bool *there)
{
    char path[96];
    unsigned value = 0;
    snprintf(path, sizeof path, format, node);
    FILE *file = fopen(path, "re");
    *there = file;
    if (file && fscanf(file, "%u", &value) != 1)
        value = 0;
    if (file)
        fclose(file);
    return value;
}

static void read_weights(struct placement_limits *limits)
{
    bool weighs = true, measured = true, there;
    for (uint32_t node = 0; node < PLACEMENT_CPUS && (weighs || measured); node++) {
        unsigned weight =
            weighs ? read_of_node("/sys/kernel/mm/mempolicy/weighted_interleave/node%u", node, &there) : 0;
        weighs = weighs && (there || node);
        limits->weights[node] = weight <= UINT8_MAX ? (uint8_t)weight : 0;
        unsigned bandwidth =
            measured ? read_of_node("/sys/devices/system/node/node%u/access0/initiators/read_bandwidth", node, &there)
                     : 0;
        measured = measured && (there || node);
        limits->bandwidths[node] = bandwidth;
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
