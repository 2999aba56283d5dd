/* analysis/findings/findings_problems.c - LaProf's three problems as findings, each with its own change (SPEC L14): data that nodes
 * share, contention, and threads that bear more remote accesses than others. */
#include "analysis/problems/balance.h"
#include "analysis/findings/findings_internal.h"
#include "analysis/problems/latency.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAMED_THREADS = 6, COMMAND_MAX = 60 };

static void advise(struct finding *finding, enum action action, const char *why, const char *code)
{
    array_push(&finding->advice, (struct advice){.action = action, .why = why, .code = code});
}

static void against(struct finding *finding, enum action action, const char *why)
{
    array_push(&finding->against, (struct advice){.action = action, .why = why, .code = ""});
}

static const char *command_of(const struct findings *findings)
{
    const struct trace_session *session = flow_session(findings->facts->flow);
    const char *command = session ? trace_session_get(session, "command") : NULL;
    return command && *command && strlen(command) <= COMMAND_MAX ? command : "./app ...";
}

enum judged judge_shared(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict)
{
    uint64_t shared = subject->true_sharing;
    double part = part_of(shared, subject->totals.samples);
    if (facts->node_count < 2 || subject->sharing != SHARING_ALL || subject->writers == 0 ||
        !subject_matters(facts, subject, shared) || part < findings_bounds.true_sharing ||
        shared <= subject->false_sharing)
        return JUDGED_NOTHING;
    verdict_begin(verdict, PATTERN_CROSS_NODE_SHARING);
    /* H0: half of the bound's part of its accesses is on such lines, or less. */
    verdict_claim(
        verdict,
        (struct claim){.share = part, .null = findings_bounds.true_sharing / 2, .bursts = (double)subject->bursts});
    return verdict->confidence >= CLAIM_HINT ? JUDGED : JUDGED_NOTHING;
}

/* "101 on node 0, 102 on node 1 and 4 more" */
static const char *name_users(struct findings *findings, const struct facts_subject *subject)
{
    char names[NAMED_THREADS * 48] = "";
    size_t used = 0, named = 0;
    array_each (&subject->users, const struct fact_user, user) {
        const struct flow_thread *thread = flow_thread(findings->facts->flow, user->thread);
        if (!thread || user->samples == 0 || named == NAMED_THREADS)
            continue;
        int length = snprintf(names + used, sizeof names - used, "%s%u on node %d", named ? ", " : "", thread->tid,
                              node_number(findings->facts, user->node));
        used += length > 0 ? (size_t)length : 0;
        named++;
    }
    return subject->using_threads > named
               ? findings_text(findings, "%s and %zu more", names, subject->using_threads - named)
               : findings_text(findings, "%s", names);
}

void finding_on_sharing(struct findings *findings, struct finding *finding)
{
    const struct facts *facts = findings->facts;
    const struct facts_subject *subject = finding->subject;
    int node = subject->main_user_node >= 0 ? subject->main_user_node : 0, number = node_number(facts, node);
    uint32_t cpus = flow_topology(facts->flow)->nodes[node].cpu_count;
    double part = 100 * part_of(subject->true_sharing, subject->totals.samples);
    finding->evidence = findings_text(
        findings,
        "%.0f%% of its accesses go to cache lines whose bytes several threads use and some write; %u threads of %u "
        "nodes do, %u of them write: %s. Each write moves the line to another node.",
        part, subject->using_threads, subject->using_nodes, subject->writers, name_users(findings, subject));
    finding->gain = findings_text(findings, "At most %.1f%% of run time, if lines stay on one node.",
                                  100 * finding->lost_time_share);
    if (subject->using_threads <= cpus)
        advise(finding, ACTION_PIN_TOGETHER,
               findings_text(findings,
                             "cluster the %u threads that share it on node %d, which uses it most and has %u "
                             "CPUs: then no line leaves the node",
                             subject->using_threads, number, cpus),
               findings_text(findings, "numa_run_on_node(%d);  /* in each of these threads, at its start; <numa.h> */",
                             number));
    else
        advise(finding, ACTION_PIN_TOGETHER,
               findings_text(findings,
                             "cluster as many of the %u threads that share it as fit (a node has %u CPUs), and "
                             "let each node work on data of its own, joined at the end",
                             subject->using_threads, cpus),
               findings_text(findings, "numa_run_on_node(%d);  /* in the threads that write it; <numa.h> */", number));
    against(finding, ACTION_MIGRATE,
            "not migration, nor any other node: the lines move from cache to cache whatever their home node");
}

