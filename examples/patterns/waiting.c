/* waiting.c - workers that meet at a barrier after each step; worker 1 has more to do in each than the others.
 *
 * spin: they wait in a loop, as OpenMP's threads do at first; each prints how much of its CPU time.
 * turns: likewise; in the second half worker 2 has more to do, not worker 1.
 * sleep: they wait in the kernel, as pthread_barrier_wait does; each prints how long it did.
 *
 * --times=K: worker 1 works K times as long as each other. So each other waits for (K - 1) / K of the time. Work is measured
 * in CPU time of the thread: where CPUs are too few or busy, steps take longer for all alike. */
#include "team.h"

#include <stdatomic.h>

enum { COUNT = 1 << 12, STEP_MS = 20 };

static long *parts, times;
static pthread_barrier_t asleep;
static atomic_size_t arrived, generation;
static double slept[TEAM_MAX + 1];                   /* seconds */
static double spun[TEAM_MAX + 1], ran[TEAM_MAX + 1]; /* seconds of CPU time: in barriers, in all */

/* Named so that reports know it for what it is. */
__attribute__((noinline)) static void spin_barrier(void)
{
    size_t own = atomic_load(&generation);
    if (atomic_fetch_add(&arrived, 1) + 1 == team.size) {
        atomic_store(&arrived, 0);
        atomic_store(&generation, own + 1);
    }
    while (atomic_load(&generation) == own)
        ;
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void spin_at_barrier(size_t number)
{
    double since = seconds(CLOCK_THREAD_CPUTIME_ID);
    spin_barrier();
    spun[number] += seconds(CLOCK_THREAD_CPUTIME_ID) - since;
}

static void sleep_at_barrier(size_t number)
{
    double since = seconds(CLOCK_MONOTONIC_RAW);
    pthread_barrier_wait(&asleep);
    slept[number] += seconds(CLOCK_MONOTONIC_RAW) - since;
}

static long work(size_t number)
{
    long *own = parts + (number - 1) * COUNT;
    double began = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (long step = 0; step < team.rounds; step++) {
        size_t last = team_mode("turns") && step >= team.rounds / 2 ? 2 : 1;
        team_use_for(number == last ? STEP_MS * times : STEP_MS, own, COUNT, number);
        if (team_mode("sleep"))
            sleep_at_barrier(number);
        else
            spin_at_barrier(number);
    }
    ran[number] = seconds(CLOCK_THREAD_CPUTIME_ID) - began;
    return 1;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "spin|turns|sleep", 20);
    times = example_option(argc, argv, "times", 3);
    pthread_barrier_init(&asleep, NULL, (unsigned)team.size);
    parts = malloc(team.size * COUNT * sizeof *parts); /* site: parts */
    example_need(parts && times > 0, "malloc");
    team_fill(parts, team.size * COUNT);
    team_run(work);
    for (size_t i = 1; i <= team.size && team_mode("sleep"); i++)
        printf("worker %zu waited %.6f\n", i, slept[i]);
    for (size_t i = 1; i <= team.size && !team_mode("sleep"); i++)
        printf("worker %zu spun %.6f of %.6f\n", i, spun[i], ran[i]);
    free(parts);
    return 0;
}
