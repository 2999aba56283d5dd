/* top-objects.c - the objects with the most remote accesses
 *
 * usage: numalens script top-objects [TRACE] -- [CONDITION...] [N]      (20) */
#include <numalens/script.h>

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t count, limit = script_number(argc > 1 ? argv[1] : NULL, 20);
    const nlens_totals *all = nlens_group_totals(group);
    const nlens_object *const *objects = nlens_group_objects(group, NLENS_BY_REMOTE, &count);
    printf("%8s %8s %8s %8s %8s %12s %8s  %-7s object\n", "of all", "of rem.", "remote", "writes", "latency", "size",
           "id", "kind");
    for (size_t i = 0; i < count && i < limit; i++) {
        const nlens_object *o = objects[i];
        const nlens_totals *totals = nlens_group_object_totals(group, o);
        printf("%7.1f%% %7.1f%% %7.1f%% %7.1f%% %8s %12lu %8u  %-7s %s\n",
               script_percent(totals->samples, all->samples), script_percent(totals->remote, all->remote),
               script_percent(totals->remote, totals->home_known), script_percent(totals->writes, totals->samples),
               script_latency(trace, totals), o->size, o->id, nlens_kind_name(o->kind), nlens_fit(trace, o->label, 60));
    }
    return 0;
}
