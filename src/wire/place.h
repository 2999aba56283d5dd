/* wire/place.h - a placement plan as the agent follows it: what `numalens apply` makes of a plan (src/plan), in a file without a name.
 *
 * Sites, static objects and start routines are ranges of code or data in binaries, so that nothing of symbols is needed inside the
 * program. The agent writes the counters of entries and nothing else; processes of one run share them. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PLACE_ENVIRONMENT "NUMALENS_PLAN" /* the file's path */
#define PLACE_MAGIC       UINT64_C(0x316e616c70736e6c)

enum {
    PLACE_CPUS = 1024, /* CPUs and nodes beyond are left alone */
    PLACE_WORDS = PLACE_CPUS / 64,
    PLACE_ENTRIES = 256,
    PLACE_MODULES = 64,
    PLACE_FRAMES = 16, /* of a site's call chain */
    PLACE_PARTS = 64,  /* nodes of one entry */
    PLACE_NAME = 256,
};

enum place_kind { PLACE_SITE, PLACE_STATIC, PLACE_FILE, PLACE_SHM, PLACE_STACK, PLACE_THREAD, PLACE_KINDS };

enum place_policy {
    PLACE_BIND,
    PLACE_PREFERRED,
    PLACE_INTERLEAVE,
    PLACE_WEIGHTED, /* stripes, as long as their nodes' weights say */
    PLACE_SPLIT,    /* one part on each node, in order */
    PLACE_LOCAL,    /* fresh pages, on the node of the thread that allocates or first uses them */
    PLACE_NODE,     /* of threads, from here on */
    PLACE_ON_CPUS,
    PLACE_CLUSTER,
    PLACE_DISTRIBUTE,
    PLACE_TOGETHER, /* a process's threads on one node, processes on the nodes in turn */
    PLACE_POLICIES
};

enum place_huge { PLACE_HUGE_AS_IS, PLACE_HUGE, PLACE_SMALL };

/* Why something was not placed as wanted. */
#define PLACE_REASON_LIST(ROW)                                                                                         \
    ROW(NONE, "")                                                                                                      \
    ROW(REFUSED, "the kernel refuses memory policies here, and so does it moving the thread to that node")             \
    ROW(NO_CPUS, "the kernel refuses memory policies here, and the node has no CPUs to touch its memory from")         \
    ROW(TOO_LARGE, "the kernel refuses memory policies here, and it is more than half of the available memory")        \
    ROW(READ_ONLY, "the kernel refuses memory policies here, and it cannot be written")                                \
    ROW(NO_FILE, "the kernel refuses memory policies here, and its file is too short, or its file system full")        \
    ROW(SEVERAL, "the kernel refuses memory policies here, and a file is read in from one node only")                  \
    ROW(CACHED, "the kernel refuses memory policies here, and the file is in memory already")                          \
    ROW(ELSEWHERE, "pages of the file are on other nodes: the wanted ones have no room for all")                       \
    ROW(NO_MEMORY, "it is larger than the available memory: the page cache would not keep it")                         \
    ROW(SMALL, "it is smaller than a page, which it shares with other data")                                           \
    ROW(NO_ROOM, "no address space was left for placed blocks")                                                        \
    ROW(FAILED, "the kernel does not place it")                                                                        \
    ROW(NO_THREAD, "the kernel does not move the thread")                                                              \
    ROW(OWN_CPUS, "the program pins its own threads")                                                                  \
    ROW(NO_STACK, "the stack is memory of the program's own, and where it ends is not known")                          \
    ROW(RESTRICTED, "the program has restricted its system calls (seccomp)")                                           \
    ROW(CHAIN, "its call chain could not be followed")

enum place_reason {
#define ROW(name, text) PLACE_##name##_REASON,
    PLACE_REASON_LIST(ROW)
#undef ROW
        PLACE_REASONS
};

struct place_range { /* of a binary, by its own addresses: [low, high) */
    uint64_t low, high;
    uint32_t module, unused;
};

struct place_ranges { /* some of them, one after the other */
    uint32_t first, count;
};

struct place_cpus {
    uint32_t node;   /* whose they are */
    uint32_t repeat; /* threads that get them before the next */
    uint64_t words[PLACE_WORDS];
};

struct place_entry {
    uint8_t kind, policy, huge, frame_count;
    uint32_t part_count; /* nodes */
    struct place_ranges
        frames[PLACE_FRAMES]; /* site: innermost first; static: the objects; stack, thread: start routines */
    uint16_t part_nodes[PLACE_PARTS], part_weights[PLACE_PARTS];
    uint32_t cpus_first, cpus_count; /* thread: into the table's cpus */
    char name
        [PLACE_NAME]; /* file, shared memory, stack, thread: a pattern with * and ?, and \ before a letter that is itself */

    /* The agent's. */
    _Atomic uint64_t count, bytes;     /* placed */
    _Atomic uint64_t touched;          /* of these, by first touch: the kernel refuses policies */
    _Atomic uint64_t failed;           /* matched, but not placed ... */
    _Atomic uint32_t reason, cause;    /* ... for this reason, the last one; its errno */
    _Atomic uint64_t huge_bytes;       /* in huge pages, the most that was seen in one process */
    _Atomic uint64_t pages, elsewhere; /* of files, in memory; of these, on other nodes than wanted */
};

struct place_table {
    uint64_t magic, bytes;
    uint32_t entry_count, module_count, range_count, cpus_count;
    uint32_t entries_at, ranges_at, cpus_at; /* from the table's start; the first cpus are all nodes' */
    uint32_t node_count;
    uint32_t filters;                        /* system call filters on who starts the program */
    _Atomic uint32_t processes;              /* that follow the plan */
    _Atomic uint32_t ordinals;               /* processes that have a node */
    uint64_t cpus[PLACE_WORDS];              /* that who starts the program may use */
    char modules[PLACE_MODULES][PLACE_NAME]; /* names without folders */
};

static inline struct place_entry *place_entries(struct place_table *table)
{
    return (struct place_entry *)((char *)table + table->entries_at);
}

static inline struct place_range *place_range_list(struct place_table *table)
{
    return (struct place_range *)((char *)table + table->ranges_at);
}

static inline struct place_cpus *place_cpu_list(struct place_table *table)
{
    return (struct place_cpus *)((char *)table + table->cpus_at);
}
