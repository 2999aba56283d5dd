/* See traffic.h.
 *
 * 1. Rows are put in order of thread and burst; in each burst, instructions that go over the same lines are found
 *    (traffic_bursts.c).
 * 2. A key is an instruction, in one direction, of one thread, in one object: over all bursts it gets the share of its lines
 *    that memory serves, and its speed while it runs.
 * 3. Speed, times the share of the thread's bursts in which it was met, times the thread's CPU time: bytes. They go to the
 *    key's object and thread, and to pairs of nodes as often as it was seen between them. */
#include "analysis/problems/traffic.h"

#include "analysis/problems/traffic_bursts.h"
#include "topology/calibration.h"
#include "trace/session.h"

#include <math.h>
#include <string.h>

const struct traffic_rules traffic_rules = {.pairs = 20,
                                            .probes = 3,
                                            .confirmed = 0.25,
                                            .floor = 0.02,
                                            .wrapped = 0.3,
                                            .anew = 0.5,
                                            .spread = 0.8,
                                            .covered = 0.5,
                                            .cached = 0.1,
                                            .memory = 0.9,
                                            .bound = 0.65};

struct key {
    uint32_t thread, object;
    bool stream, near;
    bool still, several; /* still: a variable that stays where it is; several: objects of the site */
    uint32_t bursts;     /* it was met in */
    uint32_t leads;      /* of those, as the one whose lines count */
    uint64_t accesses;
    uint32_t tried, confirmed, from_memory; /* loads ahead */
    uint32_t timed, slow;                   /* loads at the access */
    uint64_t slow_ns;
    uint32_t pairs, good, wrapped, anew;
    double time_ns, lines[3]; /* read, written, allocated: times the share that memory serves */
    double share;             /* served by memory; negative: not known */
    bool rated;               /* and how fast, where that matters */
    uint32_t first_speed;     /* in work.speeds */
};

struct work {
    struct traffic *traffic;
    array_of(const struct flow_stream *) rows;
    array_of(struct burst_item) items; /* of all bursts, `lead` counted from their burst's first */
    array_of(uint32_t) first;          /* item of each burst, and one more */
    array_of(struct key) keys;
    array_of(double) speeds;
    array_of(uint32_t) order;
};

static int by_burst(const void *left, const void *right)
{
    const struct flow_stream *a = *(const struct flow_stream *const *)left,
                             *b = *(const struct flow_stream *const *)right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->event.burst != b->event.burst)
        return a->event.burst < b->event.burst ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* A thread's bursts, and how much of its time they stand for: as a rule all of it. */
static void count_thread(struct work *work, size_t from, size_t to, uint32_t bursts, uint32_t pairs)
{
    const struct flow_stream *first = work->rows.items[from], *last = work->rows.items[to - 1];
    double between = (double)(last->event.user_ns - first->event.user_ns) * 1e-9;
    bool whole = last->event.user_ns >= first->event.user_ns && bursts > 1;
    array_push(&work->traffic->threads, (struct traffic_thread){.thread = first->thread,
                                                                .bursts = bursts,
                                                                .pairs = pairs,
                                                                .user_s = whole ? between * bursts / (bursts - 1) : 0});
    work->traffic->bursts += bursts;
    work->traffic->pairs += pairs;
}

static void split_bursts(struct work *work)
{
    size_t count = work->rows.count, thread_from = 0;
    uint32_t bursts = 0, pairs = 0;
    array_sort(&work->rows, by_burst);
    array_reserve(&work->items, count + 1);
    for (size_t from = 0, to; from < count; from = to) {
        const struct flow_stream *row = work->rows.items[from];
        bool empty = row->event.pc == 0, paired = false;
        for (to = from; to < count && work->rows.items[to]->thread == row->thread &&
                        work->rows.items[to]->event.burst == row->event.burst;
             to++)
            paired |= work->rows.items[to]->event.flags & STREAM_PAIRED;
        if (!empty) {
            array_push(&work->first, (uint32_t)work->items.count);
            burst_items(work->traffic->flow, work->rows.items + from, (uint32_t)(to - from),
                        work->items.items + work->items.count);
            work->items.count += to - from;
        }
        bursts++;
        pairs += paired;
        if (to == count || work->rows.items[to]->thread != row->thread) {
            count_thread(work, thread_from, to, bursts, pairs);
            thread_from = to;
            bursts = pairs = 0;
        }
    }
    array_push(&work->first, (uint32_t)work->items.count);
}

