/* See demand.h.
 *
 * Phases: the recording is cut into slices of equal length, long enough that a thread which runs is met several times in each.
 * Slices next to each other in which the same threads run are one phase. */
#include "predict/demand.h"

#include "analysis/traffic/traffic.h"
#include "base/strtab.h"
#include "base/units.h"
#include "flow/flow.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { SLICES = 64, BURSTS_IN_SLICE = 8, PARTS = 64, BURSTS_IN_PART = 8 };

static const double off_by = 0.05; /* what traffic's estimate is off by where it is known, beside sampling */

struct maker {
    const struct flow *flow;
    const struct traffic *traffic;
    struct demand *demand;
    uint32_t *thread_of; /* of a flow's thread: index in demand->threads, or DEMAND_NONE */
    uint32_t slices;
    uint32_t *bursts;             /* slices * threads */
    uint32_t *phase_of;           /* of a thread in a slice, likewise */
    double *accesses;             /* of a thread */
    uint32_t *first_part, *parts; /* of a flow's object */
};

static int refuse(const struct traffic *traffic, struct error *err)
{
    static const char remedy[] = "; record it with: numalens record --traffic -- PROGRAM";
    if (!traffic->recorded && traffic_is_sampled(traffic->flow))
        return error_set(
            err, -ENODATA,
            "hardware samples show no more than a lower bound of the memory traffic, from which nothing is "
            "predicted; record it with: numalens record --source soft --traffic -- PROGRAM");
    if (!traffic->recorded && !traffic->requested)
        return error_set(err, -ENODATA, "the recording has no memory traffic%s", remedy);
    if (!traffic->recorded && !traffic->possible)
        return error_set(err, -ENODATA,
                         "the recording has no memory traffic: it takes a tick by perf and bursts by one signal; "
                         "'numalens doctor' says what is missing");
    if (!traffic->bound)
        return error_set(err, -ENODATA,
                         "the recording's calibration does not distinguish caches from memory, so that "
                         "its traffic is unknown; record again on an idle machine");
    if (traffic->too_few || traffic->seconds <= 0)
        return error_set(err, -ENODATA,
                         "only %llu pairs of bursts, and %u are needed to know the traffic; record longer",
                         (unsigned long long)traffic->pairs, traffic_rules.pairs);
    if (!traffic->all.is_rated)
        return error_set(err, -ENODATA,
                         "the bytes of more than half of the accesses are unknown, so that nothing is "
                         "predicted; 'numalens report traffic' shows which");
    return 0;
}

double demand_error(double pairs)
{
    return off_by + 2 / sqrt(pairs > 1 ? pairs : 1);
}

static double rate_of(const struct traffic_thread *row)
{
    return row->user_s > 0 ? (row->bytes.read + row->bytes.written) / row->user_s : 0;
}

/* Threads of a team do the same: those that move bytes about as fast are one sample of how fast that is. */
static double pairs_like(const struct traffic *traffic, const struct traffic_thread *row)
{
    const double alike = 2;
    double pairs = 0, rate = rate_of(row);
    array_each (&traffic->threads, const struct traffic_thread, other) {
        double there = rate_of(other);
        if (other == row || (rate > 0 && there > rate / alike && there < rate * alike))
            pairs += (double)other->pairs;
    }
    return pairs;
}

