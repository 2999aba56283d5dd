/* flow/objects.c - numbers and rows of objects once the trace is read. */
#include "base/bisect.h"
#include "base/order.h"
#include "flow/runtimes.h"

#include <stdlib.h>

enum { ROW_CHUNK = 16 };

static int by_start(const void *left, const void *right, void *context)
{
    struct flow *flow = context;
    const struct record *a = pool_at(&flow->records, *(const uint32_t *)left);
    const struct record *b = pool_at(&flow->records, *(const uint32_t *)right);
    return ORDER(a->start, b->start) ?: ORDER(a->process, b->process) ?: ORDER(a->addr, b->addr);
}

static void collect(struct flow *flow, bool sampled)
{
    for (uint32_t i = 0; i < flow->records.count; i++) {
        const struct record *record = pool_at(&flow->records, i);
        if (sampled ? record->tally != FLOW_NONE : record->tally == FLOW_NONE && !(record->flags & RECORD_ENDED))
            array_push(&flow->objects, i);
    }
}

void live_objects_number(struct flow *flow)
{
    for (uint32_t i = 0; i < flow->records.count; i++) { /* the others were looked at when they ended */
        const struct record *record = pool_at(&flow->records, i);
        if (record->tally != FLOW_NONE && !(record->flags & RECORD_ENDED))
            live_touched_sum(flow, flow->processes.items[record->process], i);
    }
    collect(flow, true);
    flow->sampled_objects = (uint32_t)flow->objects.count;
    if (flow->objects.count)
        qsort_r(flow->objects.items, flow->objects.count, sizeof *flow->objects.items, by_start, flow);
    collect(flow, false);

    uint32_t *index_of = mem_alloc((flow->records.count + 1ul) * sizeof *index_of);
    for (uint32_t i = 0; i < flow->sampled_objects; i++)
        index_of[flow->objects.items[i]] = i;
    array_each (&flow->marks, struct mark, mark) {
        if (mark->object != FLOW_NONE)
            mark->object = index_of[mark->object];
    }
    array_each (&flow->reuses, struct flow_reuse, reuse) {
        const struct record *record = reuse->object != FLOW_NONE ? pool_at(&flow->records, reuse->object) : NULL;
        if (record) /* one that was not sampled has no number, and is another's by now where it began later */
            reuse->object =
                record->tally != FLOW_NONE && record->start <= reuse->time ? index_of[reuse->object] : FLOW_NONE;
    }
    live_touched_number(flow, index_of);
    free(index_of);
    live_rows_new(flow);
}

void live_rows_new(struct flow *flow)
{
    flow->rows = mem_zalloc((flow->objects.count / ROW_CHUNK + 1) * sizeof *flow->rows);
}

void live_rows_free(struct flow *flow)
{
    for (size_t i = 0; flow->rows && i <= flow->objects.count / ROW_CHUNK; i++)
        free(flow->rows[i]);
    free(flow->rows);
}

uint64_t flow_object_thing(const struct flow *flow, uint32_t object)
{
    uint32_t site = flow_object_site(flow, object);
    if (flow_object_kind(flow, object) == OBJECT_STACK)
        return 2ull << 32 | flow_object_process(flow, object);
    return site != FLOW_NONE ? 1ull << 32 | site : object;
}

struct flow_totals tally_totals(const struct tally *tally)
{
    return (struct flow_totals){.samples = tally->samples,
                                .reads = tally->reads,
                                .writes = tally->writes,
                                .remote = tally->remote,
                                .home_known = tally->home_known,
                                .latency_sum = tally->latency_sum,
                                .latency_count = tally->latency_count};
}

struct flow_totals flow_object_totals(const struct flow *flow, uint32_t index)
{
    const struct record *record = pool_at(&flow->records, flow->objects.items[index]);
    if (record->tally == FLOW_NONE || !live_counts(flow, flow->processes.items[record->process]))
        return (struct flow_totals){0};
    return tally_totals(pool_at(&flow->tallies, record->tally));
}

enum object_kind flow_object_kind(const struct flow *flow, uint32_t index)
{
    return pool_at(&flow->records, flow->objects.items[index])->flags & RECORD_KIND;
}

uint32_t flow_object_process(const struct flow *flow, uint32_t index)
{
    return pool_at(&flow->records, flow->objects.items[index])->process;
}

uint32_t live_site_of(const struct flow *flow, uint32_t trail)
{
    if (trail == FLOW_NONE)
        return FLOW_NONE;
    for (uint32_t at = trail; at; at = flow->trails.items[at].parent) {
        if (flow->trails.items[at].site != FLOW_NONE)
            return flow->trails.items[at].site;
    }
    return FLOW_NONE;
}

uint32_t flow_object_site(const struct flow *flow, uint32_t index)
{
    return live_site_of(flow, pool_at(&flow->records, flow->objects.items[index])->trail);
}

static const char *alloc_name(const struct flow *flow, uint8_t fn)
{
    const char *custom = live_custom_name(flow, fn);
    return custom ? custom : fn == ALLOC_FNS ? "mmap" : alloc_fn_name(fn);
}

