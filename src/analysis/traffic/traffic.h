/* analysis/traffic/traffic.h - bytes from memory, per object, thread and pair of nodes (docs/traffic.md).
 *
 * Without a PMU from pairs of bursts (struct flow_stream): how often an instruction is carried out in a while, how many lines that is,
 * and which share of them memory serves. From the processor's samples by their data sources (traffic_sampled.c): then bytes are at
 * least what is said. What cannot be known stays unknown, and never becomes 0. */
#pragma once

#include "base/array.h"
#include "flow/flow.h"

/* Where something is served from. */
enum traffic_state {
    TRAFFIC_UNKNOWN, /* where more than half of its accesses are served from */
    TRAFFIC_CACHED,  /* next to nothing comes from memory */
    TRAFFIC_PARTLY,  /* some of it: its size is near a cache's, and figures vary with what else runs */
    TRAFFIC_MEMORY,
};

/* Where figures come from. */
enum traffic_source {
    TRAFFIC_NOWHERE,
    TRAFFIC_BURSTS,
    TRAFFIC_DATA_SOURCES, /* bytes are at least so many; written, and hidden ones, are not known */
};

struct traffic_bytes {
    double read,
        written; /* per second of the recording; writes at most: each line that is stored to is written back once */
    double allocated;               /* of `read`: lines that are read because a store needs them, at most */
    double accesses;                /* noted in bursts, weighed by their thread's time */
    double known;                   /* of those: where they are served from is known */
    double exposed, hidden, cached; /* of those again */
    double under_way; /* by data sources, not of `known`: the line was on its way already, from wherever */
    uint64_t lines;   /* by data sources: samples of which each is of a line that memory sent */
    double rated;     /* of `known`: and how many bytes that is */
    bool is_rated;    /* more than half of the accesses are; else bytes are not known */
    enum traffic_state state;
};

struct traffic_object {
    uint32_t object, site; /* site: or FLOW_NONE; then `object` is all of it */
    struct traffic_bytes bytes;
};

struct traffic_thread {
    uint32_t thread;
    uint64_t bursts, pairs;
    double user_s;    /* CPU time in user code */
    uint64_t samples; /* by data sources */
    struct traffic_bytes bytes;
};

