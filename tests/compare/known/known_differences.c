/* known_differences.c - what is called a difference of two recordings, and what a check decides. */
#include "known.h"
#include "../profiles.h"

#include "compare/check.h"

struct side {
    unsigned bursts, remote;
    double latency;
};

static void compare(struct side was, struct side is, char text[ANSWER])
{
    struct profile *before = blank(1000), *after = blank(1000);
    if (was.bursts)
        add(before, PROFILE_OBJECTS, "array", 1, was.bursts, was.remote, was.latency);
    add(after, PROFILE_OBJECTS, "array", 1, is.bursts, is.remote, is.latency);
    struct difference *difference = difference_make(before, after);
    const bool *real = row_named(difference, PROFILE_OBJECTS, "array", 1)->real;
    snprintf(text, ANSWER, "%s%s%s", real[DIFFERENCE_SHARE] ? "share " : "", real[DIFFERENCE_REMOTE] ? "remote " : "",
             real[DIFFERENCE_LATENCY] ? "latency" : "");
    difference_free(difference);
    profile_free(before);
    profile_free(after);
}

/* An array that is new, and makes a thirtieth of the accesses. */
static void a_thirtieth(char text[ANSWER])
{
    compare((struct side){0}, (struct side){33, 4, 100}, text);
}

/* Half as many accesses again, in recordings of ten seconds: more than chance, barely. */
static void half_as_much_again(char text[ANSWER])
{
    compare((struct side){100, 4, 100}, (struct side){154, 4, 100}, text);
}

/* Latency has doubled, and a tenth beyond. */
static void more_than_doubled(char text[ANSWER])
{
    compare((struct side){200, 4, 100}, (struct side){200, 4, 220}, text);
}

/* A rule of at most 20% remote accesses, a program with 15%, and a recording of three and a half seconds at 100 Hz. */
static void below_the_limit(char text[ANSWER])
{
    uint64_t needed;
    snprintf(text, ANSWER, "%s", check_outcome_name(check_share(0.15, 0.2, 350, &needed)));
}

const struct known known_differences[] = {
    {"a thirtieth", "share ", a_thirtieth, "changed_share"},
    {"half as much again", "share ", half_as_much_again, "doubt_least"},
    {"more than doubled", "latency", more_than_doubled, "changed_factor"},
    {"below the limit", "holds", below_the_limit, "doubt_certain"},
    {0},
};
