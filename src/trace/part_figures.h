/* trace/part_figures.h - the figures of an ending that add up over the files of one run: each file has its own part of them. */
#pragma once

#include "trace/session.h"

/* Adds the figures of `ending` to those of `sum`; and why something could not be written, when `sum` does not say. */
void trace_parts_add(struct trace_session *sum, const struct trace_session *ending);

/* Leaves in `ending`, whose figures are of the run so far, the part of the file that ends. `*before` has what earlier files had, NULL at
 * first, and goes on with it; trace_session_free() at the end. */
void trace_parts_take(struct trace_session *ending, struct trace_session **before);
