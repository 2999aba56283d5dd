/* analysis/facts/facts.h - what is true of each object, and of each site with all its objects (SPEC M13).
 *
 * A pure function of a flow: one pass over its accesses, time and memory linear in them. A fact is a number or a word
 * with a stated meaning, never a judgement; judging is findings.h's work. A subject is what a finding can be about: an
 * object, or a site (all instances that one call chain allocated), or all stacks of a process together. */
#pragma once

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

enum fact_concurrency {
    CONCURRENCY_NONE,       /* fewer than two using threads, or too few samples to say */
    CONCURRENCY_DISJOINT,   /* threads take turns: their time intervals rarely overlap */
    CONCURRENCY_CONCURRENT, /* threads use it at the same time */
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
    double pairs, changes, chance; /* chance: changes to expect when threads use it at the same time */
    double near_pairs, near_changes,
        near_expected; /* less than 60 ms apart; near_expected: changes to expect at most when
                                                     threads take turns of 60 ms or longer */
};

/* Pairs of neighbours in order of address, from different bursts: how often both come from one node. */
struct fact_parts {
    uint64_t bursts; /* comparisons of two bursts among them that say something new: at most one less than bursts */
    uint64_t pairs, agree;           /* all, or those in one page where these are enough */
    uint64_t near_pairs, near_agree; /* no further apart than parts are, or in one page likewise */
    uint64_t borders;                /* of the near pairs, those that may be across the border of two threads' parts */
    double chance;                   /* share of pairs that agree where nodes are mixed at random */
};

struct fact_phase { /* a stretch of time in which the subject is hot */
    uint64_t start, end;
    uint64_t samples, remote;
};

/* What a fact is, with its type: every fact of a subject that is one value is a row of FACT_LIST. */
enum fact_kind {
    FACT_USE, /* words, as fact_word has them */
    FACT_PROOF,
    FACT_SHARING,
    FACT_CONCURRENCY,
    FACT_SHAPE,
    FACT_NUMBER,   /* of threads, nodes, objects */
    FACT_COUNT,    /* of samples, pages */
    FACT_BYTES,    /* with a sign */
    FACT_SHARE,    /* 0 to 1; negative: not known */
    FACT_THREAD,   /* its index, FLOW_NONE: none; shown as its tid */
    FACT_NODE,     /* its index, negative: not known; shown as the kernel's number */
    FACT_TIME,     /* on the trace's clock; shown as seconds since its start */
    FACT_DELAY,    /* ns, UINT64_MAX: never; shown in seconds */
    FACT_INTERVAL, /* ns on average; shown in seconds */
    FACT_ADDRESS,  /* 0: none */
};
typedef enum fact_use fact_type_USE;
typedef enum fact_proof fact_type_PROOF;
typedef enum fact_sharing fact_type_SHARING;
typedef enum fact_concurrency fact_type_CONCURRENCY;
typedef enum fact_shape fact_type_SHAPE;
typedef uint32_t fact_type_NUMBER, fact_type_THREAD;
typedef uint64_t fact_type_COUNT, fact_type_TIME, fact_type_DELAY, fact_type_INTERVAL, fact_type_ADDRESS;
typedef int64_t fact_type_BYTES;
typedef int16_t fact_type_NODE;
typedef double fact_type_SHARE;

/* Who shows it, beside the C API. */
enum fact_shown {
    FACT_HIDDEN,
    FACT_TABLES = 1, /* JSON of tables of objects and sites, and of one object */
    FACT_OBJECT = 2, /* JSON of one object */
    FACT_LINE = 4,   /* a line of one object's text, unless it is 0: what no sentence of that text has */
};

/* FACT(member of struct facts_subject, kind, name, shown, place among the page's columns or 0, meaning), in the order of JSON. JSON,
 * the page, the text of one object and the C API go through this list. */
