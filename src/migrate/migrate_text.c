#include "migrate/migrate_text.h"

#include "base/interval.h"
#include "base/number.h"

#include <inttypes.h>
#include <math.h>

static uint64_t sum_of(const uint64_t *counts, unsigned count)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += counts[i];
    return sum;
}

/* " (8 not in memory, 2 busy)", or nothing. */
static void print_failures(FILE *out, const uint64_t *failed)
{
    const char *before = " (";
    for (unsigned i = 0; i < MOVE_FAILURES; i++) {
        if (!failed[i])
            continue;
        fprintf(out, "%s%" PRIu64 " %s", before, failed[i], move_failure_text(i));
        before = ", ";
    }
    if (*before == ',')
        fputc(')', out);
}

static void print_skips(FILE *out, const char *lead, const uint64_t *skipped)
{
    const char *before = lead;
    for (unsigned i = 0; i < PLAN_SKIPS; i++) {
        if (!skipped[i] || i == SKIP_THERE)
            continue;
        fprintf(out, "%s%" PRIu64 " %s", before, skipped[i], plan_skip_text(i));
        before = ", ";
    }
}

void print_interval(FILE *out, const struct loop_interval *interval, bool dry_run)
{
    fprintf(out, "#%" PRIu64 " %.2f s: ", interval->number, (double)(interval->ended - interval->began) / 1e9);
    if (interval->paused) {
        fputs("resting\n", out);
        return;
    }
    fprintf(out, "%" PRIu64 " samples in %" PRIu64 " bursts of %u threads on %" PRIu64 " pages", interval->samples,
            interval->bursts, interval->threads, interval->pages);
    if (interval->known)
        fprintf(out, ", %.1f%% remote", 100 * share_of(interval->remote, interval->known));
    if (interval->homeless)
        fprintf(out, ", %" PRIu64 " pages of unknown home node", interval->homeless);
    uint64_t failed = sum_of(interval->moved.failed, MOVE_FAILURES);
    fprintf(out, "; %s %" PRIu64, dry_run ? "would move" : "moved", interval->moved.pages);
    if (failed)
        fprintf(out, ", failed %" PRIu64, failed);
    print_failures(out, interval->moved.failed);
    print_skips(out, "; left: ", interval->skipped);
    fprintf(out, "; located in %.1f ms, evaluated in %.1f ms, moved in %.1f ms\n", (double)interval->locate_ns / 1e6,
            (double)interval->evaluate_ns / 1e6, (double)interval->migrate_ns / 1e6);
}

static struct wilson interval_of(const struct loop_share *part)
{
    /* Bursts without an access of known home do not count; and no more trials than accesses. */
    double trials = part->bursts && part->bursts < part->known ? (double)part->bursts : (double)part->known;
    return wilson_interval(share_of(part->remote, part->known), trials);
}

/* "96.4% (88 to 99%: 276 samples in 71 bursts)" */
static void print_share(FILE *out, const struct loop_share *part)
{
    struct wilson range = interval_of(part);
    fprintf(out, "%.1f%% (%.0f to %.0f%%: %" PRIu64 " samples in %" PRIu64 " bursts)",
            100 * share_of(part->remote, part->known), 100 * range.low, 100 * range.high, part->known, part->bursts);
}

static void print_change(FILE *out, const struct loop_share *first, const struct loop_share *last)
{
    struct wilson before = interval_of(first), after = interval_of(last);
    fputs("; remote accesses: ", out);
    print_share(out, first);
    fputs(" in the first interval, ", out);
    print_share(out, last);
    fputs(" in the last", out);
    if (before.low <= after.high && after.low <= before.high)
        fputs(", no difference beyond chance", out);
}

static void print_moves(FILE *out, const char *prefix, const struct loop_summary *summary, bool dry_run)
{
    const struct loop_interval *total = &summary->total;
    fprintf(out, "%s: ", prefix);
    if (summary->intervals == 0) {
        fputs("nothing was moved: the program ended before the first interval did (--interval)\n", out);
        return;
    }
    fprintf(out, "%s %" PRIu64 " pages (", dry_run ? "would have moved" : "moved", total->moved.pages);
    fputs(number_bytes(total->moved.bytes), out);
    fprintf(out, ") in %" PRIu64 " intervals by policy %s", summary->intervals, summary->policy);
    if (summary->first.known)
        print_change(out, &summary->first, &summary->last);
    else if (total->samples == 0)
        fputs("; no access was sampled", out);
    fputc('\n', out);
}

