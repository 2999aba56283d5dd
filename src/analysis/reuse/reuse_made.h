/* analysis/reuse/reuse_made.h - what reuse.c makes of a flow's long bursts and watches, and reuse_ask.c answers from. */
#pragma once

#include "analysis/reuse/reuse.h"
#include "analysis/reuse/reuse_curve.h"
#include "analysis/reuse/reuse_phases.h"
#include "analysis/reuse/watches.h"

/* Standard errors by the jackknife: bursts are assigned to so many groups, or as many as there are bursts, and each is omitted once. */
enum { REUSE_GROUPS = 16 };

struct reuse_burst {
    uint32_t thread, number, group;
    enum reuse_phase phase;
    uint64_t process_ns, accesses;
    double followed; /* accesses that its rows stand for */
    double line;     /* lines that each one stands for that was followed */
    double lines;    /* different ones, so many */
    double weight[REUSE_GROUPS +
                  1]; /* accesses of the program that each of these stands for: without group k, then of all */
    double rate[REUSE_GROUPS + 1]; /* accesses per ns of CPU time, without group k, then of all; 0: was not counted */
};

struct reuse_row {
    uint64_t subject; /* a site, or an object above all sites */
    uint32_t burst, object;
    uint16_t bin;
    uint8_t flags;
    double value;
};

/* Lines of a subject that bursts met first and left in use. */
struct reuse_left {
    uint64_t subject;
    double lines[REUSE_PHASES][REUSE_GROUPS + 1]; /* of the program, as weights */
};

struct reuse {
    const struct flow *flow;
    array_of(struct reuse_left) left; /* by subject */
    array_of(struct reuse_burst) bursts;
    array_of(struct reuse_row) rows; /* by subject */
    array_of(struct watch) watches;  /* likewise; one of a burst */
    struct watched_words words;
    double rate, seconds;
    uint32_t looked, groups;
    double student; /* Student's interval of so many groups at 95%, in standard errors */
    struct reuse_curve all[REUSE_PHASES][REUSE_GROUPS + 1];      /* without group k; then of all */
    double known_lines[REUSE_PHASES], burst_lines[REUSE_PHASES]; /* by bursts and watches; by bursts alone */
    double missed[REUSE_PHASES];                                 /* accesses that miss a cache of so many */
};

/* NULL: there is none of this number in the thread. */
struct reuse_burst *reuse_burst_of(const struct reuse *reuse, uint32_t thread, uint32_t number);

void reuse_add_row(struct reuse_counts *counts, const struct reuse_row *row, double weight);
double reuse_total(const struct reuse_counts *counts); /* accesses */

/* Different lines in so many accesses. */
double reuse_footprint(const struct reuse_curve *curve, uint64_t accesses);

/* Watches [from, to) of a phase, without group k. A watch stands for the lines that its burst left. How many of these are of which subject is
 * known of all bursts, and chance chose few: so a subject's watches together stand for its lines. */
void reuse_add_watches(const struct reuse *reuse, size_t from, size_t to, enum reuse_phase phase, unsigned k,
                       struct reuse_watched *watched);
