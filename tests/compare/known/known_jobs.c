/* known_jobs.c - which rank holds the others up. */
#include "known.h"
#include "../ranks.h"

#include <stdio.h>

static void answer(uint64_t bursts, uint64_t slowest, uint64_t others, char text[ANSWER])
{
    struct rank_summary *ranks[RANKS];
    for (uint32_t i = 0; i < RANKS; i++)
        ranks[i] = rank_with(i, bursts, bursts - (i == 1 ? slowest : others));
    struct job *job = make(ranks, RANKS);
    snprintf(text, ANSWER, "%s",
             job->balance == JOB_HELD_UP ? "held up"
             : job->balance == JOB_EVEN  ? "even"
                                         : "undecided");
    end(job, ranks, RANKS);
}

/* A hundred rows over eleven ranks: one has ten, the others nine. */
static void one_row_more(char text[ANSWER])
{
    answer(20000, 10000, 9000, text);
}

/* A rank with half as much work again, in a run of a second and a half. */
static void a_short_run(char text[ANSWER])
{
    answer(150, 90, 60, text);
}

const struct known known_jobs[] = {
    {"one row more", "held up", one_row_more},
    {"a short run", "held up", a_short_run, "deviations"},
    {0},
};
