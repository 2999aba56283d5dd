/* diagnose.c - why memory is remote and what to do: every finding with its evidence and first advice
 *
 * usage: numalens script diagnose [TRACE] -- [PATTERN]      only findings of that name: false-sharing
 *
 * `numalens report patterns` shows more; this is for starting an own report from. */
#include <numalens/findings.h>
#include <numalens/script.h>

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    const char *why;
    (void)group;
    nlens_numa_bound(trace, &why);
    printf("%s\n", why);
    unsigned count = 0;
    nlens_foreach_finding (trace, f) {
        if (argc > 1 && strcmp(argv[1], f->pattern) != 0)
            continue;
        printf("\n%u. %s: ", ++count, f->pattern);
        if (f->node >= 0)
            printf("node %d\n", f->node);
        else
            printf("%s (%s:%u)%s\n", nlens_fit(trace, f->name, 60), nlens_fit(trace, f->file, 60), f->line,
                   f->site ? ", all of its kind" : "");
        printf("   %.1f%% of the remote accesses, confidence %.2f\n", 100 * f->share_of_remote, f->confidence);
        printf("   %s\n", nlens_fit(trace, f->evidence, 400));
        if (f->advice)
            printf("   do: %s: %s\n", f->advice->text, nlens_fit(trace, f->advice->why, 400));
    }
    if (!count)
        puts("nothing found");
    return 0;
}
