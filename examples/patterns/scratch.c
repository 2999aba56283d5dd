/* scratch.c - a few pages of one thread's data far from it, in a program whose other threads have all of theirs near, as in
 * NPB's SP.
 *
 * bad: the main thread makes 124 KiB that only worker 1 uses. What would move all of the program's memory is no cure for that.
 * good: worker 1 makes them itself. */
#include "team.h"

enum { LINES = 124 * 1024 / sizeof(long), OWN = 4 << 20, CHUNK = 64 };

static long *lines;

static long *make_lines(void)
{
    long *made = aligned_alloc(PAGE, LINES * sizeof *made); /* site: made */
    example_need(made, "aligned_alloc");
    team_fill(made, LINES);
    return made;
}

static long compute(size_t number)
{
    size_t count = OWN / sizeof(long);
    long *own = aligned_alloc(PAGE, OWN), total = 0; /* site: own */
    example_need(own, "aligned_alloc");
    team_fill(own, count);
    if (number == 1 && team_mode("good"))
        lines = make_lines();
    uint64_t seed = number;
    for (long round = 0; round < team.rounds; round += 2 * CHUNK) {
        total += team_use(number == 1 ? lines : own, number == 1 ? LINES : count, CHUNK, team_random(&seed));
        total += team_use(own, count, CHUNK, team_random(&seed));
    }
    free(own);
    return total;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 40000000);
    if (team_mode("bad"))
        lines = make_lines();
    team_run(compute);
    free(lines);
    return 0;
}