static void fill(const struct flow *flow, uint32_t index, struct flow_object *row)
{
    uint32_t number = flow->objects.items[index];
    const struct record *record = pool_at(&flow->records, number);
    uint64_t *named = map64_find(&flow->named_of, number);
    *row = (struct flow_object){.id = index,
                                .site = live_site_of(flow, record->trail),
                                .process = record->process,
                                .alloc_thread = record->thread,
                                .kind = record->flags & RECORD_KIND,
                                .alloc_fn = record->fn < ALLOC_CUSTOM_FIRST ? record->fn : ALLOC_CUSTOM,
                                .alloc_name = alloc_name(flow, record->fn),
                                .alloc_cpu = record->cpu,
                                .addr = record->addr,
                                .size = record->size,
                                .start = record->start,
                                .end = UINT64_MAX,
                                .name = "",
                                .file = "",
                                .module = "",
                                .path = "",
                                .array = ""};
    uint32_t chain = record->trail != FLOW_NONE ? flow->trails.items[record->trail].stack : FLOW_NONE;
    if (chain != FLOW_NONE) {
        row->stack = flow->stacks.items[chain].id;
        row->stack_process = flow->stacks.items[chain].process;
        row->array = runtime_array(flow, &flow->stacks.items[chain]);
    }
    row->totals = flow_object_totals(flow, index);
    if (record->tally != FLOW_NONE)
        row->end = pool_at(&flow->tallies, record->tally)->end;
    if (flow->partial && row->start < flow->start)
        row->start = flow->start;
    if (flow->partial && row->end < flow->start)
        row->end = flow->start;
    if (row->site != FLOW_NONE) {
        const struct flow_site *site = &flow->sites.items[row->site];
        row->name = site->label;
        row->file = site->file;
        row->line = site->line;
        row->module = site->module;
    }
    if (named) {
        const struct named *own = &flow->named.items[*named];
        row->name = own->name;
        row->offset = own->offset;
        row->path = own->path ? own->path : "";
        if (row->site == FLOW_NONE) {
            row->file = own->file;
            row->line = own->line;
            row->module = own->module;
        }
    }
}

struct flow_object flow_object_copy(const struct flow *flow, uint32_t index)
{
    struct flow_object row;
    fill(flow, index, &row);
    return row;
}

const struct flow_object *flow_object(const struct flow *flow, uint32_t index)
{
    if (index >= flow->objects.count)
        return NULL;
    struct flow_object **chunk = &flow->rows[index / ROW_CHUNK];
    if (!*chunk) {
        uint32_t first = index / ROW_CHUNK * ROW_CHUNK;
        *chunk = mem_alloc(ROW_CHUNK * sizeof **chunk);
        for (uint32_t i = 0; i < ROW_CHUNK && first + i < flow->objects.count; i++)
            fill(flow, first + i, &(*chunk)[i]);
    }
    return &(*chunk)[index % ROW_CHUNK];
}

void live_objects_free(struct flow *flow)
{
    live_rows_free(flow);
    array_free(&flow->objects);
    free(flow->by_address);
    free(flow->reach);
}

/* Which objects held an address at a time: sorted by process and address; `reach` bounds how far back to look. */

static int by_place(const void *left, const void *right, void *context)
{
    struct flow *flow = context;
    const struct record *a = pool_at(&flow->records, flow->objects.items[*(const uint32_t *)left]);
    const struct record *b = pool_at(&flow->records, flow->objects.items[*(const uint32_t *)right]);
    return ORDER(a->process, b->process) ?: ORDER(a->addr, b->addr) ?: ORDER(a->start, b->start);
}

static void index_places(struct flow *flow)
{
    size_t count = flow->sampled_objects;
    flow->by_address = mem_alloc((count + 1) * sizeof *flow->by_address);
    flow->reach = mem_alloc((count + 1) * sizeof *flow->reach);
    for (uint32_t i = 0; i < count; i++)
        flow->by_address[i] = i;
    qsort_r(flow->by_address, count, sizeof *flow->by_address, by_place, flow);
    uint32_t process = FLOW_NONE;
    uint64_t reach = 0;
    for (size_t i = 0; i < count; i++) {
        const struct record *record = pool_at(&flow->records, flow->objects.items[flow->by_address[i]]);
        if (record->process != process)
            reach = 0;
        process = record->process;
        if (record->addr + record->size > reach)
            reach = record->addr + record->size;
        flow->reach[i] = reach;
    }
}

/* In order of processes and addresses: whether an object begins at `addr` or before. */
static bool begins_by(const struct flow *flow, uint32_t object, uint32_t process, uint64_t addr)
{
    const struct record *record = pool_at(&flow->records, flow->objects.items[object]);
    return record->process < process || (record->process == process && record->addr <= addr);
}

const struct flow_object *flow_object_at(const struct flow *const_flow, uint32_t process, uint64_t addr, uint64_t time)
{
    struct flow *flow = (struct flow *)const_flow; /* the index is a cache */
    if (!flow->by_address)
        index_places(flow);
    size_t low = bisect(flow->sampled_objects, i, begins_by(flow, flow->by_address[i], process, addr));
    /* Smaller kinds first: a heap block inside a map wins over the map. */
    const struct flow_object *best = NULL;
    while (low-- > 0) {
        const struct flow_object *object = flow_object(flow, flow->by_address[low]);
        if (object->process != process || flow->reach[low] <= addr)
            break;
        if (addr - object->addr >= object->size || time < object->start || time >= object->end)
            continue;
        if (!best || object->kind < best->kind || (object->kind == best->kind && object->size < best->size))
            best = object;
    }
    return best;
}
