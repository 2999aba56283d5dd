/* predict/gain.h - what each finding's first advice would bring in run time, alone and all together; for costs.c. */
#pragma once

#include "analysis/findings/findings.h"
#include "predict/predict.h"

struct gains {
    double largest; /* factor of a single finding; 1 when none makes the program faster */
    struct plan
        advice; /* each object as its own finding advises, where that makes nothing slower: at least as fast as any
                           finding alone. As it is when none makes the program faster */
    struct prediction advised;
    bool near;          /* all objects in it are placed near their threads */
    uint8_t *by_object; /* of `advice` */
};

/* Fills the gain of each of the worst findings that placing memory can change, and `gains`. */
void gain_predict(struct findings *findings, const struct model *machine, const struct demand *demand,
                  struct gains *gains);
void gains_free(struct gains *gains);

/* Puts what brings most first. */
void gain_sort(struct findings *findings);

/* ": a, b and c are on node 0": the findings' objects that make most of the remote bytes and are on one node, which is set, and with
 * them the first finding's, whatever it makes; "" and -1 when there are none. */
const char *gain_causes(struct findings *findings, const struct demand *demand, int *home);
