/* analysis/findings/findings.c - findings and what is undecided, worst first. */
#include "analysis/findings/findings_internal.h"

#include "analysis/traffic/traffic.h"
#include "base/order.h"
#include "base/strtab.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PATTERN(NAME, name) extern const struct pattern_row pattern_##name;
PATTERN_LIST(PATTERN)
#undef PATTERN

const struct pattern_row *const pattern_rows[PATTERNS] = {
#define PATTERN(NAME, name) [PATTERN_##NAME] = &pattern_##name,
    PATTERN_LIST(PATTERN)
#undef PATTERN
};

static const char *const action_names[ACTIONS][2] = {
    [ACTION_ALLOCATE_NEAR] = {"allocate-near", "allocate it on the node that uses it"},
    [ACTION_FIRST_TOUCH] = {"first-touch", "let each thread initialise the part it uses (first touch)"},
    [ACTION_MIGRATE] = {"migrate", "migrate its pages to the node that uses it"},
    [ACTION_PIN_TOGETHER] = {"pin-together", "bind its threads to one node"},
    [ACTION_DUPLICATE] = {"duplicate", "keep a copy on each node"},
    [ACTION_INTERLEAVE] = {"interleave", "interleave its pages over the nodes"},
    [ACTION_SPREAD] = {"spread", "put hot objects on different nodes"},
    [ACTION_SEPARATE_PAGES] = {"separate-pages", "give each thread pages of its own"},
    [ACTION_PAD] = {"pad", "give each thread a cache line of its own"},
    [ACTION_OWN_COPY] = {"own-copy", "give each thread its own copy of the variables it shares"},
    [ACTION_SYMMETRIC] = {"symmetric", "spread threads and data evenly over the nodes"},
    [ACTION_RUNTIME_OPTION] = {"runtime-option", "let the runtime allocate it on the node that uses it"},
};

const char *pattern_name(enum pattern pattern)
{
    return pattern < PATTERNS ? pattern_rows[pattern]->name : "";
}

const char *pattern_text(enum pattern pattern)
{
    return pattern < PATTERNS ? pattern_rows[pattern]->text : "";
}

const char *pattern_on(enum pattern pattern)
{
    return pattern < PATTERNS ? pattern_rows[pattern]->place->name : "";
}

enum pattern_lines pattern_lines(enum pattern pattern)
{
    return pattern < PATTERNS ? pattern_rows[pattern]->lines : LINES_NONE;
}

const char *action_name(enum action action)
{
    return action < ACTIONS ? action_names[action][0] : "";
}

const char *action_text(enum action action)
{
    return action < ACTIONS ? action_names[action][1] : "";
}

const char *findings_vtext(struct findings *findings, const char *format, va_list args)
{
    char *text = mem_vformat(format, args);
    const char *kept = strtab_intern(findings->texts, text);
    free(text);
    return kept;
}

const char *findings_text(struct findings *findings, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *kept = findings_vtext(findings, format, args);
    va_end(args);
    return kept;
}

double placement_loss(const struct facts_subject *subject)
{
    return subject->remote_time * (1 - subject_bounced(subject));
}

double distance_loss(const struct findings *findings, double share)
{
    const struct facts *facts = findings->facts;
    double scale = facts->remote_penalty > 0 ? findings->penalty / facts->remote_penalty : 1;
    double rest = 1 + (scale - 1) * facts->remote_time, whole = scale * facts->remote_time / rest;
    return scale * share / rest * (whole > findings->most ? findings->most / whole : 1);
}

double findings_stall(const struct findings *findings, uint32_t object, double share)
{
    const struct facts *facts = findings->facts;
    const struct facts_subject *of = object == FLOW_NONE ? NULL : &facts->objects.items[object];
    return distance_loss(findings, !of ? share : subject_loaded(facts, of) ? 0 : share * (1 - subject_bounced(of)));
}

static void add_finding(struct judging *judging, const struct finding *about, const struct verdict *verdict)
{
    const struct pattern_row *row = judging->rows[verdict->pattern];
    struct finding finding = *about;
    finding.pattern = verdict->pattern;
    finding.confidence = verdict->confidence;
    row->place->fill(judging, &finding);
    finding_write(judging, row, &finding);
    array_push(&judging->findings->items, finding);
}

/* The claim that lacks most has `of` bursts of the subject's: as many more as it needs, all of them must be. */
static void add_undecided(struct judging *judging, const struct finding *about, const struct verdict *verdict)
{
    struct undecided undecided = {.finding = *about};
    undecided.finding.pattern = verdict->pattern;
    undecided.finding.confidence = verdict->confidence;
    judging->rows[verdict->pattern]->place->fill(judging, &undecided.finding);
    if (undecided.finding.share_of_remote < thresholds.worth_saying)
        return;
    undecided.finding.lost_time_share = 0;
    undecided.finding.evidence = undecided.finding.gain = "";
    undecided.bursts = undecided.finding.bursts;
    undecided.needed = verdict_needed(verdict, undecided.bursts);
    array_push(&judging->findings->undecided, undecided);
}

