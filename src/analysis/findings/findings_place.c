/* analysis/findings/findings_place.c - what findings are about: a subject, a node, a thread, a process, the run. For each its name in
 * the words of the source, its samples and its time. */
#include "analysis/facts/accesses.h"
#include "analysis/findings/findings_internal.h"
#include "analysis/problems/balance.h"
#include "analysis/problems/latency.h"

static struct accesses *accesses_of(struct judging *judging)
{
    struct error ignored = {0};
    if (!judging->accesses && judging->facts->totals.samples)
        judging->accesses = accesses_load(judging->facts->flow, &ignored);
    return judging->accesses;
}

const struct latency *judging_latency(struct judging *judging)
{
    if (!judging->latency && accesses_of(judging))
        judging->latency = latency_make(judging->accesses, NULL, 0, flow_calibration(judging->facts->flow));
    return judging->latency;
}

const struct balance *judging_balance(struct judging *judging)
{
    if (!judging->balance && accesses_of(judging))
        judging->balance = balance_make(judging->accesses, 0);
    return judging->balance;
}

void judging_end(struct judging *judging)
{
    latency_free(judging->latency);
    balance_free(judging->balance);
    accesses_free(judging->accesses);
}

static const struct finding nothing = {.node = -1,
                                       .thread = FLOW_NONE,
                                       .process = FLOW_NONE,
                                       .name = "",
                                       .variable = "",
                                       .via = "",
                                       .function = "",
                                       .file = ""};

/* --- subjects --- */

void judge_subject(struct judging *judging, const struct facts_subject *subject, bool is_site)
{
    struct finding about = nothing;
    about.subject = subject;
    about.is_site = is_site;
    judge_about(judging, &on_subject, &about);
}

/* A site speaks for its objects, unless one of them is what is remote. */
static void judge_site(struct judging *judging, const struct facts_subject *site)
{
    const struct facts *facts = judging->facts;
    const struct facts_subject *hottest =
        site->object < facts->objects.count ? &facts->objects.items[site->object] : site;
    bool of_all = site->instances > 1 && share_of(hottest->totals.remote, site->totals.remote) < thresholds.mostly;
    judge_subject(judging, of_all ? site : hottest, of_all);
}

static void each_subject(struct judging *judging)
{
    const struct facts *facts = judging->facts;
    array_each (&facts->sites, const struct facts_subject, site)
        if (site->totals.samples)
            judge_site(judging, site);
    array_each (&facts->objects, const struct facts_subject, object)
        if (object->site == FLOW_NONE && object->totals.samples && !subject_thread_local(facts, object))
            judge_subject(judging, object, false);
    judge_locals(judging);
}

static void name_subject(struct judging *judging, struct finding *finding)
{
    struct findings *findings = judging->findings;
    const struct flow *flow = findings->facts->flow;
    const struct facts_subject *subject = finding->subject;
    const struct flow_object *object = flow_object(flow, subject->object);
    const struct flow_site *site = subject->site != FLOW_NONE ? flow_site(flow, subject->site) : NULL;
    finding->via = site ? site->via : "";
    finding->by_new = object && (object->alloc_fn == ALLOC_NEW || object->alloc_fn == ALLOC_NEW_ARRAY);
    finding->function = site ? site->function : "";
    finding->file = site ? site->file : object ? object->file : "";
    finding->line = site ? site->line : object ? object->line : 0;
    finding->named = true;
    if (site && *site->variable) {
        finding->name = site->name;
        finding->variable = site->variable;
        return;
    }
    finding->named = object && object->kind == OBJECT_STATIC;
    finding->variable = finding->named ? object->name : "";
    const struct flow_thread *owner = object && object->kind == OBJECT_STACK && object->alloc_thread != FLOW_NONE
                                          ? flow_thread(flow, object->alloc_thread)
                                          : NULL;
    if (owner && *owner->name)
        finding->name = findings_text(findings, "stack of %s", owner->name);
    else if (!site)
        finding->name = object ? object->name : "";
    else if (object && object->kind == OBJECT_FILE && !finding->is_site)
        finding->name = object->name;
    else
        finding->name = site->name;
}

