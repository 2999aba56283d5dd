/* view/problems/latency_report.h - the two faces of report latency; private to src/view. */
#pragma once

#include "analysis/problems/latency.h"
#include "view/view.h"

struct calibration;

void latency_text(const struct latency *latency, const struct calibration *calibration,
                  const struct view_options *options, FILE *out);
