/* compare/difference_text.c - what changed, in sentences. */
#include "analysis/thresholds.h"
#include "base/text.h"
#include "compare/difference_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *profile_entry_text(const struct profile_entry *entry, char *text, unsigned size)
{
    if (*entry->file && entry->line)
        snprintf(text, size, "%s (%s:%u)", entry->name, text_file_name(entry->file), entry->line);
    else if (*entry->file)
        snprintf(text, size, "%s (%s)", entry->name, text_file_name(entry->file));
    else
        snprintf(text, size, "%s", entry->name);
    return text;
}

static void add(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* The object whose remote accesses changed most, in the direction of the whole; "" unless it makes half of the change. */
static void report_mostly(const struct difference *difference, double change, char *text, size_t size)
{
    const struct profile_entry *most = NULL;
    double largest = 0;
    array_each (&difference->tables[PROFILE_OBJECTS], const struct difference_row, row) {
        double own = (row->sides[1] ? ratio_value(&row->sides[1]->of_all) : 0) -
                     (row->sides[0] ? ratio_value(&row->sides[0]->of_all) : 0);
        if (own * change <= 0 || fabs(own) <= largest)
            continue;
        largest = fabs(own);
        most = row->sides[1] ? row->sides[1] : row->sides[0];
    }
    char name[160];
    if (most && largest >= fabs(change) / 2)
        snprintf(text, size, "; mostly %s", profile_entry_text(most, name, sizeof name));
    else if (most)
        snprintf(text, size, "; most of all %s", profile_entry_text(most, name, sizeof name));
}

static void report_remote(struct difference *difference)
{
    double before = ratio_value(&difference->sides[0]->far), after = ratio_value(&difference->sides[1]->far);
    char mostly[224] = "";
    if (difference->whole.real[DIFFERENCE_REMOTE]) {
        report_mostly(difference, after - before, mostly, sizeof mostly);
        add(difference->what, sizeof difference->what, "Remote accesses %s from %.1f%% to %.1f%%%s.",
            after < before ? "fell" : "rose", 100 * before, 100 * after, mostly);
    } else {
        add(difference->what, sizeof difference->what,
            "Remote accesses did not change significantly: %.1f%% and %.1f%%.", 100 * before, 100 * after);
    }
    difference->verdict = strlen(difference->what);
}

static unsigned real_rows(const struct difference *difference, enum profile_table table)
{
    unsigned count = 0;
    array_each (&difference->tables[table], const struct difference_row, row)
        count += row->real[0] || row->real[1] || row->real[2];
    return count;
}

static void report_rest(struct difference *difference)
{
    const struct profile *a = difference->sides[0], *b = difference->sides[1];
    char *what = difference->what;
    size_t size = sizeof difference->what;
    double before = ratio_value(&a->latency), after = ratio_value(&b->latency);
    unsigned rows = real_rows(difference, PROFILE_OBJECTS), functions = real_rows(difference, PROFILE_FUNCTIONS);
    unsigned threads = real_rows(difference, PROFILE_THREADS), homes = 0;
    for (uint32_t node = 0; node < difference->nodes; node++)
        homes += difference->home_real[node];
    if (difference->whole.real[DIFFERENCE_LATENCY])
        add(what, size, " Mean latency %s from %.0f to %.0f %s.", after < before ? "fell" : "rose", before, after,
            b->unit);
    else if (homes && !difference->whole.real[DIFFERENCE_REMOTE])
        add(what, size, " But they go to other nodes than before.");
    else if (rows + functions)
        add(what, size, " %u object%s and %u function%s changed significantly.", rows, rows == 1 ? "" : "s", functions,
            functions == 1 ? "" : "s");
    else if (threads)
        add(what, size, " %u thread%s changed significantly.", threads, threads == 1 ? "" : "s");
    else if (!difference->whole.real[DIFFERENCE_REMOTE])
        add(what, size, " Nor did anything else.");
}

/* What a fix has renamed is the same object all the same. */
static void report_renamed(struct difference *difference)
{
    enum { SHOWN = 2 };
    unsigned shown = 0;
    char names[2][96];
    array_each (&difference->tables[PROFILE_OBJECTS], const struct difference_row, row)
        if (row->renamed && shown++ < SHOWN)
            add(difference->what, sizeof difference->what, " %s is what was %s.",
                profile_entry_text(row->sides[1], names[1], sizeof names[1]),
                profile_entry_text(row->sides[0], names[0], sizeof names[0]));
}

static void report_findings(struct difference *difference)
{
    static const char *const words[] = {"went away", "remains", "is new",
                                        "is not found again, but the difference is not significant"};
    char *proof = difference->proof;
    size_t size = sizeof difference->proof, shown = 0;
    unsigned counts[FATE_UNSURE + 1] = {0};
    array_each (&difference->findings, const struct difference_finding, fate)
        counts[fate->fate]++;
    if (difference->findings.count == 0) {
        add(proof, size, "No problem was found in either run.");
        return;
    }
    /* What is still there matters more than what is not. */
    static const enum finding_fate order[] = {FATE_REMAINS, FATE_NEW, FATE_UNSURE, FATE_GONE};
    bool all_gone = counts[FATE_GONE] == difference->findings.count;
    if (all_gone)
        add(proof, size, "%s: ", counts[FATE_GONE] == 1 ? "The finding went away" : "All findings went away");
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++) {
        array_each (&difference->findings, const struct difference_finding, fate) {
            const struct profile_finding *finding = fate->before ? fate->before : fate->after;
            if (fate->fate != order[i] || shown >= 3)
                continue;
            add(proof, size, "%s%s on %.60s", shown++ ? ", " : "", pattern_name(finding->pattern), finding->name);
            if (!all_gone)
                add(proof, size, " %s", words[fate->fate]);
        }
    }
    if (difference->findings.count > shown)
        add(proof, size, ", and %zu more", difference->findings.count - shown);
    add(proof, size, ".");
    proof[0] = (char)(proof[0] >= 'a' && proof[0] <= 'z' ? proof[0] - 'a' + 'A' : proof[0]);
}

