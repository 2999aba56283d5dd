/* handovers.c - objects that one thread allocates and another one uses
 *
 * usage: numalens script handovers [FILE...] -- [CONDITION...] [N]      (20)
 *
 * Listed when less than a tenth of the accesses are the allocating thread's own. "after" is the time from the
 * allocation to the first access by another thread. */
#include <numalens/script.h>

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t count, listed = 0, limit = script_number(argc > 1 ? argv[1] : NULL, 20);
    const nlens_object *const *objects = nlens_group_objects(group, NLENS_BY_SAMPLES, &count);
    uint32_t threads = 0;
    nlens_foreach_thread (trace, t)
        threads = t->id + 1;
    uint64_t *uses = calloc(threads + 1, sizeof *uses);
    if (!uses)
        return 1;
    printf("%10s %8s %10s  object: allocated by -> used most by\n", "accesses", "remote", "after");
    for (size_t i = 0; i < count && listed < limit; i++) {
        const nlens_object *o = objects[i];
        const nlens_thread *user = NULL;
        uint64_t first = NLENS_FOREVER, all = 0, remote = 0;
        if (!o->alloc_thread)
            continue;
        memset(uses, 0, threads * sizeof *uses);
        nlens_foreach_group_object_access (group, o, a) {
            all++;
            remote += a->remote;
            uses[a->thread->id]++;
            if (a->thread == o->alloc_thread)
                continue;
            first = first == NLENS_FOREVER ? a->time : first;
            user = !user || uses[a->thread->id] > uses[user->id] ? a->thread : user;
        }
        if (!user || 10 * uses[o->alloc_thread->id] >= all)
            continue;
        printf("%10lu %7.1f%% %10s  %s: %s -> %s\n", all, script_percent(remote, all), script_time(first - o->start),
               nlens_fit(trace, o->label, 50), o->alloc_thread->name, user->name);
        listed++;
    }
    if (!listed)
        puts("none");
    free(uses);
    return 0;
}
