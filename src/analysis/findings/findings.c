/* analysis/findings/findings.c - findings and what is undecided, worst first. */
#include "analysis/findings/findings_internal.h"

#include "analysis/names/sources.h"
#include "analysis/traffic/traffic.h"
#include "base/strtab.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const pattern_names[PATTERNS][2] = {
    [PATTERN_REMOTE_AFTER_ALLOCATION] = {"remote-after-allocation", "allocated on one node, used from another"},
    [PATTERN_ALTERNATE_REMOTE] = {"alternate-remote", "threads of different nodes use it in turn"},
    [PATTERN_CONCURRENT_REMOTE] = {"concurrent-remote", "threads of several nodes use it at the same time"},
    [PATTERN_SATURATED_NODE] = {"saturated-node", "most accesses of all nodes go to one node's memory"},
    [PATTERN_FAR_INITIALISED] = {"far-initialised",
                                 "each thread uses its own part, but another thread touched the pages first"},
    [PATTERN_MIXED_PAGES] = {"mixed-pages", "private data of threads on different nodes shares pages"},
    [PATTERN_FALSE_SHARING] = {"false-sharing", "threads write different bytes of the same cache lines"},
    [PATTERN_CROSS_NODE_SHARING] = {"cross-node-sharing", "threads of several nodes use and write the same bytes"},
    [PATTERN_CONTENTION] = {"contention", "more accesses arrive there than it can serve"},
    [PATTERN_IMBALANCE] = {"imbalance", "a few threads make most of the remote accesses"},
};

static const char *const action_names[ACTIONS][2] = {
    [ACTION_ALLOCATE_NEAR] = {"allocate-near", "allocate it on the node that uses it"},
    [ACTION_FIRST_TOUCH] = {"first-touch", "let each thread initialise the part it uses (first touch)"},
    [ACTION_MIGRATE] = {"migrate", "migrate its pages to the node that uses it"},
    [ACTION_PIN_TOGETHER] = {"pin-together", "bind its threads to one node"},
    [ACTION_DUPLICATE] = {"duplicate", "keep a copy on each node"},
    [ACTION_INTERLEAVE] = {"interleave", "interleave its pages over the nodes"},
    [ACTION_SPREAD] = {"spread", "put hot objects on different nodes"},
    [ACTION_SEPARATE_PAGES] = {"separate-pages", "give each thread pages of its own"},
    [ACTION_PAD] = {"pad", "give each thread a cache line of its own"},
    [ACTION_OWN_COPY] = {"own-copy", "give each thread its own copy of the variables it shares"},
    [ACTION_SYMMETRIC] = {"symmetric", "spread threads and data evenly over the nodes"},
};

const char *pattern_name(enum pattern pattern)
{
    return pattern < PATTERNS ? pattern_names[pattern][0] : "";
}

const char *pattern_text(enum pattern pattern)
{
    return pattern < PATTERNS ? pattern_names[pattern][1] : "";
}

const char *action_name(enum action action)
{
    return action < ACTIONS ? action_names[action][0] : "";
}

const char *action_text(enum action action)
{
    return action < ACTIONS ? action_names[action][1] : "";
}

const char *findings_text(struct findings *findings, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return "";
    const char *kept = strtab_intern(findings->texts, text);
    free(text);
    return kept;
}

double placement_loss(const struct facts_subject *subject)
{
    return subject->remote_time * (1 - subject_bounced(subject));
}

