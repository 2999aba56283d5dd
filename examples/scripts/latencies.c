/* latencies.c - how the latencies of the slowest objects are spread, local and remote apart
 *
 * usage: numalens script latencies [FILE...] -- [CONDITION...] [N]      N objects that cost most time (5)
 *
 * For each step of latency: how many local (l) and remote (R) accesses, a letter for every 2% of the object's. */
#include <numalens/script.h>

enum { STEPS = 12 }; /* below 8, 16, 32, ... */

static void bar(uint64_t count, uint64_t all, char letter)
{
    for (double percent = script_percent(count, all); percent >= 1; percent -= 2)
        putchar(letter);
}

static void show(nlens_trace *trace, const nlens_object *object, nlens_group *group, const char *unit)
{
    uint64_t local[STEPS + 1] = {0}, remote[STEPS + 1] = {0}, all = 0;
    nlens_foreach_group_object_access (group, object, a) {
        if (!a->has_latency)
            continue;
        unsigned step = 0;
        while (step < STEPS && a->latency >= 8u << step)
            step++;
        (a->remote ? remote : local)[step]++;
        all++;
    }
    printf("%s: %lu latencies, mean %s\n", nlens_fit(trace, object->label, 60), all,
           script_latency(trace, nlens_group_object_totals(group, object)));
    for (unsigned step = 0; step <= STEPS; step++) {
        if (!local[step] && !remote[step])
            continue;
        if (step < STEPS)
            printf("  < %5u %s %10lu ", 8u << step, unit, local[step] + remote[step]);
        else
            printf("  more     %s %10lu ", unit, local[step] + remote[step]);
        bar(local[step], all, 'l');
        bar(remote[step], all, 'R');
        puts("");
    }
    puts("");
}

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t count, limit = script_number(argc > 1 ? argv[1] : NULL, 5);
    const nlens_object *const *objects = nlens_group_objects(group, NLENS_BY_LATENCY, &count);
    const char *unit = nlens_info(trace, "latency_unit");
    for (size_t i = 0; i < count && i < limit; i++)
        show(trace, objects[i], group, unit ? unit : "ns");
    if (count == 0)
        puts("no access fits");
    return 0;
}
