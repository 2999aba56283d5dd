/* See traffic.h.
 *
 * 1. Rows are put in order of thread and burst; in each burst, instructions that go over the same lines are found
 *    (traffic_bursts.c).
 * 2. A key is an instruction, in one direction, of one thread, in one object: over all bursts it gets the share of its lines
 *    that memory serves, and its speed while it runs (traffic_keys.c).
 * 3. Speed, times the share of the thread's bursts in which it was met, times the thread's CPU time: bytes. They go to the
 *    key's object and thread, and to pairs of nodes as often as it was seen between them. */
#include "analysis/traffic/traffic.h"

#include "base/units.h"
#include "analysis/traffic/traffic_keys.h"
#include "analysis/traffic/traffic_make.h"
#include "topology/calibration.h"
#include "trace/session.h"

#include <math.h>
#include <string.h>

const struct traffic_rules traffic_rules = {.pairs = 20,
                                            .probes = 3,
                                            .confirmed = 0.25,
                                            .floor = 0.02,
                                            .most_wrapped = 0.4,
                                            .most_reentered = 0.5,
                                            .spread = 0.8,
                                            .covered = 0.5,
                                            .behind = 8,
                                            .line_use_error = 0.2,
                                            .least_line_use = 0.4,
                                            .cached = 0.1,
                                            .memory = 0.9,
                                            .bound = 0.65,
                                            .samples = 20,
                                            .lines = 20,
                                            .fewest_lines = 8,
                                            .around = 8};

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
static void count_thread(struct traffic_work *work, size_t from, size_t to, uint32_t bursts, uint32_t pairs)
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

static void split_bursts(struct traffic_work *work)
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

void object_rows_begin(struct object_rows *rows, const struct flow *flow)
{
    size_t objects = flow_object_count(flow) + 1, sites = flow_site_count(flow) + 1;
    rows->by_object = mem_alloc(objects * sizeof *rows->by_object);
    rows->by_site = mem_alloc(sites * sizeof *rows->by_site);
    memset(rows->by_object, 0xff, objects * sizeof *rows->by_object);
    memset(rows->by_site, 0xff, sites * sizeof *rows->by_site);
}

void object_rows_end(struct object_rows *rows)
{
    free(rows->by_object);
    free(rows->by_site);
}

struct traffic_bytes *object_rows_find(struct object_rows *rows, struct traffic *traffic, uint32_t object)
{
    uint32_t site = flow_object_site(traffic->flow, object);
    uint32_t *place = site != FLOW_NONE ? &rows->by_site[site] : &rows->by_object[object];
    if (*place == FLOW_NONE) {
        *place = (uint32_t)traffic->objects.count;
        array_push(&traffic->objects, (struct traffic_object){.object = object, .site = site});
    }
    return &traffic->objects.items[*place].bytes;
}

