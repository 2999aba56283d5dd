/* predict/placer.h - which nodes a cell's bytes come from under a placement; for predict.c and its tests. */
#ifndef NUMALENS_PREDICT_PLACER_H
#define NUMALENS_PREDICT_PLACER_H

#include "predict/predict.h"

struct placer;

struct placer *placer_new(const struct demand *demand, const struct plan *plan);
void placer_free(struct placer *placer);

/* The node whose memory its bytes are in; -1: in that of all nodes, evenly. */
int placer_node(const struct placer *placer, const struct demand_cell *cell, enum assumption assumption);

#endif
