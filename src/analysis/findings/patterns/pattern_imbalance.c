/* analysis/findings/patterns/pattern_imbalance.c - few threads bear most remote accesses (LaProf's third problem, SPEC L14). */
#include "analysis/findings/findings_advice.h"
#include "analysis/problems/balance.h"

#include <math.h>

static double remote_bursts(const struct balance_thread *thread)
{
    return (double)thread->bursts * share_of(thread->remote.accesses, thread->all.accesses);
}

/* Whether more than a few threads may have the mean's share of the remote accesses or more: then it is no matter of a few
 * threads but of placement. A thread counts unless its bursts show that it has less. */
static bool may_be_many(const struct balance *balance, double remote, double all)
{
    double threads = balance->spread.threads > 1 ? balance->spread.threads : 2, heavy = 0;
    array_each (&balance->threads, const struct balance_thread, thread) {
        double far = remote_bursts(thread);
        heavy += thread->counted && wilson_interval(far / all, all).high * all >= remote / threads;
    }
    return heavy > thresholds.heavy * threads;
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
    double more_than_few = floor(thresholds.heavy * threads) + 1;
    verdict_claim(verdict, (struct claim){.share = all > 0 ? critical / all : 0,
                                          .null = all > 0 ? remote / all / more_than_few : 1,
                                          .bursts = all});
    double chance = (1 - verdict->confidence) * threads;
    verdict->confidence = chance < 1 ? fmin(1 - chance, 1 - thresholds.doubt_least) : 0;
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

static bool judge(struct judging *judging, const struct finding *about, struct verdict *verdict)
{
    const struct facts *facts = judging->facts;
    /* Where little is remote, its spread over the threads says nothing. */
    if (facts->node_count < 2 || share_of(facts->totals.remote, facts->totals.samples) < thresholds.part)
        return false;
    const struct balance *balance = judging_balance(judging);
    if (!balance || !balance->unbalanced || balance->spread.critical != about->thread)
        return false;
    claim_unbalanced(balance, verdict);
    return true;
}

static const char *explain(struct consult *it)
{
    const struct balance *balance = judging_balance(it->judging);
    double lost = distance_loss(it->findings, it->facts->remote_time) * balance->spread.threads *
                  (it->finding->share_of_remote - mean_share(it->facts, balance));
    it->finding->lost_time_share = lost < 1 ? lost : 1;
    it->finding->gain =
        "The stall time of the critical thread beyond the mean; all others wait for it where threads meet.";
    return text(it, "%s", balance->why);
}

/* The other node that it accesses most. */
static int far_home(const struct consult *it)
{
    const uint64_t *homes = it->facts->threads[it->finding->thread].homes;
    int own = flow_thread_node(it->facts->flow, it->finding->thread);
    uint32_t home = 0;
    for (uint32_t i = 0; i < it->nodes; i++)
        home = (int)i != own && (homes[i] > homes[home] || (int)home == own) ? i : home;
    return node_number(it->facts, (int)home);
}

static void advise(struct consult *it)
{
    int home = it->pin = far_home(it);
    advise_to(it, ACTION_SYMMETRIC, code_pin_evenly(it),
              "the same number of threads and amount of data on each node: each thread then has the same share of "
              "remote accesses");
    advise_to(it, ACTION_PIN_TOGETHER, code_pin_thread(it),
              "or run the thread where its data is: most of it has its home on node %d", home);
}

PATTERN_ROW(imbalance, "imbalance", "a few threads make most of the remote accesses", on_thread);