static void number_threads(struct maker *maker)
{
    size_t count = flow_thread_count(maker->flow);
    maker->thread_of = mem_alloc((count + 1) * sizeof *maker->thread_of);
    memset(maker->thread_of, 0xff, (count + 1) * sizeof *maker->thread_of);
    array_each (&maker->traffic->threads, const struct traffic_thread, row) {
        int node = flow_thread_node(maker->flow, row->thread);
        maker->thread_of[row->thread] = (uint32_t)maker->demand->threads.count;
        array_push(&maker->demand->threads,
                   (struct demand_thread){.tid = flow_thread(maker->flow, row->thread)->tid,
                                          .node = node < 0 ? 0 : (uint32_t)node,
                                          .error = demand_error(pairs_like(maker->traffic, row))});
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

/* How often each thread was met in each slice. */
static void count_bursts(struct maker *maker)
{
    const struct flow_stream *rows;
    size_t count = flow_streams(maker->flow, &rows), threads = maker->demand->threads.count;
    uint64_t slices = maker->traffic->bursts / (BURSTS_IN_SLICE * (threads ? threads : 1));
    maker->slices = slices < 1 ? 1 : slices > SLICES ? SLICES : (uint32_t)slices;
    maker->bursts = mem_zalloc(((size_t)maker->slices * threads + 1) * sizeof *maker->bursts);
    uint32_t *last = mem_alloc((threads + 1) * sizeof *last);
    memset(last, 0xff, (threads + 1) * sizeof *last);
    for (size_t i = 0; i < count; i++) {
        uint32_t thread = maker->thread_of[rows[i].thread];
        if (thread == DEMAND_NONE || last[thread] == rows[i].event.burst)
            continue;
        last[thread] = rows[i].event.burst;
        maker->bursts[(size_t)slice_of(maker, rows[i].time) * threads + thread]++;
    }
    free(last);
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
        const uint32_t *bursts = maker->bursts + (size_t)slice * threads;
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
            if (bursts[thread])
                demand->cpu_s[phase * threads + thread] += row->user_s * bursts[thread] / (double)row->bursts;
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
    uint32_t *met = mem_zalloc(objects * sizeof *met);
    struct groups groups = {.by_site = mem_alloc(sites * sizeof *groups.by_site), .variables = strtab_new()};
    memset(groups.by_site, 0xff, sites * sizeof *groups.by_site);
    maker->demand->flow_objects = (uint32_t)objects - 1;
    maker->demand->number_of = mem_alloc(objects * sizeof *maker->demand->number_of);
    maker->first_part = mem_zalloc(objects * sizeof *maker->first_part);
    maker->parts = mem_zalloc(objects * sizeof *maker->parts);
    memset(maker->demand->number_of, 0xff, objects * sizeof *maker->demand->number_of);
    array_each (&maker->traffic->cells, const struct traffic_cell, cell) {
        uint32_t object = cell->row->object;
        if (object == FLOW_NONE || met[object]++)
            continue;
        uint32_t *group = group_of(maker, &groups, object);
        if (*group == DEMAND_NONE)
            *group = maker->demand->object_count++;
        maker->demand->number_of[object] = *group;
    }
    for (uint32_t object = 0; object + 1 < objects; object++) {
        if (!met[object])
            continue;
        uint64_t pages = flow_object_copy(maker->flow, object).size / PAGE_UNIT, parts = met[object] / BURSTS_IN_PART;
        parts = parts > PARTS ? PARTS : parts;
        parts = parts > pages ? pages : parts;
        maker->parts[object] = parts ? (uint32_t)parts : 1;
        maker->first_part[object] = maker->demand->part_count;
        maker->demand->part_count += maker->parts[object];
    }
    free(groups.by_site);
    array_free(&groups.by_variable);
    strtab_free(groups.variables);
    free(met);
}

static uint32_t part_of(const struct maker *maker, uint32_t object, uint64_t addr)
{
    struct flow_object row = flow_object_copy(maker->flow, object);
    uint32_t parts = maker->parts[object];
    uint64_t offset = addr > row.addr ? addr - row.addr : 0;
    uint32_t part = row.size ? (uint32_t)fmin((double)offset / (double)row.size * parts, parts - 1) : 0;
    return maker->first_part[object] + part;
}

/* When each object was last met being stored into; 0: never. What is initialised once and read from then on has copies, however long
 * the slices are. */
static uint64_t *last_stores(const struct maker *maker)
{
    const struct flow_stream *rows;
    size_t count = flow_streams(maker->flow, &rows);
    uint64_t *last = mem_zalloc((flow_object_count(maker->flow) + 1) * sizeof *last);
    for (size_t i = 0; i < count; i++)
        if (rows[i].object != FLOW_NONE && rows[i].event.flags & STREAM_WRITE && rows[i].time > last[rows[i].object])
            last[rows[i].object] = rows[i].time;
    return last;
}

/* See struct demand_cell. */
static double most_time(const struct traffic_cell *cell, double access_share_s, double seconds)
{
    return fmin(access_share_s * cell->accesses * cell->most, cell->most_lines * seconds * DEMAND_ACCESS_S);
}

static void make_cells(struct maker *maker)
{
    struct demand *demand = maker->demand;
    double seconds = maker->traffic->seconds;
    struct demand_place *places = mem_alloc((maker->traffic->cells.count + 1) * sizeof *places);
    uint64_t *stored = last_stores(maker);
    maker->accesses = mem_zalloc((demand->threads.count + 1) * sizeof *maker->accesses);
    array_each (&maker->traffic->cells, const struct traffic_cell, cell)
        maker->accesses[maker->thread_of[cell->row->thread]] += cell->accesses;
    array_each (&maker->traffic->cells, const struct traffic_cell, from) {
        const struct flow_stream *row = from->row;
        uint32_t thread = maker->thread_of[row->thread];
        const struct traffic_thread *of = &maker->traffic->threads.items[thread];
        bool home = row->home >= 0 && (uint32_t)row->home < demand->node_count, named = row->object != FLOW_NONE;
        double all = maker->accesses[thread];
        places[demand->cells.count] = (struct demand_place){.addr = row->event.addr,
                                                            .object = named ? row->object : DEMAND_NONE,
                                                            .thread = thread,
                                                            .burst = row->event.burst,
                                                            .cell = (uint32_t)demand->cells.count};
        array_push(
            &demand->cells,
            (struct demand_cell){.thread = thread,
                                 .phase = maker->phase_of[slice_of(maker, row->time) * demand->threads.count + thread],
                                 .object = named ? demand->number_of[row->object] : DEMAND_NONE,
                                 .part = named ? part_of(maker, row->object, row->event.addr) : DEMAND_NONE,
                                 .home = home ? row->home : -1,
                                 .stores = row->event.flags & STREAM_WRITE,
                                 .settled = named && row->time > stored[row->object],
                                 .bytes = (from->read + from->written) * seconds,
                                 .written = from->written * seconds,
                                 .loads = from->exposed * seconds,
                                 .load_s = from->exposed * seconds * from->exposed_ns * 1e-9,
                                 .unknown_s = from->rated || all <= 0 ? 0 : of->user_s * from->accesses / all,
                                 .most_s = from->rated || all <= 0 ? 0 : most_time(from, of->user_s / all, seconds)});
    }
    demand_find_near(demand, places);
    free(stored);
    free(places);
}

static int by_phase(const void *left, const void *right)
{
    const struct demand_cell *a = left, *b = right;
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

struct demand *demand_make(const struct flow *flow, const struct traffic *traffic, struct error *err)
{
    return refuse(traffic, err) < 0 ? NULL : demand_for_bounds(flow, traffic);
}

struct demand *demand_for_bounds(const struct flow *flow, const struct traffic *traffic)
{
    if (traffic->cells.count == 0)
        return NULL;
    struct maker maker = {.flow = flow, .traffic = traffic, .demand = mem_zalloc(sizeof *maker.demand)};
    maker.demand->node_count = traffic->node_count;
    number_threads(&maker);
    count_bursts(&maker);
    make_phases(&maker);
    number_objects(&maker);
    make_cells(&maker);
    array_sort(&maker.demand->cells, by_phase);
    free(maker.thread_of);
    free(maker.bursts);
    free(maker.phase_of);
    free(maker.accesses);
    free(maker.first_part);
    free(maker.parts);
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
