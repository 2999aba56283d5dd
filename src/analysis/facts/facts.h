/* analysis/facts/facts.h - what is true of each object, and of each site with all its objects (SPEC M13).
 *
 * A pure function of a flow: one pass over its accesses, time and memory linear in them. A fact is a number or a word
 * with a stated meaning, never a judgement; judging is findings.h's work. A subject is what a finding can be about: an
 * object, or a site (all instances that one call chain allocated), or all stacks of a process together. */
#ifndef NUMALENS_ANALYSIS_FACTS_FACTS_H
#define NUMALENS_ANALYSIS_FACTS_FACTS_H

#include "base/array.h"
#include "flow/flow.h"

enum fact_use {
    USE_READ_ONLY,   /* nobody wrote after its initialisation */
    USE_READ_MOSTLY, /* at most one access in ten writes */
    USE_WRITTEN,
};

enum fact_proof {
    PROOF_NONE,      /* pages were not watched for writes, or not for long enough */
    PROOF_READ_ONLY, /* no page of it was written after its initialisation */
    PROOF_WRITTEN,   /* some were */
};

enum fact_sharing {
    SHARING_THREAD, /* private to one thread, but for its initialisation and stray accesses (2% or less) */
    SHARING_NODE,   /* several threads, all of one node */
    SHARING_ALL,    /* threads of several nodes */
};

enum fact_turns {
    TURNS_NONE,       /* fewer than two using threads, or too few samples to say */
    TURNS_DISJOINT,   /* threads take turns: their time intervals hardly overlap */
    TURNS_CONCURRENT, /* threads use it at the same time */
};

enum fact_shape { SHAPE_UNKNOWN, SHAPE_SEQUENTIAL, SHAPE_STRIDED, SHAPE_RANDOM };

struct fact_user { /* one thread's use of a subject */
    uint32_t thread;
    int16_t node; /* it mostly came from, or -1 */
    uint64_t samples, reads, writes, remote;
    uint64_t bursts;      /* with a sample of it */
    uint64_t init;        /* of the samples, those before the initialisation was over: all of them writes */
    uint64_t touched;     /* pages of it that this thread touched first */
    uint64_t first, last; /* times; 0 for one that only touched */
};

/* Pairs of bursts that follow each other in time, 10 ms or more apart: how often the thread changes. */
struct fact_mixing {
    double pairs, changes, chance;               /* chance: changes to expect when threads use it at the same time */
    double near_pairs, near_changes, near_turns; /* less than 60 ms apart; near_turns: changes to expect at most when
                                                     threads take turns of 60 ms or longer */
};

/* Pairs of neighbours in order of address, from different bursts: how often both come from one node. */
struct fact_parts {
    uint64_t bursts; /* comparisons of two bursts among them that say something new: at most one less than bursts */
    uint64_t pairs, agree;           /* all, or those in one page where these are enough */
    uint64_t near_pairs, near_agree; /* no further apart than parts are, or in one page likewise */
    uint64_t borders;                /* of the near pairs, those that may lie across the border of two threads' parts */
    double chance;                   /* share of pairs that agree where nodes are mixed at random */
};

struct fact_phase { /* a stretch of time in which the subject is hot */
    uint64_t start, end;
    uint64_t samples, remote;
};

struct facts_subject {
    uint32_t object; /* of an object; of a site: the one with the most samples */
    uint32_t site;   /* FLOW_NONE for what nobody allocated */
    uint32_t process;
    uint32_t instances; /* sampled ones */
    struct flow_totals totals;
    double remote_weight;                        /* of its remote samples: what they stand for (facts_weight) */
    uint64_t bursts;                             /* bursts with a sample of it: as many independent looks */
    uint64_t slow_remote_sum, slow_remote_count; /* latencies of its remote samples that are above slow_ns */

    array_of(struct fact_user) users; /* most samples first */
    uint32_t using_threads;           /* users with more than stray accesses */
    uint32_t using_nodes;
    uint64_t *from, *home; /* samples by node it came from, by home: node_count each */

    enum fact_use use;
    enum fact_proof proof; /* from write protection, where that was recorded: samples may miss a rare write */
    uint64_t written_pages;
    uint32_t writers;      /* threads that write after the initialisation */
    uint64_t init_end;     /* when the initialisation was over: the first use by another thread than the
                                            one that touched it first, or the first read; its allocation when none was seen */
    uint64_t init_samples; /* samples before that; they do not count below */
    enum fact_sharing sharing;
    uint32_t private_instances; /* of a site: instances that are SHARING_THREAD */

    uint32_t alloc_thread;             /* or FLOW_NONE */
    int16_t alloc_node, toucher_node;  /* node of the allocating thread; of the thread that first touched most pages */
    int16_t main_home, main_user_node; /* node most samples lie on; come from; -1 when not known */
    uint32_t toucher, main_user;       /* threads, or FLOW_NONE */
    uint64_t alloc_thread_samples;     /* after initialisation, by the allocating thread */
    uint64_t strangers;                /* of stacks: samples by other threads than the stack's own */
    uint64_t first_remote;             /* ns from birth to the first remote use, UINT64_MAX when there was none */

