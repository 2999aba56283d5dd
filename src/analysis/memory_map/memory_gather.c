/* analysis/memory_map/memory_gather.c - one pass over the accesses: which pages there are, and what each thread did in each when.
 *
 * A program may touch any number of pages. When there are too many cells, pages are joined in pairs (all of them, so that a
 * page's number still gives its place), and when that does not help, slices are. */
#include "analysis/memory_map/memory_work.h"

#include <string.h>

enum {
    ADDR_BITS = 57,
    PAGE_BITS = ADDR_BITS - PAGE_UNIT_SHIFT,
    THREAD_BITS = 24,
    SLICE_BITS = 12, /* 4096 slices; the rest is the page's index */
    RECENT = 8192,   /* places, a power of two */
    MOST_CELLS = 4 << 20,
    MIN_CELLS = 1 << 16,
    FINER = 16, /* cells for each that is asked for: leaves are chosen among them */
};

/* The cells that were used last, by a hash of where they are: most accesses of a burst hit here. */
struct recent {
    uint64_t page_key;
    uint32_t page, thread, slice, cell;
};

static void memory_vote(struct memory_votes *votes, uint32_t object, uint32_t weight)
{
    uint32_t min_weight = weight;
    for (unsigned i = 0; i < MEMORY_VOTES; i++) {
        if (votes->weight[i] && votes->object[i] == object) {
            votes->weight[i] += weight;
            return;
        }
    }
    for (unsigned i = 0; i < MEMORY_VOTES; i++) {
        if (votes->weight[i] == 0) {
            votes->object[i] = object;
            votes->weight[i] = weight;
            return;
        }
        min_weight = votes->weight[i] < min_weight ? votes->weight[i] : min_weight;
    }
    for (unsigned i = 0; i < MEMORY_VOTES; i++)
        votes->weight[i] -= min_weight;
    if (weight > min_weight)
        memory_vote(votes, object, weight - min_weight);
}

void memory_votes_join(struct memory_votes *votes, const struct memory_votes *more)
{
    for (unsigned i = 0; i < MEMORY_VOTES; i++) {
        if (more->weight[i])
            memory_vote(votes, more->object[i], more->weight[i]);
    }
}

uint32_t memory_votes_winner(const struct memory_votes *votes)
{
    uint32_t best = 0;
    for (unsigned i = 1; i < MEMORY_VOTES; i++) {
        if (votes->weight[i] > votes->weight[best])
            best = i;
    }
    return votes->weight[best] ? votes->object[best] : FLOW_NONE;
}

/* Addresses are canonical: the bits above ADDR_BITS are all as the highest one, and need not be kept. */
static uint64_t page_key(const struct memory_gathering *gathering, uint32_t process, uint64_t addr)
{
    uint64_t page = (addr & ((1ul << ADDR_BITS) - 1)) >> PAGE_UNIT_SHIFT >> gathering->shift;
    return (gathering->map->physical ? 0 : (uint64_t)process << PAGE_BITS) | page;
}

uint64_t memory_page_addr(const struct memory_gathering *gathering, uint64_t key)
{
    uint64_t addr = (key & ((1ul << PAGE_BITS) - 1)) << gathering->shift << PAGE_UNIT_SHIFT;
    return addr >> (ADDR_BITS - 1) && !gathering->map->physical ? addr | UINT64_MAX << ADDR_BITS : addr;
}

uint32_t memory_page_process(const struct memory_gathering *gathering, uint64_t key)
{
    return gathering->map->physical ? FLOW_NONE : (uint32_t)(key >> PAGE_BITS);
}

static uint32_t page_find(struct memory_gathering *gathering, uint64_t key)
{
    bool is_new;
    uint64_t *place = map64_insert(&gathering->page_of, key, &is_new);
    if (is_new) {
        *place = gathering->pages.count;
        array_push(&gathering->pages, (struct memory_page){.key = key});
    }
    return (uint32_t)*place;
}

static uint32_t cell_find(struct memory_gathering *gathering, uint32_t page, uint32_t slice, uint32_t thread)
{
    bool is_new;
    uint64_t key = ((uint64_t)page << SLICE_BITS | slice) << THREAD_BITS | thread;
    uint64_t *place = map64_insert(&gathering->cell_of, key, &is_new);
    if (is_new) {
        *place = gathering->cells.count;
        array_push(&gathering->cells, (struct memory_cell){.leaf = page, .slice = (uint16_t)slice, .thread = thread});
    }
    return (uint32_t)*place;
}

void memory_cell_join(struct memory_cell *cell, const struct memory_cell *more)
{
    cell->reads += more->reads;
    cell->writes += more->writes;
    cell->remote += more->remote;
    cell->home_known += more->home_known;
    cell->latency_count += more->latency_count;
    cell->latency_sum += more->latency_sum;
    cell->accesses += more->accesses;
}

void memory_halve_slices(struct memory_map *map)
{
    map->slices = (map->slices + 1) / 2;
    map->slice_ns *= 2;
    map->end = map->start + map->slice_ns * map->slices;
}

static void forget_recent(struct memory_gathering *gathering)
{
    for (unsigned i = 0; i < RECENT; i++)
        gathering->recent[i].page_key = MAP64_EMPTY;
}

