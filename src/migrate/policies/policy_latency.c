/* migrate/policies/policy_latency.c - weighs accesses by what they cost (the future work of Lorenzo et al.).
 *
 * It learns what a load from node A to node B takes, from the latencies that samples carry, as a mean over the last
 * intervals. A page goes where its accesses would have cost least in sum, when that saves a tenth or more. So a page that
 * two nodes use alike goes to the one with the slower way to it, and pages whose accesses all hit caches stay. Where
 * nothing was measured yet, the distance table stands in, scaled to what was. */
#include "migrate/policies/policies.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define WORTH    0.9   /* of the cost on its present home node */
#define FORGET   0.5   /* weight of all earlier intervals */
#define LOCAL_NS 100.0 /* when nothing was ever measured: any figure does, only ratios count then */

struct latency {
    double *sum, *count; /* [from * nodes + home], of the last intervals */
    double *cost;        /* [from * nodes + home], what an access takes */
    uint64_t *counts;
};

static int start(const struct nlens_machine *machine, const char *arguments, void **self, char *why, size_t why_bytes)
{
    (void)arguments;
    (void)why;
    (void)why_bytes;
    size_t cells = (size_t)machine->node_count * machine->node_count;
    struct latency *latency = mem_zalloc(sizeof *latency);
    latency->sum = mem_zalloc(cells * sizeof *latency->sum);
    latency->count = mem_zalloc(cells * sizeof *latency->count);
    latency->cost = mem_zalloc(cells * sizeof *latency->cost);
    latency->counts = mem_alloc(machine->node_count * sizeof *latency->counts);
    *self = latency;
    return 0;
}

static void stop(void *self)
{
    struct latency *latency = self;
    free(latency->sum);
    free(latency->count);
    free(latency->cost);
    free(latency->counts);
    free(latency);
}

static void learn(struct latency *latency, const struct nlens_view *view)
{
    uint32_t nodes = view->machine->node_count;
    size_t cells = (size_t)nodes * nodes;
    for (size_t i = 0; i < cells; i++) {
        latency->sum[i] *= FORGET;
        latency->count[i] *= FORGET;
    }
    for (size_t i = 0; i < view->page_count; i++) {
        const struct nlens_policy_page *page = &view->pages[i];
        for (uint32_t j = 0; page->home >= 0 && j < page->access_count; j++) {
            const struct nlens_policy_access *access = &page->accesses[j];
            if (access->node >= nodes)
                continue;
            size_t cell = (size_t)access->node * nodes + (uint32_t)page->home;
            latency->sum[cell] += (double)access->latency;
            latency->count[cell] += access->timed;
        }
    }
    /* ns a unit of distance, over all that was measured */
    double ns = 0, units = 0;
    for (size_t i = 0; i < cells; i++) {
        ns += latency->sum[i];
        units += latency->count[i] * view->machine->distances[i];
    }
    double scale = units > 0 && ns > 0 ? ns / units : LOCAL_NS / 10;
    for (size_t i = 0; i < cells; i++)
        latency->cost[i] = latency->count[i] >= 1 && latency->sum[i] > 0 ? latency->sum[i] / latency->count[i]
                                                                         : scale * view->machine->distances[i];
}

static double cost_at(const struct latency *latency, const struct nlens_machine *machine, uint32_t home)
{
    double cost = 0;
    for (uint32_t node = 0; node < machine->node_count; node++)
        cost += (double)latency->counts[node] * latency->cost[(size_t)node * machine->node_count + home];
    return cost;
}

static int decide(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    struct latency *latency = self;
    const struct nlens_machine *machine = view->machine;
    learn(latency, view);
    for (size_t i = 0; i < view->page_count; i++) {
        const struct nlens_policy_page *page = &view->pages[i];
        if (page->home < 0 || policy_count_nodes(page, machine, latency->counts) == 0)
            continue;
        double min_cost = cost_at(latency, machine, (uint32_t)page->home) * WORTH;
        uint32_t best = (uint32_t)page->home;
        for (uint32_t node = 0; node < machine->node_count; node++) {
            if (machine->nearest[node] != node)
                continue; /* closed to pages */
            double cost = cost_at(latency, machine, node);
            if (cost < min_cost) {
                min_cost = cost;
                best = node;
            }
        }
        if (best != (uint32_t)page->home)
            nlens_move(plan, i, best);
    }
    return 0;
}

const struct nlens_policy policy_latency = {
    .version = NLENS_POLICY_VERSION,
    .size = sizeof(struct nlens_policy),
    .name = "latency",
    .summary = "each page where its accesses cost least, by measured latencies",
    .start = start,
    .decide = decide,
    .stop = stop,
};
