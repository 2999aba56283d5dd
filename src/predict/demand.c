/* See demand.h.
 *
 * Phases: the recording is cut into slices of equal length, long enough that a thread which runs is met several times in each.
 * Slices next to each other in which the same threads run are one phase. */
#include "predict/demand.h"

#include "analysis/problems/balance_waits.h"
#include "analysis/thresholds.h"
#include "analysis/traffic/traffic.h"
#include "base/map64.h"
#include "base/order.h"
#include "base/strtab.h"
#include "base/units.h"
#include "flow/flow.h"
#include "topology/calibration.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { SLICES = 64, PARTS = 256 };

struct maker {
    const struct flow *flow;
    const struct traffic *traffic;
    struct demand *demand;
    uint32_t *thread_of; /* of a flow's thread: index in demand->threads, or DEMAND_NONE */
    uint32_t *burst_of;  /* of a flow's thread: how many bursts it had up to here */
    uint32_t slices;
    uint32_t *bursts;                     /* slices * threads */
    uint32_t *spun;                       /* likewise, of those: at a barrier */
    struct map64 barriers;                /* call chains, for waits_spinning */
    uint32_t *phase_of;                   /* of a thread in a slice, likewise */
    uint32_t *met;                        /* bursts with an access of a flow's object */
    uint64_t *met_last;                   /* the thread and number of the last one */
    uint64_t *stored;                     /* when it was last stored into; 0: never */
    uint64_t *slow;                       /* samples of a row of the traffic's objects that waited for memory */
    uint32_t *first_part, *parts;         /* of a flow's object */
    uint32_t slow_ns;                     /* from which a load waited for memory; 0: not known */
    struct map64 cell_of;                 /* by a hash of what distinguishes cells */
    array_of(struct demand_place) places; /* of the cells */
};

static int refuse(const struct traffic *traffic, struct error *err)
{
    if (!traffic->recorded && traffic_is_sampled(traffic->flow))
        return error_set(
            err, -ENODATA,
            "hardware samples show no more than a lower bound of the memory traffic, from which nothing is "
            "predicted; record it with: numalens record --source soft -- PROGRAM");
    if (!traffic->recorded && !traffic->requested)
        return error_set(err, -ENODATA, "the recording has no memory traffic: it was made with --no-traffic");
    if (!traffic->recorded && !traffic->possible)
        return error_set(err, -ENODATA,
                         "the recording has no memory traffic: nothing was sampled; record it with: numalens record -- "
                         "PROGRAM");
    if (traffic->too_few || traffic->seconds <= 0 || !traffic->all.is_rated)
        return error_set(err, -ENODATA, "only %llu long bursts, and %.0f are needed to know the traffic; record longer",
                         (unsigned long long)traffic->bursts, thresholds.long_bursts);
    return 0;
}

static double error_of(const struct traffic *traffic)
{
    double total = traffic_total(&traffic->all);
    return thresholds.off_by + (total > 0 ? 2 * traffic->all.error / total : 0);
}

/* The last cache's latency is often not known: others' work pushes lines out of it. */
static uint32_t slow_from(const struct flow *flow)
{
    const struct calibration *calibration = flow_calibration(flow);
    if (!calibration || !calibration_shows(calibration))
        return 0;
    uint32_t beyond = calibration_beyond_caches(calibration), usual = (uint32_t)thresholds.slow_usual;
    return beyond > usual ? beyond : usual;
}

static bool waited(const struct maker *maker, const struct flow_access *access)
{
    return maker->slow_ns && access->has_latency && !access->write && access->latency >= maker->slow_ns;
}

static void number_threads(struct maker *maker)
{
    size_t count = flow_thread_count(maker->flow);
    double error = error_of(maker->traffic);
    maker->thread_of = mem_alloc((count + 1) * sizeof *maker->thread_of);
    maker->burst_of = mem_zalloc((count + 1) * sizeof *maker->burst_of);
    memset(maker->thread_of, 0xff, (count + 1) * sizeof *maker->thread_of);
    array_each (&maker->traffic->threads, const struct traffic_thread, row) {
        int node = flow_thread_node(maker->flow, row->thread);
        maker->thread_of[row->thread] = (uint32_t)maker->demand->threads.count;
        array_push(&maker->demand->threads, (struct demand_thread){.tid = flow_thread(maker->flow, row->thread)->tid,
                                                                   .node = node < 0 ? 0 : (uint32_t)node,
                                                                   .error = error});
    }
}

