#include "compare/figures.h"

#include "analysis/problems/balance.h"
#include "analysis/findings/findings.h"
#include "analysis/thresholds.h"

#include <stdio.h>

static void take_balance(struct figures *figures, const struct accesses *accesses)
{
    struct balance *balance = balance_make(accesses, 0);
    figures->deviation = balance->spread.stddev;
    figures->variation = balance->spread.variation;
    figures->threads = balance->spread.threads;
    figures->unbalanced = balance->unbalanced;
    if (balance->spread.critical != FLOW_NONE)
        snprintf(figures->critical, sizeof figures->critical, "%.31s",
                 flow_thread(accesses->flow, balance->spread.critical)->name);
    balance_free(balance);
}

/* Sampled lines are a few of many: two threads are seldom seen on one line, even where they share all of an object. So
 * objects are asked, and those of which each node keeps to its own part are skipped. */
static int take_mixed(struct figures *figures, const struct flow *flow, struct error *err)
{
    struct facts *facts = facts_make(flow, err);
    if (!facts)
        return -1;
    array_each (&facts->objects, const struct facts_subject, subject) {
        bool looked_at = (double)subject->bursts >= thresholds.bursts && subject->separated >= 0;
        if (looked_at && subject->sharing == SHARING_ALL && subject->separated < thresholds.halfway)
            figures->mixed += subject->totals.samples;
    }
    facts_free(facts);
    return 0;
}

int figures_take(struct figures *figures, const struct flow *flow, const struct figures_options *options,
                 struct error *err)
{
    struct flow_totals totals = flow_totals(flow);
    struct accesses *accesses = accesses_load(flow, err);
    if (!accesses)
        return -1;
    figures->samples = totals.samples;
    figures->remote = totals.remote;
    figures->home_known = totals.home_known;
    struct sharing *sharing = sharing_make(accesses);
    const struct sharing_grain_totals *grain = &sharing->grains[options->grain];
    figures->private_data = grain->classes[CLASS_PRIVATE];
    figures->cross_node = grain->classes[CLASS_CROSS_NODE];
    figures->shared = sharing_shared(grain);
    sharing_free(sharing);
    struct latency *latency =
        latency_make(accesses, options->thresholds, options->threshold_count, flow_calibration(flow));
    for (unsigned i = 0; i < options->threshold_count; i++)
        figures->above[i] = latency->at.above[i].timed;
    figures->all = latency->at.above[options->threshold_count];
    figures->contention = latency->contention;
    latency_free(latency);
    take_balance(figures, accesses);
    accesses_free(accesses);
    return take_mixed(figures, flow, err);
}

double figures_remote(const struct figures *figures)
{
    return figures->home_known ? (double)figures->remote / (double)figures->home_known : 0;
}
