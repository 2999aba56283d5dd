/* analysis/findings/findings.h - why memory is remote and what to do about it: patterns judged from facts, worst first.
 *
 * A finding names one pattern on one subject, says how much it matters and how sure it is, gives the change to make and
 * why not the other ones. Judging needs no human and no tuning for a machine: every bound stands in analysis/thresholds.def. */
#pragma once

#include "analysis/facts/facts.h"
#include "analysis/pattern_list.h"

struct strtab;

/* PATTERN_FALSE_SHARING and so on: one for each file in patterns/, in the order of the list in src/analysis/meson.build. */
enum pattern {
#define PATTERN(NAME, name) PATTERN_##NAME,
    PATTERN_LIST(PATTERN)
#undef PATTERN
        PATTERNS
};

/* How the cache lines are shared that a pattern is about, if it is about lines: those are slow whatever their home node. */
enum pattern_lines { LINES_NONE, LINES_FALSE, LINES_TRUE };

enum action {
    ACTION_ALLOCATE_NEAR, /* let the using thread allocate, or numa_alloc_onnode */
    ACTION_FIRST_TOUCH,   /* let the using threads initialise */
    ACTION_MIGRATE,       /* move the pages when the user changes */
    ACTION_PIN_TOGETHER,  /* threads on the node that holds the data */
    ACTION_DUPLICATE,     /* one copy a node */
    ACTION_INTERLEAVE,
    ACTION_SPREAD,         /* different hot objects on different nodes */
    ACTION_SEPARATE_PAGES, /* one arena a thread; page-aligned */
    ACTION_PAD,            /* one cache line a thread */
    ACTION_OWN_COPY,       /* of a stack's variables, in each thread */
    ACTION_SYMMETRIC,      /* threads and data evenly on all nodes */
    ACTION_RUNTIME_OPTION, /* of the runtime whose heap it is */
    ACTIONS
};

/* What the memory or the link that is asked for most is asked for, of what it can deliver; bytes a second. */
struct asked {
    double asked, low, high; /* 0: not known */
    double can;
};

enum matters {
    MATTERS_UNDECIDED, /* too few samples, or what would decide was not recorded */
    MATTERS_NOT,
    MATTERS
};

struct advice {
    enum action action;
    const char *why;
    const char *code; /* lines of code or a command, "" for advice against */
};

struct finding {
    enum pattern pattern;
    const struct facts_subject *subject; /* NULL for a finding on anything else; several copies: in findings.locals */
    bool is_site;                        /* the subject is a site with more than one instance */
    int node;                            /* of a finding on a node; else -1 */
    uint32_t thread;                     /* of a finding on a thread; else FLOW_NONE */
    uint32_t process;                    /* of a finding on a process; else FLOW_NONE */
    const char *variable;                /* as the source writes it, for code; "" when not named */
    const char *name; /* left-hand side of the allocating line (`s->basis`), else symbol, else function */
    bool named;       /* the name is one of the source's, which code can use */
    bool by_new;      /* C++ allocates it */
    const char *via;  /* the functions between that line and the allocator that were looked through, or "" */
    const char *function, *file;
    uint32_t line;
    uint64_t remote_samples;
    double share_of_remote; /* of all remote samples, 0 to 1 */
    double lost_time_share; /* of the program's time, estimated; gain says under which assumption */
    double confidence;      /* 0 to 1: the smallest of the claims it rests on (claim.h) */
    uint64_t bursts;        /* behind it */
    const char *evidence;   /* one or two numbers in a sentence */
    const char *gain;       /* what the first advice would win, and the assumption */
    struct asked then;      /* with the first advice followed, on findings.machine (src/predict) */
    const char
        *prove; /* the command that would prove that copies on each node do; NULL: they would not, or it is proved */
    const char *then_text; /* the same as a phrase; NULL: not known, or no less than now */
    const char *instead;   /* a sentence: what comes before all advice, where waiting decides; or NULL (src/predict) */
    array_of(struct advice) advice, against;
};

/* A subject that is remote enough to matter, but no pattern is sure enough to be said. */
struct undecided {
    struct finding finding; /* what it is about, without evidence or advice; the pattern is the likeliest one */
    uint64_t bursts;        /* there are */
    uint64_t needed;        /* would decide it, if it is what it seems */
};

