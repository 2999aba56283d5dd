/* alternate_remote.c - threads of several nodes take long turns at an array.
 *
 * bad: all use the one array that the main thread made.
 * good: the same turns, but each worker uses an array of its own that it made itself.
 * A turn lasts 80 ms of CPU time, or --rounds=MS; each worker has two. */
#include "team.h"

enum { COUNT = 1 << 20, TURNS = 2 };

static long *shared;

static long *array_new(void)
{
    long *array = malloc(COUNT * sizeof *array); /* site: array */
    example_need(array, "malloc");
    team_fill(array, COUNT);
    return array;
}

static long take_turns(size_t number)
{
    long *array = team_mode("good") ? array_new() : shared;
    for (size_t turn = 0; turn < TURNS; turn++) {
        team_await_turn(number);
        team_use_for(team.rounds, array, COUNT, number);
        team_give_turn(team_next(number));
    }
    return TURNS;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 80);
    if (team_mode("bad"))
        shared = array_new();
    team_run(take_turns);
    return 0;
}
