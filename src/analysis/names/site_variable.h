/* analysis/names/site_variable.h - the name that the source gives to what a site allocates: `s->basis`. */
#pragma once

#include "analysis/names/sources.h"
#include "flow/flow.h"

/* Of a site of `process` (FLOW_NONE: not known). False when the source is not at hand or gives no name. */
bool site_variable(struct sources *sources, const struct flow *flow, uint32_t site, uint32_t process,
                   char name[SOURCE_NAME_MAX]);
