#include "capture/count/count_plan.h"

#include "capture/count/plan_make.h"

#include <stdio.h>
#include <string.h>

const char *count_source_name(enum count_source source)
{
    static const char *const names[] = {
        [COUNT_UNCORE] = "uncore", [COUNT_RESCTRL] = "resctrl", [COUNT_NUMASTAT] = "numastat"};
    return source < COUNT_SOURCES ? names[source] : "none";
}

const char *count_what_name(enum count_what what)
{
    static const char *const names[] = {
        [COUNT_READ] = "read",         [COUNT_WRITE] = "write",     [COUNT_TOTAL] = "total",
        [COUNT_LOCAL] = "local",       [COUNT_REMOTE] = "remote",   [COUNT_HIT] = "hit",
        [COUNT_MISS] = "miss",         [COUNT_FOREIGN] = "foreign", [COUNT_NEAR] = "by_own_cpus",
        [COUNT_FAR] = "by_other_cpus", [COUNT_NET] = "net_bytes",
    };
    return names[what];
}

void count_row_label(const struct count_row *row, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < row->nodes.count && used < size; i++) {
        size_t last = i;
        while (last + 1 < row->nodes.count && row->nodes.items[last + 1] == row->nodes.items[last] + 1)
            last++;
        const char *comma = i ? "," : "";
        int written = last == i ? snprintf(text + used, size - used, "%s%d", comma, row->nodes.items[i])
                                : snprintf(text + used, size - used, "%s%d-%d", comma, row->nodes.items[i],
                                           row->nodes.items[last]);
        used += written > 0 ? (size_t)written : 0;
        i = last;
    }
}

struct count_plan *count_plan_new(enum count_source source, enum count_side side)
{
    struct count_plan *plan = mem_zalloc(sizeof *plan);
    plan->source = source;
    plan->side = side;
    return plan;
}

void count_plan_free(struct count_plan *plan)
{
    array_each (&plan->rows, struct count_row, row)
        array_free(&row->nodes);
    array_each (&plan->counters, struct count_counter, counter)
        free(counter->path);
    array_free(&plan->rows);
    array_free(&plan->counters);
    free(plan->devices);
    free(plan->lacks);
    free(plan->note);
    free(plan);
}

uint32_t count_plan_derived(uint32_t whats)
{
    if (whats & 1u << COUNT_READ && whats & 1u << COUNT_WRITE)
        whats |= 1u << COUNT_TOTAL;
    if (whats & 1u << COUNT_LOCAL && whats & 1u << COUNT_TOTAL)
        whats |= 1u << COUNT_REMOTE;
    return whats;
}

void count_plan_finish(struct count_plan *plan)
{
    array_each (&plan->counters, struct count_counter, counter)
        plan->whats |= 1u << counter->what;
    plan->whats = count_plan_derived(plan->whats);
}

void count_plans_make(struct count_plans *plans, const char *root)
{
    struct count_machine machine;
    *plans = (struct count_plans){0};
    count_machine_load(&machine, root);
    count_uncore_plans(plans, &machine);
    count_resctrl_plans(plans, &machine);
    count_numastat_plans(plans, &machine);
    count_machine_free(&machine);
}

void count_plans_free(struct count_plans *plans)
{
    array_each (&plans->list, struct count_plan *, plan)
        count_plan_free(*plan);
    array_free(&plans->list);
}
