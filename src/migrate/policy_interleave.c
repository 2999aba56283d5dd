/* migrate/policy_interleave.c - as Carrefour does: a page that one node uses goes there; pages that several nodes use are
 * spread, so that no memory controller has to serve them all.
 *
 * Load is counted in sampled accesses to the pages of each node. Shared pages, the most used first, leave a node that has
 * more than its part for the one that has least. Pages that several nodes only read would be best copied to each of
 * them, which no user-space tool can do to another program; they are counted, as advice. */
#include "migrate/policies.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MINE        0.8  /* a node with this part of the accesses has the page to itself */
#define READ_MOSTLY 0.95 /* reads among all accesses */
#define EVEN        1.05 /* times its part: no need to take from such a node */

struct shared_page {
    size_t page;
    uint64_t accesses;
};

static int by_accesses(const void *a, const void *b)
{
    const struct shared_page *one = a, *other = b;
    if (one->accesses != other->accesses)
        return one->accesses < other->accesses ? 1 : -1;
    return one->page < other->page ? -1 : one->page > other->page;
}

static uint32_t least_loaded(const struct nlens_machine *machine, const double *load)
{
    uint32_t best = machine->nearest[0];
    for (uint32_t node = 0; node < machine->node_count; node++)
        if (machine->nearest[node] == node && load[node] < load[best])
            best = node;
    return best;
}

static uint32_t open_nodes(const struct nlens_machine *machine)
{
    uint32_t count = 0;
    for (uint32_t node = 0; node < machine->node_count; node++)
        count += machine->nearest[node] == node;
    return count;
}

static bool is_read_mostly(const struct nlens_page *page)
{
    uint64_t reads = 0, all = 0;
    for (uint32_t i = 0; i < page->access_count; i++) {
        reads += page->accesses[i].reads;
        all += nlens_accesses(&page->accesses[i]);
    }
    return (double)reads >= READ_MOSTLY * (double)all;
}

static int decide(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    const struct nlens_machine *machine = view->machine;
    uint64_t *counts = mem_alloc(machine->node_count * sizeof *counts), copies = 0;
    double *load = mem_zalloc(machine->node_count * sizeof *load), all = 0;
    struct shared_page *shared = mem_alloc((view->page_count + 1) * sizeof *shared);
    size_t shared_count = 0;
    (void)self;
    for (size_t i = 0; i < view->page_count; i++) {
        const struct nlens_page *page = &view->pages[i];
        uint64_t sum = policy_count_nodes(page, machine, counts);
        if (sum == 0)
            continue;
        uint32_t most = policy_descend(machine, counts, page->home);
        if ((double)counts[most] >= MINE * (double)sum) {
            uint32_t to = machine->nearest[most];
            if ((int32_t)to != page->home)
                nlens_move(plan, i, to);
            load[to] += (double)sum;
        } else {
            copies += is_read_mostly(page);
            shared[shared_count++] = (struct shared_page){i, sum};
            if (page->home >= 0)
                load[page->home] += (double)sum;
        }
        all += (double)sum;
    }
    double part = all / open_nodes(machine);
    qsort(shared, shared_count, sizeof *shared, by_accesses);
    for (size_t i = 0; i < shared_count; i++) {
        const struct nlens_page *page = &view->pages[shared[i].page];
        uint32_t to = least_loaded(machine, load);
        double weight = (double)shared[i].accesses;
        if (page->home >= 0 && (load[page->home] <= part * EVEN || load[to] + weight >= load[page->home]))
            continue;
        nlens_move(plan, shared[i].page, to);
        load[to] += weight;
        if (page->home >= 0)
            load[page->home] -= weight;
    }
    if (copies)
        nlens_tell(plan,
                   "times a page was read from several nodes and hardly written: a copy for each node would serve it",
                   copies);
    free(counts);
    free(load);
    free(shared);
    return 0;
}

const struct nlens_policy policy_interleave = {
    .version = NLENS_POLICY_VERSION,
    .size = sizeof(struct nlens_policy),
    .name = "interleave-shared",
    .summary = "pages of one node to it, pages of several nodes spread by load",
    .decide = decide,
};
