/* predict/first_line.h - the one verdict on a recording, which report, page, check, compare, jobs and the library share (docs/predict.md).
 *
 * What was measured: bytes a second between caches and memory, how many of them are another node's, and of which object. Then whether
 * some memory or link of the machine would be asked for more than it can deliver, and would not under another placement; else
 * whether waiting for memory of other nodes takes a share of the time that matters. */
#pragma once

#include "analysis/findings/findings.h"

struct model;

/* Findings, with the verdict on this machine, which has as many nodes as the flow; NULL: the one that the recording names, or that it
 * was made on. */
struct findings *findings_judged(const struct facts *facts, const struct model *machine);

/* Likewise, with facts of their own. NULL with `err` when the recording cannot be read again. */
struct findings *findings_of(const struct flow *flow, const struct model *machine, struct error *err);
