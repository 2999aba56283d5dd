#include "analysis/balance.h"

#include "base/map64.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SLICES_MOST = 32, BURSTS_A_SLICE = 8, FRAMES = 8 };

const struct balance_bounds balance_bounds = {
    .counted = 0.1, .variation = 0.75, .remote = 0.1, .heavy = 0.34, .bursts = 8};

static bool is_remote(const struct balance *balance, const struct one_access *access)
{
    if (balance->threshold)
        return access->latency > balance->threshold;
    return access->flags & ACCESS_REMOTE;
}

/* Whether a call chain goes through a barrier: by the names that libraries and programs give them. */
static bool through_barrier(const struct flow *flow, uint32_t process, uint32_t stack)
{
    struct symbol_frame frames[FRAMES];
    size_t count = flow_stack_frames(flow, process, stack, frames, FRAMES);
    for (size_t i = 0; i < count; i++) {
        if (frames[i].function && strcasestr(frames[i].function, "barrier"))
            return true;
    }
    return false;
}

static bool at_barrier(const struct flow *flow, struct map64 *known, const struct one_access *access)
{
    bool is_new;
    uint32_t process = flow_thread(flow, access->thread)->process;
    uint64_t *place = map64_insert(known, (uint64_t)process << 32 | access->stack, &is_new);
    if (is_new)
        *place = through_barrier(flow, process, access->stack);
    return *place;
}

/* From when on, and how long, at least two of the threads with accesses lived: what a program does before it has threads, and
 * after, nobody waits for. All of the run when it has but one. */
static void find_together(struct balance *balance)
{
    const struct flow *flow = balance->accesses->flow;
    uint64_t *seen = mem_zalloc((flow_thread_count(flow) + 1) * sizeof *seen);
    uint64_t born[2] = {UINT64_MAX, UINT64_MAX}, died[2] = {0, 0};
    array_each (&balance->accesses->items, const struct one_access, access) {
        if (access->thread != FLOW_NONE)
            seen[access->thread] = 1;
    }
    for (uint32_t i = 0; i < flow_thread_count(flow); i++) {
        const struct flow_thread *thread = flow_thread(flow, i);
        uint64_t first = thread->born, last = thread->died;
        if (!seen[i])
            continue;
        born[1] = first < born[0] ? born[0] : first < born[1] ? first : born[1];
        born[0] = first < born[0] ? first : born[0];
        died[1] = last > died[0] ? died[0] : last > died[1] ? last : died[1];
        died[0] = last > died[0] ? last : died[0];
    }
    bool several = born[1] != UINT64_MAX && born[1] < died[1];
    balance->start = several ? born[1] : 0;
    balance->end = several ? died[1] : UINT64_MAX;
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
        bool first = access->flags & ACCESS_FIRST, barrier = at_barrier(flow, &barriers, access);
        tally_add(&row->all, access);
        if (is_remote(balance, access))
            tally_add(&row->remote, access);
        row->bursts += first;
        row->spun_bursts += first && barrier;
        row->at_barrier |= barrier;
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
        row->counted = (double)row->all.accesses >= balance_bounds.counted * (double)most;
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
        most = bursts / ((uint64_t)balance->spread.threads * BURSTS_A_SLICE);
    return most > SLICES_MOST ? SLICES_MOST : most < 1 ? 1 : (unsigned)most;
}

/* Slices of time that are alike belong to one phase: the same thread is critical, or none is. */
static bool alike(const struct balance_spread *left, const struct balance_spread *right)
{
    bool uneven = left->variation >= balance_bounds.variation, other = right->variation >= balance_bounds.variation;
    if ((left->remote == 0) != (right->remote == 0))
        return false;
    return uneven == other && (!uneven || left->critical == right->critical);
}

static void find_phases(struct balance *balance)
{
    const struct flow *flow = balance->accesses->flow;
    size_t width = balance->threads.count;
    unsigned slices = slices_of(balance);
    uint64_t start = flow_start(flow), length = flow_end(flow) - start + 1, began = start;
    uint64_t *counts = mem_zalloc((slices + 1ul) * width * sizeof *counts + 8);
    uint32_t *place_of = mem_zalloc((flow_thread_count(flow) + 1) * sizeof *place_of);
    for (uint32_t i = 0; i < width; i++)
        place_of[balance->threads.items[i].thread] = i;
    array_each (&balance->accesses->items, const struct one_access, access) {
        if (!is_counted(balance, access) || !is_remote(balance, access))
            continue;
        uint64_t slice = access->time > start ? (access->time - start) * slices / length : 0;
        counts[(slice < slices ? slice : slices - 1) * width + place_of[access->thread]]++;
    }
    for (unsigned i = 0; i < slices; i++) {
        uint64_t *own = counts + i * width;
        struct balance_spread spread = spread_of(balance, own);
        struct balance_spread next = spread_of(balance, own + width);
        if (i + 1 < slices && alike(&spread, &next)) {
            for (size_t k = 0; k < width; k++)
                own[width + k] += own[k];
            continue;
        }
        array_push(&balance->phases,
                   (struct balance_phase){.start = began, .end = start + length * (i + 1) / slices, .spread = spread});
        began = start + length * (i + 1) / slices;
    }
    free(place_of);
    free(counts);
}

