/* exchange/export/walk.h - every access of a flow once, none skipped, in order of time. */
#pragma once

#include "flow/flow.h"

typedef void walk_visit(void *context, const struct flow_access *access);

/* One process after the other, each in order of time; those of unknown threads last. */
int walk_in_time(const struct flow *flow, walk_visit *visit, void *context, struct error *err);