static int compare_items(const struct burst_item *left, const struct burst_item *right)
{
    const struct flow_stream *a = left->row, *b = right->row;
    if (a->thread != b->thread)
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
    int order = compare_items(&items[a], &items[b]);
    return order ? order : a < b ? -1 : a > b;
}

static void count_item(struct key *key, const struct burst_item *item, uint32_t bound)
{
    const struct event_stream *stream = &item->row->event;
    key->bursts++;
    key->accesses += stream->times;
    key->stream |= stream->stride != 0;
    key->near |= stream->stride == 0 && stream->flags & STREAM_NEAR;
    key->still = key->still && stream->flags & STREAM_STILL;
    key->several |= item->row->object != key->object;
    for (unsigned i = 0; i < stream->timed; i++) {
        key->timed++;
        key->slow += stream->latencies[i] >= bound;
        key->slow_ns += stream->latencies[i] >= bound ? stream->latencies[i] : 0;
    }
    if (!(stream->flags & STREAM_PAIRED) || !(stream->flags & STREAM_LOOP))
        return;
    bool anew = stream->flags & STREAM_ANEW;
    key->pairs++;
    key->anew += anew;
    key->wrapped += !anew && stream->turns < 0 && stream->stride != 0;
    if (stream->ahead_ns == STREAM_NO_LATENCY)
        return;
    key->tried++;
    if (!anew && (stream->flags & STREAM_PASSED || item->row->ahead_inside)) {
        key->confirmed++;
        key->from_memory += stream->ahead_ns >= bound;
    }
}

static double share_of(uint32_t hits, uint32_t all)
{
    return hits < traffic_rules.probes || hits < traffic_rules.floor * all ? 0 : (double)hits / all;
}

/* Whether it is about something that stays in the caches once it is there. */
static bool is_small(const struct work *work, const struct key *key)
{
    enum { SMALL = 256 << 10 };
    const struct flow *flow = work->traffic->flow;
    if (key->object == FLOW_NONE || key->several)
        return false;
    return flow_object_kind(flow, key->object) == OBJECT_STACK || flow_object_copy(flow, key->object).size <= SMALL;
}

/* Which share of its lines memory serves. A stream's own latencies say nothing: they are prefetched. Nor do those of an instruction
 * that goes on by small and uneven steps, unless they are slow. */
static double served(const struct work *work, const struct key *key)
{
    double at_access = key->timed >= traffic_rules.probes ? share_of(key->slow, key->timed) : -1;
    if (key->stream) {
        if (key->confirmed >= traffic_rules.probes && key->confirmed >= traffic_rules.confirmed * key->tried)
            return share_of(key->from_memory, key->confirmed);
        return -1;
    }
    if (key->near && !key->still && at_access < traffic_rules.memory && !is_small(work, key))
        return -1;
    return at_access;
}

static void make_keys(struct work *work)
{
    uint32_t bound = work->traffic->bound;
    for (uint32_t i = 0; i < work->items.count; i++)
        array_push(&work->order, i);
    if (work->order.count)
        qsort_r(work->order.items, work->order.count, sizeof *work->order.items, by_key, work->items.items);
    const struct burst_item *before = NULL;
    array_each (&work->order, const uint32_t, at) {
        struct burst_item *item = &work->items.items[*at];
        if (!before || compare_items(before, item) != 0)
            array_push(&work->keys,
                       (struct key){.thread = item->row->thread, .object = item->row->object, .still = true});
        before = item;
        item->key = (uint32_t)work->keys.count - 1;
        count_item(&work->keys.items[item->key], item, bound);
    }
    array_each (&work->keys, struct key, key)
        key->share = served(work, key);
}

