/* analysis/findings/findings_internal.h - the steps from facts to findings; private to src/analysis. */
#ifndef NUMALENS_ANALYSIS_FINDINGS_FINDINGS_INTERNAL_H
#define NUMALENS_ANALYSIS_FINDINGS_FINDINGS_INTERNAL_H

#include "analysis/facts/claim.h"
#include "analysis/findings/findings.h"

struct sources;

/* What is said of a subject, as sure as the weakest of the claims it rests on. */
struct verdict {
    enum pattern pattern;
    double confidence;
    uint64_t needed; /* most bursts that one of its unsure claims needs; 0: all are sure */
    double of;       /* fewest bursts that one of these has now */
};

/* A verdict with no claims yet; one more claim that it rests on. */
void verdict_begin(struct verdict *verdict, enum pattern pattern);
void verdict_claim(struct verdict *verdict, struct claim claim);

/* Bursts of a subject that has so many now with which all its claims would be sure; round, and more than there are. */
uint64_t verdict_needed(const struct verdict *verdict, uint64_t bursts);

enum judged {
    JUDGED_NOTHING,   /* no pattern, or too little of it to matter */
    JUDGED_UNDECIDED, /* it matters, but no pattern is sure enough: the verdict is the likeliest one */
    JUDGED
};

/* findings_judge.c. The main pattern of a subject. */
enum judged judge_placement(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict);
enum judged judge_false_sharing(const struct facts *facts, const struct facts_subject *subject,
                                struct verdict *verdict);
bool judge_node(const struct facts *facts, uint32_t node, struct verdict *verdict);

/* findings.c. What is to be said of a subject: findings, or that it is undecided. */
void findings_judge_subject(struct findings *findings, const struct facts_subject *subject, bool is_site,
                            struct sources *sources);

/* findings_locals.c. Whether it is a thread-local variable; the findings on all of these. */
bool subject_thread_local(const struct facts *facts, const struct facts_subject *subject);
void findings_judge_locals(struct findings *findings, struct sources *sources);

/* Each instance is used by one thread (all but a few are). */
bool subject_private(const struct facts_subject *subject);

/* Part of its samples on lines that threads write in turn: slow wherever the page lies. */
double subject_bounced(const struct facts_subject *subject);

/* Part of its accesses that write, once it is initialised. What initialises is taken for writes. */
double subject_writes(const struct facts_subject *subject);

/* Nodes (as many as `from` and `home` have) that make at least a bound's part of the traffic to a node. */
uint32_t nodes_taking_part(const struct facts *facts, uint32_t home);

/* Whether so many of its samples, in so many bursts, are enough of all to say anything. */
bool subject_matters(const struct facts *facts, const struct facts_subject *subject, uint64_t samples);

/* Bytes of a subject: what was touched of an object; of a site, the most it had alive at once. */
uint64_t subject_bytes(const struct facts *facts, const struct facts_subject *subject, bool is_site);

enum object_kind subject_kind(const struct facts *facts, const struct facts_subject *subject);

/* findings_process.c. Its users by process; `pinnable`: there are several processes, and the threads of each fit on a
 * node. */
struct by_process {
    uint32_t processes, most_threads; /* most: of one process */
    uint32_t cpus;                    /* of the smallest node */
    bool pinnable;
};
struct by_process subject_by_process(const struct facts *facts, const struct facts_subject *subject);

/* findings_evidence.c, findings_advice.c: fill the finding's texts. */
void finding_explain(struct findings *findings, struct finding *finding, const struct verdict *verdict);
void finding_advise(struct findings *findings, struct finding *finding);

/* " (93% separated)": how far nodes keep to parts of their own; "" where too few pairs of accesses show it. */
const char *separated_text(struct findings *findings, const struct facts_subject *subject);

/* findings_problems.c: data that nodes share; its texts and advice; and what is no object's: contention, imbalance. */
enum judged judge_shared(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict);
void finding_on_sharing(struct findings *findings, struct finding *finding);
void findings_add_problems(struct findings *findings);

/* findings_name.c: name, function, file and line of what the finding is about. */
void finding_name(struct findings *findings, struct finding *finding, struct sources *sources);

/* Time that placement could win. Lines that threads write in turn are slow wherever their page lies. */
double placement_loss(const struct facts_subject *subject);

/* Whether the loader placed it, for good: a small section, or anything of a system's library. */
bool subject_loaded(const struct facts *facts, const struct facts_subject *subject);

/* findings_gate.c: whether NUMA slows the program, and the command that would decide what is undecided. */
void findings_judge_gate(struct findings *findings);
void findings_decide(struct findings *findings);

static inline double part_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* The kernel's number of a node. */
static inline int node_number(const struct facts *facts, int node)
{
    const struct topology *topology = flow_topology(facts->flow);
    return node >= 0 && (uint32_t)node < topology->node_count ? topology->nodes[node].os_index : -1;
}

#endif
