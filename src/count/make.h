/* count/make.h - between the makers of plans. */
#ifndef NUMALENS_COUNT_MAKE_H
#define NUMALENS_COUNT_MAKE_H

#include "count/machine.h"

struct count_plan *plan_new(enum count_source source, enum count_side side);
void plan_free(struct count_plan *plan);

/* `whats` with those that can be computed of them. */
uint32_t plan_derived(uint32_t whats);

/* Fills `whats` from the counters. */
void plan_finish(struct count_plan *plan);

/* Each adds its plans, or one that says what it lacks. */
void uncore_plans(struct count_plans *plans, const struct machine *machine);
void resctrl_plans(struct count_plans *plans, const struct machine *machine);
void numastat_plans(struct count_plans *plans, const struct machine *machine);

#endif