struct findings {
    const struct facts *facts;
    struct facts *own_facts; /* the same where they are freed with the findings, else NULL */
    struct strtab *texts;
    double penalty;                       /* that findings are judged with: the facts' own, or the machine's */
    double most;                          /* of run time, that remote lines can take; 1: not known */
    array_of(struct finding) items;       /* worst first */
    array_of(struct undecided) undecided; /* most remote samples first */
    array_of(
        struct facts_subject) locals; /* thread-local variables, each with all threads' copies; no users, no phases */
    const char *decide;               /* the command that gets enough bursts for all of them; "" when none is */
    bool numa_bound;                  /* false: NUMA is not what slows this program; `verdict` says why */
    bool decided;                     /* false: the interval has the bound in it */
    double remote_time_share, remote_time_bound; /* estimated share of time in remote latency; the bound */
    double remote_time_low, remote_time_high;    /* its interval, at 90% */
    const char *verdict;                         /* its sentences */
    const char *verdict_lines;                   /* likewise, each on a line of its own; NULL: one sentence */
    const char *machine;                         /* on whose model it is judged; NULL: none is known */
    enum matters matters;    /* the placement of memory; with a bandwidth that is not known nothing is harmless */
    struct traffic *traffic; /* of the recording; NULL where it has none */
    double
        remote_bytes; /* of the bytes from memory, the share from other nodes than the thread's; negative: not known */
    double remote_bytes_low, remote_bytes_high; /* of that share */
    double bytes, bytes_low, bytes_high;        /* between caches and memory, a second; 0 without `traffic` */
    const char *grade;                          /* of `asked`: "under", "near", "over"; NULL: not known */
    const char *
        bottleneck; /* "memory of node 0", "link from node 1 to node 0", "latency of remote memory"; NULL: none is known */
    struct asked asked;
    struct asked then;        /* under another placement: ... */
    struct asked on_all_cpus; /* with a thread on each of the machine's CPUs, each like those that it has */
    const char *all_cpus_grade;
    const char *against; /* "first-touch-by-users", "interleave", or "advice": as all findings advise; NULL: none */
};

struct findings *findings_make(const struct facts *facts);

/* Likewise, with what findings cost on a machine. */
struct judged_on {
    const char *name;
    double penalty; /* a remote access that misses the caches takes 1 + penalty times as long as a local one there */
    double most;    /* of run time, that lines from other nodes take there at most; 1: not known */
};
struct findings *findings_make_on(const struct facts *facts, const struct judged_on *machine);
void findings_free(struct findings *findings);

/* What remote memory costs, as remote_time_low and remote_time_high, if there were so many bursts like these. */
void findings_cost_interval(const struct findings *findings, double bursts, double *low, double *high);

/* What placement can change of the share of run time that accesses to an object (or to none: FLOW_NONE) wait for remote memory, at the
 * latencies that findings are judged with. Of everything it is what remote memory costs. */
double findings_stall(const struct findings *findings, uint32_t object, double share);

/* The command that records `factor` times as many bursts; "" when it is not known how this was recorded. */
const char *findings_record_more(struct findings *findings, double factor);

/* The same, or more of them: as many as the program and all that is undecided need. "" too when no such command would do. */
const char *findings_deciding(struct findings *findings, double factor);

/* The recording's command as one types it; "./app ..." where there is none or it is too long to be typed. */
const char *findings_app(const struct findings *findings);

/* The verdict's first sentence, without the full stop. */
const char *findings_first_line(struct findings *findings);

/* A text that lives as long as the findings. */
const char *findings_text(struct findings *findings, const char *format, ...) __attribute__((format(printf, 2, 3)));

const char *pattern_name(enum pattern pattern); /* "remote-after-allocation", ... as in JSON */
const char *pattern_text(enum pattern pattern); /* a phrase for people */
const char *pattern_on(enum pattern pattern);   /* what it is found on: "object", "node", "thread", "process", "run" */
enum pattern_lines pattern_lines(enum pattern pattern);
const char *action_name(enum action action); /* "allocate-near", ... */
const char *action_text(enum action action); /* a phrase for people */
