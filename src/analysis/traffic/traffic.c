/* See traffic.h.
 *
 * Bytes of an object come from reuse times (analysis/reuse). Its samples share them out: each stands for as much as the others, and
 * what is written back is the stores'. Whatever can be said of samples can so be said of bytes: threads, nodes, functions, times. */
#include "analysis/traffic/traffic.h"

#include "analysis/reuse/reuse.h"
#include "analysis/thresholds.h"
#include "analysis/traffic/traffic_make.h"
#include "base/order.h"
#include "base/units.h"
#include "topology/calibration.h"
#include "trace/session.h"

#include <math.h>
#include <string.h>

struct summing {
    struct traffic *traffic;
    struct traffic_thread *threads; /* by the flow's numbers */
    size_t thread_count;
    uint64_t samples, unmet;
};

bool traffic_is_recorded(const struct flow *flow)
{
    const struct flow_long_burst *ignored;
    return flow_long_bursts(flow, &ignored) > 0;
}

struct traffic *traffic_new(const struct flow *flow)
{
    struct traffic *traffic = mem_zalloc(sizeof *traffic);
    const struct trace_session *session = flow_session(flow);
    const char *requested = session ? trace_session_get(session, "traffic") : NULL;
    traffic->flow = flow;
    traffic->requested = requested != NULL;
    traffic->possible = requested && strcmp(requested, "no") != 0;
    traffic->node_count = flow_topology(flow)->node_count;
    traffic->seconds = (double)(flow_end(flow) - flow_start(flow)) * 1e-9;
    size_t nodes = traffic->node_count + 1, objects = flow_object_count(flow) + 1, sites = flow_site_count(flow) + 1;
    traffic->node_pairs = mem_zalloc(nodes * nodes * sizeof *traffic->node_pairs);
    traffic->node_read = mem_zalloc(nodes * sizeof *traffic->node_read);
    traffic->node_written = mem_zalloc(nodes * sizeof *traffic->node_written);
    traffic->by_object = mem_alloc(objects * sizeof *traffic->by_object);
    traffic->by_site = mem_alloc(sites * sizeof *traffic->by_site);
    memset(traffic->by_object, 0xff, objects * sizeof *traffic->by_object);
    memset(traffic->by_site, 0xff, sites * sizeof *traffic->by_site);
    return traffic;
}

static uint32_t *place_of(const struct traffic *traffic, uint32_t object)
{
    uint32_t site = flow_object_site(traffic->flow, object);
    return site != FLOW_NONE ? &traffic->by_site[site] : &traffic->by_object[object];
}

/* NULL: no long burst met it. */
static struct traffic_object *row_of(const struct traffic *traffic, uint32_t object)
{
    if (object == FLOW_NONE)
        return (struct traffic_object *)&traffic->nobody;
    uint32_t at = *place_of(traffic, object);
    return at != FLOW_NONE ? &traffic->objects.items[at] : NULL;
}

struct traffic_object *traffic_row(struct traffic *traffic, uint32_t object)
{
    uint32_t *place = place_of(traffic, object);
    if (*place == FLOW_NONE) {
        *place = (uint32_t)traffic->objects.count;
        array_push(&traffic->objects,
                   (struct traffic_object){.object = object, .site = flow_object_site(traffic->flow, object)});
    }
    return &traffic->objects.items[*place];
}

bool traffic_bytes_of(const struct traffic *traffic, const struct flow_access *access, struct traffic_bytes *bytes)
{
    if (traffic->source == TRAFFIC_DATA_SOURCES)
        return traffic_sampled_bytes(traffic, access, bytes);
    const struct traffic_object *row = row_of(traffic, access->object);
    *bytes = (struct traffic_bytes){.samples = 1};
    if (!row || row->bytes.samples == 0 || traffic->source != TRAFFIC_BURSTS)
        return false;
    double samples = (double)row->bytes.samples;
    bytes->is_rated = true;
    bytes->read = row->bytes.read / samples;
    bytes->accesses = row->bytes.accesses / samples;
    bytes->lower_bound = row->bytes.lower_bound / samples;
    if (row->stores == 0)
        bytes->written = row->bytes.written / samples;
    else if (access->write)
        bytes->written = row->bytes.written / (double)row->stores;
    return true;
}

