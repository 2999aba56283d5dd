/* rewritten.c - a vector that all threads read at random, and rewrite, each its part, between two iterations: the one of a
 * conjugate gradient. Nearly all accesses are reads; a copy would be wrong from the second iteration on.
 *
 * bad: all use the one vector that the main thread made.
 * good: each worker reads a copy that it makes itself in each iteration. */
#include "team.h"

enum { COUNT = 1 << 19, ITERATION = 400000 };

static long *shared;
static pthread_barrier_t written;

static long *vector_new(void)
{
    long *vector = malloc(COUNT * sizeof *vector); /* site: vector */
    example_need(vector, "malloc");
    team_fill(vector, COUNT);
    return vector;
}

__attribute__((noinline)) static long read_vector(const volatile long *vector, uint64_t seed)
{
    long total = 0;
    for (long round = 0; round < ITERATION; round++)
        total += vector[team_random(&seed) % COUNT];
    return total;
}

static void rewrite(long *vector, size_t part, size_t parts)
{
    for (size_t i = part * (COUNT / parts) + COUNT / parts / 2; i < (part + 1) * (COUNT / parts); i++)
        vector[i] += 1;
}

static long iterate(size_t number)
{
    bool own = team_mode("good");
    long *vector = own ? vector_new() : shared, total = 0;
    for (long round = 0; round < team.rounds; round += ITERATION) {
        total += read_vector(vector, number + (size_t)round);
        pthread_barrier_wait(&written);
        rewrite(vector, own ? 0 : number - 1, own ? 1 : team.size);
        pthread_barrier_wait(&written);
    }
    return total;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 20000000);
    pthread_barrier_init(&written, NULL, (unsigned)team.size);
    if (team_mode("bad"))
        shared = vector_new();
    team_run(iterate);
    return 0;
}
