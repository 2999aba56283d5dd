/* migrate/policies/policy_regions.c - memory goes to its users in regions, as few samples as there may be of each page.
 *
 * What was seen of the last intervals is put in order of address and cut into regions: neighbours become one as long as that
 * costs less likelihood than a border is worth (Bayes' information criterion). A region whose bursts prove that one node
 * makes most of its accesses goes there as a whole: each of its pages that is sampled elsewhere takes along what is between it and
 * the sampled pages beside it. What several nodes use stays. Where each of the last two intervals alone says for sure that one node uses it,
 * that decides: its users have changed, and what was seen before is of others. One interval is not enough: the scheduler may take a thread
 * to another node and back. */
#include "migrate/policies/policies.h"

#include "base/array.h"
#include "base/interval.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double KEPT = 4;          /* times what an interval saw is what those before it count at most */
static const double FORGOTTEN = 0.1;   /* what counts less is dropped: of long ago */
static const double PROVED = 2.0 / 3;  /* of a region's use, at least, is by the node that it goes to */
static const double NORMAL_999 = 3.29; /* of one interval alone: 22 threads and pages, when all are one node's */
static const double KEPT_LEAST = 256;  /* observations: so many count whatever their age */
enum { SEEN_MOST = 1 << 17, STEPS = 4 /* of the worth of a border, up to which regions grow before the next */ };

struct seen { /* threads of a node used a page */
    uint64_t page, end;
    uint32_t pid, node;
    double weight; /* threads and intervals, those of before less */
};

struct seen_list {
    struct seen *items;
    size_t count, capacity;
};

struct region {
    uint64_t from, end;
    uint32_t pid;
    double fit; /* the likelihood's logarithm of its use, if its pages are alike */
};

struct proof { /* of the last interval alone */
    uint64_t from, end;
    uint32_t pid, node;
};

struct proof_list {
    struct proof *items;
    size_t count, capacity;
};

struct regions {
    uint32_t nodes;
    struct seen_list seen, next; /* in order of process and address */
    double *sum;                 /* of a page, by node */
    double kept;                 /* of what was seen before this interval */
    uint64_t dropped;            /* of what was seen, above SEEN_MOST */
    array_of(struct region) items;
    double *uses;   /* items * nodes */
    double *losses; /* by making one of an item and the next */
    struct proof_list before, now;
};

static int start(const struct nlens_machine *machine, const char *arguments, void **self, char *why, size_t why_bytes)
{
    (void)arguments, (void)why, (void)why_bytes;
    struct regions *regions = mem_zalloc(sizeof *regions);
    regions->nodes = machine->node_count;
    regions->sum = mem_alloc(machine->node_count * sizeof *regions->sum);
    *self = regions;
    return 0;
}

static void stop(void *self)
{
    struct regions *regions = self;
    array_free(&regions->seen);
    array_free(&regions->next);
    array_free(&regions->items);
    array_free(&regions->before);
    array_free(&regions->now);
    free(regions->sum);
    free(regions->uses);
    free(regions->losses);
    free(regions);
}

static int order(uint32_t pid, uint64_t page, uint32_t other_pid, uint64_t other_page)
{
    if (pid != other_pid)
        return pid < other_pid ? -1 : 1;
    return page < other_page ? -1 : page > other_page;
}

/* Adds what the next page has, of before, of this interval or of both; false when there is none. A thread's accesses are one
 * observation, however many they are. */
static bool add_page(struct regions *regions, const struct nlens_view *view, size_t *before, size_t *now)
{
    const struct seen *seen = *before < regions->seen.count ? &regions->seen.items[*before] : NULL;
    const struct nlens_policy_page *page = *now < view->page_count ? &view->pages[*now] : NULL;
    if (!seen && !page)
        return false;
    int which = !page ? -1 : !seen ? 1 : order(seen->pid, seen->page, page->pid, page->address);
    struct seen next = which < 0 ? *seen : (struct seen){page->address, page->address + page->bytes, page->pid, 0, 0};
    memset(regions->sum, 0, regions->nodes * sizeof *regions->sum);
    for (; which <= 0 && *before < regions->seen.count; ++*before) {
        seen = &regions->seen.items[*before];
        if (order(seen->pid, seen->page, next.pid, next.page) != 0)
            break;
        regions->sum[seen->node] += regions->kept * seen->weight;
    }
    for (uint32_t i = 0; which >= 0 && i < page->access_count; i++)
        if (page->accesses[i].node < regions->nodes)
            regions->sum[page->accesses[i].node]++;
    *now += which >= 0;
    for (next.node = 0; next.node < regions->nodes; next.node++) {
        next.weight = regions->sum[next.node];
        if (next.weight >= FORGOTTEN && regions->next.count < SEEN_MOST)
            array_push(&regions->next, next);
        else
            regions->dropped += next.weight >= FORGOTTEN;
    }
    return true;
}

