/* predict/costs.h - what a program's placement of memory costs in run time on a machine: the first line of a report, and the
 * gain of each finding. The figures are those of predict.h; where the recording has no traffic, latency alone is counted, and
 * the line says so. */
#pragma once

#include "analysis/findings/findings.h"

struct model;

/* Replaces the verdict of the findings by one on this machine, and fills what is predicted. The flow must have as many nodes as
 * the model: else, or where no home node or no latency is known, nothing changes. */
void verdict_predict(struct findings *findings, const struct model *machine);

/* A factor from which a change is worth its while. */
extern const double verdict_bound;
