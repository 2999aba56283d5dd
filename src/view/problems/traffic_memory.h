/* view/problems/traffic_memory.h - what memory controllers counted beside hardware samples; for traffic_report.c. */
#pragma once

#include "analysis/traffic/traffic.h"
#include "view/view.h"

struct json;

/* Nothing where nothing was counted, and why where it was to be. */
void traffic_memory_text(const struct traffic *traffic, const struct view_options *options, FILE *out);
void traffic_memory_json(const struct traffic *traffic, struct json *json);

/* The row of this node alone; NULL when it has none. */
const struct traffic_memory *traffic_memory_of(const struct traffic *traffic, uint32_t node);
