/* cli/slower_than.h - "100,300,1000" as an option. */
#pragma once

#include "analysis/problems/latency.h"

#include <argp.h>

/* Rising numbers, at most LATENCY_THRESHOLDS of them. Returns how many they are; argp_error when it is no such list. */
unsigned thresholds_parse(struct argp_state *state, const char *text, uint32_t thresholds[LATENCY_THRESHOLDS]);