/* Of two that are equally sure the one that needs fewer bursts to be sure, and then the one that rests on fewer claims. */
static bool is_surer(const struct verdict *one, const struct verdict *other)
{
    if (one->confidence != other->confidence)
        return one->confidence > other->confidence;
    return one->needed != other->needed ? one->needed < other->needed : one->claims < other->claims;
}

static bool holds(struct judging *judging, unsigned pattern, const struct finding *about, struct verdict *verdict)
{
    verdict_begin(verdict, (enum pattern)pattern);
    return judging->rows[pattern]->judge(judging, about, verdict);
}

void judge_about(struct judging *judging, const struct finding_place *place, const struct finding *about)
{
    size_t before = judging->findings->items.count;
    struct verdict verdict, surest;
    bool any = false;
    for (unsigned i = 0; i < judging->row_count; i++) {
        const struct pattern_row *row = judging->rows[i];
        if (row->place != place || row->rule != PATTERN_SUREST || !holds(judging, i, about, &verdict))
            continue;
        if (!any || is_surer(&verdict, &surest))
            surest = verdict;
        any = true;
    }
    if (any && surest.confidence >= 1 - thresholds.doubt_hint)
        add_finding(judging, about, &surest);
    for (unsigned i = 0; i < judging->row_count; i++) {
        const struct pattern_row *row = judging->rows[i];
        if (row->place != place || row->rule == PATTERN_SUREST ||
            (row->rule == PATTERN_ALONE && judging->findings->items.count > before))
            continue;
        if (holds(judging, i, about, &verdict) && verdict.confidence >= 1 - thresholds.doubt_hint)
            add_finding(judging, about, &verdict);
    }
    if (any && judging->findings->items.count == before)
        add_undecided(judging, about, &surest);
}

/* By run time, in tenths of a percent as it is printed; then by how much is remote. */
static int by_weight(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    long lost_a = lround(1000 * a->lost_time_share), lost_b = lround(1000 * b->lost_time_share);
    return ORDER(lost_b, lost_a) ?: ORDER(b->share_of_remote, a->share_of_remote) ?: ORDER(a->pattern, b->pattern);
}

ORDER_BY(by_remote, struct undecided, ORDER(b->finding.remote_samples, a->finding.remote_samples))

static bool is_on(const struct finding *finding, int node)
{
    return finding->subject && finding->subject->main_home == node && pattern_lines(finding->pattern) == LINES_NONE;
}

/* A node whose traffic is mostly that of objects with findings of their own stands behind these: there the change is to be
 * made. */
static void put_nodes_behind(struct judging *judging)
{
    struct findings *findings = judging->findings;
    struct finding *items = findings->items.items;
    for (size_t i = findings->items.count; i-- > 0;) {
        if (!judging->rows[items[i].pattern]->behind_objects)
            continue;
        struct finding node = items[i];
        uint64_t covered = 0;
        size_t last = i;
        for (size_t k = 0; k < findings->items.count; k++) {
            if (!is_on(&items[k], node.node))
                continue;
            covered += items[k].remote_samples;
            last = k > last ? k : last;
        }
        if ((double)covered < thresholds.majority * (double)node.remote_samples)
            continue;
        memmove(&items[i], &items[i + 1], (last - i) * sizeof *items);
        items[last] = node;
    }
}

struct findings *findings_make_with(const struct facts *facts, const struct pattern_row *const *rows, unsigned count,
                                    const struct judged_on *machine)
{
    static const struct finding_place *const places[] = {&on_subject, &on_node, &on_thread, &on_process, &on_run};
    struct findings *findings = mem_zalloc(sizeof *findings);
    struct judging judging = {.findings = findings, .facts = facts, .rows = rows, .row_count = count};
    findings->facts = facts;
    findings->texts = strtab_new();
    findings->remote_bytes = -1;
    findings->penalty = machine->penalty;
    findings->most = machine->most;
    findings->machine = machine->name ? findings_text(findings, "%s", machine->name) : NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        places[i]->each(&judging);
        array_sort(&findings->items, by_weight); /* what is judged next may name the worst so far */
    }
    put_nodes_behind(&judging);
    array_sort(&findings->undecided, by_remote);
    findings_judge_whole(findings);
    findings_decide(findings);
    judging_end(&judging);
    return findings;
}

struct findings *findings_make(const struct facts *facts)
{
    return findings_make_on(facts, &(struct judged_on){.penalty = facts->remote_penalty, .most = 1});
}

struct findings *findings_make_on(const struct facts *facts, const struct judged_on *machine)
{
    return findings_make_with(facts, pattern_rows, PATTERNS, machine);
}

void findings_free(struct findings *findings)
{
    if (!findings)
        return;
    array_each (&findings->items, struct finding, finding) {
        array_free(&finding->advice);
        array_free(&finding->against);
    }
    array_free(&findings->items);
    array_free(&findings->undecided);
    array_each (&findings->locals, struct facts_subject, all)
        free(all->from);
    array_free(&findings->locals);
    strtab_free(findings->texts);
    traffic_free(findings->traffic);
    facts_free(findings->own_facts);
    free(findings);
}