static uint32_t slice_of(const struct maker *maker, uint64_t time)
{
    uint64_t start = flow_start(maker->flow), length = flow_end(maker->flow) - start;
    if (time <= start || length == 0)
        return 0;
    uint64_t slice = (uint64_t)((double)(time - start) / (double)length * maker->slices);
    return slice < maker->slices ? (uint32_t)slice : maker->slices - 1;
}

static void choose_slices(struct maker *maker)
{
    size_t threads = maker->demand->threads.count;
    uint64_t bursts = 0;
    array_each (&maker->traffic->threads, const struct traffic_thread, row)
        bursts += row->bursts;
    uint64_t slices = (uint64_t)((double)bursts / (thresholds.bursts * (double)(threads ? threads : 1)));
    maker->slices = slices < 1 ? 1 : slices > SLICES ? SLICES : (uint32_t)slices;
    maker->bursts = mem_zalloc(((size_t)maker->slices * threads + 1) * sizeof *maker->bursts);
    maker->spun = mem_zalloc(((size_t)maker->slices * threads + 1) * sizeof *maker->spun);
}

static uint32_t row_of(const struct maker *maker, uint32_t object)
{
    const struct traffic_object *row = object == FLOW_NONE ? NULL : traffic_of_object(maker->traffic, object);
    return row ? (uint32_t)(row - maker->traffic->objects.items) : DEMAND_NONE;
}

/* How often each thread was met in each slice, and each object by how many bursts. */
static void count_access(void *context, const struct flow_access *access)
{
    struct maker *maker = context;
    if (access->thread >= flow_thread_count(maker->flow) || maker->thread_of[access->thread] == DEMAND_NONE)
        return;
    uint32_t thread = maker->thread_of[access->thread];
    if (access->flags & SAMPLE_FIRST) {
        size_t at = (size_t)slice_of(maker, access->time) * maker->demand->threads.count + thread;
        maker->burst_of[access->thread]++;
        maker->bursts[at]++;
        maker->spun[at] += waits_spinning(maker->flow, &maker->barriers, access->thread, access->stack);
    }
    uint32_t row = row_of(maker, access->object);
    if (row == DEMAND_NONE)
        return;
    uint64_t burst = (uint64_t)access->thread << 32 | maker->burst_of[access->thread];
    maker->met[access->object] += maker->met[access->object] == 0 || maker->met_last[access->object] != burst;
    maker->met_last[access->object] = burst;
    maker->slow[row] += waited(maker, access);
    if (access->write && access->time > maker->stored[access->object])
        maker->stored[access->object] = access->time;
}

static bool same_threads(const uint32_t *a, const uint32_t *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!a[i] != !b[i])
            return false;
    return true;
}

static bool nobody(const uint32_t *bursts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bursts[i])
            return false;
    return true;
}

/* Whether some threads end in this slice and others begin: then they need not have run at the same time. */
static bool is_change(const struct maker *maker, uint32_t slice)
{
    size_t threads = maker->demand->threads.count;
    if (slice == 0 || slice + 1 == maker->slices)
        return false;
    const uint32_t *here = maker->bursts + (size_t)slice * threads, *before = here - threads, *after = here + threads;
    if (same_threads(here, before, threads) || same_threads(here, after, threads))
        return false;
    for (size_t i = 0; i < threads; i++)
        if (!here[i] != !(before[i] || after[i]))
            return false;
    return true;
}

static void make_phases(struct maker *maker)
{
    struct demand *demand = maker->demand;
    size_t threads = demand->threads.count;
    const uint32_t *before = NULL;
    maker->phase_of = mem_zalloc(((size_t)maker->slices * threads + 1) * sizeof *maker->phase_of);
    demand->cpu_s = mem_zalloc(((size_t)maker->slices * threads + 1) * sizeof *demand->cpu_s);
    for (uint32_t slice = 0; slice < maker->slices; slice++) {
        const uint32_t *bursts = maker->bursts + (size_t)slice * threads, *spun = maker->spun + (size_t)slice * threads;
        bool change = is_change(maker, slice);
        if (nobody(bursts, threads))
            continue; /* waiting for something else than memory */
        if (!change && (!before || !same_threads(before, bursts, threads)))
            demand->phase_count++;
        before = change ? before : bursts;
        array_each (&maker->traffic->threads, const struct traffic_thread, row) {
            uint32_t thread = maker->thread_of[row->thread];
            bool begins = change && !before[thread]; /* it belongs to the next phase */
            uint32_t phase = demand->phase_count - 1 + begins;
            maker->phase_of[slice * threads + thread] = phase;
            if (bursts[thread]) /* on a quicker or slower machine it would spin for another time */
                demand->cpu_s[phase * threads + thread] +=
                    row->user_s * (bursts[thread] - spun[thread]) / (double)row->bursts;
        }
    }
}

