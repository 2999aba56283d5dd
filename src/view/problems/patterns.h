/* view/problems/patterns.h - findings as text; private to src/view. */
#pragma once

#include "analysis/findings/findings.h"
#include "view/view.h"

/* Whether the filter lets a finding through. */
bool pattern_passes(const struct findings *findings, const struct finding *finding, const struct view_filter *filter);

/* "s->basis(csu.c:455)", as the paper writes it. The caller frees it. */
char *pattern_subject(const struct finding *finding);

/* `limit` 0: all. */
void patterns_text(const struct findings *findings, const struct view_options *options, FILE *out);

struct json;
void pattern_put_subject(struct json *json, const struct findings *findings, const struct finding *finding);

/* verdict_json.c: `key` with what would be asked for and can be delivered, or null where that is not known; and the whole's verdict. */
void pattern_put_gain(struct json *json, const char *key, const struct findings *findings,
                      const struct finding *finding);
void verdict_put(struct json *json, const struct findings *findings);
/* Its first fields, for whoever kept no more of it; the caller ends the object. "" is not known, as NULL is. */
void verdict_put_head(struct json *json, unsigned matters, const char *grade, const char *bottleneck);
