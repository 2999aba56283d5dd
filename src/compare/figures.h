/* compare/figures.h - what LaProf's tables say of one run: TL, TN and AL of private and shared data, counts of slow
 * accesses, how unevenly threads bear remote ones (Tables III to VI). The trace can be freed afterwards. */
#pragma once

#include "analysis/problems/latency.h"
#include "analysis/problems/sharing.h"

struct figures {
    double recorded_s; /* run time while it was recorded */
    double plain_s;    /* without; below 0 when it was not run so */
    uint64_t samples, remote, home_known;
    struct access_tally private_data, shared, cross_node; /* shared: cross_node and same-node together */
    struct access_tally all;
    uint64_t mixed; /* samples of objects that threads of several nodes use all over, not each its own part */
    uint64_t above[LATENCY_THRESHOLDS]; /* accesses slower than each threshold */
    double deviation, variation;        /* of remote accesses over threads: standard deviation, and by the mean */
    uint32_t threads;
    bool unbalanced;
    enum contention contention;
    char critical[32]; /* the thread with the most remote accesses; "" when nothing is remote */
};

struct figures_options {
    uint32_t thresholds[LATENCY_THRESHOLDS];
    unsigned threshold_count;
    enum sharing_grain grain;
};

/* All but the times. */
int figures_take(struct figures *figures, const struct flow *flow, const struct figures_options *options,
                 struct error *err);

/* 0 to 1; 0 without a known home. */
double figures_remote(const struct figures *figures);
