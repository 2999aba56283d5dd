#include "agent/process/assign.h"

#include "agent/region/attach.h"
#include "base/sys.h"

#include <stdbool.h>
#include <string.h>

uint32_t deal_turn(void)
{
    struct wire_region *region = agent_region;
    if (!region || region->config.deal_nodes == 0 || attach_is_shy())
        return 0;
    return atomic_fetch_add_explicit(&region->dealt, 1, memory_order_relaxed) + 1;
}

/* A set that this file made: what a thread inherits unless its program chose otherwise. */
static bool is_dealt(const struct wire_config *config, const uint64_t *cpus)
{
    for (uint32_t i = 0; i < config->deal_nodes; i++)
        if (memcmp(cpus, config->deal_cpus[i], sizeof config->deal_cpus[i]) == 0)
            return true;
    return false;
}

void deal_go(uint32_t turn)
{
    if (turn == 0 || !agent_region)
        return;
    const struct wire_config *config = &agent_region->config;
    uint64_t now[WIRE_DEAL_WORDS] = {0};
    if (config->deal_nodes == 0 || config->deal_nodes > WIRE_DEAL_NODES ||
        sys_call(SYS_sched_getaffinity, 0, sizeof now, now) < 0 || !is_dealt(config, now))
        return;
    sys_call(SYS_sched_setaffinity, 0, sizeof now, config->deal_cpus[turn % config->deal_nodes]);
}