/* Pages twice as large, or slices twice as long. */
static void coarsen(struct memory_gathering *gathering)
{
    struct memory_gathering old = *gathering;
    bool by_time = gathering->shift + 1 >= PAGE_BITS || gathering->pages.count == 1;
    if (by_time)
        memory_halve_slices(gathering->map);
    else
        gathering->shift++;
    memset(&gathering->page_of, 0, sizeof gathering->page_of);
    memset(&gathering->cell_of, 0, sizeof gathering->cell_of);
    memset(&gathering->pages, 0, sizeof gathering->pages);
    memset(&gathering->cells, 0, sizeof gathering->cells);
    uint32_t *moved = mem_alloc((old.pages.count + 1) * sizeof *moved);
    for (size_t i = 0; i < old.pages.count; i++) {
        const struct memory_page *page = &old.pages.items[i];
        uint64_t key = page_key(gathering, (uint32_t)(page->key >> PAGE_BITS), memory_page_addr(&old, page->key));
        moved[i] = page_find(gathering, key);
        memory_votes_join(&gathering->pages.items[moved[i]].votes, &page->votes);
    }
    array_each (&old.cells, const struct memory_cell, cell) {
        uint32_t into = cell_find(gathering, moved[cell->leaf], cell->slice >> by_time, cell->thread);
        memory_cell_join(&gathering->cells.items[into], cell);
    }
    free(moved);
    map64_free(&old.page_of);
    map64_free(&old.cell_of);
    array_free(&old.pages);
    array_free(&old.cells);
    forget_recent(gathering);
}

static struct memory_cell *find(struct memory_gathering *gathering, uint32_t thread, uint32_t slice, uint64_t key,
                                uint32_t *page)
{
    struct recent *recent = &gathering->recent[map64_hash(key * 61 + thread) & (RECENT - 1)];
    if (recent->page_key != key || recent->thread != thread || recent->slice != slice) {
        recent->page = page_find(gathering, key);
        recent->cell = cell_find(gathering, recent->page, slice, thread);
        recent->page_key = key;
        recent->thread = thread;
        recent->slice = slice;
    }
    *page = recent->page;
    return &gathering->cells.items[recent->cell];
}

static void visit(void *context, const struct flow_access *access)
{
    struct memory_gathering *gathering = context;
    const struct memory_map_options *options = gathering->options;
    struct memory_map *map = gathering->map;
    if (access->time < map->start || access->time >= gathering->end)
        return;
    if (options->thread != FLOW_NONE && access->thread != options->thread)
        return;
    if (access->thread >= flow_thread_count(map->flow) || access->thread >> THREAD_BITS) {
        map->without_thread++;
        return;
    }
    uint32_t process = gathering->process_of[access->thread];
    if (options->process != FLOW_NONE && process != options->process)
        return;
    if (map->physical && access->physical == 0) {
        map->without_addr++;
        return;
    }
    uint64_t addr = map->physical ? access->physical : access->addr;
    if (addr < gathering->low || addr > gathering->high)
        return;
    uint32_t page, slice = (uint32_t)((access->time - map->start) / map->slice_ns);
    struct memory_cell *cell = find(gathering, access->thread, slice, page_key(gathering, process, addr), &page);
    cell->accesses++;
    cell->reads += !access->write || access->flags & SAMPLE_READ;
    cell->writes += access->write;
    cell->remote += access->remote;
    cell->home_known += access->home >= 0 || access->remote;
    cell->latency_count += access->has_latency;
    cell->latency_sum += access->latency;
    map->shown++;
    if (access->object != FLOW_NONE)
        memory_vote(&gathering->pages.items[page].votes, access->object, 1);
    while (gathering->cells.count > gathering->most_cells && map->slices > 1)
        coarsen(gathering);
}

int memory_gather(struct memory_gathering *gathering, struct error *err)
{
    const struct memory_map_options *options = gathering->options;
    const struct flow *flow = gathering->map->flow;
    size_t threads = flow_thread_count(flow);
    gathering->most_cells = MOST_CELLS;
    if (options->max_cells && options->max_cells < MOST_CELLS / FINER)
        gathering->most_cells = options->max_cells * FINER > MIN_CELLS ? options->max_cells * FINER : MIN_CELLS;
    gathering->low = options->low;
    gathering->high = options->high ? options->high - 1 : UINT64_MAX;
    gathering->recent = mem_alloc(RECENT * sizeof *gathering->recent);
    forget_recent(gathering);
    gathering->process_of = mem_alloc((threads + 1) * sizeof *gathering->process_of);
    for (uint32_t i = 0; i < threads; i++)
        gathering->process_of[i] = flow_thread(flow, i)->process;
    int failed = flow_each_access_between(flow, gathering->map->start, gathering->end, visit, gathering, err);
    gathering->map->outside = gathering->map->without_addr + gathering->map->without_thread;
    return failed;
}

void memory_gather_free(struct memory_gathering *gathering)
{
    map64_free(&gathering->page_of);
    map64_free(&gathering->cell_of);
    array_free(&gathering->pages);
    array_free(&gathering->cells);
    free(gathering->recent);
    free(gathering->process_of);
}
