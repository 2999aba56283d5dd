/* plan/plan_subject.h - what a finding is about, as a plan names it: so that another run of the program has it under the same name. */
#pragma once

#include "analysis/facts/facts.h"
#include "flow/flow.h"
#include "plan/plan_file.h"

/* As it is written; the binaries that the name is about get their lines in the plan. NULL: it has no such name. The caller frees it. */
char *plan_subject_name(struct placement_plan *plan, const struct flow *flow, const struct facts_subject *subject,
                        enum place_kind *kind);

/* The call chain by lines, up to main, a thread's start routine or the first frame that has none; NULL when that is the innermost. The caller frees it. */
char *plan_site_lines(const struct flow *flow, const struct flow_site *site);