void traffic_add(struct traffic_bytes *to, const struct traffic_bytes *more)
{
    to->read += more->read;
    to->written += more->written;
    to->lower_bound += more->lower_bound;
    to->accesses += more->accesses;
    to->samples += more->samples;
    to->known += more->known;
    to->exposed += more->exposed;
    to->cached += more->cached;
    to->under_way += more->under_way;
    to->lines += more->lines;
}

void traffic_place(struct traffic *traffic, const struct flow_access *access, const struct traffic_bytes *bytes)
{
    uint32_t nodes = traffic->node_count;
    if (access->from < 0 || access->home < 0 || (uint32_t)access->from >= nodes || (uint32_t)access->home >= nodes) {
        traffic->unplaced += traffic_total(bytes);
        return;
    }
    traffic->node_pairs[(uint32_t)access->from * nodes + (uint32_t)access->home] += traffic_total(bytes);
    traffic->node_read[access->home] += bytes->read;
    traffic->node_written[access->home] += bytes->written;
}

static void count_samples(void *context, const struct flow_access *access)
{
    struct summing *summing = context;
    struct traffic_object *row = row_of(summing->traffic, access->object);
    summing->samples++;
    summing->unmet += !row;
    if (access->thread < summing->thread_count && access->flags & SAMPLE_FIRST)
        summing->threads[access->thread].bursts++;
    if (!row)
        return;
    row->bytes.samples++;
    row->stores += access->write;
}

static void share_out(void *context, const struct flow_access *access)
{
    struct summing *summing = context;
    struct traffic_object *row = row_of(summing->traffic, access->object);
    struct traffic_bytes bytes;
    if (!traffic_bytes_of(summing->traffic, access, &bytes))
        return;
    row->placed += access->from >= 0 && access->home >= 0;
    row->remote += access->from >= 0 && access->home >= 0 && access->from != access->home;
    if (access->thread < summing->thread_count)
        traffic_add(&summing->threads[access->thread].bytes, &bytes);
    traffic_place(summing->traffic, access, &bytes);
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

ORDER_BY(objects_by_bytes, struct traffic_object, by_bytes(&a->bytes, &b->bytes) ?: ORDER(a->object, b->object))

ORDER_BY(threads_by_bytes, struct traffic_thread, by_bytes(&a->bytes, &b->bytes) ?: ORDER(a->thread, b->thread))

void traffic_judge(const struct traffic *traffic, struct traffic_bytes *bytes)
{
    if (traffic->source == TRAFFIC_DATA_SOURCES) {
        traffic_judge_sampled(traffic, bytes);
        return;
    }
    bytes->is_rated = traffic->recorded && !traffic->too_few && bytes->accesses > 0;
    bytes->state = !bytes->is_rated                                                                ? TRAFFIC_UNKNOWN
                   : traffic_total(bytes) < thresholds.cached_lines * bytes->accesses * CACHE_LINE ? TRAFFIC_CACHED
                                                                                                   : TRAFFIC_MEMORY;
}

void traffic_finish(struct traffic *traffic)
{
    traffic_judge(traffic, &traffic->all);
    array_each (&traffic->objects, struct traffic_object, row)
        traffic_judge(traffic, &row->bytes);
    array_each (&traffic->threads, struct traffic_thread, row)
        traffic_judge(traffic, &row->bytes);
    array_sort(&traffic->objects, objects_by_bytes);
    array_sort(&traffic->threads, threads_by_bytes);
    for (uint32_t i = 0; i < traffic->objects.count; i++)
        *place_of(traffic, traffic->objects.items[i].object) = i;
}

struct crowd {
    uint64_t *bursts; /* of a thread */
    size_t threads;
};

static void count_bursts(void *context, const struct flow_access *access)
{
    struct crowd *crowd = context;
    if (access->flags & SAMPLE_FIRST && access->thread < crowd->threads)
        crowd->bursts[access->thread]++;
}

/* Threads that run, on the node with most of them; `all`: on all nodes. */
static uint32_t most_running(const struct flow *flow, bool all)
{
    size_t count = flow_thread_count(flow), nodes = flow_topology(flow)->node_count;
    struct crowd crowd = {mem_zalloc((count + 1) * sizeof *crowd.bursts), count};
    uint32_t *running = mem_zalloc((nodes + 1) * sizeof *running), most = 1;
    struct error ignored = {0};
    uint64_t busiest = 0;
    flow_each_access(flow, count_bursts, &crowd, &ignored);
    for (size_t i = 0; i < count; i++)
        busiest = crowd.bursts[i] > busiest ? crowd.bursts[i] : busiest;
    for (uint32_t i = 0; i < count; i++) {
        int node = flow_thread_node(flow, i);
        if (crowd.bursts[i] == 0 || (double)crowd.bursts[i] < thresholds.part * (double)busiest)
            continue;
        uint32_t here = ++running[node < 0 || all ? 0 : node];
        most = here > most ? here : most;
    }
    free(crowd.bursts);
    free(running);
    return most;
}

double traffic_cache(const struct flow *flow, double own, double shared, uint32_t cores)
{
    uint32_t threads = shared > 0 ? most_running(flow, false) : 1;
    if (cores && threads > cores)
        threads = cores;
    return own + shared / threads;
}

static double own_cache(const struct flow *flow)
{
    const struct calibration *calibration = flow_calibration(flow);
    double own = 0, shared = 0;
    for (uint32_t i = 0; calibration && i < calibration->cache_count; i++) {
        const struct calibration_cache *cache = &calibration->caches[i];
        if (cache->level > 2)
            shared = (double)cache->size;
        else
            own = (double)cache->size;
    }
    return traffic_cache(flow, own, shared, 0);
}

static double size_of(const struct traffic *traffic, const struct traffic_object *row)
{
    return row->site != FLOW_NONE ? (double)flow_site(traffic->flow, row->site)->peak_bytes
                                  : (double)flow_object_copy(traffic->flow, row->object).size;
}

/* Different lines of all objects that a thread meets in so many seconds, if it goes on to meet new ones as long bursts saw it do; of an
 * object there are no more than it has. */
static double lines_in(const struct traffic *traffic, double seconds, double threads)
{
    double lines = traffic->nobody.bytes.read / threads * seconds;
    array_each (&traffic->objects, const struct traffic_object, row)
        lines += fmin(row->bytes.read / threads * seconds, size_of(traffic, row));
    return lines / CACHE_LINE;
}

/* The time that a thread needs at least to fill what its cache has beyond what bursts show: at the pace of bursts, since new lines become
 * rarer with time. No longer than the recording. */
static double time_to_fill(const struct traffic *traffic, double threads)
{
    enum { HALVINGS = 60 };
    double left = (traffic->cache - traffic->known_cache) / CACHE_LINE;
    double low = 0, high = traffic->seconds;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        *(lines_in(traffic, middle, threads) < left ? &low : &high) = middle;
    }
    return high;
}

