#include "analysis/problems/balance_waits.h"
#include "analysis/thresholds.h"

#include <math.h>
#include <stdio.h>

enum { SLICES_MOST = 32 };

static bool is_remote(const struct balance *balance, const struct one_access *access)
{
    if (balance->threshold)
        return access->latency > balance->threshold;
    return access->flags & ACCESS_REMOTE;
}

/* From when on, and how long, at least two of the threads with accesses lived: what a program does before it has threads, and
 * after, nobody waits for. All of the run when it has but one. */
static void find_together(struct balance *balance)
{
    const struct flow *flow = balance->accesses->flow;
    uint64_t *seen = mem_zalloc((flow_thread_count(flow) + 1) * sizeof *seen);
    uint64_t starts[2] = {UINT64_MAX, UINT64_MAX}, ends[2] = {0, 0};
    array_each (&balance->accesses->items, const struct one_access, access) {
        if (access->thread != FLOW_NONE)
            seen[access->thread] = 1;
    }
    for (uint32_t i = 0; i < flow_thread_count(flow); i++) {
        const struct flow_thread *thread = flow_thread(flow, i);
        uint64_t first = thread->start, last = thread->end;
        if (!seen[i])
            continue;
        starts[1] = first < starts[0] ? starts[0] : first < starts[1] ? first : starts[1];
        starts[0] = first < starts[0] ? first : starts[0];
        ends[1] = last > ends[0] ? ends[0] : last > ends[1] ? last : ends[1];
        ends[0] = last > ends[0] ? last : ends[0];
    }
    bool several = starts[1] != UINT64_MAX && starts[1] < ends[1];
    balance->start = several ? starts[1] : 0;
    balance->end = several ? ends[1] : UINT64_MAX;
    free(seen);
}

static bool is_counted(const struct balance *balance, const struct one_access *access)
{
    return access->thread != FLOW_NONE && access->time >= balance->start && access->time <= balance->end;
}

/* Into a row for every thread of the flow. */
static void count(struct balance *balance)
{
    const struct flow *flow = balance->accesses->flow;
    struct map64 barriers = {0};
    for (uint32_t i = 0; i < flow_thread_count(flow); i++)
        array_push(&balance->threads, (struct balance_thread){.thread = i, .node = (int16_t)flow_thread_node(flow, i)});
    array_each (&balance->accesses->items, const struct one_access, access) {
        if (!is_counted(balance, access))
            continue;
        struct balance_thread *row = &balance->threads.items[access->thread];
        bool first = access->flags & ACCESS_FIRST;
        tally_add(&row->all, access);
        if (is_remote(balance, access))
            tally_add(&row->remote, access);
        row->bursts += first;
        row->spun_bursts += first && waits_spinning(flow, &barriers, access->thread, access->stack);
    }
    map64_free(&barriers);
}

static void choose_threads(struct balance *balance)
{
    uint64_t most = 0;
    size_t kept = 0;
    array_each (&balance->threads, const struct balance_thread, row)
        most = row->all.accesses > most ? row->all.accesses : most;
    array_each (&balance->threads, struct balance_thread, row) {
        if (row->all.accesses == 0)
            continue;
        row->counted = (double)row->all.accesses >= thresholds.part * (double)most;
        balance->threads.items[kept++] = *row;
    }
    balance->threads.count = kept;
}

/* `remote` by place in balance->threads. */
static struct balance_spread spread_of(const struct balance *balance, const uint64_t *remote)
{
    struct balance_spread spread = {.critical = FLOW_NONE};
    uint64_t most = 0;
    double squares = 0;
    for (size_t i = 0; i < balance->threads.count; i++) {
        if (!balance->threads.items[i].counted)
            continue;
        spread.threads++;
        spread.remote += remote[i];
        if (remote[i] > most) {
            most = remote[i];
            spread.critical = balance->threads.items[i].thread;
        }
    }
    spread.mean = spread.threads ? (double)spread.remote / spread.threads : 0;
    for (size_t i = 0; i < balance->threads.count; i++) {
        double off = (double)remote[i] - spread.mean;
        squares += balance->threads.items[i].counted ? off * off : 0;
        spread.heavy += balance->threads.items[i].counted && off > 0;
    }
    spread.stddev = spread.threads ? sqrt(squares / spread.threads) : 0;
    spread.variation = spread.mean > 0 ? spread.stddev / spread.mean : 0;
    return spread;
}

