/* analysis/facts/fact_list.h - every fact of a subject that is one value, described once: JSON, the page, the text of one object and
 * the C API go through this list. Users and phases, which are lists, are struct facts_subject's alone. */
#ifndef NUMALENS_ANALYSIS_FACTS_FACT_LIST_H
#define NUMALENS_ANALYSIS_FACTS_FACT_LIST_H

#include "analysis/facts/facts.h"

enum fact_kind {
    FACT_USE, /* words, as fact_word has them */
    FACT_PROOF,
    FACT_SHARING,
    FACT_TURNS,
    FACT_SHAPE,
    FACT_COUNT,
    FACT_BYTES,    /* with a sign */
    FACT_SHARE,    /* 0 to 1; negative: not known */
    FACT_THREAD,   /* its index, FLOW_NONE: none; shown as its tid */
    FACT_NODE,     /* its index, negative: not known; shown as the kernel's number */
    FACT_TIME,     /* on the trace's clock; shown as seconds since its start */
    FACT_DELAY,    /* ns, UINT64_MAX: never; shown in seconds */
    FACT_INTERVAL, /* ns on average; shown in seconds */
    FACT_ADDRESS,  /* 0: none */
};

/* Who shows it, beside the C API. */
enum fact_shown {
    FACT_HIDDEN,
    FACT_TABLES = 1, /* JSON of tables of objects and sites, and of one object */
    FACT_OBJECT = 2, /* JSON of one object */
    FACT_LINE =
        4, /* a line of one object's text, unless it is 0: where no sentence in view/report/object_facts.c has it */
};

/* FACT(member of struct facts_subject, kind, name, shown, place among the page's columns or 0, meaning), in the order of JSON. */
#define FACT_LIST(FACT)                                                                                                \
    FACT(use, USE, "use", TABLES, 21, "read-only, read-mostly or written after its initialisation")                    \
    FACT(writers, COUNT, "writers", TABLES, 0, "threads that write it after its initialisation")                       \
    FACT(sharing, SHARING, "sharing", TABLES, 22, "private to a thread, to the threads of a node, or shared")          \
    FACT(using_threads, COUNT, "using_threads", TABLES, 0, "threads that use it")                                      \
    FACT(using_nodes, COUNT, "using_nodes", TABLES, 0, "nodes that use it")                                            \
    FACT(instances, COUNT, "instances", TABLES, 0, "objects that were sampled, of a site")                             \
    FACT(private_instances, COUNT, "private_instances", TABLES, 0, "of these, those that are private to a thread")     \
    FACT(turns, TURNS, "concurrency", TABLES, 23, "whether threads use it at disjoint times or concurrently")          \
    FACT(pages, COUNT, "pages", TABLES, 0, "pages that were sampled or touched")                                       \
    FACT(pages_moved, COUNT, "pages_moved", TABLES, 0, "pages whose home node changed")                                \
    FACT(mixed_pages, COUNT, "mixed_pages", TABLES, 0, "pages that hold private objects of other nodes' threads too")  \
    FACT(false_sharing, COUNT, "false_sharing", TABLES, 25, "samples on lines of which threads use different bytes")   \
    FACT(shape, SHAPE, "shape", TABLES, 24, "order of consecutive accesses: sequential, strided or random")            \
    FACT(stride, BYTES, "stride", TABLES, 0, "the most frequent distance of consecutive accesses")                     \
    FACT(init_end, TIME, "init_end_s", OBJECT, 0, "end of its initialisation")                                         \
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
    FACT(parted, SHARE, "separated", OBJECT, 0, "how far nodes keep to different parts of it; 0: as at random")        \
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

#endif