static void add_key(struct traffic_bytes *to, const struct traffic_key *key, const double *rates, double weight)
{
    double accesses = weight * (double)key->accesses;
    to->accesses += accesses;
    if (key->share < 0)
        return;
    double exposed = key->own.timed ? traffic_share(key->own.slow, key->own.timed) : 0,
           share = key->share > 0 ? key->share : 0;
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

/* A cache may have answered what a prefetcher brought: only what is mostly memory's is known to be. */
static void judge_sampled(const struct traffic *traffic, struct traffic_bytes *bytes)
{
    const struct traffic_rules *rules = &traffic_rules;
    bool all = bytes == &traffic->all;
    bytes->is_rated = !traffic->sampled.by_spe && bytes->lines >= (all ? rules->lines : rules->fewest_lines) &&
                      (all || traffic->all.is_rated);
    bytes->rated = bytes->is_rated ? bytes->known : 0;
    bytes->state =
        bytes->accesses > 0 && bytes->exposed >= rules->memory * bytes->accesses ? TRAFFIC_MEMORY : TRAFFIC_UNKNOWN;
}

void traffic_judge(const struct traffic *traffic, struct traffic_bytes *bytes)
{
    const struct traffic_rules *rules = &traffic_rules;
    if (traffic->source == TRAFFIC_DATA_SOURCES) {
        judge_sampled(traffic, bytes);
        return;
    }
    double share = bytes->known > 0 ? (bytes->exposed + bytes->hidden) / bytes->known : 0;
    bytes->is_rated = bytes->rated > 0 && bytes->rated >= rules->covered * bytes->accesses;
    if (bytes->known <= 0 || bytes->known < rules->covered * bytes->accesses)
        bytes->state = TRAFFIC_UNKNOWN;
    else
        bytes->state = share < rules->cached ? TRAFFIC_CACHED : share < rules->memory ? TRAFFIC_PARTLY : TRAFFIC_MEMORY;
}

/* To pairs of nodes, as often as its bursts saw each. */
static void place_key(struct traffic_work *work, const struct traffic_key *key, uint32_t from, const double *rates)
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
static void split_key(struct traffic_work *work, const struct traffic_key *key, uint32_t from, const double *rates,
                      double weight)
{
    double slow = key->own.timed ? traffic_share(key->own.slow, key->own.timed) : 0;
    double waits = slow <= 0 || key->share <= 0 ? 0 : slow < key->share ? slow / key->share : 1;
    double bursts = key->bursts;
    for (uint32_t i = from; i < from + key->bursts; i++)
        array_push(&work->traffic->cells,
                   (struct traffic_cell){.row = work->items.items[work->order.items[i]].row,
                                         .read = rates[0] / bursts,
                                         .written = rates[1] / bursts,
                                         .exposed = waits * (rates[0] - rates[2]) / CACHE_LINE / bursts,
                                         .exposed_ns = key->own.slow ? (double)key->slow_ns / key->own.slow : 0,
                                         .accesses = weight * (double)key->accesses / bursts,
                                         .rated = key->rated,
                                         .most = traffic_most(work, key, work->order.items[i]),
                                         .most_lines = traffic_most_lines(work, key, work->order.items[i]) * 1e9 *
                                                       weight / work->traffic->seconds});
}

static void sum_up(struct traffic_work *work)
{
    struct traffic *traffic = work->traffic;
    struct object_rows rows;
    uint32_t from = 0;
    struct traffic_thread *thread = traffic->threads.items; /* keys are in their order */
    object_rows_begin(&rows, traffic->flow);
    array_each (&work->keys, const struct traffic_key, key) {
        while (thread->thread != key->thread)
            thread++;
        double rates[3] = {0}, weight = thread->user_s / (double)thread->bursts;
        for (unsigned i = 0; i < 3 && key->rated; i++)
            rates[i] = key->rates[i] * CACHE_LINE * 1e9 * key->leads * weight / traffic->seconds;
        add_key(&traffic->all, key, rates, weight);
        add_key(&thread->bytes, key, rates, weight);
        if (key->object != FLOW_NONE)
            add_key(object_rows_find(&rows, traffic, key->object), key, rates, weight);
        place_key(work, key, from, rates);
        split_key(work, key, from, rates, weight);
        from += key->bursts;
    }
    object_rows_end(&rows);
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

void traffic_judge_all(struct traffic *traffic)
{
    traffic_judge(traffic, &traffic->all);
    array_each (&traffic->objects, struct traffic_object, row)
        traffic_judge(traffic, &row->bytes);
    array_each (&traffic->threads, struct traffic_thread, row)
        traffic_judge(traffic, &row->bytes);
    array_sort(&traffic->objects, objects_by_bytes);
    array_sort(&traffic->threads, threads_by_bytes);
}

/* With too few pairs nothing is said but of whose accesses the bytes are not known: of all that may have any. */
static void keep_cells(struct traffic *traffic)
{
    size_t nodes = traffic->node_count;
    array_each (&traffic->cells, struct traffic_cell, cell) {
        cell->rated = cell->rated && cell->read + cell->written <= 0;
        cell->read = cell->written = cell->exposed = 0;
    }
    array_each (&traffic->threads, struct traffic_thread, thread)
        thread->bytes = (struct traffic_bytes){0};
    traffic->all = (struct traffic_bytes){0};
    traffic->objects.count = 0;
    traffic->unplaced = 0;
    memset(traffic->node_pairs, 0, nodes * nodes * sizeof *traffic->node_pairs);
    memset(traffic->node_read, 0, nodes * sizeof *traffic->node_read);
    memset(traffic->node_written, 0, nodes * sizeof *traffic->node_written);
}

struct traffic *traffic_new(const struct flow *flow)
{
    struct traffic *traffic = mem_zalloc(sizeof *traffic);
    const struct trace_session *session = flow_session(flow);
    const char *requested = session ? trace_session_get(session, "traffic") : NULL;
    traffic->flow = flow;
    traffic->requested = requested != NULL;
    traffic->possible = requested && strcmp(requested, "pairs") == 0;
    traffic->node_count = flow_topology(flow)->node_count;
    traffic->seconds = (double)(flow_end(flow) - flow_start(flow)) * 1e-9;
    size_t nodes = traffic->node_count + 1;
    traffic->node_pairs = mem_zalloc(nodes * nodes * sizeof *traffic->node_pairs);
    traffic->node_read = mem_zalloc(nodes * sizeof *traffic->node_read);
    traffic->node_written = mem_zalloc(nodes * sizeof *traffic->node_written);
    return traffic;
}

struct traffic *traffic_make(const struct flow *flow)
{
    struct traffic *traffic = traffic_new(flow);
    struct traffic_work work = {.traffic = traffic};
    const struct flow_stream *rows;
    size_t count = flow_streams(flow, &rows);
    traffic->recorded = count > 0;
    traffic->source = count > 0 ? TRAFFIC_BURSTS : TRAFFIC_NOWHERE;
    traffic->bound = bound_of(flow);
    for (size_t i = 0; i < count; i++)
        array_push(&work.rows, rows + i);
    split_bursts(&work);
    traffic->too_few = traffic->pairs < traffic_rules.pairs;
    if (traffic->bound && traffic->seconds > 0) {
        traffic_keys(&work);
        sum_up(&work);
        if (traffic->too_few)
            keep_cells(traffic);
    }
    traffic_judge_all(traffic);
    traffic_work_free(&work);
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
    array_free(&traffic->counted.items);
    free(traffic->node_pairs);
    free(traffic->node_read);
    free(traffic->node_written);
    free(traffic);
}
