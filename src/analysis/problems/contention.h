/* analysis/problems/contention.h - whether memory, or a way to it, is used by more than it can serve; private to src/analysis. */
#pragma once

#include "analysis/problems/latency.h"

/* Fills what latency.h says of contention, from the tallies and histograms. `calibration` may be NULL. */
void contention_judge(struct latency *latency, const struct calibration *calibration);
