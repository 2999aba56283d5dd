#include "analysis/names/site_variable.h"

bool site_variable(struct sources *sources, const struct flow *flow, uint32_t index, uint32_t owner,
                   char name[SOURCE_NAME_MAX])
{
    const struct flow_site *site = flow_site(flow, index);
    const struct flow_process *process = flow_process(flow, owner);
    return site && site->line &&
           sources_name(sources, site->file, site->line, (struct source_twin){site->twin, site->twins},
                        process ? process->exe : "", name);
}
