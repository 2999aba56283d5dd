/* facts.c - what is true of each type: who uses it, how, and from where
 *
 * usage: numalens script facts [TRACE] -- [CONDITION...] [N]      (15) */
#include <numalens/findings.h>
#include <numalens/script.h>

static const char *name_of(const nlens_thread *thread)
{
    return thread ? thread->name : "?";
}

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t count, limit = script_number(argc > 1 ? argv[1] : NULL, 15);
    const nlens_site *const *sites = nlens_group_sites(group, NLENS_BY_SAMPLES, &count);
    for (size_t i = 0; i < count && i < limit; i++) {
        const nlens_facts *f = nlens_site_facts(sites[i]);
        if (!f)
            continue;
        printf("%s\n", nlens_fit(trace, sites[i]->label, 70));
        printf("    %s, %s, %s, %s\n", f->use, f->sharing, f->concurrency, f->shape);
        printf("    %u threads of %u nodes use it, %u write; most: %s\n", f->using_threads, f->using_nodes, f->writers,
               name_of(f->main_user));
        printf("    allocated by %s, first touched by %s; home node %d\n", name_of(f->alloc_thread),
               name_of(f->toucher), f->main_home);
        if (f->switches)
            printf("    %s between changes of thread\n", script_time(f->switch_ns));
        if (f->first_remote != NLENS_FOREVER)
            printf("    first remote access %s after its allocation\n", script_time(f->first_remote));
    }
    return 0;
}