static unsigned slices_of(const struct balance *balance)
{
    uint64_t bursts = 0, most = 1;
    array_each (&balance->threads, const struct balance_thread, row)
        bursts += row->counted ? row->bursts : 0;
    if (balance->spread.threads)
        most = (uint64_t)((double)bursts / (balance->spread.threads * thresholds.bursts));
    return most > SLICES_MOST ? SLICES_MOST : most < 1 ? 1 : (unsigned)most;
}

/* Slices of time that are alike belong to one phase: the same thread is critical, or none is; and the same is waited for. */
static bool alike(const struct balance_phase *left, const struct balance_phase *right)
{
    const struct balance_spread *one = &left->spread, *next = &right->spread;
    bool uneven = one->variation >= thresholds.variation, other = next->variation >= thresholds.variation;
    if ((one->remote == 0) != (next->remote == 0))
        return false;
    return uneven == other && (!uneven || one->critical == next->critical) && waits_alike(&left->wait, &right->wait);
}

struct slices { /* of the run: for each a row by place in balance->threads, and one slice more that stays empty */
    unsigned count;
    size_t width;
    uint64_t *remote;
    struct thread_slice *waits;
};

static void count_slices(const struct balance *balance, uint64_t start, uint64_t length, struct slices *slices)
{
    const struct flow *flow = balance->accesses->flow;
    struct map64 barriers = {0};
    uint32_t *place_of = mem_zalloc((flow_thread_count(flow) + 1) * sizeof *place_of);
    for (uint32_t i = 0; i < slices->width; i++)
        place_of[balance->threads.items[i].thread] = i;
    array_each (&balance->accesses->items, const struct one_access, access) {
        bool first = access->flags & ACCESS_FIRST, remote = is_remote(balance, access);
        if (!is_counted(balance, access) || (!remote && !(first && balance->barriers)))
            continue;
        uint64_t slice = access->time > start ? (access->time - start) * slices->count / length : 0;
        size_t at = (slice < slices->count ? slice : slices->count - 1) * slices->width + place_of[access->thread];
        slices->remote[at] += remote;
        slices->waits[at].work +=
            first && balance->barriers && !waits_spinning(flow, &barriers, access->thread, access->stack);
    }
    free(place_of);
    map64_free(&barriers);
    waits_asleep(balance, slices->waits, slices->count);
}

static struct balance_phase phase_of(const struct balance *balance, const struct slices *slices, unsigned slice)
{
    return (struct balance_phase){.spread = spread_of(balance, slices->remote + slice * slices->width),
                                  .wait = waits_of(balance, slices->waits + slice * slices->width, NULL)};
}

static void find_phases(struct balance *balance, uint64_t *waited)
{
    const struct flow *flow = balance->accesses->flow;
    struct slices slices = {.count = slices_of(balance), .width = balance->threads.count};
    size_t rows = (slices.count + 1ul) * slices.width + 1;
    uint64_t start = flow_start(flow), length = flow_end(flow) - start + 1, began = start;
    slices.remote = mem_zalloc(rows * sizeof *slices.remote);
    slices.waits = mem_zalloc(rows * sizeof *slices.waits);
    count_slices(balance, start, length, &slices);
    for (unsigned i = 0; i < slices.count; i++) {
        struct balance_phase phase = phase_of(balance, &slices, i), next = phase_of(balance, &slices, i + 1);
        if (i + 1 < slices.count && alike(&phase, &next)) {
            for (size_t k = i * slices.width; k < (i + 1) * slices.width; k++) {
                slices.remote[k + slices.width] += slices.remote[k];
                waits_join(&slices.waits[k + slices.width], &slices.waits[k]);
            }
            continue;
        }
        phase.start = began;
        phase.end = began = start + length * (i + 1) / slices.count;
        waits_of(balance, slices.waits + i * slices.width, waited);
        array_push(&balance->phases, phase);
    }
    free(slices.remote);
    free(slices.waits);
}

static const struct balance_thread *row_of(const struct balance *balance, uint32_t thread)
{
    array_each (&balance->threads, const struct balance_thread, row)
        if (row->thread == thread)
            return row;
    return NULL;
}

