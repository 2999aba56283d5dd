/* switches.c - average time between accesses by distinct threads to an object: is it worth migrating?
 *
 * The program of Figure 3 of the MemProf paper, with its two mistakes corrected: the time before the first access is not
 * counted as if a thread had changed then, and the counter has one name.
 *
 * usage: numalens script switches [FILE...] -- [CONDITION...] [N]      the N objects with the most accesses (10)
 *
 * A large time says that one thread uses the object for long before another does: the object could follow. */
#include <numalens/script.h>

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t count, limit = script_number(argc > 1 ? argv[1] : NULL, 10);
    const nlens_object *const *objects = nlens_group_objects(group, NLENS_BY_SAMPLES, &count);
    for (size_t i = 0; i < count && i < limit; i++) {
        const nlens_object *o = objects[i];
        uint64_t last_tid = 0, last_rdt = 0;
        uint64_t nb_tid_switch = 0;
        uint64_t time_per_tid = 0;
        nlens_foreach_group_object_access (group, o, a) {
            if (a->tid == last_tid)
                continue;
            if (last_tid != 0) {
                nb_tid_switch++;
                time_per_tid += a->time - last_rdt;
            }
            last_tid = a->tid;
            last_rdt = a->time;
        }
        if (nb_tid_switch)
            printf("Avg time: %lu ns (%lu switches)  %s\n", time_per_tid / nb_tid_switch, nb_tid_switch,
                   nlens_fit(trace, o->label, 60));
        else
            printf("one thread only  %s\n", nlens_fit(trace, o->label, 60));
    }
    return 0;
}