/* Bursts that are too short for the cache see lines as new that it may hold. Until it is full, each line of an object comes from memory once
 * at most. */
static void bound_above(struct traffic *traffic, double threads)
{
    double seconds = time_to_fill(traffic, threads), before = traffic_total(&traffic->all);
    traffic->all.read = traffic->nobody.bytes.read;
    traffic->all.written = traffic->nobody.bytes.written;
    array_each (&traffic->objects, struct traffic_object, row) {
        double most = size_of(traffic, row) / seconds * threads;
        double part = row->bytes.read > most ? most / row->bytes.read : 1;
        row->bytes.read *= part;
        row->bytes.written *= part;
        row->bytes.lower_bound *= part;
        row->bytes.error *= part;
        traffic->all.read += row->bytes.read;
        traffic->all.written += row->bytes.written;
    }
    traffic->all.lower_bound = traffic_total(&traffic->all);
    traffic->all.error *= before > 0 ? traffic->all.lower_bound / before : 1;
}

/* What no burst was long enough to see used again may be used again from a cache, as far as it fits there: each thread has a part of
 * these objects, and of that part at most what its cache holds. */
static void bound_below(struct traffic *traffic, double threads)
{
    double size = 0;
    array_each (&traffic->objects, const struct traffic_object, row)
        size += traffic_total(&row->bytes) > 0 ? size_of(traffic, row) : 0;
    double share = size > 0 ? fmax(1 - traffic->cache * threads / size, 0) : 0;
    traffic->all.lower_bound *= share;
    traffic->nobody.bytes.lower_bound *= share;
    array_each (&traffic->objects, struct traffic_object, row)
        row->bytes.lower_bound *= share;
}

