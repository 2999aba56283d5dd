/* traffic.c - how many accesses go from each node to each node, over time
 *
 * usage: numalens script traffic [FILE...] -- [CONDITION...] [SLICES]      (10)
 *
 * A line is a stretch of time. "0>1" is the part of its accesses in percent that came from node 0 and went to node 1;
 * pairs without an access are not printed. */
#include <numalens/script.h>

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t slices = script_number(argc > 1 ? argv[1] : NULL, 10), nodes = nlens_node_count(trace);
    uint64_t start = nlens_start(trace), span = nlens_end(trace) - start + 1;
    size_t pairs = nodes * nodes;
    if (slices == 0)
        slices = 1;
    uint64_t *counts = calloc(slices * pairs, sizeof *counts), *all = calloc(slices + pairs, sizeof *all);
    int32_t *os_index = calloc(nodes + 1, sizeof *os_index);
    if (!counts || !all || !os_index)
        return 1;
    nlens_foreach_node (trace, n)
        os_index[n->id] = n->os_index;
    nlens_foreach_group_access (group, a) {
        if (a->from < 0 || a->home < 0)
            continue;
        size_t slice = (size_t)((double)(a->time - start) / (double)span * (double)slices);
        size_t pair = (size_t)a->from * nodes + (size_t)a->home;
        counts[slice * pairs + pair]++;
        all[slice]++;
        all[slices + pair]++;
    }

    printf("%10s %10s", "from", "accesses");
    for (size_t pair = 0; pair < pairs; pair++) {
        if (all[slices + pair])
            printf(" %4d>%-2d", os_index[pair / nodes], os_index[pair % nodes]);
    }
    for (size_t slice = 0; slice < slices; slice++) {
        printf("\n%10s %10lu", script_time((uint64_t)((double)span / (double)slices * (double)slice)), all[slice]);
        for (size_t pair = 0; pair < pairs; pair++) {
            if (all[slices + pair])
                printf(" %6.1f%%", script_percent(counts[slice * pairs + pair], all[slice]));
        }
    }
    puts("");
    free(counts);
    free(all);
    free(os_index);
    return 0;
}