static unsigned lost_percent(const struct profile *profile)
{
    return profile->lost ? (unsigned)(100 * (double)profile->lost / ((double)profile->lost + profile->all.n)) : 0;
}

static void report_note(struct difference *difference)
{
    const struct profile *a = difference->sides[0], *b = difference->sides[1];
    difference->comparable = true;
    if (strcmp(a->unit, b->unit) != 0) {
        difference->comparable = false;
        snprintf(difference->note, sizeof difference->note, "Latencies are in %s and in %s: they cannot be compared.",
                 a->unit, b->unit);
    } else if (a->nodes != b->nodes || a->simulated != b->simulated) {
        difference->comparable = false;
        snprintf(difference->note, sizeof difference->note,
                 "The machines differ: %u %snode%s and %u %snode%s. What is remote on one may not be on the other.",
                 a->nodes, a->simulated ? "simulated " : "", a->nodes == 1 ? "" : "s", b->nodes,
                 b->simulated ? "simulated " : "", b->nodes == 1 ? "" : "s");
    } else if ((double)a->bursts < thresholds.fewest_bursts || (double)b->bursts < thresholds.fewest_bursts) {
        difference->comparable = false;
        snprintf(difference->note, sizeof difference->note,
                 "%llu and %llu bursts of samples are too few for a comparison: let the program run longer, or record "
                 "with a higher --frequency.",
                 (unsigned long long)a->bursts, (unsigned long long)b->bursts);
    } else if (lost_percent(a) || lost_percent(b)) {
        snprintf(
            difference->note, sizeof difference->note,
            "%u%% and %u%% of the samples were lost (ring full): shares that this alone could change so far are not "
            "called different. Record with a lower --frequency or a smaller --burst.",
            lost_percent(a), lost_percent(b));
    }
}

void difference_sentences(struct difference *difference)
{
    report_note(difference);
    report_remote(difference);
    report_rest(difference);
    report_renamed(difference);
    report_findings(difference);
}