static void take_objects(struct traffic *traffic, const struct reuse_answer *answer)
{
    array_each (&answer->objects, const struct reuse_object, from) {
        struct traffic_object *row = from->object == FLOW_NONE ? &traffic->nobody : traffic_row(traffic, from->object);
        row->bursts = from->bursts;
        row->bytes.read += from->bytes.read; /* what is not attributed may be of several sites */
        row->bytes.written += from->bytes.written;
        row->bytes.error += from->bytes.read_error + from->bytes.written_error;
        row->bytes.accesses += from->accesses;
        row->bytes.lower_bound = traffic_total(&row->bytes);
        traffic->all.accesses += from->accesses;
    }
    traffic->all.read = answer->all.read;
    traffic->all.written = answer->all.written;
    traffic->all.lower_bound = traffic_total(&traffic->all);
    traffic->all.error = answer->all.read_error + answer->all.written_error;
    if (!traffic->at_most)
        return;
    double threads = most_running(traffic->flow, true);
    if (traffic->cache > traffic->known_cache)
        bound_above(traffic, threads);
    bound_below(traffic, threads);
}

static void take_threads(struct summing *summing, double cpu_s)
{
    uint64_t bursts = 0;
    for (size_t i = 0; i < summing->thread_count; i++)
        bursts += summing->threads[i].bursts;
    for (uint32_t i = 0; i < summing->thread_count; i++) {
        struct traffic_thread *thread = &summing->threads[i];
        thread->thread = i;
        thread->user_s = bursts ? cpu_s * (double)thread->bursts / (double)bursts : 0;
        if (thread->bursts)
            array_push(&summing->traffic->threads, *thread);
    }
}

struct traffic *traffic_make(const struct flow *flow, double cache)
{
    struct traffic *traffic = traffic_new(flow);
    const struct reuse *reuse = reuse_of(flow);
    traffic->recorded = traffic_is_recorded(flow);
    traffic->too_few = traffic->recorded && !reuse; /* all ended before they showed anything */
    if (!reuse)
        return traffic;
    struct summing summing = {.traffic = traffic, .thread_count = flow_thread_count(flow)};
    struct reuse_answer answer;
    struct error ignored = {0}; /* the flow has read them all before */
    traffic->source = TRAFFIC_BURSTS;
    traffic->bursts = reuse_burst_count(reuse);
    traffic->too_few = traffic->bursts < thresholds.long_bursts;
    traffic->known_cache = reuse_known_bytes(reuse);
    traffic->cache = cache > 0 ? cache : own_cache(flow);
    bool unknown = traffic->cache <= 0; /* without a calibration: what the largest leaves to memory that bursts show */
    traffic->cache = unknown ? traffic->known_cache : traffic->cache;
    traffic->accesses_ns = reuse_access_rate(reuse);
    reuse_ask(reuse, traffic->cache, &answer);
    traffic->at_most = unknown || !answer.known;
    if (!traffic->too_few)
        take_objects(traffic, &answer);
    summing.threads = mem_zalloc((summing.thread_count + 1) * sizeof *summing.threads);
    flow_each_access(flow, count_samples, &summing, &ignored);
    flow_each_access(flow, share_out, &summing, &ignored);
    take_threads(&summing, reuse_cpu_seconds(reuse));
    traffic->all.samples = summing.samples;
    traffic->unmet = summing.samples ? (double)summing.unmet / (double)summing.samples : 0;
    if (traffic->nobody.bytes.samples == 0)
        traffic->unplaced += traffic_total(&traffic->nobody.bytes);
    array_each (&traffic->objects, const struct traffic_object, row)
        traffic->unplaced += row->bytes.samples ? 0 : traffic_total(&row->bytes);
    traffic_finish(traffic);
    free(summing.threads);
    reuse_answer_free(&answer);
    return traffic;
}

void traffic_free(struct traffic *traffic)
{
    if (!traffic)
        return;
    array_free(&traffic->objects);
    array_free(&traffic->threads);
    array_free(&traffic->functions);
    array_free(&traffic->lines);
    array_free(&traffic->counted.items);
    free(traffic->node_pairs);
    free(traffic->node_read);
    free(traffic->node_written);
    free(traffic->by_object);
    free(traffic->by_site);
    free(traffic);
}
