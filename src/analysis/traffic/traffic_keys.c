/* See traffic_keys.h.
 *
 * A thread's own bursts at an instruction are often few, while all threads carry out the same one: where its own do not say, those of
 * all threads do. A loop that is entered again and again, row by row, is followed by its addresses: between two bursts it has come by
 * so many lines, and loads behind it show which share of them it uses. */
#include "analysis/traffic/traffic_keys.h"

#include "base/units.h"
#include "topology/calibration.h"

#include <math.h>
#include <stdlib.h>

static int compare_items(const struct burst_item *left, const struct burst_item *right, bool threads)
{
    const struct flow_stream *a = left->row, *b = right->row;
    if (threads && a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->event.pc != b->event.pc)
        return a->event.pc < b->event.pc ? -1 : 1;
    if ((a->event.flags & STREAM_WRITE) != (b->event.flags & STREAM_WRITE))
        return a->event.flags & STREAM_WRITE ? 1 : -1;
    return left->group < right->group ? -1 : left->group > right->group;
}

static int by_key(const void *left, const void *right, void *context)
{
    const struct burst_item *items = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_items(&items[a], &items[b], true);
    return order ? order : a < b ? -1 : a > b;
}

static const struct burst_item *item_of(const struct traffic_work *work, const struct traffic_key *key)
{
    return &work->items.items[work->order.items[key->first]];
}

static int by_pool(const void *left, const void *right, void *context)
{
    const struct traffic_work *work = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_items(item_of(work, &work->keys.items[a]), item_of(work, &work->keys.items[b]), false);
    return order ? order : a < b ? -1 : a > b;
}

static void count_loads(struct traffic_key *key, const struct flow_stream *row, uint32_t bound)
{
    const struct event_stream *stream = &row->event;
    struct traffic_evidence *own = &key->own;
    for (unsigned i = 0; i < stream->timed; i++) {
        bool slow = stream->latencies[i] >= bound;
        own->timed++;
        own->slow += slow;
        key->slow_ns += slow ? stream->latencies[i] : 0;
    }
    if (stream->flags & STREAM_NONTEMPORAL)
        return;
    if (stream->behind && row->behind_inside) {
        own->below++;
        own->below_slow += stream->behind_ns >= bound;
        own->behind += stream->stride != 0;
        own->used += stream->stride != 0 && stream->behind_ns < bound;
    }
    if (row->ahead_inside && stream->ahead_ns != STREAM_NO_LATENCY) {
        own->above++;
        own->above_slow += stream->ahead_ns >= bound;
    }
}

/* Whether it came by the load ahead before the second burst, row by row. */
static bool walked_past(const struct flow_stream *row)
{
    const struct event_stream *stream = &row->event;
    uint64_t end = stream->addr + (uint64_t)(stream->iterations + 1) * (uint64_t)stream->stride;
    return row->walk_inside && row->ahead_inside && (stream->stride > 0 ? stream->ahead < end : stream->ahead > end);
}

static void count_pair(struct traffic_evidence *own, const struct flow_stream *row, uint32_t bound)
{
    const struct event_stream *stream = &row->event;
    bool reentered = stream->flags & STREAM_REENTERED, moves = stream->stride != 0;
    own->pairs++;
    own->reentered += reentered;
    own->walks += reentered && moves && row->walk_inside;
    own->back += reentered && moves && stream->iterations < 0;
    own->wrapped += !reentered && moves && stream->iterations < 0;
    if (stream->ahead_ns == STREAM_NO_LATENCY || !moves)
        return;
    own->tried++;
    bool slow = stream->ahead_ns >= bound;
    if (reentered && walked_past(row)) {
        own->walked++;
        own->walked_from_memory += slow;
    } else if (!reentered && (stream->flags & STREAM_PASSED || row->ahead_inside)) {
        own->confirmed++;
        own->from_memory += slow;
    }
}

