/* analysis/facts/facts_work.h - what is gathered of each subject while the accesses go by; private to src/analysis.
 *
 * Samples come in bursts of consecutive accesses of one thread. The accesses of a burst are not independent looks at the
 * program: what is judged by number is counted in bursts. Accesses come in order of time within their process. */
#pragma once

#include "analysis/facts/facts.h"
#include "analysis/thresholds.h"
#include "base/map64.h"

struct user_work { /* a fact_user in the making: there may be several for each of very many objects */
    uint64_t first, last;
    uint32_t thread;
    uint32_t samples, reads, writes, remote, bursts, init, touched;
    uint32_t early_writes; /* before anybody read */
    uint32_t later_writes; /* after the initialisation */
    uint32_t first_pages;  /* pages whose first sampled access is this thread's */
    uint32_t use_bursts;   /* after the initialisation */
    uint32_t last_burst;
    uint32_t vote_weight; /* for `node` */
    int16_t node;
};

enum { STRIDES = 8, SLICES = 64, DETAIL_SAMPLES = 64 };

/* Bursts are looked at so far apart: longer than a scheduler's slices, shorter than threads' turns. */
static inline uint64_t look_ns(void)
{
    return (uint64_t)(thresholds.turn_ns / 6);
}

struct strides {
    int64_t strides[STRIDES];
    uint32_t counts[STRIDES]; /* 0: free */
    uint32_t pairs, bursts, last_burst;
};

struct detail { /* of subjects with DETAIL_SAMPLES samples or more */
    struct strides strides;
    uint32_t samples[SLICES], remote[SLICES];
};

struct looks {       /* pairs of bursts in order of time, look_ns() or more apart */
    uint32_t thread; /* of the last one, or FLOW_NONE */
    int16_t node;
    uint64_t time;
    uint32_t pairs, thread_changes, node_changes;
    uint32_t near_pairs, near_changes; /* of those, less than turn_ns apart; of threads */
    double near_weight;                /* sum of their distances as parts of turn_ns */
};

struct work {
    array_of(struct user_work) users;
    uint32_t last_user; /* index in users: the next access is mostly the same thread's */

    uint32_t init_thread; /* FLOW_NONE until it is known */
    bool init_over, read_seen;
    bool small, heap; /* on at most two pages; a malloc'd block */
    bool surely_private;
    uint8_t edges_seen;
    uint64_t init_end, init_samples;
    uint64_t early_writes; /* before anybody read */
    uint64_t later_samples;
    uint64_t start;
    uint32_t owner; /* of a stack, else FLOW_NONE */

    /* After the initialisation, in order of time: whose bursts, and from which node. */
    struct looks looks;
    uint32_t *node_bursts;

    uint32_t switch_thread; /* likewise by single accesses: the paper's Figure 3 */
    uint64_t switches, first_switch, last_switch;

    uint64_t first_page, last_page; /* an object shares only these two with others */
    uint32_t edge_remote[2];
    uint64_t pages, touched; /* sampled; by faults */
    uint64_t worst_samples;
    struct detail *detail; /* or NULL */
};

struct mixing { /* changes from thread to thread and from node to node, seen and by chance: see concurrency.c */
    struct fact_mixing looks; /* of threads */
    double nodes, nodes_by_chance;
};

struct site_work { /* of a site with several instances: its own users and details, and sums over the instances */
    struct work work;
    struct mixing mixing;
    uint64_t switch_span;
    uint32_t looked_at, looked_private; /* instances with more than one burst */
};

enum { BURST_KEPT = 32 };

struct burst_access {
    uint64_t addr;
    uint32_t object, stack, size;
};

struct open_burst { /* the one a thread is in */
    uint32_t number;
    int16_t home; /* of its last access */
    bool marked;  /* its source marks the first access of each */
    uint64_t last;
    uint32_t count; /* of accesses with an object and a chain; the last BURST_KEPT are kept */
    struct burst_access kept[BURST_KEPT];
};

enum { SLOW_BUCKETS = 256 };

struct lines;
struct tenancy;

struct gathering {
    struct facts *facts;
    const struct flow *flow;
    uint32_t object_count, site_count;
    uint32_t *subject_of; /* object -> index of the object that stands for it: of stacks the process's first */
    struct work *objects;
    struct site_work *sites;
    struct map64 user_of;       /* subject << 32 | thread -> index in its users, where they are many */
    struct open_burst **bursts; /* by thread, made when needed */
    uint32_t burst_count;
    struct looks *node_looks; /* of the bursts on each node's memory */
    uint32_t active[SLICES];  /* bursts of the whole program in each slice of the run */
    unsigned slow_unit;
    uint64_t latencies[SLOW_BUCKETS];
    struct lines *lines;
    struct map64 pages; /* subject and 64 pages -> a bit for each that was sampled */
    struct map64 tenancy_of, mixed_of_site;
    array_of(struct tenancy) tenancies;
};

