#include "page/parts/rank.h"

#include "base/array.h"
#include "base/order.h"

#include <string.h>

struct weighed {
    uint64_t samples;
    uint32_t index;
};

ORDER_BY(by_samples, struct weighed, ORDER(b->samples, a->samples) ?: ORDER(a->index, b->index))

static void rank_make(struct rank *rank, struct weighed *all, size_t count, size_t numbers, uint32_t most)
{
    if (count > 1)
        qsort(all, count, sizeof *all, by_samples);
    rank->count = count < most ? (uint32_t)count : most;
    rank->skipped = (uint32_t)count - rank->count;
    rank->items = mem_alloc((rank->count + 1ul) * sizeof *rank->items);
    rank->of_count = (uint32_t)numbers;
    rank->of = mem_alloc((numbers + 1) * sizeof *rank->of);
    memset(rank->of, 0xff, (numbers + 1) * sizeof *rank->of);
    for (uint32_t i = 0; i < rank->count; i++) {
        rank->items[i] = all[i].index;
        rank->of[all[i].index] = i;
    }
    free(all);
}

void rank_objects(struct rank *rank, const struct flow *flow, uint32_t most)
{
    size_t numbers = flow_sampled_object_count(flow), count = 0;
    struct weighed *all = mem_alloc((numbers + 1) * sizeof *all);
    for (uint32_t i = 0; i < numbers; i++) {
        uint64_t samples = flow_object_totals(flow, i).samples;
        if (samples)
            all[count++] = (struct weighed){samples, i};
    }
    rank_make(rank, all, count, numbers, most);
}

void rank_sites(struct rank *rank, const struct flow *flow, uint32_t most)
{
    size_t numbers = flow_site_count(flow), count = 0;
    struct weighed *all = mem_alloc((numbers + 1) * sizeof *all);
    for (uint32_t i = 0; i < numbers; i++) {
        uint64_t samples = flow_site(flow, i)->totals.samples;
        if (samples)
            all[count++] = (struct weighed){samples, i};
    }
    rank_make(rank, all, count, numbers, most);
}

void rank_free(struct rank *rank)
{
    free(rank->items);
    free(rank->of);
    *rank = (struct rank){0};
}
