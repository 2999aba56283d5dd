/* migration.c - would it pay to move an object to the node that uses it? time between changes against cost of a move
 *
 * usage: numalens script migration [FILE...] -- [CONDITION...] [NS_PER_PAGE [N]]      (2000 and 15)
 *
 * An interval is a run of accesses from one node. A move costs NS_PER_PAGE for each 4 KiB page of the object. It is
 * said to pay when some of the accesses are remote and an interval lasts ten times as long as the move. Beside it
 * stands what `numalens report patterns` finds on the object. */
#include <numalens/findings.h>
#include <numalens/script.h>

/* The worst finding on it or on its type, else "-". */
static const char *found_on(nlens_trace *trace, const nlens_object *object)
{
    nlens_foreach_finding (trace, f)
        if (f->object == object || (f->site && f->site == object->site))
            return f->pattern;
    return "-";
}

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    uint64_t page_ns = script_number(argc > 1 ? argv[1] : NULL, 2000);
    size_t count, limit = script_number(argc > 2 ? argv[2] : NULL, 15);
    const nlens_object *const *objects = nlens_group_objects(group, NLENS_BY_REMOTE, &count);
    printf("%8s %8s %10s %10s  %-5s %-24s object\n", "remote", "changes", "interval", "move", "pays", "finding");
    for (size_t i = 0; i < count && i < limit; i++) {
        const nlens_object *o = objects[i];
        uint64_t changes = 0, first = 0, last = 0, remote = 0;
        int node = -1;
        nlens_foreach_group_object_access (group, o, a) {
            first = first ? first : a->time;
            last = a->time;
            remote += a->remote;
            if (a->from < 0 || a->from == node)
                continue;
            changes += node >= 0;
            node = a->from;
        }
        uint64_t interval = (last - first) / (changes + 1), move = (o->size + 4095) / 4096 * page_ns;
        printf("%7.1f%% %8lu %10s %10s  %-5s %-24s %s\n",
               script_percent(remote, nlens_group_object_totals(group, o)->home_known), changes, script_time(interval),
               script_time(move), remote && interval > 10 * move ? "yes" : "no", found_on(trace, o),
               nlens_fit(trace, o->label, 60));
    }
    return 0;
}
