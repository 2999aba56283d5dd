/* thread_local.c - memory of a worker's own that is not near it.
 *
 * bad: each worker uses its copy of a thread-local array. The C library has cleared it in the main thread, which creates
 * the workers, so the home of every copy is the main thread's node.
 * good: each worker allocates an array of that size and fills it. */
#include "team.h"

enum { COUNT = 1 << 17 };

static _Thread_local long workspace[COUNT]; /* site: workspace */

static long use(size_t number)
{
    long *own = team_mode("good") ? malloc(sizeof workspace) : workspace;
    example_need(own, "malloc");
    team_fill(own, COUNT);
    return team_use(own, COUNT, team.rounds, number);
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 24000000);
    team_run(use);
    return 0;
}