struct groups { /* of objects that are one to whoever reads of them: as numbers of the demand */
    uint32_t *by_site;
    struct strtab *variables;
    array_of(uint32_t) by_variable;
};

/* Objects of one site are one, and so are all threads' copies of a thread-local variable. */
static uint32_t *group_of(const struct maker *maker, struct groups *groups, uint32_t object)
{
    uint32_t site = flow_object_site(maker->flow, object);
    if (site != FLOW_NONE)
        return &groups->by_site[site];
    struct flow_object row = flow_object_copy(maker->flow, object);
    if (!flow_object_thread_local(&row))
        return &maker->demand->number_of[object];
    char *text = flow_object_variable(&row);
    uint32_t variable = strtab_add(groups->variables, text);
    free(text);
    while (groups->by_variable.count <= variable)
        array_push(&groups->by_variable, DEMAND_NONE);
    return &groups->by_variable.items[variable];
}

/* Parts are of single objects, so large that each is met several times. */
static void number_objects(struct maker *maker)
{
    size_t objects = flow_object_count(maker->flow) + 1, sites = flow_site_count(maker->flow) + 1;
    struct groups groups = {.by_site = mem_alloc(sites * sizeof *groups.by_site), .variables = strtab_new()};
    memset(groups.by_site, 0xff, sites * sizeof *groups.by_site);
    maker->demand->flow_objects = (uint32_t)objects - 1;
    maker->demand->number_of = mem_alloc(objects * sizeof *maker->demand->number_of);
    maker->first_part = mem_zalloc(objects * sizeof *maker->first_part);
    maker->parts = mem_zalloc(objects * sizeof *maker->parts);
    memset(maker->demand->number_of, 0xff, objects * sizeof *maker->demand->number_of);
    for (uint32_t object = 0; object + 1 < objects; object++) {
        if (!maker->met[object])
            continue;
        uint32_t *group = group_of(maker, &groups, object);
        if (*group == DEMAND_NONE)
            *group = maker->demand->object_count++;
        maker->demand->number_of[object] = *group;
        uint64_t pages = flow_object_copy(maker->flow, object).size / PAGE_UNIT,
                 parts = (uint64_t)(maker->met[object] / thresholds.bursts);
        parts = parts > PARTS ? PARTS : parts;
        parts = parts > pages ? pages : parts;
        maker->parts[object] = parts ? (uint32_t)parts : 1;
        maker->first_part[object] = maker->demand->part_count;
        maker->demand->part_count += maker->parts[object];
    }
    free(groups.by_site);
    array_free(&groups.by_variable);
    strtab_free(groups.variables);
}

static uint32_t share_of(const struct maker *maker, uint32_t object, uint64_t addr)
{
    struct flow_object row = flow_object_copy(maker->flow, object);
    uint32_t parts = maker->parts[object];
    uint64_t offset = addr > row.addr ? addr - row.addr : 0;
    uint32_t part = row.size ? (uint32_t)fmin((double)offset / (double)row.size * parts, parts - 1) : 0;
    return maker->first_part[object] + part;
}

/* Of one burst. */
static bool same_cell(const struct demand_cell *a, const struct demand_cell *b)
{
    return a->thread == b->thread && a->phase == b->phase && a->object == b->object && a->part == b->part &&
           a->home == b->home && a->stores == b->stores;
}

/* Two cells with one hash (of 64 bits) find each other's key taken and try the next. */
static struct demand_cell *find_cell(struct maker *maker, const struct demand_cell *cell, struct demand_place place)
{
    uint64_t key = map64_hash((uint64_t)cell->thread << 32 | place.burst);
    key = map64_hash(key ^ ((uint64_t)cell->object << 32 | cell->part));
    key = map64_hash(key ^ ((uint64_t)(uint32_t)cell->home << 1 | (uint64_t)cell->stores));
    for (;; key++) {
        bool is_new;
        uint64_t *at = map64_insert(&maker->cell_of, key, &is_new);
        if (is_new) {
            *at = place.cell = (uint32_t)maker->demand->cells.count;
            array_push(&maker->demand->cells, *cell);
            array_push(&maker->places, place);
        }
        if (maker->places.items[*at].burst == place.burst && same_cell(&maker->demand->cells.items[*at], cell))
            return &maker->demand->cells.items[*at];
    }
}

