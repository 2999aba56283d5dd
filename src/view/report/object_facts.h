/* view/report/object_facts.h - the facts of an object or site (docs/patterns.md), for people and for programs; private to src/view. */
#pragma once

#include "analysis/facts/facts.h"
#include "base/json.h"

#include <stdio.h>

void object_facts_text(const struct facts *facts, const struct facts_subject *subject, unsigned width, FILE *out);

/* Into the open object; all of them, or those that tables have. */
void object_facts_json(struct json *json, const struct flow *flow, const struct facts_subject *subject, bool all);