/* How far it came. */
static void count_way(struct traffic_evidence *own, const struct event_stream *stream)
{
    double length = fabs((double)stream->stride);
    if (!(stream->flags & STREAM_PAIRED) || length <= 0)
        return;
    if (stream->iterations < 0) { /* or not found again, which shows only where a burst meets all of the loop */
        own->lapped += stream->flags & STREAM_LOOP || stream->runs < SHORT_RUNS;
        return;
    }
    own->moved++;
    own->moved_ns += stream->gap_ns;
    own->moved_lines += (double)stream->iterations * fmin(length / CACHE_LINE, 1);
}

static void count_item(struct traffic_key *key, const struct burst_item *item, uint32_t bound)
{
    const struct event_stream *stream = &item->row->event;
    const uint8_t paired = STREAM_PAIRED | STREAM_LOOP;
    key->bursts++;
    key->accesses += stream->times;
    key->stream |= stream->stride != 0;
    key->near |= stream->stride == 0 && stream->flags & STREAM_NEAR;
    key->still = key->still && stream->flags & STREAM_STILL;
    key->several |= item->row->object != key->object;
    key->from = stream->addr < key->from ? stream->addr : key->from;
    key->to = stream->addr > key->to ? stream->addr : key->to;
    count_loads(key, item->row, bound);
    count_way(&key->own, stream);
    if ((stream->flags & paired) == paired)
        count_pair(&key->own, item->row, bound);
}

static void make_keys(struct traffic_work *work)
{
    uint32_t bound = work->traffic->bound;
    for (uint32_t i = 0; i < work->items.count; i++)
        array_push(&work->order, i);
    if (work->order.count)
        qsort_r(work->order.items, work->order.count, sizeof *work->order.items, by_key, work->items.items);
    const struct burst_item *before = NULL;
    for (uint32_t at = 0; at < work->order.count; at++) {
        struct burst_item *item = &work->items.items[work->order.items[at]];
        if (!before || compare_items(before, item, true) != 0)
            array_push(&work->keys, (struct traffic_key){.thread = item->row->thread,
                                                         .object = item->row->object,
                                                         .still = true,
                                                         .from = UINT64_MAX,
                                                         .first = at});
        before = item;
        item->key = (uint32_t)work->keys.count - 1;
        count_item(&work->keys.items[item->key], item, bound);
    }
}

static void add_evidence(struct traffic_evidence *to, const struct traffic_evidence *from)
{
    to->tried += from->tried;
    to->confirmed += from->confirmed;
    to->from_memory += from->from_memory;
    to->walked += from->walked;
    to->walked_from_memory += from->walked_from_memory;
    to->timed += from->timed;
    to->slow += from->slow;
    to->behind += from->behind;
    to->used += from->used;
    to->above += from->above;
    to->above_slow += from->above_slow;
    to->below += from->below;
    to->below_slow += from->below_slow;
    to->moved += from->moved;
    to->lapped += from->lapped;
    to->moved_ns += from->moved_ns;
    to->moved_lines += from->moved_lines;
    to->pairs += from->pairs;
    to->wrapped += from->wrapped;
    to->reentered += from->reentered;
    to->walks += from->walks;
    to->back += from->back;
}

/* Rows are followed when they are walked through forwards, and when enough loads behind show how much of them is used: to
 * rules.line_use_error of it, by one standard deviation. What is not used may be in a cache all the same, as often as what is ahead is. A small
 * part says nothing: a row's neighbours may have come in with another one. */
static void judge_walks(struct traffic_pool *pool)
{
    const struct traffic_rules *rules = &traffic_rules;
    const struct traffic_evidence *all = &pool->all;
    if (all->walked < rules->probes || all->walked_from_memory == 0 || all->behind < rules->behind)
        return;
    double cached = 1 - (double)all->walked_from_memory / all->walked, fast = (double)all->used / all->behind;
    pool->used = fast > cached ? (fast - cached) / (1 - cached) : 0;
    pool->walks = all->walks >= rules->probes && all->back <= rules->most_wrapped * (all->walks + all->back) &&
                  pool->used >= rules->least_line_use &&
                  1 - pool->used <= rules->line_use_error * rules->line_use_error * pool->used * all->behind;
}

