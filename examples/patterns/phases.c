/* phases.c - a plan that is used in the first and last third of the run, or all the time.
 *
 * twice: in the middle third all threads use another array.
 * throughout: they use the plan there too. */
#include "team.h"

enum { COUNT = 1 << 18, STAGES = 3 };

static long *plan, *other;
static pthread_barrier_t stage_done;

static long work(size_t number)
{
    for (int stage = 0; stage < STAGES; stage++) {
        team_use(stage == 1 && team_mode("twice") ? other : plan, COUNT, team.rounds, number);
        pthread_barrier_wait(&stage_done);
    }
    return 1;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "twice|throughout", 14000000);
    pthread_barrier_init(&stage_done, NULL, (unsigned)team.size);
    plan = malloc(COUNT * sizeof *plan);   /* site: plan */
    other = malloc(COUNT * sizeof *other); /* site: other */
    example_need(plan && other, "malloc");
    team_fill(plan, COUNT);
    team_fill(other, COUNT);
    team_run(work);
    free(plan);
    free(other);
    return 0;
}
