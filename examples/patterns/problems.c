/* problems.c - one of two problems that look alike from outside, or none. For a machine of two nodes, with 16 CPUs
 * simulated: then worker 8 and those after it are on the other node.
 *
 * none: each worker goes at random through a part of its own, which it touched first.
 * imbalance: the main thread touched all parts first: only the last worker's is far, and the others wait for it.
 * sharing: all workers count in the same few counters, wherever they run. (They lose some counts: nothing is asked of
 * them.) */
#include "team.h"

enum { PART_KIB = 4096, COUNTERS = 4 };

static char *parts;
static size_t part; /* --kib=N: of each worker, a power of two */
static long *counters;

static long count_together(uint64_t state, long rounds)
{
    volatile long *shared = counters;
    for (long round = 0; round < rounds; round++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        shared[(state >> 33) % COUNTERS] = shared[(state >> 33) % COUNTERS] + 1;
    }
    return 0;
}

static long go_through(size_t number)
{
    volatile long *own = (volatile long *)(parts + (number - 1) * part);
    uint64_t state = number * 88172645463325252u;
    size_t mask = part / sizeof(long) - 1;
    long sum = 0, rounds = team.rounds;
    if (team_mode("sharing"))
        return count_together(state, rounds);
    if (team_mode("none"))
        memset((char *)own, 1, part);
    for (long round = 0; round < rounds; round++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sum += own[(state >> 33) & mask];
    }
    return sum;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "none|imbalance|sharing", 20000000);
    part = (size_t)example_option(argc, argv, "kib", PART_KIB) << 10;
    parts = aligned_alloc(PAGE, team.size * part); /* site: parts */
    counters = aligned_alloc(PAGE, PAGE);          /* site: counters */
    example_need(parts && counters, "aligned_alloc");
    memset(counters, 0, PAGE);
    if (team_mode("imbalance"))
        memset(parts, 1, team.size * part);
    team_run(go_through);
    free(parts);
    free(counters);
    return 0;
}
