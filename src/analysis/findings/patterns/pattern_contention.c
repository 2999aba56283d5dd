/* analysis/findings/patterns/pattern_contention.c - a node's memory, or a way to it, has to serve more than it can (LaProf's second problem, SPEC L14). */
#include "analysis/findings/findings_advice.h"
#include "analysis/problems/latency.h"

/* Accesses beyond the caches on the contended ways are of so many bursts, about. */
static double bursts_on_contended(const struct facts *facts, const struct latency *latency)
{
    uint64_t memory = 0;
    array_each (&latency->pairs, const struct latency_pair, pair)
        memory += pair->contended ? pair->memory : 0;
    return (double)facts->bursts * share_of(memory, facts->totals.samples);
}

static bool judge(struct judging *judging, const struct finding *about, struct verdict *verdict)
{
    const struct facts *facts = judging->facts;
    if (!facts->timed || flow_topology(facts->flow)->simulated)
        return false; /* how long loads take is this machine's: nothing of it is a simulated node's */
    const struct latency *latency = judging_latency(judging);
    if (!latency || latency->node != about->node ||
        (latency->contention != CONTENTION_MEMORY && latency->contention != CONTENTION_LINK))
        return false;
    /* H0: the bound's part of the accesses beyond the caches is in the tail, or less. */
    verdict_claim(verdict, (struct claim){.share = latency->tail_share,
                                          .null = thresholds.worth_saying,
                                          .bursts = bursts_on_contended(facts, latency)});
    return true;
}

static const char *explain(struct consult *it)
{
    const struct latency *latency = judging_latency(it->judging);
    int node = node_number(it->facts, latency->node);
    it->finding->name = latency->contention == CONTENTION_LINK
                            ? text(it, "node %d from node %d", node, node_number(it->facts, latency->link_from))
                            : text(it, "memory of node %d", node);
    it->finding->gain = "The time the latency tail takes beyond the usual latency; it falls as fewer accesses meet.";
    return text(it, "%s", latency->why);
}

static void advise(struct consult *it)
{
    const struct latency *latency = judging_latency(it->judging);
    bool link = latency->contention == CONTENTION_LINK;
    int node = node_number(it->facts, latency->node), from = node_number(it->facts, latency->link_from);
    it->pin = node;
    if (link)
        advise_to(it, ACTION_PIN_TOGETHER, code_pin_all(it),
                  "the data's home is node %d and its threads run on node %d: on one node, no access needs the link",
                  node, from);
    advise_to(it, ACTION_INTERLEAVE,
              it->finding->share_of_remote >= thresholds.majority ? code_interleave_all(it) : code_spread(it), "%s",
              link ? "when the threads must stay: other links and memories then take a part"
                   : "one memory serves too much: over all nodes, each serves a part");
    if (!link)
        advise_to(it, ACTION_SPREAD, code_pin_evenly(it),
                  "threads that use memory most on different nodes, each with its data");
}

PATTERN_ROW(contention, "contention", "more accesses arrive there than it can serve", on_node);
