/* plan/plan_advise.h - the plan that the findings on a recording ask for, with their evidence. */
#pragma once

#include "analysis/findings/findings.h"
#include "plan/plan_file.h"

struct plan_expected { /* shares of the accesses whose home is known; negative: not known */
    double before, after;
    double copied; /* with the copies in the source that comments have the code for, in place of their entries */
};

/* Fills an empty plan; it may stay without entries. What no placement cures is in its comments. Negative with `err` when the trace cannot
 * be read. */
int plan_advise(struct placement_plan *plan, const struct findings *findings, struct plan_expected *expected,
                struct error *err);