static void add_finding(struct findings *findings, const struct facts_subject *subject, bool is_site,
                        const struct verdict *verdict, struct sources *sources)
{
    const struct facts *facts = findings->facts;
    struct finding finding = {.pattern = verdict->pattern,
                              .subject = subject,
                              .is_site = is_site,
                              .node = -1,
                              .remote_samples = subject->totals.remote,
                              .confidence = verdict->confidence,
                              .bursts = subject->bursts};
    finding.share_of_remote = facts_part_of_remote(facts, subject->totals.remote, subject->remote_weight);
    finding.lost_time_share = verdict->pattern == PATTERN_FALSE_SHARING
                                  ? subject->slow_time * part_of(subject->false_sharing, subject->totals.samples)
                              : verdict->pattern == PATTERN_CROSS_NODE_SHARING
                                  ? subject->slow_time * part_of(subject->true_sharing, subject->totals.samples)
                                  : placement_loss(subject);
    finding_name(findings, &finding, sources);
    if (verdict->pattern == PATTERN_CROSS_NODE_SHARING) {
        finding_on_sharing(findings, &finding);
    } else {
        finding_explain(findings, &finding, verdict);
        finding_advise(findings, &finding);
    }
    array_push(&findings->items, finding);
}

/* The claim that lacks most has `of` bursts of the subject's: as many more as it needs, all of them must be. */
static void add_undecided(struct findings *findings, const struct facts_subject *subject, bool is_site,
                          const struct verdict *verdict, struct sources *sources)
{
    const struct facts *facts = findings->facts;
    struct undecided undecided = {.finding = {.pattern = verdict->pattern,
                                              .subject = subject,
                                              .is_site = is_site,
                                              .node = -1,
                                              .remote_samples = subject->totals.remote,
                                              .confidence = verdict->confidence,
                                              .bursts = subject->bursts,
                                              .evidence = "",
                                              .gain = ""},
                                  .bursts = subject->bursts};
    undecided.finding.share_of_remote = facts_part_of_remote(facts, subject->totals.remote, subject->remote_weight);
    finding_name(findings, &undecided.finding, sources);
    undecided.needed = verdict_needed(verdict, subject->bursts);
    array_push(&findings->undecided, undecided);
}

void findings_judge_subject(struct findings *findings, const struct facts_subject *subject, bool is_site,
                            struct sources *sources)
{
    struct verdict verdict, placement;
    size_t before = findings->items.count;
    enum judged placed = judge_placement(findings->facts, subject, &placement);
    if (placed == JUDGED)
        add_finding(findings, subject, is_site, &placement, sources);
    if (judge_false_sharing(findings->facts, subject, &verdict) == JUDGED)
        add_finding(findings, subject, is_site, &verdict, sources);
    if (findings->items.count == before && judge_shared(findings->facts, subject, &verdict) == JUDGED)
        add_finding(findings, subject, is_site, &verdict, sources);
    bool worth_more = facts_part_of_remote(findings->facts, subject->totals.remote, subject->remote_weight) >=
                      findings_bounds.undecided;
    if (findings->items.count == before && placed == JUDGED_UNDECIDED && worth_more)
        add_undecided(findings, subject, is_site, &placement, sources);
}

/* A site speaks for its objects, unless one of them is what is remote. */
static void judge_site(struct findings *findings, const struct facts_subject *site, struct sources *sources)
{
    const struct facts *facts = findings->facts;
    const struct facts_subject *hottest =
        site->object < facts->objects.count ? &facts->objects.items[site->object] : site;
    if (site->instances > 1 && part_of(hottest->totals.remote, site->totals.remote) < findings_bounds.one_of_many)
        findings_judge_subject(findings, site, true, sources);
    else
        findings_judge_subject(findings, hottest, false, sources);
}

static void judge_nodes(struct findings *findings)
{
    const struct facts *facts = findings->facts;
    struct verdict verdict;
    for (uint32_t node = 0; node < facts->node_count; node++) {
        if (!judge_node(facts, node, &verdict))
            continue;
        struct finding finding = {.pattern = PATTERN_SATURATED_NODE,
                                  .node = (int)node,
                                  .function = "",
                                  .file = "",
                                  .remote_samples = facts->nodes[node].remote,
                                  .lost_time_share = facts->nodes[node].remote_time,
                                  .confidence = verdict.confidence,
                                  .bursts = facts->bursts};
        finding.name = findings_text(findings, "node %d", node_number(facts, (int)node));
        finding.share_of_remote = facts_part_of_remote(facts, finding.remote_samples, facts->nodes[node].remote_weight);
        finding_explain(findings, &finding, &verdict);
        finding_advise(findings, &finding);
        array_push(&findings->items, finding);
    }
}

