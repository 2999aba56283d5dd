/* analysis/thresholds.h - the numbers that decide what is said: a finding, a verdict, a state. See thresholds.def for each.
 *
 * All are doubles, counts too. Code of the product only reads them; a test moves one and looks at which answers it changes. */
#pragma once

#include <stddef.h>

struct thresholds {
#define THRESHOLD(name, value, unit, from, reason) double name;
#include "analysis/thresholds.def"
#undef THRESHOLD
};

extern struct thresholds thresholds;

struct threshold {
    const char *name;
    double *value;
    const char *unit, *from, *reason;
};

/* All of them, in the order of the file. */
extern const struct threshold thresholds_list[];
extern const size_t thresholds_count;
