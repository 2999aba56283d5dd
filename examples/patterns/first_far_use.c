/* first_far_use.c - a buffer that worker 1 makes, and that worker 2 uses too: soon, late or never.
 *
 * soon: worker 2 uses it as soon as it is filled, then worker 1 does.
 * late: worker 1 uses it for a long time, then worker 2 does.
 * never: only worker 1 uses it; worker 2 has a buffer of its own.
 * With --truth: between which times, in nanoseconds since the buffer was allocated, worker 2 used it. */
#include "team.h"

enum { COUNT = 1 << 18 };

static long *buffer;
static long before, after, from, to; /* before and after it is allocated: the thread may be stopped in between */

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void worker_1(void)
{
    team_await_turn(1);
    before = now();
    buffer = malloc(COUNT * sizeof *buffer); /* site: buffer */
    after = now();
    example_need(buffer, "malloc");
    team_fill(buffer, COUNT);
    team_give_turn(team_mode("soon") ? 2 : 1);
    team_await_turn(1);
    team_use(buffer, COUNT, team.rounds, 1);
    team_give_turn(2);
}

static void worker_2(void)
{
    long *own = malloc(COUNT * sizeof *own); /* site: own */
    example_need(own, "malloc");
    team_fill(own, COUNT);
    team_await_turn(2);
    from = now() - after;
    team_use(team_mode("never") ? own : buffer, COUNT, team.rounds, 2);
    to = now() - before;
    team_give_turn(1);
}

static long work(size_t number)
{
    if (number <= 2)
        (number == 1 ? worker_1 : worker_2)();
    return 1;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "soon|late|never", 120000000);
    example_need(team.size >= 2, "--threads: 2 or more;");
    team_run(work);
    if (example_flag(argc, argv, "truth"))
        printf("truth object=buffer far_from_ns=%ld far_to_ns=%ld\n", from, to);
    return 0;
}