#define FACT_LIST(FACT)                                                                                                \
    FACT(use, USE, "use", TABLES, 21, "read-only, read-mostly or written after its initialisation")                    \
    FACT(writers, NUMBER, "writers", TABLES, 0, "threads that write it after its initialisation")                      \
    FACT(sharing, SHARING, "sharing", TABLES, 22, "private to a thread, to the threads of a node, or shared")          \
    FACT(using_threads, NUMBER, "using_threads", TABLES, 0, "threads that use it, without stray accesses")             \
    FACT(using_nodes, NUMBER, "using_nodes", TABLES, 0, "nodes that use it")                                           \
    FACT(instances, NUMBER, "instances", TABLES, 0, "objects that were sampled, of a site")                            \
    FACT(private_instances, NUMBER, "private_instances", TABLES, 0, "of these, those that are private to a thread")    \
    FACT(concurrency, CONCURRENCY, "concurrency", TABLES, 23,                                                          \
         "whether threads use it at disjoint times or concurrently")                                                   \
    FACT(pages, COUNT, "pages", TABLES, 0, "pages that were sampled or touched")                                       \
    FACT(pages_moved, COUNT, "pages_moved", TABLES, 0, "pages whose home node changed")                                \
    FACT(mixed_pages, COUNT, "mixed_pages", TABLES, 0, "pages that hold private objects of other nodes' threads too")  \
    FACT(false_sharing, COUNT, "false_sharing", TABLES, 25, "samples on lines of which threads use different bytes")   \
    FACT(shape, SHAPE, "shape", TABLES, 24, "order of consecutive accesses: sequential, strided or random")            \
    FACT(stride, BYTES, "stride", TABLES, 0, "the most frequent distance of consecutive accesses")                     \
    FACT(init_end, TIME, "init_end_s", OBJECT, 0,                                                                      \
         "end of its initialisation: another thread uses it, or it is read, for the first time")                       \
    FACT(init_samples, COUNT, "init_samples", OBJECT, 0, "samples before that")                                        \
    FACT(alloc_thread, THREAD, "alloc_tid", OBJECT, 0, "thread that allocated it")                                     \
    FACT(alloc_node, NODE, "alloc_node", OBJECT, 0, "node of that thread")                                             \
    FACT(alloc_thread_samples, COUNT, "alloc_thread_samples", OBJECT, 0,                                               \
         "samples of that thread after initialisation")                                                                \
    FACT(toucher, THREAD, "toucher_tid", OBJECT, 0, "thread that touched most of its pages first")                     \
    FACT(toucher_node, NODE, "toucher_node", OBJECT, 0, "node of that thread")                                         \
    FACT(main_user, THREAD, "main_user_tid", OBJECT, 0, "thread that uses it most")                                    \
    FACT(main_user_node, NODE, "main_user_node", OBJECT, 0, "node that uses it most")                                  \
    FACT(main_home, NODE, "main_home", OBJECT, 0, "home node of most of its samples")                                  \
    FACT(first_remote, DELAY, "first_remote_s", OBJECT, 0, "from its allocation to its first remote use")              \
    FACT(overlap, SHARE, "overlap", OBJECT, 0, "hot time in which threads of several nodes use it")                    \
    FACT(switches, COUNT, "switches", OBJECT, 0, "changes of the thread that uses it")                                 \
    FACT(switch_ns, INTERVAL, "switch_s", OBJECT, 0, "mean time between these")                                        \
    FACT(separated, SHARE, "separated", OBJECT, 0,                                                                     \
         "how far nodes keep to parts of their own: 1: all, 0: as at random")                                          \
    FACT(true_sharing, COUNT, "true_sharing", OBJECT, 0, "samples on lines of which threads use the same bytes")       \
    FACT(worst_line, ADDRESS, "worst_line", OBJECT, 0, "falsely shared line with the most samples")                    \
    FACT(mixed_remote, COUNT, "mixed_remote", OBJECT, 0, "remote samples on mixed pages")                              \
    FACT(shape_share, SHARE, "shape_share", OBJECT, 0, "consecutive accesses in that order")                           \
    FACT(proof, PROOF, "proof", HIDDEN, 0, "what write protection shows of its use, where that was recorded")          \
    FACT(written_pages, COUNT, "written_pages", LINE, 0,                                                               \
         "pages written after its initialisation, as write protection shows")                                          \
    FACT(strangers, COUNT, "strangers", HIDDEN, 0, "of stacks: samples of other threads than the stack's own")         \
    FACT(slow_time, SHARE, "slow_time", HIDDEN, 0, "CPU time in which its accesses beyond the caches wait")            \
    FACT(remote_time, SHARE, "remote_time", HIDDEN, 0, "the part of that which local accesses would not wait")

struct facts_subject {
    uint32_t object; /* of an object; of a site: the one with the most samples */
    uint32_t site;   /* FLOW_NONE for what nobody allocated */
    uint32_t process;
    struct flow_totals totals;
    double remote_weight;                        /* of its remote samples: what they stand for (facts_weight) */
    uint64_t bursts;                             /* bursts with a sample of it: as many independent looks */
    uint64_t slow_remote_sum, slow_remote_count; /* latencies of its remote samples that are above slow_ns */
    array_of(struct fact_user) users;            /* most samples first; those with stray accesses do not use it */
    uint64_t *from, *home;                       /* samples by node it came from, by home: node_count each */
#define FACT(member, kind, name, shown, page, meaning) fact_type_##kind member;
    FACT_LIST(FACT)
#undef FACT
    struct fact_mixing mixing;
    struct fact_parts parts;
    array_of(struct fact_phase) phases;
};

struct facts_node {                      /* of one node's memory */
    uint64_t samples, remote;            /* with their page on it, from elsewhere */
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
    uint64_t slow_ns; /* latency above which an access is taken to miss the caches */
    struct {
        double sum, weight; /* of latencies above it, weighed */
        uint64_t count;
    } slow_local, slow_remote;
    double remote_time; /* as of a subject, of everything: an estimate from above, since nothing overlaps in it */
    double remote_time_variance; /* of the bursts it is the mean of */
    double time_weight;    /* of which shares of run time are parts: bursts, or all samples' time without bursts */
    uint64_t bursts;       /* independent ones in the trace; of sources without bursts: samples */
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

/* FACT_OF_writers and so on, up to FACTS. */
enum fact_index {
#define FACT(member, kind, name, shown, page, meaning) FACT_OF_##member,
    FACT_LIST(FACT)
#undef FACT
        FACTS
};

struct fact {
    const char *name, *meaning;
    enum fact_kind kind;
    unsigned shown; /* enum fact_shown */
    uint16_t offset, width;
};
extern const struct fact fact_table[FACTS];

/* A value as it is shown: a word, a number, or with `decimals` a real one. */
struct fact_value {
    bool known;
    const char *word; /* or NULL */
    int64_t number;
    double real;
    int decimals;
};
struct fact_value fact_value(const struct fact *fact, const struct facts_subject *subject, const struct flow *flow);

/* "read-only", "read-mostly", "written"; "none", "read-only", "written"; "thread", "node", "shared"; "none", "disjoint",
 * "concurrent"; "unknown", "sequential", "strided", "random". */
const char *fact_word(enum fact_kind kind, unsigned value);
