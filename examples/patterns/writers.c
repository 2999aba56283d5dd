/* writers.c - a table that all threads read, and that one or all of them write.
 *
 * one: only worker 1 writes, one access in three.
 * all: every worker does. */
#include "team.h"

enum { COUNT = 1 << 18 };

static long *table;

__attribute__((noinline)) static void update(volatile long *numbers, long rounds, uint64_t seed)
{
    for (long round = 0; round < rounds; round++) {
        uint64_t random = team_random(&seed);
        numbers[random % COUNT] = numbers[(random >> 20) % COUNT] + numbers[(random >> 40) % COUNT];
    }
}

__attribute__((noinline)) static void look_up(volatile long *numbers, long rounds, uint64_t seed)
{
    for (long round = 0; round < rounds; round++) {
        uint64_t random = team_random(&seed);
        (void)numbers[random % COUNT];
        (void)numbers[(random >> 20) % COUNT];
        (void)numbers[(random >> 40) % COUNT];
    }
}

static long work(size_t number)
{
    (number == 1 || team_mode("all") ? update : look_up)(table, team.rounds, number);
    return 1;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "one|all", 15000000);
    table = malloc(COUNT * sizeof *table); /* site: table */
    example_need(table, "malloc");
    memset(table, 0, COUNT * sizeof *table);
    team_run(work);
    free(table);
    return 0;
}
