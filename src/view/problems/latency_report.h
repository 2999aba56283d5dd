/* view/problems/latency_report.h - the two faces of report latency; private to src/view. */
#ifndef NUMALENS_VIEW_LATENCY_H
#define NUMALENS_VIEW_LATENCY_H

#include "analysis/problems/latency.h"
#include "view/view.h"

struct calibration;

void latency_text(const struct latency *latency, const struct calibration *calibration,
                  const struct view_options *options, FILE *out);

#endif
