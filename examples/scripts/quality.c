/* quality.c - how far a trace can be trusted: what was lost, what belongs to no object, what is not known
 *
 * usage: numalens script quality [TRACE] -- [CONDITION...] */
#include <numalens/script.h>

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    (void)argc, (void)argv;
    const nlens_totals *all = nlens_group_totals(group);
    size_t objects;
    uint64_t attributed = 0, chains = 0;
    const nlens_object *const *list = nlens_group_objects(group, NLENS_BY_ID, &objects);
    for (size_t i = 0; i < objects; i++)
        attributed += nlens_group_object_totals(group, list[i])->samples;
    nlens_foreach_group_access (group, a)
        chains += nlens_access_frames(a) != NULL;
    const char *command = nlens_info(trace, "command");
    printf("%s\n", command ? nlens_fit(trace, command, 100) : "");
    printf("%lu samples of %zu objects in %s\n", all->samples, objects,
           script_time(nlens_end(trace) - nlens_start(trace)));
    printf("%6.1f%% belong to an object\n", script_percent(attributed, all->samples));
    printf("%6.1f%% are on a page whose home node is known%s\n", script_percent(all->home_known, all->samples),
           nlens_simulated(trace) ? " (the nodes are simulated)" : "");
    printf("%6.1f%% have a latency\n", script_percent(all->latency_count, all->samples));
    printf("%6.1f%% have a call chain\n", script_percent(chains, all->samples));
    nlens_foreach_reason (trace, r)
        printf("not attributed: %lu, %s\n", r->count, r->name);
    nlens_foreach_loss (trace, l)
        printf("lost: %lu, %s\n", l->count, l->text);
    if (nlens_damage(trace))
        printf("damaged: %s\n", nlens_damage(trace));
    return 0;
}
