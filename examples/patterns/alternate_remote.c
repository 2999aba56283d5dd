/* alternate_remote.c - threads of several nodes use an array one after the other, in long turns.
 *
 * bad: all use the one array that the main thread made.
 * good: the same turns, but each worker uses an array of its own that it made itself.
 * A turn lasts 50 ms of CPU time, or --rounds=MS; each worker has two. */
#include "team.h"

#include <time.h>

enum { COUNT = 1 << 20, TURNS = 2, CHUNK = 100000 };

static long *shared;

static long *array_new(void)
{
    long *array = malloc(COUNT * sizeof *array); /* site: array */
    example_need(array, "malloc");
    team_fill(array, COUNT);
    return array;
}

static long cpu_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static long take_turns(size_t number)
{
    long *array = team_mode("good") ? array_new() : shared;
    for (size_t turn = 0; turn < TURNS; turn++) {
        team_await_turn(turn * team.size + number - 1);
        long end = cpu_ms() + team.rounds;
        for (uint64_t seed = number; cpu_ms() < end; seed += TEAM_MAX)
            team_use(array, COUNT, CHUNK, seed);
        team_end_turn();
    }
    return TURNS;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 50);
    if (team_mode("bad"))
        shared = array_new();
    team_run(take_turns);
    return 0;
}
