/* migrate/policies/policy_interleave.c - as Carrefour does: a page that one node uses goes there; pages that several nodes use are
 * spread, so that no memory controller has to serve them all.
 *
 * Samples are few: a page of several nodes is mostly seen from one of them in one interval. So the nodes that used a page
 * are remembered for some intervals; it is one node's own when nobody else was seen, or when one node clearly has most.
 * Load is counted in sampled accesses to the pages of each node. Shared pages, the most used first, leave a node that has
 * more than its part for the one that has least. Pages that several nodes only read would be best copied to each of
 * them, which no user-space tool can do to another program; they are counted, as advice. */
#include "migrate/policies/policies.h"

#include "base/array.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MINE        0.8  /* a node with this part of the accesses has the page to itself */
#define READ_MOSTLY 0.95 /* reads among all accesses */
#define EVEN        1.05 /* times its part: no need to take from such a node */

enum { EPOCH = 8, SURE = 8, REMEMBERED = 1 << 22, MOST = 4096 };
/* intervals; accesses that are enough to judge by; pages */

/* Which nodes (modulo 64) used a page: in this epoch and in the one before. */
struct users {
    uint64_t address, now, before;
    uint32_t pid;
};

struct interleave {
    uint64_t epoch;
    array_of(struct users) users, next; /* in the order of the view's pages */
};

struct shared_page {
    size_t page;
    uint64_t accesses;
};

static size_t rank_of(const struct shared_page *shared)
{
    return shared->accesses < MOST ? MOST - (size_t)shared->accesses : 0;
}

/* The most used first, by counting: numbers are small. Beyond MOST all are alike. */
static void sort_shared(struct shared_page *shared, size_t count)
{
    struct shared_page *sorted = mem_alloc((count + 1) * sizeof *sorted);
    size_t *places = mem_zalloc((MOST + 2) * sizeof *places);
    for (size_t i = 0; i < count; i++)
        places[rank_of(&shared[i]) + 1]++;
    for (size_t i = 0; i <= MOST; i++)
        places[i + 1] += places[i];
    for (size_t i = 0; i < count; i++)
        sorted[places[rank_of(&shared[i])]++] = shared[i];
    memcpy(shared, sorted, count * sizeof *sorted);
    free(sorted);
    free(places);
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

static bool is_read_mostly(const struct nlens_policy_page *page)
{
    uint64_t reads = 0, all = 0;
    for (uint32_t i = 0; i < page->access_count; i++) {
        reads += page->accesses[i].reads;
        all += nlens_policy_accesses(&page->accesses[i]);
    }
    return (double)reads >= READ_MOSTLY * (double)all;
}

static int start(const struct nlens_machine *machine, const char *arguments, void **self, char *why, size_t why_bytes)
{
    (void)machine;
    (void)arguments;
    (void)why;
    (void)why_bytes;
    *self = mem_zalloc(sizeof(struct interleave));
    return 0;
}

static void stop(void *self)
{
    struct interleave *interleave = self;
    array_free(&interleave->users);
    array_free(&interleave->next);
    free(interleave);
}

static bool is_before(const struct users *users, const struct nlens_policy_page *page)
{
    return users->pid != page->pid ? users->pid < page->pid : users->address < page->address;
}

/* Brings the list up to date: both it and the view are in order. afterwards users.items[found[i]] is the view's page i. */
static void remember(struct interleave *interleave, const struct nlens_view *view, uint32_t *found)
{
    bool new_epoch = view->interval / EPOCH != interleave->epoch, full = interleave->users.count > REMEMBERED;
    size_t at = 0;
    interleave->epoch = view->interval / EPOCH;
    interleave->next.count = 0;
    for (size_t i = 0; i <= view->page_count; i++) {
        const struct nlens_policy_page *page = i < view->page_count ? &view->pages[i] : NULL;
        for (; at < interleave->users.count && (!page || is_before(&interleave->users.items[at], page)); at++) {
            struct users users = interleave->users.items[at];
            if (new_epoch) {
                users.before = users.now;
                users.now = 0;
            }
            if (users.before | users.now && !full)
                array_push(&interleave->next, users);
        }
        if (!page)
            break;
        struct users users = {.address = page->address, .pid = page->pid};
        if (at < interleave->users.count && interleave->users.items[at].pid == page->pid &&
            interleave->users.items[at].address == page->address) {
            users = interleave->users.items[at++];
            users.before = new_epoch ? users.now : users.before;
            users.now = new_epoch ? 0 : users.now;
        }
        for (uint32_t j = 0; j < page->access_count; j++)
            users.now |= (uint64_t)1 << page->accesses[j].node % 64;
        found[i] = (uint32_t)interleave->next.count;
        array_push(&interleave->next, users);
    }
    struct users *items = interleave->users.items;
    size_t capacity = interleave->users.capacity;
    interleave->users.items = interleave->next.items;
    interleave->users.count = interleave->next.count;
    interleave->users.capacity = interleave->next.capacity;
    interleave->next.items = items;
    interleave->next.capacity = capacity;
}

static int decide(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    struct interleave *interleave = self;
    const struct nlens_machine *machine = view->machine;
    uint64_t *counts = mem_alloc(machine->node_count * sizeof *counts), copies = 0;
    double *load = mem_zalloc(machine->node_count * sizeof *load), all = 0;
    struct shared_page *shared = mem_alloc((view->page_count + 1) * sizeof *shared);
    size_t shared_count = 0;
    uint32_t *found = mem_alloc((view->page_count + 1) * sizeof *found);
    remember(interleave, view, found);
    for (size_t i = 0; i < view->page_count; i++) {
        const struct nlens_policy_page *page = &view->pages[i];
        uint64_t sum = policy_count_nodes(page, machine, counts);
        if (sum == 0)
            continue;
        uint32_t most = policy_descend(machine, counts, page->home);
        bool clear = sum >= SURE && (double)counts[most] >= MINE * (double)sum;
        const struct users *users = &interleave->users.items[found[i]];
        if (__builtin_popcountll(users->now | users->before) == 1 || clear) {
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
    sort_shared(shared, shared_count);
    for (size_t i = 0; i < shared_count; i++) {
        const struct nlens_policy_page *page = &view->pages[shared[i].page];
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
        nlens_note(plan, "times a page was read from several nodes and rarely written: a copy on each node would help",
                   copies);
    free(counts);
    free(load);
    free(shared);
    free(found);
    return 0;
}

const struct nlens_policy policy_interleave = {
    .version = NLENS_POLICY_VERSION,
    .size = sizeof(struct nlens_policy),
    .name = "interleave-shared",
    .summary = "pages of one node to it, pages of several nodes spread by load",
    .start = start,
    .decide = decide,
    .stop = stop,
};