static void find_waits(struct balance *balance)
{
    const struct flow *flow = balance->accesses->flow;
    const struct trace_session *session = flow_session(flow);
    double period = session ? (double)trace_session_number(session, "period_ns", 0) : 0;
    uint64_t most = 0;
    array_each (&balance->threads, const struct balance_thread, row)
        most = row->bursts > most ? row->bursts : most;
    array_each (&balance->threads, struct balance_thread, row) {
        const struct flow_thread *thread = flow_thread(flow, row->thread);
        uint64_t died = thread->died < flow_end(flow) ? thread->died : flow_end(flow);
        double lived = died > thread->born ? (double)(died - thread->born) : 0;
        row->ran = most ? (double)row->bursts / (double)most : 0;
        if (!row->at_barrier)
            continue;
        balance->barriers = true;
        row->waited_s = ((1 - row->ran) * lived + period * (double)row->spun_bursts) * 1e-9;
    }
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
    uint64_t enough = balance_bounds.bursts * (burst ? burst : 1);
    bool few = spread->heavy <= balance_bounds.heavy * spread->threads;
    bool uneven = spread->variation >= balance_bounds.variation;
    balance->too_few = uneven && critical->remote.accesses < enough;
    balance->unbalanced = few && uneven && part >= balance_bounds.remote && !balance->too_few;
    const struct flow_thread *thread = flow_thread(balance->accesses->flow, critical->thread);
    if (balance->unbalanced)
        snprintf(balance->why, sizeof balance->why,
                 "Unbalanced: thread %u makes %llu %s accesses, %.1f times the mean of %.0f over %u threads (standard "
                 "deviation %.2f, variation %.2f; bound: %.2f). It is the critical thread: %s.",
                 thread->tid, (unsigned long long)critical->remote.accesses, what,
                 (double)critical->remote.accesses / spread->mean, spread->mean, spread->threads, spread->stddev,
                 spread->variation, balance_bounds.variation,
                 balance->barriers ? "the others wait for it at barriers"
                                   : "where threads meet, the others wait for it");
    else if (balance->too_few)
        snprintf(
            balance->why, sizeof balance->why,
            "Too few to judge: the thread with the most makes %llu %s accesses, and it takes %llu to say anything. "
            "%u threads make %.1f each on average (standard deviation %.2f, variation %.2f).",
            (unsigned long long)critical->remote.accesses, what, (unsigned long long)enough, spread->threads,
            spread->mean, spread->stddev, spread->variation);
    else if (uneven && !few)
        snprintf(balance->why, sizeof balance->why,
                 "Uneven, but not because of a few threads: %u of %u make more than the mean of %.0f %s accesses "
                 "(standard deviation %.2f, variation %.2f). That is a matter of placement: numalens report patterns.",
                 spread->heavy, spread->threads, spread->mean, what, spread->stddev, spread->variation);
    else if (uneven)
        snprintf(
            balance->why, sizeof balance->why,
            "Uneven, but of little weight: of the accesses of thread %u, which makes the most, %.1f%% are %s (bound: "
            "%.0f%%; %u threads make %.1f each on average, standard deviation %.2f, variation %.2f).",
            thread->tid, 100 * part, what, 100 * balance_bounds.remote, spread->threads, spread->mean, spread->stddev,
            spread->variation);
    else
        snprintf(balance->why, sizeof balance->why,
                 "Balanced: %u threads make %.0f %s accesses each on average, with a standard deviation of %.2f "
                 "(variation %.2f; bound: %.2f).",
                 spread->threads, spread->mean, what, spread->stddev, spread->variation, balance_bounds.variation);
}

struct balance *balance_make(const struct accesses *accesses, uint32_t threshold)
{
    struct balance *balance = mem_zalloc(sizeof *balance);
    balance->accesses = accesses;
    balance->threshold = threshold;
    find_together(balance);
    count(balance);
    choose_threads(balance);
    uint64_t *remote = mem_alloc((balance->threads.count + 1) * sizeof *remote);
    for (size_t i = 0; i < balance->threads.count; i++)
        remote[i] = balance->threads.items[i].remote.accesses;
    balance->spread = spread_of(balance, remote);
    free(remote);
    find_phases(balance);
    find_waits(balance);
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
