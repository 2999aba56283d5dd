/* remote.c - number and share of remote accesses: in all, by thread, from node to node
 *
 * usage: numalens script remote [FILE...] -- [CONDITION...]
 *
 * The share is of the accesses whose page's node is known. */
#include <numalens/script.h>

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    (void)argc, (void)argv;
    const nlens_totals *all = nlens_group_totals(group);
    printf("%lu of %lu accesses are remote: %.1f%%\n", all->remote, all->home_known,
           script_percent(all->remote, all->home_known));
    if (all->home_known < all->samples)
        printf("%lu more are on pages whose home node is not known\n", all->samples - all->home_known);

    size_t threads;
    const nlens_thread *const *list = nlens_group_threads(group, NLENS_BY_REMOTE, &threads);
    printf("\n%10s %10s %8s  thread\n", "accesses", "remote", "share");
    for (size_t i = 0; i < threads; i++) {
        const nlens_totals *totals = nlens_group_thread_totals(group, list[i]);
        printf("%10lu %10lu %7.1f%%  %s (%u)\n", totals->samples, totals->remote,
               script_percent(totals->remote, totals->home_known), list[i]->name, list[i]->tid);
    }

    uint32_t nodes = nlens_node_count(trace);
    uint64_t *matrix = calloc((size_t)nodes * nodes, sizeof *matrix);
    if (!matrix)
        return 1;
    nlens_foreach_group_access (group, a) {
        if (a->from >= 0 && a->home >= 0)
            matrix[(size_t)a->from * nodes + (size_t)a->home]++;
    }
    printf("\nfrom node (down) to node (across)\n      ");
    nlens_foreach_node (trace, to)
        printf(" %10d", to->os_index);
    nlens_foreach_node (trace, from) {
        printf("\n%6d", from->os_index);
        nlens_foreach_node (trace, to)
            printf(" %10lu", matrix[(size_t)from->id * nodes + to->id]);
    }
    puts("");
    free(matrix);
    return 0;
}
