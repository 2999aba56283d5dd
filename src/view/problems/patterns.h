/* view/problems/patterns.h - findings as text; private to src/view. */
#ifndef NUMALENS_VIEW_PROBLEMS_PATTERNS_H
#define NUMALENS_VIEW_PROBLEMS_PATTERNS_H

#include "analysis/findings/findings.h"
#include "view/view.h"

/* Whether the filter lets a finding through. */
bool pattern_passes(const struct findings *findings, const struct finding *finding, const struct view_filter *filter);

/* "s->basis(csu.c:455)", as the paper writes it. The caller frees it. */
char *pattern_subject(const struct finding *finding);

/* `limit` 0: all. */
void patterns_text(const struct findings *findings, const struct view_options *options, FILE *out);

#endif
