/* numalens/policy.h - write a policy for `numalens migrate`: given which node touches which page, say where pages
 * should be.
 *
 *     cc -shared -fPIC -o mine.so mine.c
 *     numalens migrate --policy ./mine.so -- ./app
 *
 * A policy is one struct that a shared library hands out through the function nlens_policy(). The built-in policies use
 * this interface and no other. docs/migrate.md walks through an example.
 *
 * Once an interval `decide` gets a view of what was sampled, and calls nlens_move for each page that should be
 * elsewhere. It need not think of anything else: pages that are there already, that the program bound to a node, that
 * moved a moment ago or that go beyond the budget are sorted out afterwards, and every request is checked. All calls of one
 * policy come from one thread. What a view points to is freed when `decide` returns. */
#ifndef NUMALENS_POLICY_H
#define NUMALENS_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* While this stays the same, structs below only grow at their ends; those that come in arrays (nlens_policy_node,
 * nlens_policy_access, nlens_policy_page) stay as they are. */
#define NLENS_POLICY_VERSION 1u

#define NLENS_NOWHERE (-1)

struct nlens_policy_node {
    int32_t number;        /* the kernel's; everywhere else nodes are given by their index */
    uint32_t cpus;         /* 0: memory only */
    uint64_t memory, free; /* bytes; `free`: unused or page cache, when the interval ended */
};

/* The machine. Distances are the firmware's: 10 is local.
 *
 * Levels group nodes by distance, for a descent from the whole machine to one node: groups[level * node_count + node]
 * is the group of `node` at that level. Level 0 is the coarsest that distinguishes nodes; at the last every node is a
 * group of its own. A machine whose nodes are all equally far from each other has one level. */
struct nlens_machine {
    uint32_t node_count, level_count;
    const struct nlens_policy_node *nodes;
    const uint16_t *distances; /* [from * node_count + to] */
    const uint32_t *groups;
    const uint32_t *nearest; /* [node]: the closest node that pages may go to, mostly itself */
    uint64_t page_bytes;     /* of a small page */
};

/* One thread's sampled accesses to one page, from one node. */
struct nlens_policy_access {
    uint32_t thread; /* the kernel's number */
    uint32_t node;
    uint32_t reads, writes; /* an atomic read-modify-write is a write */
    uint32_t timed;         /* of these, how many carry a latency */
    uint32_t lines;         /* cache lines of the page that they touched (of a large page: at most 64 parts) */
    uint64_t latency;       /* ns, sum of the timed ones */
};

enum nlens_page_flag {
    NLENS_PAGE_HUGE = 1, /* moves as a whole */
    NLENS_PAGE_FILE = 2, /* of a mapped file */
};

struct nlens_policy_page {
    uint64_t address, bytes;
    uint32_t pid;
    int32_t home;   /* node, or NLENS_NOWHERE when the kernel did not return it */
    uint32_t flags; /* enum nlens_page_flag */
    uint32_t moves; /* how often it was moved so far */
    uint32_t access_count;
    const struct nlens_policy_access *accesses;
};

struct nlens_view {
    const struct nlens_machine *machine;
    uint64_t interval;    /* its number, from 1 */
    uint64_t duration_ns; /* how long it was */
    size_t page_count;
    const struct nlens_policy_page *pages; /* in order of process and address */
};

/* Where a policy's requests go. Call the functions below, not these. */
struct nlens_plan {
    void *context;
    void (*move)(void *context, size_t page, uint32_t node, uint32_t before, uint32_t after);
    void (*note)(void *context, const char *what, uint64_t count);
};

/* Requests page number `page` of the view onto `node`. The last word on a page counts. */
static inline void nlens_move(const struct nlens_plan *plan, size_t page, uint32_t node)
{
    plan->move(plan->context, page, node, 0, 0);
}

/* Also the `before` and `after` pages around it, as far as its mapping goes, unless they are in the view themselves. */
static inline void nlens_move_around(const struct nlens_plan *plan, size_t page, uint32_t node, uint32_t before,
                                     uint32_t after)
{
    plan->move(plan->context, page, node, before, after);
}

/* A note for the end of the run; counts of the same text add up. At most 16 texts are kept. */
static inline void nlens_note(const struct nlens_plan *plan, const char *what, uint64_t count)
{
    plan->note(plan->context, what, count);
}

/* All accesses of an entry. */
static inline uint64_t nlens_policy_accesses(const struct nlens_policy_access *access)
{
    return (uint64_t)access->reads + access->writes;
}

/* The names of before, which numalens/flow.h and pages.h have for other things: only where those are not included. */
#ifndef NUMALENS_FLOW_H
#define nlens_node     nlens_policy_node
#define nlens_access   nlens_policy_access
#define nlens_page     nlens_policy_page
#define nlens_accesses nlens_policy_accesses
#endif

struct nlens_policy {
    uint32_t version; /* NLENS_POLICY_VERSION */
    uint32_t size;    /* sizeof(struct nlens_policy) */
    const char *name;
    const char *summary; /* one line */

    /* `arguments` is what follows the first colon of --policy NAME:ARGUMENTS, or "". `*self` is what the other
     * functions get. On failure returns not 0 and puts the reason into `why`. May be NULL. */
    int (*start)(const struct nlens_machine *machine, const char *arguments, void **self, char *why, size_t why_bytes);

    /* Returns 0, or anything else to stop migrating (the program goes on). */
    int (*decide)(void *self, const struct nlens_view *view, const struct nlens_plan *plan);

    void (*stop)(void *self); /* may be NULL */
};

/* What a plug-in defines. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const struct nlens_policy *
nlens_policy(void);

#ifdef __cplusplus
}
#endif

#endif