static void fill_subject(struct judging *judging, struct finding *finding)
{
    const struct facts_subject *subject = finding->subject;
    finding->remote_samples = subject->totals.remote;
    finding->share_of_remote = facts_part_of_remote(judging->facts, subject->totals.remote, subject->remote_weight);
    finding->lost_time_share = distance_loss(judging->findings, placement_loss(subject));
    finding->bursts = subject->bursts;
    name_subject(judging, finding);
}

/* --- nodes, threads, processes, the run --- */

static void fill_counts(const struct facts *facts, struct finding *finding, uint64_t remote, double weight)
{
    finding->remote_samples = remote;
    finding->share_of_remote = facts_part_of_remote(facts, remote, weight);
    finding->bursts = facts->bursts;
}

static void each_node(struct judging *judging)
{
    struct finding about = nothing;
    for (about.node = 0; (uint32_t)about.node < judging->facts->node_count; about.node++)
        judge_about(judging, &on_node, &about);
}

static void fill_node(struct judging *judging, struct finding *finding)
{
    const struct facts_node *node = &judging->facts->nodes[finding->node];
    finding->name = findings_text(judging->findings, "node %d", node_number(judging->facts, finding->node));
    finding->lost_time_share = distance_loss(judging->findings, node->remote_time);
    fill_counts(judging->facts, finding, node->remote, node->remote_weight);
}

static void each_thread(struct judging *judging)
{
    struct finding about = nothing;
    for (about.thread = 0; about.thread < flow_thread_count(judging->facts->flow); about.thread++)
        judge_about(judging, &on_thread, &about);
}

static void fill_thread(struct judging *judging, struct finding *finding)
{
    const struct facts *facts = judging->facts;
    const struct facts_thread *thread = &facts->threads[finding->thread];
    uint64_t remote = 0;
    for (uint32_t i = 0; i < facts->node_count; i++)
        remote += (int)i != flow_thread_node(facts->flow, finding->thread) ? thread->homes[i] : 0;
    finding->name = findings_text(judging->findings, "thread %u", flow_thread(facts->flow, finding->thread)->tid);
    fill_counts(facts, finding, remote, thread->remote_weight);
}

static void each_process(struct judging *judging)
{
    struct finding about = nothing;
    for (about.process = 0; about.process < flow_process_count(judging->facts->flow); about.process++)
        judge_about(judging, &on_process, &about);
}

static void fill_process(struct judging *judging, struct finding *finding)
{
    const struct facts *facts = judging->facts;
    const struct flow_process *process = flow_process(facts->flow, finding->process);
    double weight = 0;
    array_each (&facts->objects, const struct facts_subject, object) {
        bool own = object->totals.samples && object->process == finding->process;
        weight += own ? object->remote_weight : 0;
        finding->lost_time_share += own ? distance_loss(judging->findings, object->remote_time) : 0;
    }
    finding->name = findings_text(judging->findings, "process %u", process->pid);
    fill_counts(facts, finding, process->totals.remote, weight);
}

static void judge_run(struct judging *judging)
{
    judge_about(judging, &on_run, &nothing);
}

static void fill_run(struct judging *judging, struct finding *finding)
{
    finding->name = "the run";
    finding->lost_time_share = distance_loss(judging->findings, judging->facts->remote_time);
    fill_counts(judging->facts, finding, judging->facts->totals.remote, judging->facts->weights.remote);
}

const struct finding_place on_subject = {"object", each_subject, fill_subject},
                           on_node = {"node", each_node, fill_node}, on_thread = {"thread", each_thread, fill_thread},
                           on_process = {"process", each_process, fill_process}, on_run = {"run", judge_run, fill_run};
