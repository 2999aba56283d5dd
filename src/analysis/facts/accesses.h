/* analysis/facts/accesses.h - every access of a flow, small and in one place, for analyses that go over them again and again.
 *
 * What accesses are about is a thing: a site with all its objects, or an object that nobody allocated, or all stacks of a
 * process together. TL, TN and AL are LaProf's words: total latency, number of accesses with a latency, and the one by
 * the other. */
#pragma once

#include "base/array.h"
#include "flow/flow.h"

enum access_flag {
    ACCESS_TIMED = 1,
    ACCESS_WRITE = 2,
    ACCESS_REMOTE = 4,
    ACCESS_HOME_KNOWN = 8,
    ACCESS_FIRST = 16 /* of a burst */
};

struct one_access {
    uint64_t time, addr;
    uint32_t thread, object, stack; /* thread, object: FLOW_NONE when not known */
    uint32_t latency;               /* 0 when not ACCESS_TIMED */
    int16_t from, home;             /* nodes, or -1 */
    uint8_t flags, level;
};

struct thing {
    uint32_t object; /* the first one, which stands for it */
    uint32_t site;   /* or FLOW_NONE */
    uint32_t objects;
};

struct accesses {
    const struct flow *flow;
    uint32_t node_count;
    array_of(struct one_access) items; /* in order of the file */
    array_of(struct thing) things;
    uint32_t *thing_of; /* sampled object -> thing */
    uint32_t object_count;
};

/* NULL with `err` when the trace cannot be read. */
struct accesses *accesses_load(const struct flow *flow, struct error *err);
void accesses_free(struct accesses *accesses);

/* "ns" or "cycles". */
const char *accesses_unit(const struct flow *flow);

/* The thing an access is about, or FLOW_NONE. */
static inline uint32_t access_thing(const struct accesses *accesses, const struct one_access *access)
{
    return access->object < accesses->object_count ? accesses->thing_of[access->object] : FLOW_NONE;
}

struct access_tally {
    uint64_t latency;  /* TL */
    uint64_t timed;    /* TN */
    uint64_t accesses; /* with those that carry no latency, such as stores */
};

static inline void tally_add(struct access_tally *tally, const struct one_access *access)
{
    tally->latency += access->latency;
    tally->timed += access->flags & ACCESS_TIMED;
    tally->accesses++;
}

static inline void tally_join(struct access_tally *tally, const struct access_tally *other)
{
    tally->latency += other->latency;
    tally->timed += other->timed;
    tally->accesses += other->accesses;
}

/* AL. */
static inline double tally_mean(const struct access_tally *tally)
{
    return tally->timed ? (double)tally->latency / (double)tally->timed : 0;
}
