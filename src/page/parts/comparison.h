/* page/parts/comparison.h - what changed from the page's first run to its second, as `numalens compare` has it. Private to src/page.
 *
 * Each run is summed up while it is put into the page, and no longer than that in memory; the second one's data has the comparison. */
#pragma once

#include "compare/difference.h"
#include "page/parts/parts.h"

struct comparison { /* zeroed: no run yet */
    struct profile *sides[2];
    struct difference *difference; /* once there are both */
};

/* Sums up a run. */
int comparison_take(struct comparison *comparison, const struct parts *parts, struct error *err);

/* "comparison"; nothing for the first run. */
void comparison_put(const struct comparison *comparison, struct json *json);

void comparison_free(struct comparison *comparison);
