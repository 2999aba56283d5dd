/* top-functions.c - the functions with the most remote accesses, and how they are called
 *
 * usage: numalens script top-functions [TRACE] -- [CONDITION...] [N]      (20) */
#include <numalens/script.h>

/* The call chain of the function's first access in the group: an example of how it is reached. */
static void print_callers(nlens_trace *trace, nlens_group *group, const nlens_function *function)
{
    nlens_foreach_group_access (group, a) {
        if (nlens_access_function(a) != function)
            continue;
        int depth = 0;
        nlens_foreach_frame (nlens_access_frames(a), f) {
            if (depth > 0 && depth < 4 && *f->function)
                printf("%s%s", depth > 1 ? " < " : "  <- ", nlens_fit(trace, f->function, 30));
            depth++;
        }
        return; /* the iterator goes with the trace */
    }
}

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t count, limit = script_number(argc > 1 ? argv[1] : NULL, 20);
    const nlens_totals *all = nlens_group_totals(group);
    const nlens_function *const *functions = nlens_group_functions(group, NLENS_BY_REMOTE, &count);
    printf("%8s %8s %8s %8s  function\n", "of all", "of rem.", "remote", "latency");
    for (size_t i = 0; i < count && i < limit; i++) {
        const nlens_function *f = functions[i];
        const nlens_totals *totals = nlens_group_function_totals(group, f);
        printf("%7.1f%% %7.1f%% %7.1f%% %8s  %s", script_percent(totals->samples, all->samples),
               script_percent(totals->remote, all->remote), script_percent(totals->remote, totals->home_known),
               script_latency(trace, totals), nlens_fit(trace, f->name, 60));
        print_callers(trace, group, f);
        puts("");
    }
    return 0;
}
