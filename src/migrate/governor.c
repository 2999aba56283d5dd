#include "migrate/governor.h"

#include <string.h>

#define LITTLE    0.05 /* remote accesses below this part are not worth a move */
#define BETTER    0.9  /* the ratio must fall to this part of what it was for moves not to be in vain */
#define ENOUGH_NS 1e9  /* of the program's CPU time before its cost is judged */

void governor_start(struct governor *governor, bool off, double most_cost)
{
    *governor = (struct governor){.off = off, .most_cost = most_cost, .next_rest = GOVERNOR_REST};
}

static enum governor_verdict rest(struct governor *governor, enum governor_verdict why)
{
    /* The same again right after a rest: longer. */
    if (governor->verdict != why)
        governor->next_rest = GOVERNOR_REST;
    governor->verdict = why;
    governor->rest = governor->next_rest;
    governor->next_rest =
        governor->next_rest * 2 < GOVERNOR_REST_MOST ? governor->next_rest * 2 : (uint32_t)GOVERNOR_REST_MOST;
    governor->pauses[why]++;
    governor->moving = 0;
    governor->cost_ns = governor->cpu_ns = 0;
    /* One more such interval after the rest is enough for another. */
    governor->calm = GOVERNOR_CALM - 1;
    return why;
}

/* Whether the ratio fell over a window of moving. */
static bool in_vain(const struct governor *governor)
{
    unsigned half = GOVERNOR_WINDOW / 2;
    double before = 0, after = 0;
    for (unsigned i = 0; i < half; i++) {
        before += governor->ratios[i];
        after += governor->ratios[half + i];
    }
    return after > BETTER * before;
}

static enum governor_verdict judge(struct governor *governor, const struct governor_interval *interval)
{
    double ratio = interval->known ? (double)interval->remote / (double)interval->known : 0;
    governor->cost_ns += interval->cost_ns;
    governor->cpu_ns += interval->cpu_ns;
    bool idle = interval->moved == 0 && (ratio < LITTLE || interval->requests == 0);
    governor->calm = idle ? governor->calm + 1 : 0;
    if (governor->calm >= GOVERNOR_CALM)
        return rest(governor, GOVERNOR_NOTHING);
    if (interval->moved && governor->moving < GOVERNOR_WINDOW)
        governor->ratios[governor->moving++] = ratio;
    if (governor->moving == GOVERNOR_WINDOW) {
        if (in_vain(governor))
            return rest(governor, GOVERNOR_VAIN);
        memmove(governor->ratios, governor->ratios + 1, (GOVERNOR_WINDOW - 1) * sizeof *governor->ratios);
        governor->moving--;
    }
    if (governor->cpu_ns > ENOUGH_NS && governor->cost_ns > governor->most_cost * governor->cpu_ns)
        return rest(governor, GOVERNOR_COST);
    if (!idle) {
        governor->verdict = GOVERNOR_GO;
        governor->next_rest = GOVERNOR_REST;
    }
    return GOVERNOR_GO;
}

bool governor_next(struct governor *governor, const struct governor_interval *interval)
{
    if (governor->off)
        return true;
    if (governor->rest) {
        governor->paused++;
        return --governor->rest == 0;
    }
    if (interval->samples == 0)
        return true; /* the program waits: that says nothing */
    return judge(governor, interval) == GOVERNOR_GO;
}

bool governor_rests(const struct governor *governor)
{
    return governor->rest > 0;
}

const char *governor_text(enum governor_verdict verdict)
{
    static const char *const texts[GOVERNOR_VERDICTS] = {
        [GOVERNOR_GO] = "at work",
        [GOVERNOR_NOTHING] = "nothing to gain",
        [GOVERNOR_VAIN] = "moving pages did not make fewer accesses remote",
        [GOVERNOR_COST] = "it cost more than it may",
    };
    return texts[verdict];
}
