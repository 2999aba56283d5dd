/* use.c - a table that all threads use, written never, seldom or often.
 *
 * read-only: the main thread fills the table, from then on it is only read.
 * read-mostly: one access in 33 writes.
 * written: one access in three writes. */
#include "team.h"

enum { COUNT = 1 << 18 };

static long *table;

__attribute__((noinline)) static void use(volatile long *numbers, long rounds, long reads_a_write, uint64_t seed)
{
    long until_write = reads_a_write;
    for (long round = 0; round < rounds; round++) {
        size_t place = team_random(&seed) % COUNT;
        (void)numbers[place];
        if (--until_write == 0) {
            numbers[place] = round;
            until_write = reads_a_write;
        }
    }
}

static long work(size_t number)
{
    long reads_a_write = team_mode("read-only") ? team.rounds + 1 : team_mode("read-mostly") ? 32 : 2;
    use(table, team.rounds, reads_a_write, number);
    return 1;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "read-only|read-mostly|written", 25000000);
    table = malloc(COUNT * sizeof *table); /* site: table */
    example_need(table, "malloc");
    team_fill(table, COUNT);
    team_run(work);
    free(table);
    return 0;
}
