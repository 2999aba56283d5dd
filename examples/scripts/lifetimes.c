/* lifetimes.c - how long objects live, and which types are short-lived
 *
 * usage: numalens script lifetimes [FILE...] -- [CONDITION...] [N]      N types (10)
 *
 * Of the allocated objects that were sampled; whoever lived to the end has no lifetime. A short-lived object is not
 * worth moving: allocate it on the right node, or keep it in a pool of that node. */
#include <numalens/script.h>

enum { STEPS = 14 }; /* 1 us, 4 us, ... */

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t count, limit = script_number(argc > 1 ? argv[1] : NULL, 10);
    const nlens_object *const *objects = nlens_group_objects(group, NLENS_BY_SAMPLES, &count);
    uint64_t steps[STEPS + 1] = {0}, ended = 0, alive = 0;
    size_t sites = 0;
    nlens_foreach_site (trace, s)
        sites = s->id + 1;
    uint64_t *lived = calloc(2 * (sites + 1), sizeof *lived), *deaths = lived ? lived + sites : NULL;
    if (!lived)
        return 1;
    for (size_t i = 0; i < count; i++) {
        const nlens_object *o = objects[i];
        if (!o->site)
            continue;
        if (o->end == NLENS_FOREVER) {
            alive++;
            continue;
        }
        uint64_t life = o->end - o->start, bound = 1000;
        unsigned step = 0;
        for (; step < STEPS && life >= bound; step++)
            bound *= 4;
        steps[step]++;
        ended++;
        lived[o->site->id] += life;
        deaths[o->site->id]++;
    }
    printf("%lu sampled objects ended, %lu lived to the end\n\n%12s %10s\n", ended, alive, "shorter than", "objects");
    uint64_t bound = 1000;
    for (unsigned step = 0; step <= STEPS; step++, bound *= 4) {
        if (steps[step])
            printf("%12s %10lu %5.1f%%\n", step < STEPS ? script_time(bound) : "longer", steps[step],
                   script_percent(steps[step], ended));
    }
    printf("\n%12s %10s %10s  type\n", "mean life", "objects", "accesses");
    size_t found;
    const nlens_site *const *list = nlens_group_sites(group, NLENS_BY_SAMPLES, &found);
    for (size_t i = 0; i < found && i < limit; i++) {
        uint64_t dead = deaths[list[i]->id];
        printf("%12s %10lu %10lu  %s\n", dead ? script_time(lived[list[i]->id] / dead) : "to the end", list[i]->count,
               nlens_group_site_totals(group, list[i])->samples, nlens_fit(trace, list[i]->label, 60));
    }
    free(lived);
    return 0;
}
