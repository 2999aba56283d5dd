/* flow/group.c - what each process did in all, and which processes are one program run several times. */
#include "flow/state.h"

#include <stdio.h>
#include <string.h>

static void sum_threads(struct flow *flow)
{
    array_each (&flow->threads, struct flow_thread, thread) {
        struct flow_process *process = &flow->processes.items[thread->process]->row;
        process->threads++;
        flow_totals_add(&process->totals, &thread->totals);
    }
}

/* "./solver ..." for commands that begin alike and then differ. */
static const char *common_command(struct flow *flow, const char *one, const char *other)
{
    if (strcmp(one, other) == 0)
        return one;
    char text[512];
    snprintf(text, sizeof text, "%.*s ...", (int)(strcspn(one, " ") < 500 ? strcspn(one, " ") : 500), one);
    return strtab_intern(flow->texts, text);
}

static void join(struct flow *flow, struct flow_group *group, const struct flow_process *process)
{
    group->command = common_command(flow, group->command, process->command);
    group->processes++;
    group->threads += process->threads;
    group->start = process->start < group->start ? process->start : group->start;
    group->end = process->end > group->end ? process->end : group->end;
    flow_totals_add(&group->totals, &process->totals);
}

void live_groups_draw(struct flow *flow)
{
    struct strtab *keys = strtab_new();
    sum_threads(flow);
    for (uint32_t i = 0; i < flow->processes.count; i++) {
        struct flow_process *process = &flow->processes.items[i]->row;
        process->group = FLOW_NONE;
        if (process->replaced && process->totals.samples == 0)
            continue;
        char *key = mem_format("%u %s", process->parent, *process->exe ? process->exe : process->command);
        process->group = strtab_add(keys, key) - 1; /* "" is 0 */
        free(key);
        if (process->group == flow->groups.count)
            array_push(&flow->groups,
                       (struct flow_group){
                           .exe = process->exe, .command = process->command, .first = i, .start = process->start});
        join(flow, &flow->groups.items[process->group], process);
    }
    strtab_free(keys);
}
