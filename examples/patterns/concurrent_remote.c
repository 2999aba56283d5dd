/* concurrent_remote.c - threads of several nodes look things up in one table at the same time.
 *
 * bad: all use the one table that the main thread made.
 * good: each worker uses a copy that it made itself.
 * stack: all use one that is a local variable of main(). */
#include "team.h"

enum { COUNT = 1 << 20, LOCAL_COUNT = 3 << 18 }; /* 6 MiB: what second caches hold costs nothing, stacks have 8 */

static long *shared;
static size_t shared_count = COUNT;

static long *table_new(void)
{
    long *table = malloc(COUNT * sizeof *table); /* site: table */
    example_need(table, "malloc");
    team_fill(table, COUNT);
    return table;
}

__attribute__((noinline)) static long read_table(const volatile long *table, long rounds, uint64_t seed)
{
    long total = 0;
    for (long round = 0; round < rounds; round++)
        total += table[team_random(&seed) % shared_count];
    return total;
}

static long look_up(size_t number)
{
    long *table = team_mode("good") ? table_new() : shared;
    return read_table(table, team.rounds, number);
}

int main(int argc, char **argv)
{
    long local[LOCAL_COUNT];
    team_init(argc, argv, "bad|good|stack", 20000000);
    if (team_mode("bad"))
        shared = table_new();
    if (team_mode("stack")) {
        team_fill(local, LOCAL_COUNT);
        shared = local;
        shared_count = LOCAL_COUNT;
    }
    team_run(look_up);
    return 0;
}