/* What one burst stands for of one instruction, over the whole recording: for models of other placements (src/predict). */
struct traffic_cell {
    const struct flow_stream *row;
    double read, written; /* bytes per second of the recording; 0 without `rated` */
    double exposed;       /* loads per second that wait for memory */
    double exposed_ns;    /* what such a load took, on average */
    double accesses;      /* weighed by the thread's time */
    bool rated;           /* else bytes are not known ... */
    double most;          /* ... and each access is of so many lines from memory at most, 0 to 1 ... */
    double most_lines;    /* ... and there are so many in a second of the recording, at most */
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

/* What the program's own CPUs brought from memory, by generic events of a core, in bytes per second; negative: not known. Lines of another
 * processor's caches are in it, too. */
struct traffic_core {
    const char *events;   /* which; NULL: nothing was counted ... */
    const char *reason;   /* ... and why, or NULL: it was not requested */
    const char *absent;   /* better events that the kernel refused, or NULL */
    double running;       /* the smallest part of its time that an event was counted: figures are scaled up by it */
    double seconds;       /* what rates are of */
    double prefetched;    /* asked for by prefetchers */
    double demanded;      /* by loads */
    double missed;        /* by either, and by stores: where they are not distinguished */
    double hidden;        /* `prefetched`; else of `missed`, at most: what is in no sample */
    double part_of_reads; /* of what memory controllers read, the program's part, 0 to 1; negative: not known */
};

struct traffic {
    const struct flow *flow;
    struct traffic_counted counted;
    struct traffic_core core;
    enum traffic_source source;
    struct traffic_samples sampled; /* by data sources */
    bool requested, possible;       /* the recorder was asked for it; and could */
    bool recorded;                  /* there are streams */
    uint32_t bound; /* ns: what takes longer came from memory; 0: caches and memory are not distinguished here */
    uint64_t bursts, pairs;
    bool too_few;   /* pairs: nothing is said */
    double seconds; /* what rates are of */
    struct traffic_bytes all;
    uint32_t node_count;
    double *node_pairs; /* bytes per second from a thread on node `from` to memory of `to`: [from * node_count + to] */
    double *node_read, *node_written;        /* by home node */
    double unplaced;                         /* bytes per second whose nodes are not known */
    array_of(struct traffic_object) objects; /* most bytes first; the unknown last */
    array_of(struct traffic_thread) threads; /* likewise; those with bursts */
    array_of(struct traffic_cell) cells;     /* thread by thread, instruction by instruction */
    array_of(
        struct traffic_bytes) functions; /* by the flow's numbers, once traffic_functions() was called: bytes alone */
};

extern const struct traffic_rules {
    uint32_t pairs;        /* at least so many, or nothing is said */
    uint32_t probes;       /* confirmed ones of a stream, and pairs of an instruction */
    double confirmed;      /* at least this share of a stream's loads ahead */
    double floor;          /* a smaller share of slow loads is noise */
    double most_wrapped;   /* at most this share of the pairs may find a loop behind where it was */
    double most_reentered; /* ... or entered again */
    double spread;         /* quartiles of the speed, relative to its median */
    double covered;        /* of the accesses of an object */
    uint32_t behind;       /* loads behind an instruction: fewer do not show which share of the lines it uses */
    double line_use_error; /* that share is known to so much of itself */
    double least_line_use; /* a smaller one is not known */
    double cached, memory; /* shares from memory, below and above which nothing is "partly" */
    double bound;          /* of memory's latency: what is faster did not come from there */
    uint32_t samples;      /* by data sources: loads whose source is known; fewer, and nothing is said */
    uint32_t lines;        /* ... that memory answered: fewer, and the bytes are not known */
    uint32_t fewest_lines; /* ... of an object, thread, function or slice of time */
    uint32_t around; /* loads on either side of an object's streams: fewer do not show how much of it is in caches */
} traffic_rules;

/* From bursts, for models of other placements too. */
struct traffic *traffic_make(const struct flow *flow);

/* Whether the recording has hardware samples; what their data sources say. Without cells: a lower bound is nothing that a
 * prediction can be made of. */
bool traffic_is_sampled(const struct flow *flow);
struct traffic *traffic_make_sampled(const struct flow *flow);

/* Whichever of the two the recording has. */
struct traffic *traffic_find(const struct flow *flow);

void traffic_free(struct traffic *traffic);

static inline double traffic_total(const struct traffic_bytes *bytes)
{
    return bytes->read + bytes->written;
}

/* Of the bytes between caches and memory, the share of those whose memory is on another node than the thread: what caches
 * answer is not remote. Negative when it is not known: there is one node, the bytes are unknown, or the home nodes of most of them. */
double traffic_remote_share(const struct traffic *traffic);

/* Fills `functions`, whose names it looks up: when they are wanted, by the thread that may do so. */
void traffic_functions(struct traffic *traffic);

/* "unknown", "cached", "partly cached", "memory" */
const char *traffic_state_name(enum traffic_state state);

/* The row of an object's site, or of itself; of a site. NULL when it has none. */
const struct traffic_object *traffic_of_object(const struct traffic *traffic, uint32_t object);
const struct traffic_object *traffic_of_site(const struct traffic *traffic, uint32_t site);

/* A thread's; NULL when it has no bursts. */
const struct traffic_thread *traffic_of_thread(const struct traffic *traffic, uint32_t thread);

/* A function's, after traffic_functions(); NULL when none of its instructions was met. */
const struct traffic_bytes *traffic_of_function(const struct traffic *traffic, uint32_t function);
