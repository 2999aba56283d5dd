/* migrate/policies/policy_access.c - the access-based algorithm of Lorenzo et al., section 5: a page goes to the group of nodes
 * that touched it most, and in that group to the cell that did; over as many levels as the machine has. */
#include "migrate/policies/policies.h"

#include "base/mem.h"

#include <stdlib.h>

static int decide(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    const struct nlens_machine *machine = view->machine;
    uint64_t *counts = mem_alloc(machine->node_count * sizeof *counts);
    (void)self;
    for (size_t i = 0; i < view->page_count; i++) {
        const struct nlens_policy_page *page = &view->pages[i];
        /* Most pages are touched from one node only: no need to climb down to it. */
        if (page->access_count == 1 && page->accesses->node < machine->node_count) {
            if ((int32_t)page->accesses->node != page->home)
                nlens_move(plan, i, machine->nearest[page->accesses->node]);
            continue;
        }
        if (policy_count_nodes(page, machine, counts) == 0)
            continue;
        uint32_t node = policy_descend(machine, counts, page->home);
        if ((int32_t)node != page->home)
            nlens_move(plan, i, machine->nearest[node]);
    }
    free(counts);
    return 0;
}

const struct nlens_policy policy_access = {
    .version = NLENS_POLICY_VERSION,
    .size = sizeof(struct nlens_policy),
    .name = "access",
    .summary = "each page to the node that touches it most",
    .decide = decide,
};
