/* numalens/findings.h - what is true of an object or a type, why its memory is remote, and what to do about it.
 *
 * A fact is a number or a word with a stated meaning. A finding is a judgement: it names one pattern on one object or
 * site, says how much it matters and how sure it is, what to change and why not otherwise. Both are made when first asked
 * for, in one pass over all accesses. What `numalens report patterns` prints comes from here.
 *
 *     nlens_foreach_finding(trace, f) {
 *         printf("%s: %s (%s:%u), %.0f%% of the remote accesses\n", f->text, f->name, f->file, f->line,
 *                100 * f->share_of_remote);
 *         nlens_foreach_advice(f->advice, v)
 *             printf("    %s: %s\n", v->text, v->why);
 *     }
 *
 * Ownership, texts and threads: as in numalens/flow.h. */
#ifndef NUMALENS_FINDINGS_H
#define NUMALENS_FINDINGS_H

#include <numalens/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes facts and findings now, to learn of a failure: 0, or negative when the trace cannot be read. Never needed
 * otherwise: after a failure there are just no facts and no findings. */
NLENS_API int nlens_diagnose(nlens_trace *trace, nlens_error *err);

/* ---- Facts ------------------------------------------------------------------------------------------------------- */

/* One thread's use of an object or site. */
typedef struct nlens_user {
    const struct nlens_user *next; /* with fewer samples */
    const nlens_thread *thread;
    int node; /* it mostly came from, or -1 */
    uint64_t samples, reads, writes, remote;
    uint64_t touched;     /* pages of it that this thread touched first */
    uint64_t first, last; /* times; 0 for one that only touched */
} nlens_user;

/* A stretch of time in which it is hot. */
typedef struct nlens_phase {
    const struct nlens_phase *next;
    uint64_t start, end;
    uint64_t samples, remote;
} nlens_phase;

typedef struct nlens_facts {
    nlens_trace *trace;
    const nlens_object *object; /* of a site: the one with the most samples */
    const nlens_site *site;     /* NULL for what nobody allocated */
    nlens_totals totals;
    const nlens_user *users;     /* most samples first */
    const uint64_t *from, *home; /* accesses that came from each node, that went to each: nlens_node_count of them */
    const nlens_phase *phases;   /* in order of time */
} nlens_facts;

/* NULL for what has no samples. A process's stacks are one: the first of them has the facts of all. */
NLENS_API const nlens_facts *nlens_object_facts(const nlens_object *object);
NLENS_API const nlens_facts *nlens_site_facts(const nlens_site *site);

/* One fact by its name in JSON; docs/json.md and docs/patterns.md say what each means. */
typedef struct nlens_fact {
    const char *name;    /* "using_threads", "first_remote_s" */
    const char *meaning; /* in a phrase */
    const char *word;    /* of a fact that is a word; else NULL, and it is a number: */
    double number;       /* a count, a part of 1, seconds, bytes, a thread's tid, a node's number */
    bool known;          /* else it is not known: 0 */
} nlens_fact;

/* Fills `fact` with the one at this index, or of this name; false behind the last, or where there is none. */
NLENS_API bool nlens_fact_at(const nlens_facts *facts, unsigned index, nlens_fact *fact);
NLENS_API bool nlens_fact_named(const nlens_facts *facts, const char *name, nlens_fact *fact);

/* ---- Findings ---------------------------------------------------------------------------------------------------- */

typedef struct nlens_advice {
    const struct nlens_advice *next;
    const char *action; /* "first-touch", as in JSON */
    const char *text;   /* a phrase */
    const char *why;
    const char *code; /* lines of code or a command; "" for advice against */
} nlens_advice;

typedef struct nlens_finding {
    nlens_trace *trace;
    uint32_t id;
    const char *pattern; /* "remote-after-allocation", as in JSON */
    const char *text;    /* a phrase */
    const char *name;    /* the variable that is assigned (`s->basis`), else the symbol, else the function */
    const char *function, *file;
    uint32_t line;
    const nlens_facts *facts;   /* NULL for a finding on a node */
    const nlens_object *object; /* likewise; of a site: the one with the most samples */
    const nlens_site *site;     /* set when the finding is on a site with more than one instance */
    int node;                   /* of a finding on a node, else -1 */
    uint64_t remote_samples;
    double share_of_remote; /* of all remote accesses: 0 to 1 */
    double lost_time_share; /* of the program's time, estimated as `gain` says */
    double confidence;      /* 0 to 1, by the number of samples */
    const char *evidence;   /* one or two numbers in a sentence */
    const char *gain;       /* what the first advice would win, and the assumption */
    const nlens_advice *advice, *against;
} nlens_finding;

/* Worst first. */
NLENS_API const nlens_finding *nlens_next_finding(nlens_trace *trace, const nlens_finding *last);

/* ---- The verdict ------------------------------------------------------------------------------------------------- */

enum nlens_matters {
    NLENS_UNDECIDED, /* too few samples, or what would decide was not recorded */
    NLENS_MATTERS_NOT,
    NLENS_MATTERS
};

/* Whether NUMA slows the program, on which machine, and what that rests on: the first lines of `numalens report`
 * (docs/predict.md). Texts are "" and numbers negative when not known. Rates are in bytes per second. */
typedef struct nlens_verdict {
    nlens_trace *trace;
    int matters;            /* enum nlens_matters */
    const char *text;       /* its sentences */
    const char *machine;    /* on whose model */
    const char *grade;      /* of what is asked for: "under", "near", "over" */
    const char *bottleneck; /* "memory of node 0", "link from node 1 to node 0", "latency of remote memory" */
    /* Of the memory or link that is asked for most: what is asked for, with its interval, and what it can deliver. */
    double asked_bytes_s, low, high, can_bytes_s;
    const char *against;                         /* another placement: "first-touch-by-users", "interleave", "advice" */
    double then_asked_bytes_s, then_can_bytes_s; /* under it */
    double bytes_s, bytes_low, bytes_high;       /* between caches and memory */
    double remote_bytes_share, remote_bytes_share_low, remote_bytes_share_high; /* 0 to 1 */
    double remote_time_low, remote_time_high; /* of run time, that waiting for memory of other nodes takes: 0 to 1 */
    uint64_t evidence_bursts;                 /* long ones, behind the bytes */
} nlens_verdict;

/* NULL when the trace cannot be read (nlens_diagnose). */
NLENS_API const nlens_verdict *nlens_get_verdict(nlens_trace *trace);

/* Whether waiting for remote memory, or a memory or link that is asked for too much, is what slows the program, and why
 * (`why` may be NULL). False also when that is undecided: nlens_get_verdict distinguishes. */
NLENS_API bool nlens_numa_bound(nlens_trace *trace, const char **why);

#define nlens_foreach_finding(trace, f) nlens_foreach_row (nlens_finding, nlens_next_finding, trace, f)
#define nlens_foreach_advice(first, v)  for (const nlens_advice *v = (first); (v) != NULL; (v) = (v)->next)
#define nlens_foreach_user(facts, u)    for (const nlens_user *u = (facts)->users; (u) != NULL; (u) = (u)->next)
#define nlens_foreach_phase(facts, p)   for (const nlens_phase *p = (facts)->phases; (p) != NULL; (p) = (p)->next)

#ifdef __cplusplus
}
#endif

#endif
