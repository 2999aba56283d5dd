/* migrate/governor.h - says when migration does not pay, and for how long to stay out of the way (G17).
 *
 * It looks at whole intervals: how much was remote, how much was moved, what that cost. It calls for a rest when
 *   - little is remote: nothing to gain;
 *   - pages are moved interval after interval, and no less is remote than before;
 *   - it costs more of the program's time than it may.
 * After a rest one interval is watched again; the next rest is twice as long when that shows the same, up to a bound. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum governor_verdict { GOVERNOR_GO, GOVERNOR_NOTHING, GOVERNOR_VAIN, GOVERNOR_COST, GOVERNOR_VERDICTS };

enum {
    GOVERNOR_CALM = 5,   /* intervals with nothing to do before a rest */
    GOVERNOR_WINDOW = 8, /* intervals with moves that are looked at together */
    GOVERNOR_REST = 4,   /* intervals of a first rest */
    GOVERNOR_REST_MOST = 16,
};

struct governor {
    bool off;         /* never rests */
    double most_cost; /* part of the program's CPU time that may be spent */
    uint32_t calm;    /* intervals in a row without anything to do */
    double ratios[GOVERNOR_WINDOW];
    uint32_t moving;        /* intervals in a row in which pages were moved */
    double cost_ns, cpu_ns; /* since the last rest */
    uint32_t rest, next_rest;
    enum governor_verdict verdict;      /* of the rest that is on, or of the last */
    uint32_t pauses[GOVERNOR_VERDICTS]; /* how many rests for each reason */
    uint64_t paused;                    /* intervals in all */
};

struct governor_interval {
    uint64_t samples, known, remote, moved, requests;
    double cost_ns, cpu_ns; /* of the target: taken by us; all that it used */
};

void governor_start(struct governor *governor, bool off, double most_cost);

/* An interval is over. Whether the next one is to be watched; false: rest. Also called for intervals of rest (with
 * zeroes). */
bool governor_next(struct governor *governor, const struct governor_interval *interval);

bool governor_rests(const struct governor *governor);

const char *governor_text(enum governor_verdict verdict);
