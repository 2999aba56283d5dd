/* capture/count/plan_make.h - between the makers of plans. */
#pragma once

#include "capture/count/count_machine.h"

struct count_plan *count_plan_new(enum count_source source, enum count_side side);
void count_plan_free(struct count_plan *plan);

/* `whats` with those that can be computed of them. */
uint32_t count_plan_derived(uint32_t whats);

/* Fills `whats` from the counters. */
void count_plan_finish(struct count_plan *plan);

/* Each adds its plans, or one that says what it lacks. */
void count_uncore_plans(struct count_plans *plans, const struct count_machine *machine);
void count_resctrl_plans(struct count_plans *plans, const struct count_machine *machine);
void count_numastat_plans(struct count_plans *plans, const struct count_machine *machine);
