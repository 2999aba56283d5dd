/* far_initialised.c - one grid of which each thread works on its own part.
 *
 * bad: the main thread fills the whole grid, so all of it is on the main thread's node.
 * good: each worker fills its part, so each part is on the node of the thread that works on it.
 *
 * Equal work does not take equal time on a machine that does other things too. With --cpu-ms=N each worker works for N ms of its
 * CPU time instead: then the workers' shares of the samples are equal by construction. */
#include "team.h"

enum { PART = 1 << 20 };

static long *grid;
static long cpu_ms;

static long compute(size_t number)
{
    long *part = grid + (number - 1) * PART;
    if (team_mode("good"))
        team_fill(part, PART);
    if (cpu_ms) {
        team_use_for(cpu_ms, part, PART, number);
        return 0;
    }
    return team_use(part, PART, team.rounds, number);
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 12000000);
    cpu_ms = example_work(argc, argv, "cpu-ms", 0);
    grid = malloc(team.size * PART * sizeof *grid); /* site: grid */
    example_need(grid, "malloc");
    if (team_mode("bad"))
        team_fill(grid, team.size * PART);
    team_run(compute);
    free(grid);
    return 0;
}