/* By whole percents of run time, those begun not counted: what costs less, or differs by less, does so by chance. Then by how much
 * is remote. */
static int by_weight(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    int lost_a = (int)(100 * a->lost_time_share), lost_b = (int)(100 * b->lost_time_share);
    if (lost_a != lost_b)
        return lost_a > lost_b ? -1 : 1;
    if (a->share_of_remote != b->share_of_remote)
        return a->share_of_remote > b->share_of_remote ? -1 : 1;
    return a->pattern < b->pattern ? -1 : a->pattern > b->pattern;
}

static int by_remote(const void *left, const void *right)
{
    const struct undecided *a = left, *b = right;
    uint64_t of_a = a->finding.remote_samples, of_b = b->finding.remote_samples;
    return of_a > of_b ? -1 : of_a < of_b;
}

static bool lies_on(const struct finding *finding, int node)
{
    return finding->subject && finding->subject->main_home == node && finding->pattern != PATTERN_FALSE_SHARING &&
           finding->pattern != PATTERN_CROSS_NODE_SHARING;
}

/* A node whose traffic is mostly that of objects with findings of their own stands behind these: there the change is to be
 * made. */
static void put_nodes_behind(struct findings *findings)
{
    struct finding *items = findings->items.items;
    for (size_t i = findings->items.count; i-- > 0;) {
        if (items[i].pattern != PATTERN_SATURATED_NODE)
            continue;
        struct finding node = items[i];
        uint64_t covered = 0;
        size_t last = i;
        for (size_t k = 0; k < findings->items.count; k++) {
            if (!lies_on(&items[k], node.node))
                continue;
            covered += items[k].remote_samples;
            last = k > last ? k : last;
        }
        if (covered * 2 < node.remote_samples)
            continue;
        memmove(&items[i], &items[i + 1], (last - i) * sizeof *items);
        items[last] = node;
    }
}

/* What is remote of the bytes that come from memory: what caches answer is not. */
static void count_bytes(struct findings *findings)
{
    const struct flow_stream *ignored;
    const struct flow *flow = findings->facts->flow;
    findings->traffic = flow_streams(flow, &ignored) > 0 ? traffic_make(flow) : NULL;
    findings->remote_bytes = findings->traffic ? traffic_remote_share(findings->traffic) : -1;
}

struct findings *findings_make(const struct facts *facts)
{
    struct findings *findings = mem_zalloc(sizeof *findings);
    struct sources *sources = sources_new();
    findings->facts = facts;
    findings->texts = strtab_new();
    count_bytes(findings);
    array_each (&facts->sites, const struct facts_subject, site)
        if (site->totals.samples)
            judge_site(findings, site, sources);
    array_each (&facts->objects, const struct facts_subject, object)
        if (object->site == FLOW_NONE && object->totals.samples && !subject_thread_local(facts, object))
            findings_judge_subject(findings, object, false, sources);
    findings_judge_locals(findings, sources);
    array_sort(&findings->items, by_weight); /* a node names its hottest */
    judge_nodes(findings);
    findings_add_problems(findings);
    array_sort(&findings->items, by_weight);
    put_nodes_behind(findings);
    array_sort(&findings->undecided, by_remote);
    findings_judge_gate(findings);
    findings_decide(findings);
    sources_free(sources);
    return findings;
}

void findings_free(struct findings *findings)
{
    if (!findings)
        return;
    array_each (&findings->items, struct finding, finding) {
        array_free(&finding->advice);
        array_free(&finding->against);
    }
    array_free(&findings->items);
    array_free(&findings->undecided);
    array_each (&findings->locals, struct facts_subject, all)
        free(all->from);
    array_free(&findings->locals);
    strtab_free(findings->texts);
    traffic_free(findings->traffic);
    free(findings);
}
