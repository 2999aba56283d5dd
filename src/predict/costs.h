/* predict/costs.h - what a program's placement of memory costs in run time on a machine: the first line of a report, and the
 * gain of each finding. The figures are those of predict.h; where the recording has no traffic, latency alone is counted, and
 * the line says so. */
#ifndef NUMALENS_PREDICT_COSTS_H
#define NUMALENS_PREDICT_COSTS_H

#include "analysis/findings/findings.h"

struct demand;
struct model;

/* Replaces the gate of the findings by one on this machine, and fills what is predicted. The flow must have as many nodes as
 * the model: else, or where no home node or no latency is known, nothing changes. */
void verdict_predict(struct findings *findings, const struct model *machine);

/* gain.c: the gain of each of the worst findings that placing memory can change. */
void gain_predict(struct findings *findings, const struct model *machine, const struct demand *demand);

/* ": a, b and c are on node 0": the findings' objects that make most of the remote bytes and are on one node, which is set; "" and
 * -1 when there are none. */
const char *gain_causes(struct findings *findings, const struct demand *demand, int *home);

/* A factor from which a change is worth its while. */
extern const double verdict_bound;

#endif
