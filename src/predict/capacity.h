/* predict/capacity.h - what a program asks of each node's memory and of each link, and what these can deliver.
 *
 * A thread asks for its bytes a second of CPU time, as it was recorded, or for what its core can fetch if that is less. A machine's
 * cores may be faster or slower than those that it was recorded on: unless it is that machine, the interval is wider for that.
 * What a memory or a link is asked for counts where it is asked for so much in a tenth of the run time, not in a moment. */
#pragma once

#include "predict/predict.h"

enum grade {
    GRADE_UNKNOWN,
    GRADE_UNDER,
    GRADE_NEAR, /* it may be more than can be delivered, or nearly is */
    GRADE_OVER, /* it is */
};

struct capacity {
    struct limit where;      /* LIMIT_MEMORY or LIMIT_LINK: what is asked for the largest part of what it can deliver */
    double asked, low, high; /* bytes a second */
    double can;              /* 0: nothing is asked for */
};

struct capacity capacity_of(const struct model *machine, const struct demand *demand, const struct plan *plan);

enum grade capacity_grade(const struct capacity *capacity);
const char *grade_name(enum grade grade); /* "under", "near", "over"; NULL for GRADE_UNKNOWN */

/* asked over can; 0 without either */
static inline double capacity_ratio(const struct capacity *capacity)
{
    return capacity->can > 0 ? capacity->asked / capacity->can : 0;
}
