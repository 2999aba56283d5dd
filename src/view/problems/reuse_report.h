/* view/problems/reuse_report.h - bytes from memory by the size of the cache, from long bursts; for traffic_report.c. */
#pragma once

#include "flow/flow.h"
#include "view/view.h"

struct json;

/* Nothing where there are no long bursts. */
void reuse_text(const struct flow *flow, const struct view_options *options, FILE *out);
void reuse_json(const struct flow *flow, const struct view_options *options, struct json *json);
