/* false_sharing.c - each thread counts in a counter of its own.
 *
 * bad: the counters are adjacent, many in a cache line.
 * good: each counter has a page for itself. Each worker writes its counter first, here as there.
 * same: all threads count in the same one. That is sharing in earnest, and padding would not help. */
#include "team.h"

static char *counters;

static long count(size_t number)
{
    size_t apart = team_mode("good") ? PAGE : team_mode("bad") ? sizeof(long) : 0;
    volatile long *counter = (volatile long *)(counters + (number - 1) * apart);
    long rounds = team.rounds;
    *counter = 0;
    for (long round = 0; round < rounds; round++)
        *counter = *counter + 1;
    return team_mode("same") ? 0 : *counter;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good|same", 40000000);
    counters = aligned_alloc(PAGE, TEAM_MAX * PAGE); /* site: counters */
    example_need(counters, "aligned_alloc");
    team_run(count);
    free(counters);
    return 0;
}
