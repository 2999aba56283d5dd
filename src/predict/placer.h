/* predict/placer.h - which nodes a cell's bytes come from under a placement; for predict.c and its tests. */
#pragma once

#include "predict/predict.h"

struct placer;

struct placer *placer_new(const struct demand *demand, const struct plan *plan);
void placer_free(struct placer *placer);

/* The node whose memory its bytes are in, or one of these: that of all nodes, evenly; as placer_unknown() says. */
enum { PLACER_EVENLY = -1, PLACER_UNKNOWN = -2 };
int placer_node(const struct placer *placer, const struct demand_cell *cell);

/* Likewise of a page whose home is not known, used from `node`: any, the user's own, or where the most bytes are. */
int placer_unknown(const struct placer *placer, uint32_t node, enum assumption assumption);
