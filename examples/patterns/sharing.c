/* sharing.c - a table for one thread, for the threads of one node, or for all.
 *
 * thread: worker 1 alone uses the table.
 * node: workers 1 and 9 do. On 2, 4 or 8 simulated nodes with one CPU each both are on node 1.
 * shared: all nine do. */
#include "team.h"

enum { COUNT = 1 << 18 };

static long *table;

static long work(size_t number)
{
    bool uses = number == 1 || (number == 9 && !team_mode("thread")) || team_mode("shared");
    size_t users = team_mode("thread") ? 1 : team_mode("node") ? 2 : team.size;
    if (uses)
        team_use(table, COUNT, team.rounds / (long)users, number);
    return 1;
}

int main(int argc, char **argv)
{
    team.size = 9;
    team_init(argc, argv, "thread|node|shared", 300000000);
    example_need(team.size >= 9, "--threads: 9 or more;");
    table = malloc(COUNT * sizeof *table); /* site: table */
    example_need(table, "malloc");
    team_fill(table, COUNT);
    team_run(work);
    free(table);
    return 0;
}
