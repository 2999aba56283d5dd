#include "agent/process/assign.h"

#include "agent/region/attach.h"
#include "base/sys.h"

#include <stdbool.h>
#include <string.h>

uint32_t assign_next(void)
{
    struct wire_region *region = agent_region;
    if (!region || region->config.assign_nodes == 0 || attach_is_restricted())
        return 0;
    return atomic_fetch_add_explicit(&region->assigned, 1, memory_order_relaxed) + 1;
}

/* A set that this file made: what a thread inherits unless its program chose otherwise. */
static bool is_assigned(const struct wire_config *config, const uint64_t *cpus)
{
    for (uint32_t i = 0; i < config->assign_nodes; i++)
        if (memcmp(cpus, config->assign_cpus[i], sizeof config->assign_cpus[i]) == 0)
            return true;
    return false;
}

void assign_go(uint32_t place)
{
    if (place == 0 || !agent_region)
        return;
    const struct wire_config *config = &agent_region->config;
    uint64_t now[WIRE_ASSIGN_WORDS] = {0};
    if (config->assign_nodes == 0 || config->assign_nodes > WIRE_ASSIGN_NODES ||
        sys_call(SYS_sched_getaffinity, 0, sizeof now, now) < 0 || !is_assigned(config, now))
        return;
    sys_call(SYS_sched_setaffinity, 0, sizeof now, config->assign_cpus[place % config->assign_nodes]);
}
