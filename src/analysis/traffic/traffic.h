/* analysis/traffic/traffic.h - bytes from memory and back, per object, thread and pair of nodes (docs/traffic.md).
 *
 * Without a PMU: long bursts say how many lines the accesses of an object bring through a cache of some size (analysis/reuse), and
 * samples say whose accesses these are, from which node to which, and when. From the processor's samples by their data sources
 * (traffic_sampled.c): then bytes are at least what is said. Either way an access stands for so many bytes (traffic_bytes_of). */
#pragma once

#include "base/array.h"
#include "flow/flow.h"

/* Where something is served from. */
enum traffic_state {
    TRAFFIC_UNKNOWN,
    TRAFFIC_CACHED, /* next to nothing comes from memory */
    TRAFFIC_MEMORY,
};

/* Where figures come from. */
enum traffic_source {
    TRAFFIC_NOWHERE,
    TRAFFIC_BURSTS,
    TRAFFIC_DATA_SOURCES, /* bytes are at least so many; written, and hidden ones, are not known */
};

struct traffic_bytes {
    double read, written;   /* per second of the recording */
    double lower_bound;     /* of both together: where bursts are too short for the cache, what must be (traffic.c) */
    double error;           /* of both together, standard error; 0 where it is not known */
    double accesses;        /* by bursts: per second; by data sources: events */
    uint64_t samples;       /* of it: bytes are shared out among threads, nodes and times by these */
    bool is_rated;          /* else bytes are not known */
    double known;           /* by data sources, of `accesses`: where they are served from is known */
    double exposed, cached; /* of those again */
    double under_way;       /* likewise, not of `known`: the line was on its way already, from wherever */
    uint64_t lines;         /* likewise: samples of which each is of a line that memory sent */
    enum traffic_state state;
};

struct traffic_object {
    uint32_t object, site; /* site: or FLOW_NONE; then `object` is all of it */
    uint32_t bursts;       /* that it was met in */
    uint64_t stores;       /* of the samples */
    uint64_t placed;       /* likewise: both nodes are known ... */
    uint64_t remote;       /* ... and differ */
    struct traffic_bytes bytes;
};

struct traffic_thread {
    uint32_t thread;
    uint64_t bursts; /* short ones */
    double user_s;   /* CPU time; 0 by data sources */
    struct traffic_bytes bytes;
};

/* What data sources say of all samples. */
struct traffic_samples {
    uint64_t samples, loads, stores; /* an atomic is both */
    uint64_t sourced;                /* loads whose source is known */
    uint64_t memory;                 /* loads that memory answered ... */
    uint64_t remote;                 /* ... of another node */
    uint64_t unweighed;              /* of `loads`: how many events they stand for is not known */
    uint64_t joined;                 /* of `memory`: for a line that an earlier access had asked for */
    bool by_ibs;                     /* which says what a sample stands for only when it counts operations */
    bool by_spe;   /* SPE does not say which loads wait for the same line, so that lines cannot be counted */
    uint64_t lost; /* samples, or times of them */
    uint64_t threshold_cycles, threshold_ns; /* faster loads were not sampled; one of them, or none */
};

/* What memory controllers counted of a node, or of several that no counter distinguishes, whoever caused it; negative: not known. */
struct traffic_memory {
    uint64_t nodes;       /* of the flow, a bit for each */
    double read, written; /* bytes per second */
    double moved;         /* both, also where they are not distinguished */
    double exposed;       /* of `read`: what samples show, at least; never more than `read` */
};

struct traffic_counted {
    const char *devices; /* NULL: nothing was counted ... */
    const char *reason;  /* ... and why, or NULL: it was not requested */
    double seconds;
    bool missing;                          /* some counters were not there all the time: at least so much */
    array_of(struct traffic_memory) items; /* in order of the nodes */
};

struct traffic {
    const struct flow *flow;
    struct traffic_counted counted;
    enum traffic_source source;
    struct traffic_samples sampled; /* by data sources */
    bool requested, possible;       /* the recorder was asked for it; and could */
    bool recorded;                  /* there are long bursts */
    uint64_t bursts;                /* long ones */
    bool too_few;                   /* of them: nothing is said */
    double cache, known_cache;      /* bytes: that each thread has, and the largest that bursts are long enough for */
    bool at_most;                   /* they are not, for this one: bytes are at most what is said */
    double accesses_ns;             /* accesses per ns of CPU time */
    double unmet;                   /* of the samples, the share of those of objects that no long burst met */
    double seconds;                 /* what rates are of */
    struct traffic_bytes all;
    uint32_t node_count;
    double *node_pairs; /* bytes per second from a thread on node `from` to memory of `to`: [from * node_count + to] */
    double *node_read, *node_written;        /* by home node */
    double unplaced;                         /* bytes per second whose nodes are not known */
    array_of(struct traffic_object) objects; /* most bytes first; the unknown last */
    array_of(struct traffic_thread) threads; /* likewise; those with samples */
    array_of(struct traffic_bytes) functions,
        lines;                     /* by the flow's numbers, once traffic_code() was called: bytes alone */
    struct traffic_object nobody;  /* what is not attributed */
    uint32_t *by_object, *by_site; /* rows of `objects`, or FLOW_NONE */
};

/* From long bursts, where each thread has a cache of so many bytes; 0: as on the machine that was recorded. */
struct traffic *traffic_make(const struct flow *flow, double cache);

/* What a thread has of a cache of its own and of one that so many cores share, where threads that run at the same time on a node share
 * the latter evenly: footprints of threads add up. */
double traffic_cache(const struct flow *flow, double own, double shared, uint32_t cores);

/* Whether the recording has hardware samples; what their data sources say. */
bool traffic_is_sampled(const struct flow *flow);
struct traffic *traffic_make_sampled(const struct flow *flow);

/* Whichever of the two the recording has. */
struct traffic *traffic_find(const struct flow *flow, double cache);

/* Whether there are long bursts. */
bool traffic_is_recorded(const struct flow *flow);

void traffic_free(struct traffic *traffic);

static inline double traffic_total(const struct traffic_bytes *bytes)
{
    return bytes->read + bytes->written;
}

/* Of the bytes between caches and memory, the share of those whose memory is on another node than the thread: what caches
 * answer is not remote. Negative when it is not known: there is one node, the bytes are unknown, or the home nodes of most of them. `error`
 * is its standard error, of what long bursts say of objects and samples of nodes. */
double traffic_remote_share(const struct traffic *traffic, double *error);

/* Fills `functions` and `lines`, whose names it looks up: when they are wanted, by the thread that may do so. */
void traffic_code(struct traffic *traffic);

/* What one access stands for; false where it does not count. `samples` and `lines` are of this one alone. */
bool traffic_bytes_of(const struct traffic *traffic, const struct flow_access *access, struct traffic_bytes *bytes);

/* "unknown", "cached", "memory" */
const char *traffic_state_name(enum traffic_state state);

/* The row of an object's site, or of itself; of a site. NULL when it has none. */
const struct traffic_object *traffic_of_object(const struct traffic *traffic, uint32_t object);
const struct traffic_object *traffic_of_site(const struct traffic *traffic, uint32_t site);

/* A thread's; NULL when it has no bursts. */
const struct traffic_thread *traffic_of_thread(const struct traffic *traffic, uint32_t thread);

/* A function's, a line's, after traffic_code(); NULL when none of its instructions was met. */
const struct traffic_bytes *traffic_of_function(const struct traffic *traffic, uint32_t function);
const struct traffic_bytes *traffic_of_line(const struct traffic *traffic, uint32_t line);
