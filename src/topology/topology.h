/* topology/topology.h - nodes, CPUs and distances, real or simulated.
 *
 * Real topologies come from hwloc. Simulated ones come from hwloc's synthetic syntax ("numa:4 core:2"), or from an XML
 * file that lstopo wrote on another machine, and stand for a machine that is not there: threads are assigned to its CPUs
 * and pages get homes by rule. Everything downstream reads only this. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOPOLOGY_MAX_NODES = 1024 };

enum topology_assign { ASSIGN_PACKED, ASSIGN_ROUND_ROBIN, ASSIGN_NODE /* all on one node's CPUs */ };

enum topology_home { HOME_FIRST_TOUCH, HOME_BIND, HOME_INTERLEAVE };

struct topology_node {
    int32_t os_index; /* the kernel's number; what page homes are reported in */
    uint64_t memory;  /* bytes, 0 when not known or simulated without */
    uint32_t cpu_count;
};

struct topology {
    bool simulated;
    char *spec; /* the synthetic description, or "" */
    uint32_t node_count, cpu_count;
    struct topology_node *nodes;
    int32_t *node_of_cpu; /* by the kernel's CPU number (cpu_count of them): index into nodes, -1 offline or none */
    uint16_t *distances;  /* node_count * node_count, SLIT-like: 10 is local */

    /* Simulated ones only: how threads and pages are placed. */
    enum topology_assign assign;
    int32_t assign_node; /* ASSIGN_NODE */
    enum topology_home home;
    int32_t home_node; /* HOME_BIND */
};

struct topology_description { /* one node as another machine's recording reports it */
    int32_t os_index;
    uint64_t memory;
    const char *cpus; /* "0-15,32-47", or "" */
};

/* Each returns a topology that the caller frees, or NULL with `err` filled. A `spec` that ends in ".xml" is a file.
 * Distances nobody reported are made up from the hierarchy: see docs/machines.md. */
struct topology *topology_described(const struct topology_description *nodes, uint32_t count, struct error *err);
struct topology *topology_load(struct error *err);
struct topology *topology_simulate(const char *spec, enum topology_assign assign, struct error *err);

/* topology_simulate with assign and homes as a user writes them; both may be NULL. Without a rule it is round-robin: the
 * kernel starts a new thread on the idlest node, so a program with fewer threads than CPUs uses all nodes. */
struct topology *topology_simulate_text(const char *spec, const char *assign, const char *homes, struct error *err);

/* Both simulated: threads and pages get their places by the other's rules, but for a node that is not there. */
void topology_place_like(struct topology *topology, const struct topology *other);

/* A text that a trace keeps, one line, and back. topology_from_text meets any text with an error, never a crash. */
char *topology_to_text(const struct topology *topology);
struct topology *topology_from_text(const char *text, struct error *err);

void topology_free(struct topology *topology);

/* Index of the node a CPU belongs to, or -1. */
int topology_node_of_cpu(const struct topology *topology, uint32_t cpu);

/* Index of the node with the kernel's number `os_index`, or -1. */
int topology_node_index(const struct topology *topology, int32_t os_index);

uint16_t topology_distance(const struct topology *topology, uint32_t from, uint32_t to);

/* The simulated CPU of the n-th thread (from 0, in order of creation). Packed fills a node's CPUs before the next
 * node; round-robin assigns one to each node in turn; ASSIGN_NODE takes that node's CPUs in turn. */
uint32_t topology_assign_cpu(const struct topology *topology, uint32_t thread_ordinal);

/* The simulated home (index of a node) of the page at address `page`, first touched from node `toucher`. */
int topology_home_of_page(const struct topology *topology, uint64_t page, int toucher);

/* "first-touch", "bind:2", "interleave": sets home and home_node. "packed", "round-robin": sets assign. */
int topology_parse_home(struct topology *topology, const char *text, struct error *err);
int topology_parse_assign(const char *text, enum topology_assign *assign, struct error *err);

/* Likewise with "node:1" too: sets assign and assign_node. */
int topology_set_assign(struct topology *topology, const char *text, struct error *err);

enum { TOPOLOGY_ASSIGN_TEXT = 32 };
const char *topology_assign_text(const struct topology *topology, char text[TOPOLOGY_ASSIGN_TEXT]);
const char *topology_home_text(const struct topology *topology, char text[TOPOLOGY_ASSIGN_TEXT]);