/* Accesses that a sample stands for; of those that waited no more than lines came. */
static double loads_of(const struct maker *maker, uint32_t row, const struct traffic_bytes *bytes)
{
    double seconds = maker->traffic->seconds, lines = maker->traffic->objects.items[row].bytes.read / CACHE_LINE;
    return fmin(bytes->accesses, lines / (double)maker->slow[row]) * seconds;
}

static void add_access(void *context, const struct flow_access *access)
{
    struct maker *maker = context;
    struct demand *demand = maker->demand;
    struct traffic_bytes bytes;
    if (access->thread >= flow_thread_count(maker->flow) || maker->thread_of[access->thread] == DEMAND_NONE)
        return;
    maker->burst_of[access->thread] += access->flags & SAMPLE_FIRST ? 1 : 0;
    if (!traffic_bytes_of(maker->traffic, access, &bytes))
        return;
    uint32_t thread = maker->thread_of[access->thread], row = row_of(maker, access->object);
    bool known = access->home >= 0 && (uint32_t)access->home < demand->node_count, named = row != DEMAND_NONE;
    double seconds = maker->traffic->seconds;
    struct demand_cell *cell = find_cell(
        maker,
        &(struct demand_cell){.thread = thread,
                              .phase = maker->phase_of[slice_of(maker, access->time) * demand->threads.count + thread],
                              .object = named ? demand->number_of[access->object] : DEMAND_NONE,
                              .part = named ? share_of(maker, access->object, access->addr) : DEMAND_NONE,
                              .home = known ? access->home : -1,
                              .stores = access->write,
                              .settled = named && access->time > maker->stored[access->object]},
        (struct demand_place){.addr = access->addr,
                              .object = named ? access->object : DEMAND_NONE,
                              .thread = thread,
                              .burst = maker->burst_of[access->thread]});
    cell->bytes += traffic_total(&bytes) * seconds;
    cell->written += bytes.written * seconds;
    cell->lower_bound += bytes.lower_bound * seconds;
    if (named && waited(maker, access)) {
        double loads = loads_of(maker, row, &bytes);
        cell->loads += loads;
        cell->load_s += loads * access->latency * 1e-9;
    }
}

ORDER_BY(by_phase, struct demand_cell, ORDER(a->phase, b->phase) ?: ORDER(a->thread, b->thread))

struct demand *demand_make(const struct flow *flow, const struct traffic *traffic, struct error *err)
{
    struct error ignored = {0}; /* the flow has read them all before */
    if (refuse(traffic, err) < 0)
        return NULL;
    size_t objects = flow_object_count(flow) + 1;
    struct maker maker = {.flow = flow,
                          .traffic = traffic,
                          .demand = mem_zalloc(sizeof *maker.demand),
                          .met = mem_zalloc(objects * sizeof *maker.met),
                          .met_last = mem_zalloc(objects * sizeof *maker.met_last),
                          .stored = mem_zalloc(objects * sizeof *maker.stored),
                          .slow = mem_zalloc((traffic->objects.count + 1) * sizeof *maker.slow),
                          .slow_ns = slow_from(flow)};
    maker.demand->node_count = traffic->node_count;
    number_threads(&maker);
    choose_slices(&maker);
    flow_each_access(flow, count_access, &maker, &ignored);
    make_phases(&maker);
    number_objects(&maker);
    memset(maker.burst_of, 0, flow_thread_count(flow) * sizeof *maker.burst_of);
    flow_each_access(flow, add_access, &maker, &ignored);
    if (maker.places.count)
        demand_find_near(maker.demand, maker.places.items);
    array_sort(&maker.demand->cells, by_phase);
    array_free(&maker.places);
    free(maker.thread_of);
    free(maker.burst_of);
    free(maker.bursts);
    free(maker.spun);
    map64_free(&maker.barriers);
    free(maker.phase_of);
    free(maker.met);
    free(maker.met_last);
    free(maker.stored);
    free(maker.slow);
    free(maker.first_part);
    free(maker.parts);
    map64_free(&maker.cell_of);
    return maker.demand;
}

double demand_unknown_homes(const struct demand *demand)
{
    double all = 0, unknown = 0;
    array_each (&demand->cells, const struct demand_cell, cell) {
        all += cell->bytes;
        unknown += cell->home < 0 ? cell->bytes : 0;
    }
    return all > 0 ? unknown / all : 0;
}

void demand_free(struct demand *demand)
{
    if (!demand)
        return;
    array_free(&demand->threads);
    array_free(&demand->cells);
    free(demand->number_of);
    free(demand->cpu_s);
    free(demand);
}
