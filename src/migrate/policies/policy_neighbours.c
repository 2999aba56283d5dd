/* migrate/policies/policy_neighbours.c - as `access`, and the K pages before and after go along: samples are few, and whoever
 * touches a page mostly touches its neighbours too. With short intervals it is the daemon that MemProf was measured
 * against: `--policy neighbours:8 --interval 10ms`. */
#include "migrate/policies/policies.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

enum { USUAL = 8, MOST = 4096 };

struct neighbours {
    uint32_t around;
    uint64_t *counts;
};

static int start(const struct nlens_machine *machine, const char *arguments, void **self, char *why, size_t why_bytes)
{
    char *end;
    long around = *arguments ? strtol(arguments, &end, 10) : USUAL;
    if (*arguments && (*end || around < 0 || around > MOST)) {
        snprintf(why, why_bytes, "'%.40s': a number of pages up to %d is wanted", arguments, MOST);
        return -1;
    }
    struct neighbours *neighbours = mem_zalloc(sizeof *neighbours);
    neighbours->around = (uint32_t)around;
    neighbours->counts = mem_alloc(machine->node_count * sizeof *neighbours->counts);
    *self = neighbours;
    return 0;
}

static void stop(void *self)
{
    struct neighbours *neighbours = self;
    free(neighbours->counts);
    free(neighbours);
}

static int decide(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    struct neighbours *neighbours = self;
    const struct nlens_machine *machine = view->machine;
    for (size_t i = 0; i < view->page_count; i++) {
        const struct nlens_policy_page *page = &view->pages[i];
        if (policy_count_nodes(page, machine, neighbours->counts) == 0)
            continue;
        /* Also of a page that is well placed: its neighbours may not be. */
        uint32_t node = machine->nearest[policy_descend(machine, neighbours->counts, page->home)];
        nlens_move_around(plan, i, node, neighbours->around, neighbours->around);
    }
    return 0;
}

const struct nlens_policy policy_neighbours = {
    .version = NLENS_POLICY_VERSION,
    .size = sizeof(struct nlens_policy),
    .name = "neighbours",
    .summary = "as access, with the K pages before and after: neighbours:K (8)",
    .start = start,
    .decide = decide,
    .stop = stop,
};
