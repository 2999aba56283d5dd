/* view/report/object_callers.h - the call chains that an object is accessed by. */
#pragma once

#include "view/view.h"

#include <stdio.h>

/* Nothing where no access has a caller. `samples`: the object's. */
void object_callers_text(const struct flow *flow, uint32_t object, uint64_t samples, const struct view_options *options,
                         FILE *out);