/* Room for exactly so many: objects may be very many, each with one user and one phase. */
#define array_fit(array, wanted)                                                                                       \
    do {                                                                                                               \
        if ((array)->capacity < (wanted)) {                                                                            \
            (array)->items = mem_resize((array)->items, (wanted) * sizeof *(array)->items);                            \
            (array)->capacity = (wanted);                                                                              \
        }                                                                                                              \
    } while (0)

/* A number for a pair, so that sets of pairs can be kept by number; equal for two pairs once in 2^64. */
static inline uint64_t pair_key(uint64_t left, uint64_t right)
{
    uint64_t key = map64_hash(left + 0x9e3779b97f4a7c15u) ^ right;
    key *= 0xbf58476d1ce4e5b9u;
    key ^= key >> 31;
    return key == MAP64_EMPTY ? 0 : key;
}

/* The site of an object, when it has several instances: sites with one get that object's facts. NULL otherwise. */
static inline struct site_work *site_of(const struct gathering *gathering, uint32_t object)
{
    uint32_t site = gathering->facts->objects.items[object].site;
    return site != FLOW_NONE && gathering->facts->sites.items[site].instances > 1 ? &gathering->sites[site] : NULL;
}

/* users.c: who uses it, and since when. `subject` distinguishes the works in user_of: sites are counted behind objects. */
struct user_work *users_find(struct gathering *gathering, struct work *work, uint32_t subject, uint32_t thread);
void users_begin(struct work *work, const struct flow_object *object);
bool users_is_use(struct work *work, const struct flow_access *access); /* else it initialises */
struct user_work *users_add(struct gathering *gathering, struct work *work, uint32_t subject,
                            const struct flow_access *access, uint32_t burst, bool use, bool *new_burst);
void users_finish(struct gathering *gathering, uint32_t object); /* adds to its site too */
void users_finish_site(struct gathering *gathering, uint32_t site);

/* concurrency.c: whether threads use a subject at the same time or take turns. */
void concurrency_add(const struct gathering *gathering, struct work *work, const struct flow_access *access,
                     bool new_burst);
void concurrency_look(struct looks *looks, const struct flow_access *access); /* of a new burst */
void concurrency_finish_node(struct gathering *gathering, uint32_t node);
void concurrency_finish(struct gathering *gathering, uint32_t object); /* adds to its site too */
void concurrency_finish_site(struct gathering *gathering, uint32_t site);

/* subject_pages.c */
uint32_t pages_initialiser(const struct flow *flow, uint32_t object); /* most pages while it lived, or FLOW_NONE */
void pages_begin(struct work *work, const struct flow_object *object);
void pages_add(struct gathering *gathering, uint32_t index, struct user_work *user, const struct flow_access *access);
void pages_touched(struct gathering *gathering, uint32_t object); /* before users_finish, of every sampled object */
void pages_finish(const struct gathering *gathering, uint32_t object); /* before users_finish */
void pages_finish_all(struct gathering *gathering);                    /* when every object's users are known */
void pages_add_to_site(struct gathering *gathering, uint32_t object, struct facts_subject *site);
void pages_free_all(struct gathering *gathering);

/* shared_lines.c: mark every access in a first pass, say when it is over, add every use in the second; expecting it a while
 * before saves waiting for memory. */
void lines_begin(struct gathering *gathering);
void lines_mark(struct gathering *gathering, const struct flow_access *access);
void lines_marked(struct gathering *gathering);
void lines_expect(const struct gathering *gathering, const struct flow_access *access);
void lines_add(struct gathering *gathering, const struct flow_access *access, uint32_t object, uint32_t burst);
void lines_finish(struct gathering *gathering);
void lines_add_to_site(struct gathering *gathering, uint32_t object, struct facts_subject *site);
void lines_free(struct gathering *gathering);

/* weights.c: mark every access in a first pass, say when it is over. */
void weights_mark(struct facts *facts, const struct flow_access *access);
void weights_marked(struct facts *facts);

/* slow.c: count every latency, by unit (1 for ns, more for cycles); then the bound is known. */
void slow_count(uint64_t latencies[SLOW_BUCKETS], uint32_t latency, unsigned unit);
uint64_t slow_bound(const uint64_t latencies[SLOW_BUCKETS], const struct flow *flow);
unsigned slow_unit_of(const struct flow *flow);

/* shape.c: the stride from the same instruction's last access to the object in this burst, if there is one. */
bool shape_stride(struct open_burst *burst, uint32_t object, const struct flow_access *access, int64_t *stride);
void shape_add(struct detail *detail, int64_t stride, uint32_t burst);
void shape_finish(struct facts_subject *subject, const struct detail *detail);

/* subject_phases.c */
unsigned phases_slice(const struct flow *flow, uint64_t time);
void phases_add(struct detail *detail, unsigned slice, bool remote);
void phases_finish(const struct gathering *gathering, struct facts_subject *subject, const struct detail *detail);
