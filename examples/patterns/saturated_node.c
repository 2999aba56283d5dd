/* saturated_node.c - several tables, all read by all threads.
 *
 * bad: the main thread makes all tables, so one node's memory serves the whole machine.
 * good: worker I makes table I, so the tables are spread over all nodes. As much of the traffic is remote as before (the
 * tables are still shared), but no node gets most of it. */
#include "team.h"

enum { COUNT = 1 << 20 };

static long *tables[TEAM_MAX + 1];
static pthread_barrier_t made;

static void table_make(size_t number)
{
    tables[number] = malloc(COUNT * sizeof(long)); /* site: tables */
    example_need(tables[number], "malloc");
    team_fill(tables[number], COUNT);
}

__attribute__((noinline)) static long read_table(const volatile long *table, long rounds, uint64_t seed)
{
    long total = 0;
    for (long round = 0; round < rounds; round++)
        total += table[team_random(&seed) % COUNT];
    return total;
}

/* Each worker begins with another table and goes through all of them many times. */
static long look_up(size_t number)
{
    if (team_mode("good"))
        table_make(number);
    pthread_barrier_wait(&made);
    long total = 0;
    for (long round = 0; round < team.rounds; round++)
        total += read_table(tables[1 + (number + (size_t)round) % team.size], 1000, number + (size_t)round * TEAM_MAX);
    return total;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 8000);
    pthread_barrier_init(&made, NULL, (unsigned)team.size);
    for (size_t i = 1; i <= team.size && team_mode("bad"); i++)
        table_make(i);
    team_run(look_up);
    return 0;
}
