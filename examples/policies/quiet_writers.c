/* quiet_writers.c - a policy for `numalens migrate`: a page goes to the node that writes it most; pages that nobody writes
 * stay where they are. docs/migrate.md walks through it.
 *
 *     cc -shared -fPIC -I/usr/local/include -o quiet_writers.so quiet_writers.c
 *     numalens migrate --policy ./quiet_writers.so:3 -- ./app
 *
 * The argument is how many writes a node must have been seen to make. */
#include <numalens/policy.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int start(const struct nlens_machine *machine, const char *arguments, void **self, char *why, size_t why_bytes)
{
    long least = *arguments ? strtol(arguments, NULL, 10) : 1;
    (void)machine;
    if (least < 1) {
        strncpy(why, "a number of writes is wanted", why_bytes - 1);
        return -1;
    }
    *self = (void *)(intptr_t)least; /* all that this policy has to remember */
    return 0;
}

static int decide(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    uint64_t least = (uint64_t)(intptr_t)self, unwritten = 0;
    for (size_t i = 0; i < view->page_count; i++) {
        const struct nlens_policy_page *page = &view->pages[i];
        uint64_t best_writes = 0;
        uint32_t best_node = 0;
        for (uint32_t node = 0; node < view->machine->node_count; node++) {
            uint64_t writes = 0;
            for (uint32_t j = 0; j < page->access_count; j++)
                writes += page->accesses[j].node == node ? page->accesses[j].writes : 0;
            if (writes > best_writes) {
                best_writes = writes;
                best_node = node;
            }
        }
        unwritten += best_writes == 0;
        if (best_writes >= least)
            nlens_move(plan, i, view->machine->nearest[best_node]);
    }
    nlens_note(plan, "times a sampled page was not written", unwritten);
    return 0;
}

const struct nlens_policy *nlens_policy(void)
{
    static const struct nlens_policy policy = {
        .version = NLENS_POLICY_VERSION,
        .size = sizeof policy,
        .name = "quiet-writers",
        .summary = "each page to the node that writes it most",
        .start = start,
        .decide = decide,
    };
    return &policy;
}
