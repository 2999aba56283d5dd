/* See cluster.h. What two threads share is, of each part of an object, the smaller of what each uses of it. */
#include "predict/cluster.h"

#include "base/order.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

struct use { /* of a part by a thread */
    uint32_t part, thread;
    double weight;
};

struct clustering {
    uint32_t thread_count, node_count, capacity;
    array_of(struct use) uses; /* by part */
    size_t *part_starts;       /* of a part's uses, one more than there are parts */
    size_t *own, *own_starts;  /* indices of uses by thread, likewise */
    double *weight, *shared;   /* of a thread: of all its uses; with the threads of the node that is being filled */
    uint32_t *count;           /* threads of a node */
    bool *placed;
};

ORDER_BY(by_part, struct use, ORDER(a->part, b->part) ?: ORDER(a->thread, b->thread))

/* One use for each thread and part, with what a line of memory counts for a load that waits. */
static void gather(struct clustering *it, const struct demand *demand)
{
    size_t kept = 0;
    array_each (&demand->cells, const struct demand_cell, cell) {
        double weight = cell->bytes > 0 ? cell->bytes : cell->loads * CACHE_LINE;
        if (cell->part != DEMAND_NONE && weight > 0)
            array_push(&it->uses, (struct use){cell->part, cell->thread, weight});
    }
    array_sort(&it->uses, by_part);
    for (size_t i = 0; i < it->uses.count; i++) {
        struct use *uses = it->uses.items;
        if (kept && by_part(&uses[kept - 1], &uses[i]) == 0)
            uses[kept - 1].weight += uses[i].weight;
        else
            uses[kept++] = uses[i];
    }
    it->uses.count = kept;
}

static void index_uses(struct clustering *it, uint32_t parts)
{
    it->part_starts = mem_zalloc((parts + 2) * sizeof *it->part_starts);
    it->own_starts = mem_zalloc((it->thread_count + 2) * sizeof *it->own_starts);
    it->own = mem_alloc((it->uses.count + 1) * sizeof *it->own);
    array_each (&it->uses, const struct use, use) {
        it->part_starts[use->part + 1]++;
        it->own_starts[use->thread + 1]++;
        it->weight[use->thread] += use->weight;
    }
    for (uint32_t i = 0; i < parts; i++)
        it->part_starts[i + 1] += it->part_starts[i];
    for (uint32_t i = 0; i < it->thread_count; i++)
        it->own_starts[i + 1] += it->own_starts[i];
    size_t *next = mem_alloc((it->thread_count + 1) * sizeof *next);
    memcpy(next, it->own_starts, it->thread_count * sizeof *next);
    for (size_t i = 0; i < it->uses.count; i++)
        it->own[next[it->uses.items[i].thread]++] = i;
    free(next);
}

/* The thread without a node that has most of it; thread_count: none has any. */
static uint32_t most(const struct clustering *it, const double *amount)
{
    uint32_t best = it->thread_count;
    for (uint32_t i = 0; i < it->thread_count; i++)
        if (!it->placed[i] && amount[i] > 0 && (best == it->thread_count || amount[i] > amount[best]))
            best = i;
    return best;
}

static void place(struct clustering *it, uint32_t thread, uint32_t node, struct demand_thread *threads)
{
    const struct use *uses = it->uses.items;
    threads[thread].node = node;
    it->placed[thread] = true;
    it->count[node]++;
    for (size_t k = it->own_starts[thread]; k < it->own_starts[thread + 1]; k++) {
        const struct use *mine = &uses[it->own[k]];
        for (size_t i = it->part_starts[mine->part]; i < it->part_starts[mine->part + 1]; i++)
            it->shared[uses[i].thread] += uses[i].weight < mine->weight ? uses[i].weight : mine->weight;
    }
}

static void fill_node(struct clustering *it, uint32_t node, struct demand_thread *threads)
{
    memset(it->shared, 0, it->thread_count * sizeof *it->shared);
    uint32_t next = most(it, it->weight);
    while (next < it->thread_count && it->count[node] < it->capacity) {
        place(it, next, node, threads);
        next = most(it, it->shared);
    }
}

void cluster_threads(const struct demand *demand, uint32_t cpus_per_node, struct demand_thread *threads)
{
    uint32_t count = (uint32_t)demand->threads.count, nodes = demand->node_count, evenly = (count + nodes - 1) / nodes;
    struct clustering it = {.thread_count = count,
                            .node_count = nodes,
                            .capacity = evenly > cpus_per_node ? evenly : cpus_per_node,
                            .weight = mem_zalloc((count + 1) * sizeof(double)),
                            .shared = mem_zalloc((count + 1) * sizeof(double)),
                            .count = mem_zalloc(nodes * sizeof(uint32_t)),
                            .placed = mem_zalloc(count + 1)};
    gather(&it, demand);
    index_uses(&it, demand->part_count);
    for (uint32_t node = 0; node < nodes; node++)
        fill_node(&it, node, threads);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t emptiest = 0;
        for (uint32_t node = 1; node < nodes; node++)
            emptiest = it.count[node] < it.count[emptiest] ? node : emptiest;
        if (!it.placed[i])
            place(&it, i, emptiest, threads);
    }
    array_free(&it.uses);
    free(it.part_starts);
    free(it.own_starts);
    free(it.own);
    free(it.weight);
    free(it.shared);
    free(it.count);
    free(it.placed);
}
