/* compare/job/rank_summary.h - what a job's report needs of one rank's trace: a few kilobytes, however large the trace is.
 *
 * Ranks wait for each other inside of MPI, and most MPI libraries wait by polling: CPU time alone does not show which rank has
 * more to do. So bursts are separated by their call chains: those inside of MPI, and the others, which are the rank's work. A burst
 * stands for the same CPU time wherever it is, and its accesses share it evenly among the objects that they go to. */
#pragma once

#include "analysis/findings/findings.h"

enum { RANK_OBJECTS = 24, RANK_FINDINGS = 24 }; /* that are kept, those with most work and the worst */

struct rank_object {
    const char *name, *file; /* file: "" when not known */
    uint32_t line, kind;     /* kind: enum object_kind */
    double work;             /* bursts outside of MPI that are its, in parts */
    uint64_t samples, remote, home_known;
};

struct rank_finding {
    uint32_t pattern; /* enum pattern */
    const char *name, *file, *evidence, *advice;
    uint32_t line;
    double share_of_remote, lost_time_share;
};

struct rank_summary {
    const char *path;   /* of the trace */
    const char *error;  /* why it could not be read; "" when it could: else nothing but the path is known */
    const char *damage; /* what is missing in it, or "" */
    bool in_job;        /* it is of a rank; else the next four are not known */
    uint32_t rank, ranks;
    const char *job, *launcher;
    const char *host, *command;
    bool ended;               /* else the next three are not known */
    double duration_s, cpu_s; /* run time and CPU time of the program */
    int64_t exit_status;
    uint64_t samples, remote, home_known, lost;
    uint64_t bursts, mpi_bursts;
    uint32_t nodes;
    bool timed; /* the cost is known: part of run time that remote memory costs */
    double cost, cost_low, cost_high;
    uint32_t matters;                     /* enum matters: the verdict on this rank alone */
    const char *verdict;                  /* its first sentence, without the full stop; "" when nothing was judged */
    const char *grade, *bottleneck;       /* as in findings; "" when not known */
    array_of(struct rank_object) objects; /* most work first */
    array_of(struct rank_finding) findings;
    uint64_t more_findings; /* that were not kept */
    struct strtab *texts;
};

/* All copied: flow, session and trace can be freed afterwards. NULL with `err` when the trace cannot be read. `damage` may be
 * NULL. */
struct rank_summary *rank_summary_make(const struct flow *flow, const char *path, const struct trace_session *ending,
                                       const char *damage, struct error *err);

/* Of a trace that cannot be read. */
struct rank_summary *rank_summary_unread(const char *path, const char *error);
void rank_summary_free(struct rank_summary *summary);

/* CPU time outside of MPI, in seconds, and its standard deviation; of an object likewise. */
double rank_work(const struct rank_summary *summary);
double rank_work_deviation(const struct rank_summary *summary);
double rank_object_work(const struct rank_summary *summary, const struct rank_object *object);
double rank_object_deviation(const struct rank_summary *summary, const struct rank_object *object);
