#include "analysis/thresholds.h"

struct thresholds thresholds = {
#define THRESHOLD(name, value, unit, from, reason) value,
#include "analysis/thresholds.def"
#undef THRESHOLD
};

const struct threshold thresholds_list[] = {
#define THRESHOLD(name, value, unit, from, reason) {#name, &thresholds.name, unit, from, reason},
#include "analysis/thresholds.def"
#undef THRESHOLD
};

const size_t thresholds_count = sizeof thresholds_list / sizeof *thresholds_list;