static void judge(struct balance *balance)
{
    const struct balance_spread *spread = &balance->spread;
    const struct balance_thread *critical = row_of(balance, spread->critical);
    const char *what = balance->threshold ? "slow" : "remote";
    if (!balance->threshold && !flow_has_homes(balance->accesses->flow)) {
        snprintf(
            balance->why, sizeof balance->why,
            "The home nodes of the pages are not known, so nothing can be said about remote accesses; --thresholds "
            "judges slow ones.");
        return;
    }
    if (!critical || spread->threads < 2) {
        snprintf(balance->why, sizeof balance->why,
                 spread->threads < 2 ? "One thread does the work: there is nothing to balance."
                                     : "Balanced: no access is %s.",
                 what);
        return;
    }
    double part = (double)critical->remote.accesses / (double)critical->all.accesses;
    const struct trace_session *session = flow_session(balance->accesses->flow);
    uint64_t burst = session ? trace_session_number(session, "burst", 1) : 1;
    balance->lost = part * (1 - spread->mean / (double)critical->remote.accesses);
    uint64_t enough = (uint64_t)thresholds.bursts * (burst ? burst : 1);
    bool few_heavy = spread->heavy <= thresholds.heavy * spread->threads;
    bool uneven = spread->variation >= thresholds.variation;
    balance->too_few = uneven && critical->remote.accesses < enough;
    balance->unbalanced = few_heavy && uneven && part >= thresholds.part && !balance->too_few;
    const struct flow_thread *thread = flow_thread(balance->accesses->flow, critical->thread);
    if (balance->unbalanced)
        snprintf(balance->why, sizeof balance->why,
                 "Unbalanced: thread %u makes %llu %s accesses, %.1f times the mean of %.0f over %u threads (standard "
                 "deviation %.2f, variation %.2f; threshold: %.2f). It is the critical thread: %s.",
                 thread->tid, (unsigned long long)critical->remote.accesses, what,
                 (double)critical->remote.accesses / spread->mean, spread->mean, spread->threads, spread->stddev,
                 spread->variation, thresholds.variation,
                 balance->barriers ? "the others wait for it at barriers"
                                   : "where threads meet, the others wait for it");
    else if (balance->too_few)
        snprintf(balance->why, sizeof balance->why,
                 "Too few to judge: %s accesses of a thread are at most %llu here, and it takes %llu to say anything. "
                 "%u threads make %.1f each on average (standard deviation %.2f, variation %.2f).",
                 what, (unsigned long long)critical->remote.accesses, (unsigned long long)enough, spread->threads,
                 spread->mean, spread->stddev, spread->variation);
    else if (uneven && !few_heavy)
        snprintf(balance->why, sizeof balance->why,
                 "Uneven, but not because of a few threads: %u of %u make more than the mean of %.0f %s accesses "
                 "(standard deviation %.2f, variation %.2f). That is a matter of placement: numalens report patterns.",
                 spread->heavy, spread->threads, spread->mean, what, spread->stddev, spread->variation);
    else if (uneven)
        snprintf(balance->why, sizeof balance->why,
                 "Uneven, but of little weight: of the accesses of thread %u, which makes the most, %.1f%% are %s "
                 "(threshold: %.0f%%; %u threads make %.1f each on average, standard deviation %.2f, variation %.2f).",
                 thread->tid, 100 * part, what, 100 * thresholds.part, spread->threads, spread->mean, spread->stddev,
                 spread->variation);
    else
        snprintf(balance->why, sizeof balance->why,
                 "Balanced: %u threads make %.0f %s accesses each on average, with a standard deviation of %.2f "
                 "(variation %.2f; threshold: %.2f).",
                 spread->threads, spread->mean, what, spread->stddev, spread->variation, thresholds.variation);
}

struct balance *balance_make(const struct accesses *accesses, uint32_t threshold)
{
    struct balance *balance = mem_zalloc(sizeof *balance);
    balance->accesses = accesses;
    balance->threshold = threshold;
    find_together(balance);
    count(balance);
    choose_threads(balance);
    waits_find_barriers(balance);
    uint64_t *remote = mem_alloc((balance->threads.count + 1) * sizeof *remote);
    for (size_t i = 0; i < balance->threads.count; i++)
        remote[i] = balance->threads.items[i].remote.accesses;
    balance->spread = spread_of(balance, remote);
    free(remote);
    uint64_t *waited = mem_zalloc((balance->threads.count + 1) * sizeof *waited);
    find_phases(balance, waited);
    waits_in_all(balance, waited);
    free(waited);
    judge(balance);
    return balance;
}

void balance_free(struct balance *balance)
{
    if (!balance)
        return;
    array_free(&balance->threads);
    array_free(&balance->phases);
    free(balance);
}
