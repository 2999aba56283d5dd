/* machine/model.h - models of machines: what memory costs from node to node, idle and under load.
 *
 * A model is a text file (docs/machines.md has its keys). Models come with numalens, are measured here
 * (machine/measure.h), or are read from the output of a tool that measures (machine/mlc.h). Facts only: what a model does not
 * say is 0 here, which means unknown, never free. */
#pragma once

#include "base/array.h"
#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

struct topology;

enum { MODEL_NODES = 64, MODEL_CPUS = 4096, MODEL_CACHES = 4, MODEL_CACHE_LEAST = 1024 };

/* A figure of a model: ns, GB/s, a share. */
#define MODEL_LEAST      1e-3
#define MODEL_MOST       1e5
#define MODEL_CACHE_MOST 1e12 /* bytes */

struct model_cache {
    uint32_t level; /* 1 to 4 */
    uint64_t bytes;
    uint32_t cores; /* that share it */
};

struct model_load { /* a point of the loaded-latency curve; both rise from point to point */
    double use;     /* of the read bandwidth, 0 to 1 */
    double factor;  /* latency there over idle latency, 1 and more */
};

struct model {
    char *name; /* of the file, without folder and suffix */
    char *title, *source, *licence;
    char *topology; /* hwloc's synthetic description */
    uint32_t node_count, cpus_per_node;
    double *
        latency; /* ns of a dependent load, node_count * node_count: from the CPUs of one node to the memory of another */
    double *read; /* GB/s (1e9 bytes), likewise, all CPUs of the node reading */
    double mixed; /* bandwidth with one write for each read, as a share of `read`; 0 unknown */
    double core;  /* GB/s that one core can read from its own node; 0 unknown */
    uint32_t cache_count;
    struct model_cache caches[MODEL_CACHES];
    array_of(struct model_load) loads; /* may be empty: unknown */
};

/* Reads a model; `path` is what errors name, with the line. NULL with `err` when it is not one. */
struct model *model_read(FILE *in, const char *path, struct error *err);

/* The model that `name` stands for: a file when it holds a slash or ends in ".machine", else one of those that come with
 * numalens. NULL with `err`, which names the nearest ones. */
struct model *model_find(const char *name, struct error *err);

/* Names of the models that come with numalens, sorted; free with model_names_free. */
struct model_names {
    array_of(char *) list;
};
int model_names(struct model_names *names, struct error *err);
void model_names_free(struct model_names *names);

/* Whether latencies and bandwidths are such as model_read takes: 0, or negative with `err`, which names `path`. */
int model_check(const struct model *machine, const char *path, struct error *err);

/* Writes a model as model_read reads it. */
void model_write(const struct model *machine, FILE *out);

struct model *model_new(uint32_t nodes);
void model_free(struct model *machine);

/* The machine as a simulated topology: its nodes and CPUs, with distances by latency (10 is a node's own memory). */
struct topology *model_topology(const struct model *machine, struct error *err);

/* Likewise, with rules for threads and pages as topology_simulate_text has them; both may be NULL. */
struct topology *model_topology_assigned(const struct model *machine, const char *assign, const char *homes,
                                         struct error *err);

/* Latency and bandwidth of a node's own memory and of the others', as means. 0 when there are no others. */
struct model_summary {
    double local_ns, remote_ns, local_gbs, remote_gbs;
};
struct model_summary model_summary(const struct model *machine);

/* Latency over idle latency where `use` (0 to 1) of the bandwidth is in use, between the curve's points; 1 without a curve. */
double model_loaded(const struct model *machine, double use);