static struct finding blank(enum pattern pattern)
{
    return (struct finding){.pattern = pattern, .node = -1, .name = "", .function = "", .file = ""};
}

/* Accesses beyond the caches on the contended ways are of so many bursts, about. */
static double bursts_on_contended(const struct facts *facts, const struct latency *latency)
{
    uint64_t memory = 0;
    array_each (&latency->pairs, const struct latency_pair, pair)
        memory += pair->contended ? pair->memory : 0;
    return (double)facts->bursts * part_of(memory, facts->totals.samples);
}

static void add_contention(struct findings *findings, const struct accesses *accesses)
{
    const struct facts *facts = findings->facts;
    if (flow_topology(facts->flow)->simulated)
        return; /* how long loads take is this machine's: nothing of it is a simulated node's */
    struct latency *latency = latency_make(accesses, NULL, 0, flow_calibration(facts->flow));
    struct verdict verdict;
    verdict_begin(&verdict, PATTERN_CONTENTION);
    /* H0: the bound's part of the accesses beyond the caches is in the tail, or less. */
    verdict_claim(&verdict, (struct claim){.share = latency->tail_share,
                                           .null = latency_bounds.tail_share,
                                           .bursts = bursts_on_contended(facts, latency)});
    if ((latency->contention == CONTENTION_MEMORY || latency->contention == CONTENTION_LINK) &&
        verdict.confidence >= CLAIM_HINT) {
        bool link = latency->contention == CONTENTION_LINK;
        int node = node_number(facts, latency->node), from = node_number(facts, latency->link_from);
        struct finding finding = blank(PATTERN_CONTENTION);
        finding.node = latency->node;
        finding.name = link ? findings_text(findings, "node %d from node %d", node, from)
                            : findings_text(findings, "memory of node %d", node);
        finding.remote_samples = facts->nodes[latency->node].remote;
        finding.share_of_remote =
            facts_part_of_remote(facts, finding.remote_samples, facts->nodes[latency->node].remote_weight);
        finding.lost_time_share = facts->nodes[latency->node].remote_time;
        finding.confidence = verdict.confidence;
        finding.bursts = facts->bursts;
        finding.evidence = findings_text(findings, "%s", latency->why);
        finding.gain = "The time the latency tail takes beyond the usual latency; it falls as fewer accesses meet.";
        if (link)
            advise(
                &finding, ACTION_PIN_TOGETHER,
                findings_text(
                    findings,
                    "the data's home is node %d and its threads run on node %d: on one node, no access needs the link",
                    node, from),
                findings_text(findings, "numactl --cpunodebind=%d --membind=%d %s", node, node, command_of(findings)));
        advise(&finding, ACTION_INTERLEAVE,
               link ? "when the threads must stay: other links and memories then take a part"
                    : "one memory serves too much: over all nodes, each serves a part",
               finding.share_of_remote >= 0.5
                   ? findings_text(findings, "numactl --interleave=all %s", command_of(findings))
                   : "Spread the large objects of this node, one by one:\nthe findings on them say how.");
        if (!link)
            advise(&finding, ACTION_SPREAD, "threads that use memory most on different nodes, each with its data",
                   findings_text(findings, "OMP_PROC_BIND=spread OMP_PLACES=cores %s", command_of(findings)));
        array_push(&findings->items, finding);
    }
    latency_free(latency);
}

static double remote_bursts(const struct balance_thread *thread)
{
    return (double)thread->bursts * part_of(thread->remote.accesses, thread->all.accesses);
}

/* Whether more than a few threads may have the mean's share of the remote accesses or more: then it is no matter of a few
 * threads but of placement. A thread counts unless its bursts show that it has less. */
static bool may_be_many(const struct balance *balance, double remote, double all)
{
    double threads = balance->spread.threads > 1 ? balance->spread.threads : 2, heavy = 0;
    array_each (&balance->threads, const struct balance_thread, thread) {
        double far = remote_bursts(thread);
        heavy += thread->counted && wilson_high(far / all, all) * all >= remote / threads;
    }
    return heavy > balance_bounds.heavy * threads;
}

/* H0: the remote accesses are spread evenly over more threads than a few, so the critical thread has one of these parts or less.
 * (Not over all: threads on the data's own node have none, and the others more than an equal part, by their place alone.) Every burst of the
 * threads is an observation: it is remote and the critical thread's, or not. That thread was chosen for being the largest of all: any of
 * them could have been by chance. */