static void remember(struct regions *regions, const struct nlens_view *view)
{
    size_t before = 0, now = 0;
    double old = 0, fresh = 0;
    array_each (&regions->seen, const struct seen, seen)
        old += seen->weight;
    for (size_t i = 0; i < view->page_count; i++)
        fresh += view->pages[i].access_count;
    double most = fmax(KEPT * fresh, KEPT_LEAST);
    regions->kept = old > most ? most / old : 1;
    regions->next.count = regions->dropped = 0;
    while (add_page(regions, view, &before, &now))
        ;
    struct seen_list list = regions->seen;
    regions->seen = regions->next;
    regions->next = list;
}

static double weight_log(double weight)
{
    return weight > 0 ? weight * log(weight) : 0;
}

static double fit_of(const struct regions *regions, const double *uses, const double *more)
{
    double fit = 0, all = 0;
    for (uint32_t node = 0; node < regions->nodes; node++) {
        double use = uses[node] + (more ? more[node] : 0);
        fit += weight_log(use);
        all += use;
    }
    return fit - weight_log(all);
}

static void begin(struct regions *regions)
{
    regions->items.count = 0;
    regions->uses = mem_resize(regions->uses, (regions->seen.count + 1) * regions->nodes * sizeof *regions->uses);
    regions->losses = mem_resize(regions->losses, (regions->seen.count + 1) * sizeof *regions->losses);
    memset(regions->uses, 0, (regions->seen.count + 1) * regions->nodes * sizeof *regions->uses);
    array_each (&regions->seen, const struct seen, seen) {
        const struct region *last = regions->items.count ? &regions->items.items[regions->items.count - 1] : NULL;
        if (!last || last->pid != seen->pid || last->from != seen->page)
            array_push(&regions->items, (struct region){.from = seen->page, .end = seen->end, .pid = seen->pid});
        regions->uses[(regions->items.count - 1) * regions->nodes + seen->node] += seen->weight;
    }
    for (size_t i = 0; i < regions->items.count; i++)
        regions->items.items[i].fit = fit_of(regions, regions->uses + i * regions->nodes, NULL);
}

/* Makes one of neighbours that lose at most `worth` by it, and less than with the ones on their other sides. */
static bool grow(struct regions *regions, double worth)
{
    struct region *items = regions->items.items;
    size_t count = regions->items.count, to = 0, nodes = regions->nodes;
    double *uses = regions->uses, *losses = regions->losses;
    for (size_t i = 0; i < count; i++)
        losses[i] = i + 1 < count && items[i].pid == items[i + 1].pid
                        ? items[i].fit + items[i + 1].fit - fit_of(regions, uses + i * nodes, uses + (i + 1) * nodes)
                        : INFINITY;
    for (size_t i = 0; i < count; i++, to++) {
        bool one = losses[i] <= worth && (i == 0 || losses[i] <= losses[i - 1]) && losses[i] <= losses[i + 1];
        items[to] = items[i];
        memmove(uses + to * nodes, uses + i * nodes, nodes * sizeof *uses);
        if (!one)
            continue;
        i++;
        items[to].end = items[i].end;
        for (size_t node = 0; node < nodes; node++)
            uses[to * nodes + node] += uses[i * nodes + node];
        items[to].fit = fit_of(regions, uses + to * nodes, NULL);
    }
    regions->items.count = to;
    return to < count;
}

static void cut(struct regions *regions)
{
    begin(regions);
    double worth = 0.5 * (regions->nodes + 1) * log((double)regions->seen.count + 1);
    for (int step = 0; step <= STEPS; step++)
        while (regions->items.count > 1 && grow(regions, worth * step / STEPS))
            ;
}

/* The node that makes most of the accesses for sure, or -1. */
static int32_t user_of(const struct regions *regions, const double *uses, double z)
{
    uint32_t most = 0;
    double all = 0;
    for (uint32_t node = 0; node < regions->nodes; node++) {
        all += uses[node];
        most = uses[node] > uses[most] ? node : most;
    }
    double use = uses[most], side = z * sqrt(fmax(use * (all - use), 0) / all + z * z / 4);
    return (use + z * z / 2 - side) / (all + z * z) >= PROVED ? (int32_t)most : -1; /* Wilson's interval, its low end */
}

