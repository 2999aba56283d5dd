/* predict/gain.h - what each finding's first advice would change of what memory and links are asked for, alone and all together; for
 * first_line.c. */
#pragma once

#include "analysis/findings/findings.h"
#include "predict/capacity.h"

struct gains {
    struct plan
        advice; /* each object as its own finding advises, where that makes nothing worse: at least as good as any
                           finding alone. As it is when none changes anything */
    struct capacity advised;
    uint8_t *by_object; /* of `advice` */
};

/* Fills what the advice of each of the worst findings that placing memory can change leads to, and `gains`. */
void gain_predict(struct findings *findings, const struct model *machine, const struct demand *demand,
                  const struct capacity *as_is, struct gains *gains);
void gains_free(struct gains *gains);

/* Takes away advice that is not worth a change of the program: where all findings with the same first advice win too little together,
 * of run time and of what is asked for. `relief`: whether asking for less would matter. */
void gain_drop_small(struct findings *findings, const struct capacity *as_is, bool relief);

/* Puts what brings most first. */
void gain_sort(struct findings *findings);

/* "memory of node 0", "link from node 1 to node 0", by the machine's numbers of nodes. */
const char *gain_where(struct findings *findings, const struct capacity *capacity);

/* "a, b and c": the findings' objects, and others, that make most of the remote bytes; "" when none stands out. */
const char *gain_causes(struct findings *findings, const struct demand *demand);
