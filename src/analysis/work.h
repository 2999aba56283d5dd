/* analysis/work.h - what is gathered of each subject while the accesses go by; private to src/analysis.
 *
 * Samples come in bursts of consecutive accesses of one thread. The accesses of a burst are not independent looks at the
 * program: what is judged by number is counted in bursts. Accesses come in order of time within their process. */
#ifndef NUMALENS_ANALYSIS_WORK_H
#define NUMALENS_ANALYSIS_WORK_H

#include "analysis/facts.h"
#include "base/map64.h"

struct user_work {
    struct fact_user fact;
    uint64_t early_writes; /* before anybody read */
    uint64_t later_writes; /* after the initialisation */
    uint32_t use_bursts;   /* after the initialisation */
    uint32_t last_burst;
    uint32_t vote_weight; /* for fact.node */
};

struct work {
    array_of(struct user_work) users;
    uint32_t last_user; /* index in users: the next access is mostly the same thread's */

    uint32_t init_thread; /* FLOW_NONE until it is known */
    bool init_over, read_seen;
    uint64_t init_end, init_samples;
    uint64_t early_writes; /* before anybody read */
    uint64_t later_samples;
    uint64_t born;

    /* After the initialisation, in order of time: whose bursts, and from which node. */
    uint32_t turn_thread;
    int16_t turn_node;
    uint32_t turns, thread_changes, node_changes;
    uint32_t *node_bursts;

    uint32_t switch_thread; /* likewise by single accesses: the paper's Figure 3 */
    uint64_t switches, first_switch, last_switch;
};

struct burst { /* the one a thread is in */
    uint32_t number;
    bool marked; /* its source marks the first access of each */
    uint64_t last;
};

struct gathering {
    struct facts *facts;
    const struct flow *flow;
    uint32_t object_count, site_count;
    uint32_t *subject_of; /* object -> index of the object that stands for it: of stacks the process's first */
    struct work *objects, *sites;
    struct map64 user_of; /* subject << 32 | thread -> index in its users; sites are counted behind objects */
    struct burst *bursts; /* by thread */
    uint32_t burst_count;
};

/* users.c: who uses it, and since when. `subject` is the key in user_of. */
void users_begin(struct work *work, const struct flow_object *object);
struct user_work *users_add(struct gathering *gathering, struct work *work, uint32_t subject,
                            const struct flow_access *access, uint32_t burst, bool use, bool *new_burst);
bool users_is_use(struct work *work, const struct flow_access *access); /* else it initialises */
void users_finish(const struct gathering *gathering, struct facts_subject *subject, struct work *work);
void users_finish_site(const struct gathering *gathering, uint32_t site, const uint32_t *objects, size_t count);

/* turns.c: how the threads' uses lie in time. */
void turns_add(const struct gathering *gathering, struct work *work, const struct flow_access *access, bool new_burst);
void turns_finish(const struct gathering *gathering, struct facts_subject *subject, const struct work *work);
void turns_finish_site(const struct gathering *gathering, uint32_t site, const uint32_t *objects, size_t count);

/* The node a thread runs on as far as the topology tells: of a pretended machine; else -1. */
int thread_node(const struct flow *flow, uint32_t thread);

#endif