static void make_pools(struct traffic_work *work)
{
    for (uint32_t i = 0; i < work->keys.count; i++)
        array_push(&work->pooled, i);
    if (work->pooled.count)
        qsort_r(work->pooled.items, work->pooled.count, sizeof *work->pooled.items, by_pool, work);
    const struct burst_item *before = NULL;
    for (uint32_t at = 0; at < work->pooled.count; at++) {
        struct traffic_key *key = &work->keys.items[work->pooled.items[at]];
        if (!before || compare_items(before, item_of(work, key), false) != 0)
            array_push(&work->pools, (struct traffic_pool){.first = at});
        before = item_of(work, key);
        key->pool = (uint32_t)work->pools.count - 1;
        struct traffic_pool *pool = &work->pools.items[key->pool];
        pool->count++;
        add_evidence(&pool->all, &key->own);
    }
    array_each (&work->pools, struct traffic_pool, pool)
        judge_walks(pool);
}

double traffic_share(uint32_t hits, uint32_t all)
{
    return hits < traffic_rules.probes || hits < traffic_rules.floor * all ? 0 : (double)hits / all;
}

/* Whether it is about something that stays in the caches once it is there. */
static bool is_small(const struct traffic_work *work, const struct traffic_key *key)
{
    enum { SMALL = 256 << 10 };
    const struct flow *flow = work->traffic->flow;
    if (key->object == FLOW_NONE || key->several)
        return false;
    return flow_object_kind(flow, key->object) == OBJECT_STACK || flow_object_copy(flow, key->object).size <= SMALL;
}

/* Which share of its lines memory serves. A stream's own latencies say nothing: they are prefetched. Nor do those of an instruction
 * that goes on by small and uneven steps, unless they are slow. */
static double served(const struct traffic_work *work, const struct traffic_key *key,
                     const struct traffic_evidence *seen)
{
    const struct traffic_rules *rules = &traffic_rules;
    bool walks = work->pools.items[key->pool].walks;
    uint32_t confirmed = seen->confirmed + (walks ? seen->walked : 0);
    uint32_t from_memory = seen->from_memory + (walks ? seen->walked_from_memory : 0);
    double at_access = seen->timed >= rules->probes ? traffic_share(seen->slow, seen->timed) : -1;
    if (key->stream) {
        if (confirmed >= rules->probes && confirmed >= rules->confirmed * seen->tried)
            return traffic_share(from_memory, confirmed);
        return -1;
    }
    if (key->near && !key->still && at_access < rules->memory && !is_small(work, key))
        return -1;
    return at_access;
}

static void find_shares(struct traffic_work *work)
{
    array_each (&work->keys, struct traffic_key, key) {
        key->share = served(work, key, &key->own);
        if (key->share < 0)
            key->share = served(work, key, &work->pools.items[key->pool].all);
    }
}

/* --- what is too small and too often used to come from memory --- */

struct span { /* what a thread uses of an object */
    uint32_t thread, object, key;
    uint64_t from, to, accesses;
    uint32_t bursts;
};

