/* known_placements.c - which placement is best, and why. */
#include "known.h"
#include "../placements.h"

#include <stdio.h>

/* Interleaved over two nodes 5.5% more accesses are remote than where each thread touches its own. */
static void a_little_farther(char text[ANSWER])
{
    static const double fast[] = {1.0, 1.1, 1.05}, slow[] = {2.0, 2.2, 2.1};
    struct figures near = {.home_known = 1000, .remote = 10, .private_data = {.accesses = 1000}}, far = near;
    struct made made = {0};
    far.remote = 65;
    add(&made, PLACEMENT_LOCAL, near, 3, fast);
    add(&made, PLACEMENT_DISTRIBUTED, far, 3, slow);
    struct verdict verdict = judge(&made, false);
    snprintf(text, ANSWER, "%s", problem_name(verdict.problem));
    finish(&made);
}

const struct known known_placements[] = {
    {"a little farther", "distance", a_little_farther, "changed"},
    {0},
};
