/* analysis/reuse/reuse.h - bytes from memory and back, by object, for a cache of any size, from long bursts (docs/traffic.md). */
#pragma once

#include "base/array.h"
#include "flow/flow.h"

struct calibration;
struct reuse;

/* Made once; the flow keeps it. NULL when the recording has no long bursts. */
const struct reuse *reuse_of(const struct flow *flow);

struct reuse_bytes {
    double read, written;             /* bytes per second of the recording */
    double read_error, written_error; /* standard errors, by bursts: one burst is one observation */
};

struct reuse_object {
    uint32_t object, site; /* site: or FLOW_NONE; then `object` is all of it. Both FLOW_NONE: not attributed */
    uint32_t bursts;       /* that it was met in */
    double accesses;       /* per second */
    struct reuse_bytes bytes;
};

/* What a cache of `bytes` for each thread leaves to memory. */
struct reuse_answer {
    double bytes;
    bool known; /* bursts are long enough for it; else memory gets at most what is said */
    struct reuse_bytes all;
    array_of(struct reuse_object) objects; /* most bytes first */
};

uint32_t reuse_burst_count(const struct reuse *reuse); /* that looked at accesses */
double reuse_access_rate(const struct reuse *reuse);   /* accesses per ns of CPU time; 0: not known */
double reuse_cpu_seconds(const struct reuse *reuse);   /* of all processes, that bursts stand for */
double
reuse_known_bytes(const struct reuse *reuse); /* the largest cache that bursts and watches say something of ... */
double reuse_burst_bytes(const struct reuse *reuse);   /* ... and that bursts alone do */
uint32_t reuse_watch_count(const struct reuse *reuse); /* one of a burst at most */

/* At the ends of long bursts some loads are timed, of lines whose time since their last use is known. By reuse times they should be in
 * the second-level cache where what was used since fills less than half of it, and not where it fills it twice; by the
 * machine's calibration they were, or were not. */
struct reuse_check {
    uint64_t cache;        /* bytes; 0: nothing is known */
    uint32_t inside, near; /* that should be in it; that were */
    uint32_t beyond, far;  /* that should not; that were not */
};
struct reuse_check reuse_check(const struct reuse *reuse, const struct calibration *calibration);

void reuse_ask(const struct reuse *reuse, double bytes, struct reuse_answer *answer);
void reuse_answer_free(struct reuse_answer *answer);
