/* analysis/memory_map/memory_layout.c - pages that follow one another are a range, and a range is cut into leaves.
 *
 * A sampler does not see every page, so a gap of a few pages, or within one object, ends no range. Where there are too many
 * leaves, those of the longest ranges are made coarser first: small things keep their pages. */
#include "base/order.h"
#include "analysis/memory_map/memory_work.h"

#include <string.h>

enum { GAP_PAGES = 16 };

struct page_range {
    uint32_t first, pages; /* in order */
    unsigned shift;        /* pages of a leaf, as a power of two */
    uint32_t leaves;
};

struct layout_work {
    const struct memory_gathering *gathering;
    struct memory_layout *layout;
    uint32_t *winner; /* by place in order */
    array_of(struct page_range) ranges;
};

struct keyed {
    uint64_t key;
    uint32_t page;
};

ORDER_BY(by_key, struct keyed, ORDER(a->key, b->key))

static void sort_pages(struct memory_layout *layout, const struct memory_gathering *gathering)
{
    size_t count = gathering->pages.count;
    struct keyed *keyed = mem_alloc((count + 1) * sizeof *keyed);
    for (size_t i = 0; i < count; i++)
        keyed[i] = (struct keyed){gathering->pages.items[i].key, (uint32_t)i};
    qsort(keyed, count, sizeof *keyed, by_key);
    layout->order = mem_alloc((count + 1) * sizeof *layout->order);
    for (size_t i = 0; i < count; i++)
        layout->order[i] = keyed[i].page;
    free(keyed);
}

static uint64_t key_at(const struct layout_work *work, uint32_t place)
{
    return work->gathering->pages.items[work->layout->order[place]].key;
}

static bool same_range(const struct layout_work *work, uint32_t place, uint64_t gap)
{
    uint64_t before = key_at(work, place - 1), key = key_at(work, place);
    if (memory_page_process(work->gathering, before) != memory_page_process(work->gathering, key))
        return false;
    if (key - before - 1 <= gap >> work->gathering->shift)
        return true;
    return !work->gathering->map->physical && work->winner[place] != FLOW_NONE &&
           work->winner[place] == work->winner[place - 1];
}

static void find_ranges(struct layout_work *work, uint64_t gap)
{
    work->ranges.count = 0;
    for (uint32_t place = 0; place < work->gathering->pages.count; place++) {
        if (place == 0 || !same_range(work, place, gap))
            array_push(&work->ranges, (struct page_range){.first = place});
        work->ranges.items[work->ranges.count - 1].pages++;
    }
}

static bool new_leaf(const struct layout_work *work, const struct page_range *range, uint32_t place)
{
    return place == range->first || key_at(work, place) >> range->shift != key_at(work, place - 1) >> range->shift;
}

static void count_leaves(const struct layout_work *work, struct page_range *range)
{
    range->leaves = 0;
    for (uint32_t place = range->first; place < range->first + range->pages; place++)
        range->leaves += new_leaf(work, range, place);
}

static uint64_t longest(const struct layout_work *work, uint64_t *sum)
{
    uint64_t most = 0;
    *sum = 0;
    array_each (&work->ranges, const struct page_range, range) {
        *sum += range->leaves;
        most = range->leaves > most ? range->leaves : most;
    }
    return most;
}

static void coarsen(struct layout_work *work, uint32_t most_leaves)
{
    uint64_t sum, most;
    array_each (&work->ranges, struct page_range, range)
        count_leaves(work, range);
    while ((most = longest(work, &sum)) > 1 && sum > most_leaves) {
        array_each (&work->ranges, struct page_range, range) {
            if (range->leaves > 1 && range->leaves >= (most + 1) / 2) {
                range->shift++;
                count_leaves(work, range);
            }
        }
    }
}

static void make_leaves(struct layout_work *work)
{
    const struct memory_gathering *gathering = work->gathering;
    struct memory_map *map = gathering->map;
    map->leaves.count = 0;
    array_each (&work->ranges, const struct page_range, range) {
        struct memory_votes votes = {0};
        work->layout->range_first[work->layout->ranges++] = (uint32_t)map->leaves.count;
        for (uint32_t place = range->first; place < range->first + range->pages; place++) {
            uint32_t page = work->layout->order[place];
            if (new_leaf(work, range, place)) {
                uint64_t key = key_at(work, place) >> range->shift << range->shift;
                memset(&votes, 0, sizeof votes);
                array_push(&map->leaves,
                           (struct memory_leaf){.process = memory_page_process(gathering, key),
                                                .addr = memory_page_addr(gathering, key),
                                                .bytes = map->page_bytes << gathering->shift << range->shift});
            }
            struct memory_leaf *leaf = &map->leaves.items[map->leaves.count - 1];
            memory_votes_join(&votes, &gathering->pages.items[page].votes);
            leaf->object = memory_votes_winner(&votes);
            work->layout->leaf_of[page] = (uint32_t)map->leaves.count - 1;
        }
    }
    work->layout->range_first[work->layout->ranges] = (uint32_t)map->leaves.count;
}

void memory_layout_make(struct memory_layout *layout, const struct memory_gathering *gathering, uint32_t most)
{
    size_t count = gathering->pages.count;
    struct layout_work work = {.gathering = gathering, .layout = layout};
    *layout = (struct memory_layout){0};
    sort_pages(layout, gathering);
    work.winner = mem_alloc((count + 1) * sizeof *work.winner);
    for (size_t i = 0; i < count; i++)
        work.winner[i] = memory_votes_winner(&gathering->pages.items[layout->order[i]].votes);
    uint64_t gap = GAP_PAGES;
    find_ranges(&work, gap);
    while (work.ranges.count > most && gap < UINT64_MAX / 4) { /* each is at least one leaf */
        gap *= 4;
        find_ranges(&work, gap);
    }
    coarsen(&work, most);
    layout->leaf_of = mem_alloc((count + 1) * sizeof *layout->leaf_of);
    layout->range_first = mem_alloc((work.ranges.count + 1) * sizeof *layout->range_first);
    make_leaves(&work);
    free(work.winner);
    array_free(&work.ranges);
}

void memory_layout_free(struct memory_layout *layout)
{
    free(layout->order);
    free(layout->leaf_of);
    free(layout->range_first);
}
