/* view/problems/reuse_report.h - bytes from memory by the size of the cache, from long bursts; for traffic_report.c. */
#pragma once

#include "flow/flow.h"
#include "view/view.h"

struct json;

struct reuse_sizes;

/* For each of some sizes; NULL where there are no long bursts, of which nothing is then written. */
struct reuse_sizes *reuse_sizes_new(const struct flow *flow);
void reuse_sizes_free(struct reuse_sizes *sizes);

void reuse_text(const struct reuse_sizes *sizes, const struct flow *flow, const struct view_options *options,
                FILE *out);
void reuse_json(const struct reuse_sizes *sizes, struct json *json);

/* `traffic` of a site, or of an object that has none: null where no long burst met it. */
void reuse_object_json(const struct reuse_sizes *sizes, uint32_t object, uint32_t site, struct json *json);