    enum fact_turns turns;
    double overlap; /* share of its hot time slices with threads of two nodes or more: 0 to 1 */
    struct fact_mixing mixing;
    uint64_t switches; /* the paper's Figure 3: changes of thread, and the mean ns between them */
    uint64_t switch_ns;

    uint64_t pages, pages_moved; /* pages sampled or touched; those whose home changed */
    uint64_t mixed_pages;        /* pages of it that also hold objects private to threads of other nodes */
    uint64_t mixed_remote;       /* remote samples on those */
    uint64_t false_sharing;      /* samples on lines where different threads use different bytes, one writing */
    uint64_t true_sharing;       /* samples on lines where different threads use the same bytes, one writing */
    uint64_t worst_line;         /* address of the falsely shared line with the most samples, 0: none */

    double parted; /* 1: threads of different nodes keep to different parts of it; 0: mixed as by chance;
                           -1: not looked at (one node uses it, or hardly a remote sample) */
    struct fact_parts parts;
    double slow_time;   /* share of all CPU time that its accesses beyond the caches wait */
    double remote_time; /* the part of it that is there because they are remote: what local ones would not wait */

    enum fact_shape shape;
    int64_t stride;     /* bytes, the most frequent; 0 when not known */
    double shape_share; /* of the consecutive pairs in bursts that say so */
    array_of(struct fact_phase) phases;
};

struct facts_node {                      /* of one node's memory */
    uint64_t samples, remote;            /* that lie on it, from elsewhere */
    double remote_weight;                /* as of a subject */
    uint64_t latency_sum, latency_count; /* of those beyond the caches */
    double remote_time;                  /* as of a subject */
    struct fact_mixing mixing;           /* of the bursts that go to it */
};

/* One thread's use of one object on a cache line that several threads use, at least one of them writing. */
struct facts_line {
    uint64_t addr;           /* of the line */
    uint32_t object, thread; /* object: of a stack, the one that stands for all of its process */
    uint32_t reads, writes;  /* samples */
    uint64_t bytes;          /* of the line, a bit for each that it used */
    bool truly, falsely;     /* how the line is shared, where that could be judged */
};

enum { FACTS_LINES = 2000 };

struct facts_thread {
    uint64_t *homes;      /* samples by home node */
    double remote_weight; /* as of a subject */
};

/* What samples stand for. One of hardware stands for as many events as its period, and periods differ: with a fixed frequency from
 * sample to sample, and from event to event. Shares of accesses and of time are of these; how many observations there are stays a
 * number of samples. The soft sampler's stand for the same each. */
struct facts_weights {
    bool by_period;       /* there are periods; else every sample weighs 1 */
    double sum, squares;  /* of the periods */
    uint64_t weighed;     /* samples that have one */
    double known, remote; /* sums over the samples whose home is known; that are remote */
    bool directions[2];   /* loads, others: some have a period */
    double without[2];    /* what a sample without a period weighs, likewise (weights.c) */
    double *matrix;       /* as facts.matrix, in weights; always there */
};

struct facts {
    const struct flow *flow;
    uint32_t node_count;
    array_of(
        struct facts_subject) objects;    /* sampled objects by index; stacks are one per process, under their first */
    array_of(struct facts_subject) sites; /* by site index; those without samples have totals of 0 */
    struct facts_node *nodes;
    struct facts_thread *threads;
    array_of(struct facts_line) lines; /* of the FACTS_LINES shared lines with the most samples, those first */
    uint64_t *matrix;                  /* node_count * node_count samples: from, home */
    uint64_t *node_counts;             /* of every subject, where `from` and `home` point to */
    struct flow_totals totals;
    struct facts_weights weights;
    uint64_t slow_ns; /* latency above which an access is taken to have gone beyond the caches */
    struct {
        double sum, weight; /* of latencies above it, weighed */
        uint64_t count;
    } slow_local, slow_remote;
    double remote_time; /* as of a subject, of everything: an estimate from above, since nothing overlaps in it */
    double remote_time_variance; /* of the bursts it is the mean of */
    uint64_t bursts;             /* independent ones in the trace; of sources without bursts: samples */
    double remote_penalty; /* what a slow remote access costs more than a slow local one, as a part of the latter */
    bool penalty_measured; /* from latencies; else assumed from the topology's distances */
    bool timed;            /* there are latencies at all; without them remote_time is 0 */
};

/* What one access stands for. */
static inline double facts_weight(const struct facts *facts, const struct flow_access *access)
{
    if (!facts->weights.by_period)
        return 1;
    return access->period ? access->period : facts->weights.without[access->flags & SAMPLE_READ ? 0 : 1];
}

/* Of the accesses whose home node is known, the share that is remote; of all remote ones, the share of so many samples with such a
 * weight. */
double facts_remote_ratio(const struct facts *facts);
double facts_part_of_remote(const struct facts *facts, uint64_t samples, double weight);

/* So many bursts are worth how many that all weigh the same: a few heavy samples decide, however many light ones there are. */
double facts_bursts_worth(const struct facts *facts, double bursts);

/* The facts of an object; of a stack, those of all stacks of its process. */
const struct facts_subject *facts_of_object(const struct facts *facts, uint32_t object);

/* NULL with `err` when the trace cannot be read. */
struct facts *facts_make(const struct flow *flow, struct error *err);
void facts_free(struct facts *facts);

#endif
