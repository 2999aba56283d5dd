/* analysis/memory_map/phase_counts.c - who does what to what, in each stretch of time. */
#include "analysis/memory_map/run_phases.h"

#include "base/map64.h"
#include "trace/session.h"

#include <ctype.h>
#include <string.h>

enum { BINS = 500 };

static uint64_t text_key(uint64_t key, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        key = map64_hash(key * 31 + (unsigned char)text[i] + 1);
    return key == MAP64_EMPTY ? 0 : key;
}

static uint32_t bin_of(const struct phase_counts *counts, uint64_t time)
{
    const struct memory_map *map = counts->map;
    uint64_t bin = time > map->start ? (time - map->start) / map->slice_ns / counts->slices_a_bin : 0;
    return bin < counts->bins ? (uint32_t)bin : counts->bins;
}

/* Threads with one start routine, else with one name but for a number at its end. */
static void find_roles(struct phase_counts *counts)
{
    const struct flow *flow = counts->map->flow;
    size_t threads = flow_thread_count(flow);
    struct map64 role_of = {0};
    counts->role_of = mem_alloc((threads + 1) * sizeof *counts->role_of);
    for (uint32_t i = 0; i < threads; i++) {
        const struct flow_thread *thread = flow_thread(flow, i);
        size_t length = strlen(thread->name);
        bool main = thread->tid == thread->pid, is_new;
        while (length && isdigit((unsigned char)thread->name[length - 1]))
            length--;
        uint64_t key = text_key(thread->process * 2ul + main, thread->name, thread->entry ? 0 : length);
        uint64_t *role = map64_insert(&role_of, key ^ thread->entry << 8, &is_new);
        if (is_new) {
            *role = counts->roles.count;
            array_push(&counts->roles, (struct phase_role){.thread = i, .main = main, .first_bin = counts->bins});
        }
        uint32_t bin = bin_of(counts, thread->start);
        if (bin < counts->roles.items[*role].first_bin)
            counts->roles.items[*role].first_bin = bin;
        counts->role_of[i] = (uint32_t)*role;
    }
    map64_free(&role_of);
}

static void find_things(struct phase_counts *counts)
{
    const struct memory_map *map = counts->map;
    struct map64 thing_of = {0};
    counts->thing_of = mem_alloc((map->leaves.count + 1) * sizeof *counts->thing_of);
    for (size_t i = 0; i < map->leaves.count; i++) {
        uint32_t object = map->leaves.items[i].object, site = FLOW_NONE;
        bool stack = false, is_new;
        if (object != FLOW_NONE) {
            site = flow_object_site(map->flow, object);
            stack = flow_object_kind(map->flow, object) == OBJECT_STACK;
        }
        uint64_t key = stack ? 1 : site != FLOW_NONE ? (uint64_t)site << 2 | 2 : (uint64_t)object << 2 | 3;
        uint64_t *thing = map64_insert(&thing_of, key, &is_new);
        if (is_new) {
            *thing = counts->things.count;
            array_push(&counts->things, (struct phase_thing){.object = object, .stack = stack});
        }
        counts->thing_of[i] = (uint32_t)*thing;
    }
    map64_free(&thing_of);
}

static uint32_t kind_of(struct phase_counts *counts, struct map64 *kinds, uint32_t role, uint32_t thing, bool writes)
{
    bool is_new;
    uint64_t *kind = map64_insert(kinds, ((uint64_t)role << 32 | thing) << 1 | writes, &is_new);
    if (is_new) {
        *kind = counts->kinds.count;
        array_push(&counts->kinds, (struct phase_kind){.role = role, .thing = thing, .writes = writes});
    }
    return (uint32_t)*kind;
}

/* Samples of a burst are one look at the program, not as many as they are. */
static double weight_of(const struct memory_map *map)
{
    const struct trace_session *session = flow_session(map->flow);
    uint64_t burst = session ? trace_session_number(session, "burst", 1) : 1;
    return burst > 1 ? 1.0 / (double)burst : 1;
}

struct phase_counts *phase_counts_make(const struct memory_map *map)
{
    struct phase_counts *counts = mem_zalloc(sizeof *counts);
    struct map64 kinds = {0};
    double weight = weight_of(map);
    counts->map = map;
    counts->slices_a_bin = map->slices / BINS ? map->slices / BINS : 1;
    counts->bins = (map->slices + counts->slices_a_bin - 1) / counts->slices_a_bin;
    find_roles(counts);
    find_things(counts);
    array_each (&map->cells, const struct memory_cell, cell) {
        if (cell->reads)
            kind_of(counts, &kinds, counts->role_of[cell->thread], counts->thing_of[cell->leaf], false);
        if (cell->writes)
            kind_of(counts, &kinds, counts->role_of[cell->thread], counts->thing_of[cell->leaf], true);
    }
    size_t width = counts->kinds.count;
    counts->before = mem_zalloc((counts->bins + 1) * (width + 1) * sizeof *counts->before);
    array_each (&map->cells, const struct memory_cell, cell) {
        uint32_t role = counts->role_of[cell->thread], thing = counts->thing_of[cell->leaf];
        double *row = counts->before + (cell->slice / counts->slices_a_bin + 1) * width;
        if (cell->reads)
            row[kind_of(counts, &kinds, role, thing, false)] += cell->reads * weight;
        if (cell->writes)
            row[kind_of(counts, &kinds, role, thing, true)] += cell->writes * weight;
    }
    for (size_t i = width; i < (counts->bins + 1) * width; i++)
        counts->before[i] += counts->before[i - width];
    map64_free(&kinds);
    return counts;
}

void phase_counts_free(struct phase_counts *counts)
{
    free(counts->role_of);
    free(counts->thing_of);
    free(counts->before);
    array_free(&counts->roles);
    array_free(&counts->things);
    array_free(&counts->kinds);
    free(counts);
}
