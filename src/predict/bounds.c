/* See bounds.h.
 *
 * Unknown bytes are none, or as many as a core can fetch, or that from other nodes and none near the threads (docs/predict.md). If even
 * so neither pages near their threads nor interleaved pages save what matters, it need not be known how many there are. That
 * placement matters is not concluded: what is unknown may take longer than what is known. */
#include "predict/bounds.h"

#include "analysis/traffic/traffic.h"
#include "predict/costs.h"
#include "predict/predict.h"

#include <math.h>

enum { BURSTS = 100 }; /* so many miss a part of the program that has 5% of its time one time in 170 */

/* Of the time whose bytes are unknown, the share of which not even the home nodes are known. */
static double homeless(const struct demand *demand)
{
    double all = 0, unknown = 0;
    array_each (&demand->cells, const struct demand_cell, cell) {
        all += cell->unknown_s;
        unknown += cell->home < 0 ? cell->unknown_s : 0;
    }
    return all > 0 ? unknown / all : 0;
}

/* How many times as long it takes at most as with another placement; 0 when too little is known to say. */
static double most_factor(const struct flow *flow, const struct model *machine, const struct traffic *traffic)
{
    const double max_homeless = 0.05;
    struct demand *demand = traffic->bursts >= BURSTS ? demand_for_bounds(flow, traffic) : NULL;
    double high = 0;
    if (demand && homeless(demand) < max_homeless) {
        struct prediction as_is = predict(machine, demand, PLACING_AS_IS),
                          users = predict(machine, demand, PLACING_USERS),
                          interleaved = predict(machine, demand, PLACING_INTERLEAVE);
        high = fmax(prediction_factor(&as_is, &users).high, prediction_factor(&as_is, &interleaved).high);
        high = fmax(high, 1);
    }
    demand_free(demand);
    return high;
}

bool bounds_verdict(struct findings *findings, const struct model *machine, const struct traffic *traffic,
                    const char *on, const char **why)
{
    double high = most_factor(findings->facts->flow, machine, traffic), saved = 1 - 1 / fmax(high, 1);
    if (high <= 0)
        return false;
    if (high >= verdict_bound) {
        *why = findings_text(findings,
                             "%s. However many they are, another placement would save at most %.0f%% of run time", *why,
                             ceil(100 * saved));
        return false;
    }
    findings->matters = MATTERS_NOT;
    findings->run_time = (struct run_time){1, 1, high};
    findings->verdict =
        findings_text(findings,
                      "NUMA is not what slows this program on %s: another placement would save at most %.1f%% of "
                      "run time, however many bytes the accesses move whose bytes are unknown (threshold: "
                      "%.0f%%).",
                      on, findings_at_most(saved), 100 * (1 - 1 / verdict_bound));
    return true;
}

const char *bounds_reason(struct findings *findings, const struct traffic *traffic)
{
    const double some = 0.05;
    const struct traffic_bytes *all = &traffic->all;
    double unknown = all->accesses > 0 ? 1 - all->rated / all->accesses : 0;
    const char *overlap = "how far waiting and work overlap is not known";
    return unknown < some ? findings_text(findings, ". More samples would not decide: %s", overlap)
                          : findings_text(findings,
                                          ". More samples would not decide: the bytes of %.0f%% of the accesses are "
                                          "unknown, and %s",
                                          100 * unknown, overlap);
}
