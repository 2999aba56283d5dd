/* view/problems/traffic_core.h - what the program's own CPUs brought from memory, counted beside hardware samples; for traffic_report.c. */
#pragma once

#include "analysis/traffic/traffic.h"
#include "view/view.h"

struct json;

/* Nothing where it was not requested, and why where it was and could not be. */
void traffic_core_text(const struct traffic *traffic, const struct view_options *options, FILE *out);
void traffic_core_json(const struct traffic *traffic, struct json *json);
