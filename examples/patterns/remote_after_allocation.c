/* remote_after_allocation.c - buffers that one thread makes and others use.
 *
 * bad: the main thread allocates and fills a buffer for each worker, which then uses it alone. Every worker that is not on
 * the main thread's node has its buffer on a far node.
 * good: each worker makes its own buffer, by the same lines. */
#include "team.h"

enum { COUNT = 1 << 20 };

struct work {
    long *buffer;
};

static struct work works[TEAM_MAX + 1];

static void work_prepare(struct work *work)
{
    work->buffer = malloc(COUNT * sizeof *work->buffer); /* site: buffer */
    example_need(work->buffer, "malloc");
    team_fill(work->buffer, COUNT);
}

static long use(size_t number)
{
    if (team_mode("good"))
        work_prepare(&works[number]);
    return team_use(works[number].buffer, COUNT, team.rounds, number);
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 12000000);
    for (size_t i = 1; i <= team.size && team_mode("bad"); i++)
        work_prepare(&works[i]);
    team_run(use);
    return 0;
}