/* Equation 1 of the paper, in parts of the program's time; equation 2 apart. */
static void print_cost(FILE *out, const char *prefix, const struct loop_summary *summary, uint64_t cpu_ns)
{
    const struct loop_interval *total = &summary->total;
    uint64_t cpu = cpu_ns ? cpu_ns : total->cpu_ns;
    if (cpu == 0)
        return;
    fprintf(out,
            "%s: overhead %.2f%% of the program's CPU time: sampling %.2f%%, moving pages %.2f%%; numalens itself used "
            "%.2f s beside it\n",
            prefix, 100 * share_of(total->sampling_ns + total->migrate_ns, cpu),
            100 * share_of(total->sampling_ns, cpu), 100 * share_of(total->migrate_ns, cpu),
            (double)summary->monitor_ns / 1e9);
}

static void print_rests(FILE *out, const char *prefix, const struct loop_summary *summary)
{
    if (summary->paused == 0)
        return;
    fprintf(out, "%s: paused for %" PRIu64 " of %" PRIu64 " intervals", prefix, summary->paused, summary->intervals);
    const char *before = ": ";
    for (unsigned i = 0; i < GOVERNOR_VERDICTS; i++) {
        if (!summary->pauses[i])
            continue;
        fprintf(out, "%s%s", before, governor_text(i));
        before = "; ";
    }
    fputc('\n', out);
}

static void print_troubles(FILE *out, const char *prefix, const struct loop_summary *summary)
{
    const struct loop_interval *total = &summary->total;
    uint64_t failed = sum_of(total->moved.failed, MOVE_FAILURES), invalid = sum_of(total->invalid, PLAN_INVALIDS);
    if (failed) {
        fprintf(out, "%s: %" PRIu64 " moves failed", prefix, failed);
        print_failures(out, total->moved.failed);
        fputc('\n', out);
    }
    if (sum_of(total->skipped, PLAN_SKIPS) > total->skipped[SKIP_THERE]) {
        fprintf(out, "%s: requests skipped", prefix);
        print_skips(out, ": ", total->skipped);
        fputc('\n', out);
    }
    if (invalid) {
        fprintf(out, "%s: the policy made invalid requests, which were ignored", prefix);
        for (unsigned i = 0; i < PLAN_INVALIDS; i++)
            if (total->invalid[i])
                fprintf(out, "; %" PRIu64 " times for %s", total->invalid[i], plan_invalid_text(i));
        fputc('\n', out);
    }
    if (total->lost)
        fprintf(out, "%s: %" PRIu64 " samples found no room in the page map: --memory\n", prefix, total->lost);
    if (total->moved.failure.code)
        fprintf(out, "%s: %s\n", prefix, total->moved.failure.text);
    if (total->failure.code)
        fprintf(out, "%s: %s\n", prefix, total->failure.text);
    if (summary->policy_stopped)
        fprintf(out, "%s: the policy asked to stop; nothing was moved from then on\n", prefix);
    if (summary->hangs)
        fprintf(out, "%s: gave up on %s, which did not return; the program was not kept waiting\n", prefix,
                summary->hangs);
}

void print_summary(FILE *out, const char *prefix, const struct loop_summary *summary, bool dry_run, uint64_t cpu_ns)
{
    print_moves(out, prefix, summary, dry_run);
    print_cost(out, prefix, summary, cpu_ns);
    print_rests(out, prefix, summary);
    print_troubles(out, prefix, summary);
    if (summary->contended)
        fprintf(out, "%s: %" PRIu64 " pages were wanted by several nodes in turn and held back\n", prefix,
                summary->contended);
    for (size_t i = 0; i < summary->word_count; i++)
        fprintf(out, "%s: policy: %" PRIu64 " %s\n", prefix, summary->words[i].count, summary->words[i].text);
}

/* --- JSON --- */

