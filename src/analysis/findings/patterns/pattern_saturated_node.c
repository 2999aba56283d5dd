/* analysis/findings/patterns/pattern_saturated_node.c - most of the traffic goes to one node's memory, from several nodes. */
#include "analysis/findings/findings_advice.h"

#include <stdio.h>

enum { NAMED = 3 };

/* Nodes that make at least a bound's part of the traffic to a node. */
static uint32_t nodes_taking_part(const struct facts *facts, uint32_t home)
{
    uint32_t nodes = facts->node_count, taking = 0;
    for (uint32_t from = 0; from < nodes; from++)
        taking += share_of(facts->matrix[(size_t)from * nodes + home], facts->nodes[home].samples) >=
                  thresholds.halfway / nodes;
    return taking;
}

/* Samples on a node's memory that load it: not those of things in caches, of libraries, or on lines that move between
 * caches, nor of what nodes use one after the other. */
static uint64_t node_load(const struct facts *facts, uint32_t node)
{
    double less = 0;
    array_each (&facts->objects, const struct facts_subject, object) {
        if (object->totals.samples == 0 || !object->home || !object->home[node])
            continue;
        bool turns = object->sharing == SHARING_ALL && object->concurrency == CONCURRENCY_DISJOINT;
        less += (double)object->home[node] *
                (turns || subject_cached(facts, object) || subject_loaded(facts, object) ? 1 : subject_bounced(object));
    }
    uint64_t all = facts->nodes[node].samples;
    return less < (double)all ? all - (uint64_t)less : 0;
}

static bool judge(struct judging *judging, const struct finding *about, struct verdict *verdict)
{
    const struct facts *facts = judging->facts;
    uint32_t node = (uint32_t)about->node;
    const struct facts_node *own = &facts->nodes[node];
    const struct trace_session *session = flow_session(facts->flow);
    uint64_t burst = session ? trace_session_number(session, "burst", 1) : 1;
    double most = thresholds.majority +
                  (1 - thresholds.majority) / facts->node_count; /* 75% of two nodes' traffic, 56% of eight's */
    double bursts = (double)facts->totals.home_known / (double)(burst ? burst : 1);
    double load = share_of(node_load(facts, node), facts->totals.home_known);
    if (facts->node_count < 2 || load < most || share_of(own->remote, own->samples) < thresholds.remote ||
        nodes_taking_part(facts, node) < (facts->node_count < 3 ? 2 : 3))
        return false;
    /* H0: it serves halfway between an equal share and that bound, or less. */
    verdict_claim(verdict,
                  (struct claim){.share = load, .null = (most + 1.0 / facts->node_count) / 2, .bursts = bursts});
    /* H0: half of the bound's part of what it serves comes from elsewhere, or less. */
    verdict_claim(verdict, (struct claim){.share = share_of(own->remote, own->samples),
                                          .null = thresholds.remote / 2,
                                          .bursts = bursts * share_of(own->samples, facts->totals.home_known)});
    claim_same_time(verdict, &own->mixing);
    return true;
}

static const char *explain(struct consult *it)
{
    const struct facts *facts = it->facts;
    const struct facts_node *node = &facts->nodes[it->finding->node];
    uint64_t sum = 0, count = 0;
    for (uint32_t i = 0; i < facts->node_count; i++) {
        sum += (int)i != it->finding->node ? facts->nodes[i].latency_sum : 0;
        count += (int)i != it->finding->node ? facts->nodes[i].latency_count : 0;
    }
    double own = share_of(node->latency_sum, node->latency_count), others = share_of(sum, count);
    const char *latency;
    if (flow_topology(facts->flow)->simulated)
        latency = "Whether this makes it slower cannot be measured on a simulated topology.";
    else if ((double)node->latency_count < thresholds.enough || (double)count < thresholds.enough)
        latency = "There are too few slow accesses to compare its latency.";
    else
        latency = text(it, "Its latency past the caches is %.0f %s, that of the other nodes %.0f %s: %s.", own,
                       unit_of(facts), others, unit_of(facts),
                       own > (1 + thresholds.part) * others ? "it is overloaded" : "it is not overloaded");
    it->finding->gain = gain_known(it, text(it,
                                            "%.1f%% of run time if no access to it were remote (%s); less "
                                            "queueing at that memory comes on top.",
                                            100 * it->finding->lost_time_share, gain_assumed(it)));
    return text(it, "%.0f%% of the accesses go to its memory, from %u nodes; %.0f%% of them are remote. %s",
                100 * share_of(node->samples, facts->totals.home_known),
                nodes_taking_part(facts, (uint32_t)it->finding->node), 100 * share_of(node->remote, node->samples),
                latency);
}

/* The hottest findings on this node's memory: "block, grid". */
static const char *hottest(struct consult *it, size_t *count)
{
    char names[NAMED * 64] = "";
    size_t used = 0;
    *count = 0;
    array_each (&it->findings->items, const struct finding, finding) {
        if (!finding->subject || pattern_lines(finding->pattern) == LINES_FALSE ||
            finding->subject->main_home != it->finding->node || *count == NAMED)
            continue;
        int length = snprintf(names + used, sizeof names - used, "%s%.48s", *count ? ", " : "", finding->name);
        used += length > 0 ? (size_t)length : 0;
        ++*count;
    }
    return text(it, "%s", names);
}

static void advise(struct consult *it)
{
    size_t count;
    const char *names = hottest(it, &count);
    if (count > 0)
        it->finding->evidence = text(it, "%s Its hottest: %s.", it->finding->evidence, names);
    advise_to(it, ACTION_INTERLEAVE, it->whole ? code_interleave_all(it) : code_spread(it),
              "%u nodes use the one memory; over all nodes, each serves a part%s",
              nodes_taking_part(it->facts, (uint32_t)it->finding->node),
              count ? ". Where an object has a finding of its own, that comes first" : "");
    if (count > 1)
        advise_to(it, ACTION_SPREAD, "Let another node's threads write each of these first.",
                  "each of these on another one: %s", names);
    advise_against(it, ACTION_PIN_TOGETHER,
                   "not pinning all threads to node %d: the other nodes' CPUs and memory would stay idle",
                   node_number(it->facts, it->finding->node));
}

PATTERN_ROW(saturated_node, "saturated-node", "most accesses of all nodes go to one node's memory", on_node,
            .behind_objects = true);
