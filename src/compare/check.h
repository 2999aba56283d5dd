/* compare/check.h - rules that a recording must keep, for jobs that pass or fail (docs/compare.md).
 *
 * A rule holds, fails, or cannot be decided: two recordings of one program must not one pass and one fail. So a share
 * is compared with its limit by its interval, with the burst as unit (analysis/facts/claim.h), and a finding is new only when
 * what it is made of changed significantly (compare/difference.h). What is not decided says how many bursts would do. */
#pragma once

#include "compare/difference.h"

enum check_kind {
    CHECK_MAX_REMOTE,      /* remote accesses, of those whose home is known */
    CHECK_MAX_COST,        /* run time that remote memory costs */
    CHECK_NOT_SLOWED,      /* the verdict: NUMA is not what slows the program */
    CHECK_NO_FINDINGS,     /* none at all */
    CHECK_NO_NEW_FINDINGS, /* none that another recording has not */
    CHECK_KINDS
};

enum check_outcome { CHECK_HOLDS, CHECK_FAILS, CHECK_UNDECIDED };

struct check_request {
    bool wanted[CHECK_KINDS];
    double limits[CHECK_KINDS];   /* of the first two, between 0 and 1 */
    const struct profile *before; /* for CHECK_NO_NEW_FINDINGS */
};

struct check_rule {
    enum check_kind kind;
    enum check_outcome outcome;
    char title[96];          /* "max-remote 20%" */
    const char *text;        /* what was found, a sentence; lives as long as the findings */
    double limit;            /* of the first two */
    bool measured;           /* value and interval are known */
    double value, low, high; /* parts of 1.0 */
    uint64_t bursts, needed; /* needed: when it is undecided for too few of them; else 0 */
};

struct check_finding {
    const struct finding *finding;
    bool fails;             /* a rule fails for it */
    bool compared;          /* with another recording; then: */
    enum finding_fate fate; /* remains, new or unsure */
    const char *why;
};

struct check {
    array_of(struct check_rule) rules;
    array_of(struct check_finding) findings; /* all of the recording, worst first */
    struct difference *difference;           /* or NULL */
    enum check_outcome outcome;              /* fails when a rule does, else undecided when one is */
};

/* `profile` was made of `findings` (profile_make_judged). All three outlive the check; texts go into `findings`. */
struct check *check_make(const struct check_request *request, const struct profile *profile, struct findings *findings);
void check_free(struct check *check);

const char *check_kind_name(enum check_kind kind);          /* "max-remote", ... as the options are called */
const char *check_kind_text(enum check_kind kind);          /* what it demands, in a sentence */
const char *check_outcome_name(enum check_outcome outcome); /* "holds", "fails", "undecided" */

/* Whether so large a share, from so many bursts, is below the limit (holds), above it (fails) or neither; and how many bursts
 * would decide it, if it is what it seems. */
enum check_outcome check_share(double share, double limit, uint64_t bursts, uint64_t *needed);