/* Whether the interval before has said the same of what is in this region; `*at` is where to look on. */
static bool proved_before(const struct regions *regions, const struct region *region, uint32_t node, size_t *at)
{
    const struct proof *proofs = regions->before.items;
    while (*at < regions->before.count &&
           (proofs[*at].pid < region->pid || (proofs[*at].pid == region->pid && proofs[*at].end <= region->from)))
        ++*at;
    for (size_t i = *at; i < regions->before.count && proofs[i].pid == region->pid && proofs[i].from < region->end; i++)
        if (proofs[i].node == node)
            return true;
    return false;
}

/* Of these pages of the last interval. */
static int32_t user_now(const struct regions *regions, const struct nlens_policy_page *pages, size_t count)
{
    memset(regions->sum, 0, regions->nodes * sizeof *regions->sum);
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < pages[i].access_count; k++)
            if (pages[i].accesses[k].node < regions->nodes)
                regions->sum[pages[i].accesses[k].node]++;
    return user_of(regions, regions->sum, NORMAL_999);
}

/* Half of the way to the next region, and no further than `gap`. */
static uint64_t reach(const struct regions *regions, size_t region, bool behind, uint64_t gap)
{
    const struct region *one = &regions->items.items[region];
    if (behind && region + 1 < regions->items.count && one[1].pid == one->pid)
        gap = gap < (one[1].from - one->end) / 2 ? gap : (one[1].from - one->end) / 2;
    if (!behind && region > 0 && one[-1].pid == one->pid)
        gap = gap < (one->from - one[-1].end) / 2 ? gap : (one->from - one[-1].end) / 2;
    return gap;
}

static uint32_t pages_of(uint64_t bytes, const struct nlens_view *view)
{
    uint64_t pages = bytes / view->machine->page_bytes;
    return pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX;
}

/* Pages of the view that are in one region: those that are elsewhere take along what is around them. At the ends of a region that is as much
 * as between two of its pages on average. */
static void request(const struct regions *regions, size_t region, const struct nlens_view *view,
                    const struct nlens_plan *plan, size_t first, size_t end, uint32_t node)
{
    const struct nlens_policy_page *pages = view->pages;
    uint64_t gap = (pages[end - 1].address - pages[first].address) / (end - first);
    uint64_t before = reach(regions, region, false, gap), after;
    for (size_t i = first; i < end; i++, before = after) {
        after = i + 1 < end ? (pages[i + 1].address - pages[i].address) / 2 : reach(regions, region, true, gap);
        if (pages[i].home != (int32_t)node)
            nlens_move_around(plan, i, node, pages_of(before, view), pages_of(after, view));
    }
}

static int decide(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    struct regions *regions = self;
    remember(regions, view);
    cut(regions);
    uint64_t shared = 0;
    size_t i = 0, at = 0;
    regions->now.count = 0;
    for (size_t k = 0; k < regions->items.count; k++) {
        const struct region *region = &regions->items.items[k];
        while (i < view->page_count && order(view->pages[i].pid, view->pages[i].address, region->pid, region->from) < 0)
            i++; /* nothing is known of its users: they were dropped */
        size_t first = i;
        while (i < view->page_count && view->pages[i].pid == region->pid && view->pages[i].address < region->end)
            i++;
        int32_t node = first < i ? user_now(regions, view->pages + first, i - first) : -1;
        if (node >= 0)
            array_push(&regions->now, (struct proof){region->from, region->end, region->pid, (uint32_t)node});
        if (first < i && (node < 0 || !proved_before(regions, region, (uint32_t)node, &at)))
            node = user_of(regions, regions->uses + k * regions->nodes, NORMAL_95);
        if (node >= 0)
            request(regions, k, view, plan, first, i, view->machine->nearest[node]);
        else
            shared += first < i;
    }
    struct proof_list list = regions->before;
    regions->before = regions->now;
    regions->now = list;
    if (shared)
        nlens_note(plan, "times a region stayed: no node makes two thirds of its accesses for sure", shared);
    if (regions->dropped)
        nlens_note(plan, "times a node's use of a page was dropped: 131,072 are kept", regions->dropped);
    return 0;
}

const struct nlens_policy policy_regions = {
    .version = NLENS_POLICY_VERSION,
    .size = sizeof(struct nlens_policy),
    .name = "regions",
    .summary = "memory side by side that one node uses, as a whole",
    .start = start,
    .decide = decide,
    .stop = stop,
};