static void measure(struct work *work)
{
    for (uint32_t burst = 0; burst + 1 < work->first.count; burst++) {
        struct burst_item *items = work->items.items + work->first.items[burst];
        uint32_t count = work->first.items[burst + 1] - work->first.items[burst];
        for (uint32_t lead = 0; lead < count; lead++) {
            struct burst_item *item = &items[lead];
            if (item->lead != lead)
                continue;
            struct key *key = &work->keys.items[item->key];
            double share = -1;
            for (uint32_t i = lead; i < count; i++)
                if (items[i].lead == lead && work->keys.items[items[i].key].share > share)
                    share = work->keys.items[items[i].key].share;
            key->leads++;
            if (share > key->share)
                key->share = share; /* what another one of these has seen of the same lines */
            if (item->lines < 0 || share < 0)
                continue;
            double lines = item->lines * share;
            key->good++;
            key->time_ns += item->row->event.gap_ns;
            key->lines[0] += item->reads || item->stores ? lines : 0;
            key->lines[1] += item->stores || item->nontemporal ? lines : 0;
            key->lines[2] += item->stores && !item->reads ? lines : 0;
        }
    }
}

static int by_number(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Whether its speed differs too much from pair to pair: then it is another loop each time, or the same one over and over. */
static bool is_uneven(struct work *work, uint32_t from, uint32_t to)
{
    work->speeds.count = 0;
    for (uint32_t i = from; i < to; i++) {
        const struct burst_item *item = &work->items.items[work->order.items[i]];
        if (item->lines > 0 && item->row->event.gap_ns)
            array_push(&work->speeds, item->lines / item->row->event.gap_ns);
    }
    size_t count = work->speeds.count;
    if (count < 8)
        return false;
    array_sort(&work->speeds, by_number);
    const double *speeds = work->speeds.items;
    return speeds[count * 3 / 4] - speeds[count / 4] > traffic_rules.spread * speeds[count / 2];
}

static void judge_keys(struct work *work)
{
    const struct traffic_rules *rules = &traffic_rules;
    uint32_t from = 0;
    array_each (&work->keys, struct key, key) {
        uint32_t to = from + key->bursts;
        key->rated = key->share >= 0;
        if (key->share > 0 && key->leads > 0)
            key->rated = key->good >= rules->probes && key->time_ns > 0 &&
                         key->wrapped <= rules->wrapped * key->pairs && key->anew <= rules->anew * key->pairs &&
                         !is_uneven(work, from, to);
        from = to;
    }
}

static uint32_t object_row(struct traffic *traffic, uint32_t *by_object, uint32_t *by_site, uint32_t object)
{
    uint32_t site = flow_object_site(traffic->flow, object);
    uint32_t *place = site != FLOW_NONE ? &by_site[site] : &by_object[object];
    if (*place == FLOW_NONE) {
        *place = (uint32_t)traffic->objects.count;
        array_push(&traffic->objects, (struct traffic_object){.object = object, .site = site});
    }
    return *place;
}

static void add_key(struct traffic_bytes *to, const struct key *key, const double *rates, double weight)
{
    double accesses = weight * (double)key->accesses;
    to->accesses += accesses;
    if (key->share < 0)
        return;
    double exposed = key->timed ? share_of(key->slow, key->timed) : 0, share = key->share > 0 ? key->share : 0;
    if (exposed > share)
        exposed = share;
    to->known += accesses;
    to->exposed += accesses * exposed;
    to->hidden += accesses * (share - exposed);
    to->cached += accesses * (1 - share);
    to->rated += key->rated ? accesses : 0;
    to->read += rates[0];
    to->written += rates[1];
    to->allocated += rates[2];
}

void traffic_judge(struct traffic_bytes *bytes)
{
    const struct traffic_rules *rules = &traffic_rules;
    double share = bytes->known > 0 ? (bytes->exposed + bytes->hidden) / bytes->known : 0;
    bytes->is_rated = bytes->rated > 0 && bytes->rated >= rules->covered * bytes->accesses;
    if (bytes->known <= 0 || bytes->known < rules->covered * bytes->accesses)
        bytes->state = TRAFFIC_UNKNOWN;
    else
        bytes->state = share < rules->cached ? TRAFFIC_CACHED : share < rules->memory ? TRAFFIC_PARTLY : TRAFFIC_MEMORY;
}

/* To pairs of nodes, as often as its bursts saw each. */
static void place_key(struct work *work, const struct key *key, uint32_t from, const double *rates)
{
    struct traffic *traffic = work->traffic;
    for (uint32_t i = from; i < from + key->bursts; i++) {
        const struct flow_stream *row = work->items.items[work->order.items[i]].row;
        double read = rates[0] / key->bursts, written = rates[1] / key->bursts;
        if (row->from < 0 || row->home < 0 || (uint32_t)row->from >= traffic->node_count ||
            (uint32_t)row->home >= traffic->node_count) {
            traffic->unplaced += read + written;
            continue;
        }
        traffic->node_pairs[(uint32_t)row->from * traffic->node_count + (uint32_t)row->home] += read + written;
        traffic->node_read[row->home] += read;
        traffic->node_written[row->home] += written;
    }
}

/* Its bursts one by one. What a store reads is not waited for. */
static void split_key(struct work *work, const struct key *key, uint32_t from, const double *rates, double weight)
{
    double slow = key->timed ? share_of(key->slow, key->timed) : 0;
    double waits = slow <= 0 || key->share <= 0 ? 0 : slow < key->share ? slow / key->share : 1;
    double bursts = key->bursts;
    for (uint32_t i = from; i < from + key->bursts; i++)
        array_push(&work->traffic->cells,
                   (struct traffic_cell){.row = work->items.items[work->order.items[i]].row,
                                         .read = rates[0] / bursts,
                                         .written = rates[1] / bursts,
                                         .exposed = waits * (rates[0] - rates[2]) / TRAFFIC_LINE / bursts,
                                         .exposed_ns = key->slow ? (double)key->slow_ns / key->slow : 0,
                                         .accesses = weight * (double)key->accesses / bursts,
                                         .rated = key->rated});
}

static void sum_up(struct work *work)
{
    struct traffic *traffic = work->traffic;
    size_t objects = flow_object_count(traffic->flow) + 1, sites = flow_site_count(traffic->flow) + 1;
    uint32_t *by_object = mem_alloc(objects * sizeof *by_object), *by_site = mem_alloc(sites * sizeof *by_site);
    uint32_t from = 0;
    struct traffic_thread *thread = traffic->threads.items; /* keys are in their order */
    memset(by_object, 0xff, objects * sizeof *by_object);
    memset(by_site, 0xff, sites * sizeof *by_site);
    array_each (&work->keys, const struct key, key) {
        while (thread->thread != key->thread)
            thread++;
        double rates[3] = {0}, weight = thread->user_s / (double)thread->bursts;
        for (unsigned i = 0; i < 3 && key->rated && key->time_ns > 0; i++)
            rates[i] = key->lines[i] * TRAFFIC_LINE / key->time_ns * 1e9 * key->leads * weight / traffic->seconds;
        add_key(&traffic->all, key, rates, weight);
        add_key(&thread->bytes, key, rates, weight);
        if (key->object != FLOW_NONE) {
            uint32_t row = object_row(traffic, by_object, by_site, key->object);
            add_key(&traffic->objects.items[row].bytes, key, rates, weight);
        }
        place_key(work, key, from, rates);
        split_key(work, key, from, rates, weight);
        from += key->bursts;
    }
    free(by_object);
    free(by_site);
}

/* Most bytes first, then those of which none are known. */
static int by_bytes(const struct traffic_bytes *a, const struct traffic_bytes *b)
{
    if (a->is_rated != b->is_rated)
        return a->is_rated ? -1 : 1;
    double x = traffic_total(a), y = traffic_total(b);
    if (x == y || !a->is_rated)
        x = a->accesses, y = b->accesses;
    return x > y ? -1 : x < y;
}

static int objects_by_bytes(const void *left, const void *right)
{
    const struct traffic_object *a = left, *b = right;
    int order = by_bytes(&a->bytes, &b->bytes);
    return order ? order : a->object < b->object ? -1 : a->object > b->object;
}

static int threads_by_bytes(const void *left, const void *right)
{
    const struct traffic_thread *a = left, *b = right;
    int order = by_bytes(&a->bytes, &b->bytes);
    return order ? order : a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* What is as slow as this came from memory. The last cache's latency is often not known: others' work pushes lines out of it. */
static uint32_t bound_of(const struct flow *flow)
{
    const struct calibration *calibration = flow_calibration(flow);
    if (!calibration || !calibration_shows(calibration))
        return 0;
    uint32_t beyond = calibration_beyond_caches(calibration);
    double nearest = 0;
    for (uint32_t i = 0; i < calibration->node_count; i++) {
        double memory = calibration_memory(calibration, (int)i, (int)i);
        nearest = memory > 0 && (nearest <= 0 || memory < nearest) ? memory : nearest;
    }
    uint32_t least = (uint32_t)(nearest * traffic_rules.bound);
    return beyond > least ? beyond : least;
}

static void judge_all(struct traffic *traffic)
{
    traffic_judge(&traffic->all);
    array_each (&traffic->objects, struct traffic_object, row)
        traffic_judge(&row->bytes);
    array_each (&traffic->threads, struct traffic_thread, row)
        traffic_judge(&row->bytes);
    array_sort(&traffic->objects, objects_by_bytes);
    array_sort(&traffic->threads, threads_by_bytes);
}

struct traffic *traffic_make(const struct flow *flow)
{
    struct traffic *traffic = mem_zalloc(sizeof *traffic);
    struct work work = {.traffic = traffic};
    const struct flow_stream *rows;
    size_t count = flow_streams(flow, &rows);
    const struct trace_session *session = flow_session(flow);
    const char *requested = session ? trace_session_get(session, "traffic") : NULL;
    traffic->flow = flow;
    traffic->requested = requested != NULL;
    traffic->possible = requested && strcmp(requested, "pairs") == 0;
    traffic->node_count = flow_topology(flow)->node_count;
    traffic->recorded = count > 0;
    traffic->bound = bound_of(flow);
    traffic->seconds = (double)(flow_end(flow) - flow_start(flow)) * 1e-9;
    size_t nodes = traffic->node_count + 1;
    traffic->node_pairs = mem_zalloc(nodes * nodes * sizeof *traffic->node_pairs);
    traffic->node_read = mem_zalloc(nodes * sizeof *traffic->node_read);
    traffic->node_written = mem_zalloc(nodes * sizeof *traffic->node_written);
    for (size_t i = 0; i < count; i++)
        array_push(&work.rows, rows + i);
    split_bursts(&work);
    traffic->too_few = traffic->pairs < traffic_rules.pairs;
    if (traffic->bound && !traffic->too_few && traffic->seconds > 0) {
        make_keys(&work);
        measure(&work);
        judge_keys(&work);
        sum_up(&work);
    }
    judge_all(traffic);
    array_free(&work.rows);
    array_free(&work.items);
    array_free(&work.first);
    array_free(&work.keys);
    array_free(&work.speeds);
    array_free(&work.order);
    return traffic;
}

void traffic_free(struct traffic *traffic)
{
    if (!traffic)
        return;
    array_free(&traffic->objects);
    array_free(&traffic->threads);
    array_free(&traffic->cells);
    array_free(&traffic->functions);
    free(traffic->node_pairs);
    free(traffic->node_read);
    free(traffic->node_written);
    free(traffic);
}