static void json_figures(struct json *json, const struct loop_interval *figures)
{
    json_number(json, "samples", figures->samples);
    json_number(json, "bursts", figures->bursts);
    json_number(json, "samples_lost", figures->lost);
    json_number(json, "threads", figures->threads);
    json_number(json, "pages", figures->pages);
    json_number(json, "huge_pages", figures->huge);
    json_number(json, "homeless_pages", figures->homeless);
    json_number(json, "home_known", figures->known);
    json_number(json, "remote", figures->remote);
    json_real(json, "remote_ratio", figures->known ? share_of(figures->remote, figures->known) : NAN, 4);
    json_number(json, "requests", figures->requests);
    json_number(json, "moved", figures->moved.pages);
    json_number(json, "moved_bytes", figures->moved.bytes);
    json_object(json, "failed");
    for (unsigned i = 0; i < MOVE_FAILURES; i++)
        if (figures->moved.failed[i])
            json_number(json, move_failure_name(i), figures->moved.failed[i]);
    json_end(json);
    json_object(json, "skipped");
    for (unsigned i = 0; i < PLAN_SKIPS; i++)
        if (figures->skipped[i])
            json_number(json, plan_skip_name(i), figures->skipped[i]);
    json_end(json);
    json_number(json, "invalid_requests", sum_of(figures->invalid, PLAN_INVALIDS));
    json_number(json, "sampling_ns", figures->sampling_ns);
    json_number(json, "cpu_ns", figures->cpu_ns);
    json_number(json, "locate_ns", figures->locate_ns);
    json_number(json, "evaluate_ns", figures->evaluate_ns);
    json_number(json, "migrate_ns", figures->migrate_ns);
}

void print_interval_json(struct json *json, const struct loop_interval *interval, uint64_t origin_ns)
{
    json_object(json, NULL);
    json_number(json, "number", interval->number);
    json_real(json, "start_s", (double)(interval->began - origin_ns) / 1e9, 6);
    json_real(json, "end_s", (double)(interval->ended - origin_ns) / 1e9, 6);
    json_bool(json, "paused", interval->paused);
    json_figures(json, interval);
    json_end(json);
}

/* remote_ratio_WHICH, with its interval of 95% and what it was found in. */
static void json_share(struct json *json, const char *which, const struct loop_share *part)
{
    const char *const names[] = {"remote_ratio_%s", "remote_low_%s", "remote_high_%s", "samples_%s", "bursts_%s"};
    struct wilson range = interval_of(part);
    double values[] = {share_of(part->remote, part->known), range.low, range.high};
    char name[32];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof name, names[i], which);
        json_real(json, name, part->known ? values[i] : NAN, 4);
    }
    snprintf(name, sizeof name, names[3], which);
    json_number(json, name, part->known);
    snprintf(name, sizeof name, names[4], which);
    json_number(json, name, part->bursts);
}

void print_summary_json(struct json *json, const struct loop_summary *summary, uint64_t cpu_ns)
{
    const struct loop_interval *total = &summary->total;
    json_text(json, "policy", summary->policy);
    json_real(json, "duration_s", (double)(total->ended - total->began) / 1e9, 6);
    json_number(json, "intervals_count", summary->intervals);
    json_number(json, "intervals_paused", summary->paused);
    json_number(json, "intervals_late", summary->late);
    json_share(json, "first", &summary->first);
    json_share(json, "last", &summary->last);
    json_object(json, "total");
    json_figures(json, total);
    json_end(json);
    uint64_t cpu = cpu_ns ? cpu_ns : total->cpu_ns;
    json_real(json, "overhead", share_of(total->sampling_ns + total->migrate_ns, cpu), 6);
    json_number(json, "monitor_ns", summary->monitor_ns);
    json_number(json, "contended_pages", summary->contended);
    static const char *const verdicts[GOVERNOR_VERDICTS] = {"none", "nothing_to_gain", "in_vain", "cost"};
    json_object(json, "pauses");
    for (unsigned i = 1; i < GOVERNOR_VERDICTS; i++)
        if (summary->pauses[i])
            json_number(json, verdicts[i], summary->pauses[i]);
    json_end(json);
    json_object(json, "policy_says");
    for (size_t i = 0; i < summary->word_count; i++)
        json_number(json, summary->words[i].text, summary->words[i].count);
    json_end(json);
    json_bool(json, "policy_stopped", summary->policy_stopped);
    json_text(json, "hangs", summary->hangs);
    json_text(json, "error",
              total->moved.failure.code ? total->moved.failure.text
              : total->failure.code     ? total->failure.text
                                        : NULL);
}