static void claim_unbalanced(const struct balance *balance, struct verdict *verdict)
{
    double critical = 0, remote = 0, all = 0, threads = balance->spread.threads > 1 ? balance->spread.threads : 2;
    array_each (&balance->threads, const struct balance_thread, thread) {
        double far = remote_bursts(thread);
        critical = thread->thread == balance->spread.critical ? far : critical;
        remote += far;
        all += (double)thread->bursts;
    }
    double more_than_few = floor(balance_bounds.heavy * threads) + 1;
    verdict_begin(verdict, PATTERN_IMBALANCE);
    verdict_claim(verdict, (struct claim){.share = all > 0 ? critical / all : 0,
                                          .null = all > 0 ? remote / all / more_than_few : 1,
                                          .bursts = all});
    double chance = (1 - verdict->confidence) * threads;
    verdict->confidence = chance < 1 - CLAIM_MOST ? CLAIM_MOST : chance < 1 ? 1 - chance : 0;
    if (may_be_many(balance, remote, all))
        verdict->confidence = 0;
}

/* Of all remote accesses, what a counted thread makes on average. */
static double mean_share(const struct facts *facts, const struct balance *balance)
{
    double sum = 0;
    if (!facts->weights.by_period)
        return balance->spread.mean / (double)(facts->totals.remote ? facts->totals.remote : 1);
    array_each (&balance->threads, const struct balance_thread, row)
        sum += row->counted ? facts_part_of_remote(facts, 0, facts->threads[row->thread].remote_weight) : 0;
    return balance->spread.threads ? sum / balance->spread.threads : 0;
}

static void add_imbalance(struct findings *findings, const struct accesses *accesses)
{
    const struct facts *facts = findings->facts;
    struct balance *balance = balance_make(accesses, 0);
    /* Where little is remote, its spread over the threads says nothing. */
    bool matters = part_of(facts->totals.remote, facts->totals.samples) >= findings_bounds.unbalanced_remote;
    struct verdict verdict;
    verdict.confidence = 0;
    if (balance->unbalanced && matters)
        claim_unbalanced(balance, &verdict);
    if (balance->unbalanced && matters && verdict.confidence >= CLAIM_HINT) {
        const struct flow_thread *thread = flow_thread(facts->flow, balance->spread.critical);
        uint64_t remote = 0, *homes = facts->threads[balance->spread.critical].homes;
        int own = flow_thread_node(facts->flow, balance->spread.critical);
        uint32_t home = 0;
        for (uint32_t i = 0; i < facts->node_count; i++) {
            home = (int)i != own && (homes[i] > homes[home] || (int)home == own) ? i : home;
            remote += (int)i != own ? homes[i] : 0;
        }
        struct finding finding = blank(PATTERN_IMBALANCE);
        finding.name = findings_text(findings, "thread %u", thread->tid);
        finding.remote_samples = remote;
        finding.share_of_remote =
            facts_part_of_remote(facts, remote, facts->threads[balance->spread.critical].remote_weight);
        double lost =
            facts->remote_time * balance->spread.threads * (finding.share_of_remote - mean_share(facts, balance));
        finding.lost_time_share = lost < 1 ? lost : 1;
        finding.confidence = verdict.confidence;
        finding.bursts = facts->bursts;
        finding.evidence = findings_text(findings, "%s", balance->why);
        finding.gain =
            "The stall time of the critical thread beyond the mean; all others wait for it where threads meet.";
        advise(&finding, ACTION_SYMMETRIC,
               "the same number of threads and amount of data on each node: each thread then has the same share of "
               "remote accesses",
               findings_text(findings, "OMP_PROC_BIND=spread OMP_PLACES=cores %s", command_of(findings)));
        advise(&finding, ACTION_PIN_TOGETHER,
               findings_text(findings, "or run the thread where its data is: most of it has its home on node %d",
                             node_number(facts, (int)home)),
               findings_text(findings, "numa_run_on_node(%d);  /* in that thread, at its start; <numa.h> */",
                             node_number(facts, (int)home)));
        array_push(&findings->items, finding);
    }
    balance_free(balance);
}

void findings_add_problems(struct findings *findings)
{
    const struct facts *facts = findings->facts;
    struct error ignored = {0};
    struct accesses *accesses = facts->totals.samples ? accesses_load(facts->flow, &ignored) : NULL;
    if (!accesses)
        return;
    if (facts->timed)
        add_contention(findings, accesses);
    if (facts->node_count > 1)
        add_imbalance(findings, accesses);
    accesses_free(accesses);
}
