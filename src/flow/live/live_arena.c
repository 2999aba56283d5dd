/* flow/live/live_arena.c - which sites the blocks around a sample in [heap] or [arena] come from.
 *
 * Such a sample is of malloc's own data or of a block that was freed. The block next to it at that time, the one before it or
 * else the one behind it, shows whose blocks malloc keeps there. */
#include "base/order.h"
#include "flow/state.h"

ORDER_BY(by_object, struct flow_arena_site,
         ORDER(a->object, b->object) ?: ORDER(b->samples, a->samples) ?: ORDER(a->site, b->site))

void live_arena_note(struct flow *flow, const struct process *process, uint32_t map, uint64_t addr)
{
    const struct record *arena = pool_at(&flow->records, map);
    uint64_t key;
    uint32_t block;
    if (!(arena->flags & RECORD_LEFTOVER) || (arena->flags & RECORD_KIND) != OBJECT_MAP)
        return;
    if (!(addrtree_floor(&process->heap, addr, &key, &block) && key >= arena->addr) &&
        !(addrtree_ceiling(&process->heap, addr, &key, &block) && key < arena->addr + arena->size))
        return;
    uint32_t trail = pool_at(&flow->records, block)->trail;
    bool is_new;
    if (trail == FLOW_NONE)
        return;
    uint64_t *place = map64_insert(&flow->arena_note, (uint64_t)map << 32 | trail, &is_new);
    if (is_new) {
        *place = flow->arena_sites.count;
        array_push(&flow->arena_sites, (struct flow_arena_site){.object = map, .site = trail});
    }
    flow->arena_sites.items[*place].samples++;
}

/* Records and trails become objects and sites; several trails may have one site. */
void live_arena_number(struct flow *flow)
{
    struct map64 object_of = {0};
    for (uint32_t i = 0; flow->arena_sites.count && i < flow->sampled_objects; i++)
        *map64_insert(&object_of, flow->objects.items[i], NULL) = i;
    size_t kept = 0;
    array_each (&flow->arena_sites, struct flow_arena_site, row) {
        const uint64_t *object = map64_find(&object_of, row->object);
        uint32_t site = live_site_of(flow, row->site);
        if (object && site != FLOW_NONE)
            flow->arena_sites.items[kept++] = (struct flow_arena_site){(uint32_t)*object, site, row->samples};
    }
    flow->arena_sites.count = kept;
    map64_free(&object_of);
    map64_free(&flow->arena_note);
    array_sort(&flow->arena_sites, by_object);
}

size_t flow_arena_sites(const struct flow *flow, const struct flow_arena_site **rows)
{
    *rows = flow->arena_sites.items;
    return flow->arena_sites.count;
}
