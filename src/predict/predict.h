/* predict/predict.h - run time of a program on a machine that is a model, under a placement of its memory (docs/predict.md). */
#pragma once

#include "predict/demand.h"

struct model;

enum placing {
    PLACING_AS_IS,
    PLACING_INTERLEAVE,
    PLACING_USERS,     /* each part of an object on the node whose threads use it most */
    PLACING_REPLICATE, /* what is only read in a phase, or from now on, is on every node then */
    PLACING_CLUSTER,   /* threads that share data on one node, then as PLACING_USERS */
    PLACINGS,
    PLACING_OWN = PLACINGS, /* on the node of whoever uses it, each time: what follows its user. Has no name */
};

/* A placement of a part of the memory; the rest is as it is. */
struct plan {
    enum placing placement;
    bool all_cpus;   /* where several threads run, each node has as many as CPUs, each like those that it has */
    bool one_object; /* only `object`, a number of the demand */
    uint32_t object;
    bool one_node; /* only what is on node `home` */
    int home;
    const uint8_t *
        by_object; /* of each object of the demand an enum placing, which goes before all of the above; PLACING_AS_IS: none
                                 of its own. NULL: no object has one */
};

const char *
placing_name(enum placing placement); /* "as-is", "interleave", "first-touch-by-users", "replicate", "cluster" */
int placing_find(const char *name);   /* -1 when there is none of that name */

/* What is not known is assumed three times: as is likely, in favour of the program, and against it. */
enum assumption { ASSUME_LIKELY, ASSUME_BEST, ASSUME_WORST, ASSUMPTIONS };

enum limit_kind {
    LIMIT_COMPUTE, /* a thread's own instructions */
    LIMIT_LATENCY, /* a thread's waiting for single loads */
    LIMIT_CORE,    /* what one core can fetch */
    LIMIT_MEMORY,  /* of a node */
    LIMIT_LINK,    /* from the CPUs of a node to the memory of another */
};

struct limit { /* what decides on the run time */
    enum limit_kind kind;
    uint32_t tid;      /* of the slowest thread */
    uint32_t from, to; /* nodes; `to` alone of LIMIT_MEMORY */
};

struct prediction {
    double time_s[ASSUMPTIONS];
    double low, high;    /* of those */
    double remote_share; /* of the bytes; negative: there are none */
    struct limit limit;  /* of most of the likely time */
};

/* `demand` must have as many nodes as the model. */
struct prediction predict(const struct model *machine, const struct demand *demand, enum placing placement);
struct prediction predict_plan(const struct model *machine, const struct demand *demand, const struct plan *plan);

/* "memory of node 0", "link from node 1 to node 0", "latency (thread 123)"; `text` holds LIMIT_TEXT bytes. */
enum { LIMIT_TEXT = 64 };
const char *limit_text(const struct limit *limit, char *text);

/* How many times as long `slow` takes as `fast`, both on one machine: what is not known is the same for both. */
struct factor {
    double likely, low, high;
};
struct factor prediction_factor(const struct prediction *slow, const struct prediction *fast);
