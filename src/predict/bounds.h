/* predict/bounds.h - a verdict on a recording of which most bytes are unknown: where they come from is known all the same, and
 * how many they can be at most. */
#pragma once

#include "analysis/findings/findings.h"

struct model;
struct traffic;

/* When no placement would save enough to matter, however many the unknown bytes are: fills the verdict, and true. `on` is the machine,
 * as a sentence has it. Else `why`, the reason for which nothing is predicted, also says what the most is, if that is known. */
bool bounds_verdict(struct findings *findings, const struct model *machine, const struct traffic *traffic,
                    const char *on, const char **why);

/* Why more samples would not decide, as the end of a sentence. */
const char *bounds_reason(struct findings *findings, const struct traffic *traffic);
