/* top-types.c - the types (allocation sites) with the most remote accesses
 *
 * usage: numalens script top-types [TRACE] -- [CONDITION...] [N]      (20)
 *
 * A type is what one call chain allocates: "instances" of them ever, "at once" at most, and with how many bytes. */
#include <numalens/script.h>

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t count, limit = script_number(argc > 1 ? argv[1] : NULL, 20);
    const nlens_totals *all = nlens_group_totals(group);
    const nlens_site *const *sites = nlens_group_sites(group, NLENS_BY_REMOTE, &count);
    printf("%8s %8s %8s %8s %10s %10s %14s  type\n", "of all", "of rem.", "remote", "latency", "instances", "at once",
           "bytes at once");
    for (size_t i = 0; i < count && i < limit; i++) {
        const nlens_site *s = sites[i];
        const nlens_totals *totals = nlens_group_site_totals(group, s);
        printf("%7.1f%% %7.1f%% %7.1f%% %8s %10lu %10lu %14lu  %s\n", script_percent(totals->samples, all->samples),
               script_percent(totals->remote, all->remote), script_percent(totals->remote, totals->home_known),
               script_latency(trace, totals), s->count, s->live_peak, s->bytes_peak, nlens_fit(trace, s->label, 60));
    }
    return 0;
}
