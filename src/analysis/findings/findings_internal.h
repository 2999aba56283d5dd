/* analysis/findings/findings_internal.h - the steps from facts to findings; private to src/analysis. */
#pragma once

#include "analysis/facts/claim.h"
#include "analysis/findings/findings.h"
#include "analysis/thresholds.h"
#include "base/interval.h"

#include <stdarg.h>

struct accesses;
struct balance;
struct consult;
struct latency;

/* What is said of a subject, as sure as the weakest of the claims it rests on. */
struct verdict {
    enum pattern pattern;
    double confidence;
    uint64_t needed; /* most bursts that one of its unsure claims needs; 0: all are sure */
    double of;       /* fewest bursts that one of these has now */
    unsigned claims; /* that it rests on */
};

/* A verdict with no claims yet; one more claim that it rests on. */
void verdict_begin(struct verdict *verdict, enum pattern pattern);
void verdict_claim(struct verdict *verdict, struct claim claim);

/* Bursts of a subject that has so many now with which all its claims would be sure; rounded, more than there are. */
uint64_t verdict_needed(const struct verdict *verdict, uint64_t bursts);

/* What is judged, and what patterns may ask for beyond the facts: made when first asked for. */
struct judging {
    struct findings *findings;
    const struct facts *facts;
    const struct pattern_row *const *rows; /* PATTERNS of them, but for tests */
    unsigned row_count;
    struct accesses *accesses;
    struct latency *latency;
    struct balance *balance;
};

/* What the accesses alone show (src/analysis/problems); NULL when they cannot be read. */
const struct latency *judging_latency(struct judging *judging);
const struct balance *judging_balance(struct judging *judging);
void judging_end(struct judging *judging);

/* What patterns are looked for on. */
struct finding_place {
    const char *name;                                               /* as in JSON */
    void (*each)(struct judging *judging);                          /* judges each: judge_about */
    void (*fill)(struct judging *judging, struct finding *finding); /* name, samples and time of what it is about */
};
extern const struct finding_place on_subject, on_node, on_thread, on_process, on_run;

/* How findings of several patterns on one thing go together. */
enum pattern_rule {
    PATTERN_BESIDE, /* it is said whatever else is found */
    PATTERN_SUREST, /* of those with this rule the surest is said; when none is sure enough, the thing is undecided */
    PATTERN_ALONE,  /* only where none of the first kind, and none that is earlier in the list, is found */
};

/* One pattern: all that is known of it. What prints, packs or compares findings asks for it here. */
struct pattern_row {
    const char *name; /* in JSON, as a rule of SARIF, as a heading */
    const char *text; /* a phrase for people */
    const struct finding_place *place;
    /* Whether it may be there; then with the claims that it rests on. */
    bool (*judge)(struct judging *judging, const struct finding *about, struct verdict *verdict);
    const char *(*explain)(struct consult *it); /* the evidence; sets lost_time_share and gain where they are its own */
    void (*advise)(struct consult *it),
        (*on_stack)(struct consult *it); /* on_stack: instead, of a stack; may be NULL */
    enum pattern_rule rule;
    enum pattern_lines lines;
    bool behind_objects; /* of a node: it is shown behind findings on objects that make most of its traffic */
};
extern const struct pattern_row *const pattern_rows[PATTERNS];

/* The row of a pattern's file, which has judge, explain and advise; then what else of it is not 0: .rule = PATTERN_SUREST. */
#define PATTERN_ROW(id, its_name, its_text, its_place, ...)                                                            \
    const struct pattern_row pattern_##id = {its_name, its_text, &its_place, judge, explain, advise, __VA_ARGS__}

/* findings.c. Adds what is found on it, or that it is undecided; all findings of these patterns. */
void judge_about(struct judging *judging, const struct finding_place *place, const struct finding *about);
struct findings *findings_make_with(const struct facts *facts, const struct pattern_row *const *rows, unsigned count,
                                    const struct judged_on *machine);

/* findings_locals.c. Whether it is a thread-local variable; judges all of these. */
bool subject_thread_local(const struct facts *facts, const struct facts_subject *subject);
void judge_locals(struct judging *judging);

/* findings_place.c. */
void judge_subject(struct judging *judging, const struct facts_subject *subject, bool is_site);

/* Each instance is used by one thread (all but a few are). */
bool subject_private(const struct facts_subject *subject);

/* Part of its samples on lines that threads write in turn: slow whatever the page's home node is. */
double subject_bounced(const struct facts_subject *subject);

/* Part of its accesses that write, once it is initialised. What initialises is taken for writes. */
double subject_writes(const struct facts_subject *subject);

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

/* findings_advice.c: evidence, gain and advice of a finding whose place is known. */
void finding_write(struct judging *judging, const struct pattern_row *row, struct finding *finding);

/* findings_judge.c: claims that several patterns rest on, with their null hypotheses. */
void claim_remote(struct verdict *verdict, const struct facts_subject *subject);
void claim_one_user(struct verdict *verdict, const struct facts_subject *subject);
void claim_shared(struct verdict *verdict, const struct facts_subject *subject);
void claim_mixed(struct verdict *verdict, const struct facts_subject *subject);
void claim_same_time(struct verdict *verdict, const struct fact_mixing *mixing);
void claim_pages_mixed(struct verdict *verdict, const struct facts_subject *subject, bool mixed);

/* Of its use, without what initialises it, the part by the thread or from the node that uses it most. */
double use_of_one(const struct facts_subject *subject, bool node);

/* Share of pairs of neighbours of one node, halfway between chance and always. */
double parts_halfway(const struct fact_parts *parts);

/* Whether its home node could matter at all. */
bool placement_may_matter(const struct facts *facts, const struct facts_subject *subject);

/* Small and rarely slow: caches answer, so it costs nothing that its page is far. */
bool subject_cached(const struct facts *facts, const struct facts_subject *subject);

/* A share of the time that distance costs, by the penalty that findings are judged with. */
double distance_loss(const struct findings *findings, double share);

/* Time that placement could win. Lines that threads write in turn are slow whatever their home node is. */
double placement_loss(const struct facts_subject *subject);

/* Whether the loader placed it, for good: a small section, or anything of a system's library. */
bool subject_loaded(const struct facts *facts, const struct facts_subject *subject);

/* findings_verdict.c: whether NUMA slows the program, and the command that would decide what is undecided. */
void findings_judge_whole(struct findings *findings);
void findings_decide(struct findings *findings);
double findings_needed(const struct findings *findings, double factor); /* times as many bursts, as findings_deciding */

/* As findings_text. */
const char *findings_vtext(struct findings *findings, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* The kernel's number of a node. */
static inline int node_number(const struct facts *facts, int node)
{
    const struct topology *topology = flow_topology(facts->flow);
    return node >= 0 && (uint32_t)node < topology->node_count ? topology->nodes[node].os_index : -1;
}