static int by_object(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* Lines of the second cache, or of the first when there is none: half of them, for what prefetchers bring in. */
static double cache_lines(const struct traffic_work *work)
{
    const struct calibration *calibration = flow_calibration(work->traffic->flow);
    double lines = 0;
    for (uint32_t i = 0; calibration && i < calibration->cache_count; i++)
        if (calibration->caches[i].level <= 2)
            lines = (double)calibration->caches[i].size / CACHE_LINE / 2;
    return lines;
}

/* A line is only lost when the thread uses as many others as the cache has, so that each is missed once in so many of the thread's
 * accesses at most. Of a stack, what was seen of it counts, and some more. */
static double most_misses(const struct traffic_work *work, const struct span *span, uint64_t accesses)
{
    enum { STACK_BURSTS = 20, STACK_MORE = 4096 };
    const struct flow *flow = work->traffic->flow;
    double bytes = (double)flow_object_copy(flow, span->object).size, lines = cache_lines(work);
    if (flow_object_kind(flow, span->object) == OBJECT_STACK)
        bytes = span->bursts >= STACK_BURSTS ? (double)(span->to - span->from) + STACK_MORE : INFINITY;
    return lines > 0 ? (bytes / CACHE_LINE + 1) / lines * (double)accesses / (double)span->accesses : 1;
}

static void settle_small(struct traffic_work *work)
{
    array_of(struct span) spans = {0};
    uint64_t accesses = 0;
    for (uint32_t i = 0; i < work->keys.count; i++) {
        const struct traffic_key *key = &work->keys.items[i];
        array_push(&spans, (struct span){.thread = key->thread,
                                         .object = key->several ? FLOW_NONE : key->object,
                                         .key = i,
                                         .from = key->from,
                                         .to = key->to,
                                         .accesses = key->accesses,
                                         .bursts = key->bursts});
    }
    array_sort(&spans, by_object);
    for (size_t from = 0, to, thread_to = 0; from < spans.count; from = to) {
        struct span sum = spans.items[from];
        if (from == thread_to)
            for (accesses = 0; thread_to < spans.count && spans.items[thread_to].thread == sum.thread; thread_to++)
                accesses += spans.items[thread_to].accesses;
        for (to = from + 1; to < thread_to && spans.items[to].object == sum.object; to++) {
            const struct span *more = &spans.items[to];
            sum.from = more->from < sum.from ? more->from : sum.from;
            sum.to = more->to > sum.to ? more->to : sum.to;
            sum.accesses += more->accesses;
            sum.bursts += more->bursts;
        }
        double most = sum.object == FLOW_NONE ? 1 : fmin(most_misses(work, &sum, accesses), 1);
        for (size_t i = from; i < to; i++) {
            struct traffic_key *key = &work->keys.items[spans.items[i].key];
            key->most = most;
            key->share = key->share < 0 && most <= traffic_rules.cached ? 0 : key->share;
        }
    }
    array_free(&spans);
}

/* --- how fast --- */

/* What a pair of bursts adds to the key that leads. */
static void measure_lead(struct traffic_work *work, struct burst_item *item, double share)
{
    struct traffic_key *key = &work->keys.items[item->key];
    const struct traffic_pool *pool = &work->pools.items[key->pool];
    struct traffic_evidence *own = &key->own;
    if (pool->follows)
        return;
    key->leads++;
    if (item->lines < 0 && item->walked > 0 && pool->walks)
        item->lines = item->walked * pool->used;
    if (item->lines < 0 || share < 0)
        return;
    double lines = item->lines * share;
    own->good++;
    own->time_ns += item->row->event.gap_ns;
    own->lines[0] += item->reads || item->stores ? lines : 0;
    own->lines[1] += item->stores || item->nontemporal ? lines : 0;
    own->lines[2] += item->stores && !item->reads ? lines : 0;
}

/* Those that use the same lines as `items[lead]`: what one of them has seen of these counts for it, and for those that follow. */
static double share_seen(struct traffic_work *work, const struct burst_item *items, uint32_t count, uint32_t lead)
{
    double share = -1;
    for (uint32_t i = 0; i < count; i++)
        if (items[i].lead == lead)
            share = fmax(share, work->keys.items[items[i].key].share);
    for (uint32_t i = 0; i < count; i++) {
        struct traffic_key *key = &work->keys.items[items[i].key];
        if (items[i].lead == lead && (i == lead || work->pools.items[key->pool].follows))
            key->share = share;
    }
    return share;
}

static void measure(struct traffic_work *work)
{
    for (uint32_t burst = 0; burst + 1 < work->first.count; burst++) {
        struct burst_item *items = work->items.items + work->first.items[burst];
        uint32_t count = work->first.items[burst + 1] - work->first.items[burst];
        for (uint32_t lead = 0; lead < count; lead++)
            if (items[lead].lead == lead)
                measure_lead(work, &items[lead], share_seen(work, items, count, lead));
    }
    array_each (&work->keys, const struct traffic_key, key) {
        struct traffic_evidence *all = &work->pools.items[key->pool].all;
        all->good += key->own.good;
        all->time_ns += key->own.time_ns;
        for (unsigned i = 0; i < 3; i++)
            all->lines[i] += key->own.lines[i];
    }
}

static int by_number(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void push_speeds(struct traffic_work *work, const struct traffic_key *key)
{
    for (uint32_t i = key->first; i < key->first + key->bursts; i++) {
        const struct burst_item *item = &work->items.items[work->order.items[i]];
        if (item->lines > 0 && item->row->event.gap_ns)
            array_push(&work->speeds, item->lines / item->row->event.gap_ns);
    }
}

/* Whether its speed differs too much from pair to pair: then it is another loop each time, or the same one over and over. */
static bool speeds_differ(struct traffic_work *work)
{
    size_t count = work->speeds.count;
    if (count < 8)
        return false;
    array_sort(&work->speeds, by_number);
    const double *speeds = work->speeds.items;
    return speeds[count * 3 / 4] - speeds[count / 4] > traffic_rules.spread * speeds[count / 2];
}

static bool is_uneven(struct traffic_work *work, const struct traffic_key *key)
{
    work->speeds.count = 0;
    push_speeds(work, key);
    return speeds_differ(work);
}

static bool pool_is_uneven(struct traffic_work *work, struct traffic_pool *pool)
{
    if (!pool->judged) {
        work->speeds.count = 0;
        for (uint32_t i = pool->first; i < pool->first + pool->count; i++)
            push_speeds(work, &work->keys.items[work->pooled.items[i]]);
        pool->uneven = speeds_differ(work);
        pool->judged = true;
    }
    return pool->uneven;
}

static bool is_rated(const struct traffic_evidence *seen, bool walks)
{
    const struct traffic_rules *rules = &traffic_rules;
    uint32_t lost = walks ? seen->reentered - seen->walks : seen->reentered;
    return seen->good >= rules->probes && seen->time_ns > 0 && seen->wrapped <= rules->most_wrapped * seen->pairs &&
           lost <= rules->most_reentered * seen->pairs;
}

/* By its own pairs when there are enough, else by those of all threads. */
static void rate_key(struct traffic_work *work, struct traffic_key *key)
{
    struct traffic_pool *pool = &work->pools.items[key->pool];
    bool alone = key->own.pairs >= traffic_rules.probes;
    const struct traffic_evidence *seen = alone ? &key->own : &pool->all;
    key->rated = key->share >= 0;
    if (key->share <= 0 || key->leads == 0)
        return;
    key->rated = is_rated(seen, pool->walks) && !(alone ? is_uneven(work, key) : pool_is_uneven(work, pool));
    for (unsigned i = 0; i < 3 && key->rated; i++)
        key->rates[i] = seen->lines[i] / seen->time_ns;
}

void traffic_keys(struct traffic_work *work)
{
    make_keys(work);
    make_pools(work);
    find_shares(work);
    settle_small(work);
    traffic_find_fronts(work);
    measure(work);
    array_each (&work->keys, struct traffic_key, key)
        rate_key(work, key);
    traffic_find_most(work);
}

void traffic_work_free(struct traffic_work *work)
{
    array_free(&work->rows);
    array_free(&work->items);
    array_free(&work->first);
    array_free(&work->keys);
    array_free(&work->pools);
    array_free(&work->order);
    array_free(&work->pooled);
    array_free(&work->speeds);
}
