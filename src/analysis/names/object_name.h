/* analysis/names/object_name.h - an object in one or two words, for axes and sentences: the name that the source gives it, else its
 * symbol, else the function that allocated it. "" for none. Names are the trace's: not safe for terminals as they are. */
#pragma once

#include "flow/flow.h"

struct object_names;

struct object_names *object_names_new(const struct flow *flow);
void object_names_free(struct object_names *names);

/* Lives as long as `names`. */
const char *object_name(struct object_names *names, uint32_t object);
