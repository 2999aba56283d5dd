/* view/problems/traffic_words.c - what report traffic says before its tables: the sum and how it is known, or why nothing is. */
#include "analysis/thresholds.h"
#include "base/json.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/problems/traffic_words.h"

#include <math.h>
#include <string.h>

#define MORE                                                                                                           \
    "Record longer, or sample more often: numalens record with a smaller --period, perf mem record with a larger -F "  \
    "or "                                                                                                              \
    "a smaller -c."

void traffic_put_rate(struct json *json, const char *key, double value)
{
    json_real(json, key, value < 0 ? NAN : value, 0);
}

const char *traffic_source_name(const struct traffic *traffic, struct traffic_words *words)
{
    static const char *const names[] = {NULL, "bursts", "data-sources"};
    if (!traffic_by_samples(traffic))
        return names[traffic->source];
    snprintf(words->source, sizeof words->source, "%s%s", names[traffic->source],
             traffic->counted.devices ? "+memory-counters" : "");
    return words->source;
}

static const char *silence_of_samples(const struct traffic *traffic, const struct view_options *options,
                                      struct traffic_words *words)
{
    const struct traffic_samples *all = &traffic->sampled;
    if (all->samples == 0)
        return options->damage ? "Traffic is not known: no sample is in what there is of the incomplete file."
                               : "Traffic is not known: no access was sampled. " MORE;
    if (all->loads == 0)
        return "Traffic is not known: no load was sampled, and the samples of stores do not show where lines come "
               "from. Record "
               "loads too.";
    if (!traffic->too_few)
        return NULL;
    snprintf(
        words->silence, sizeof words->silence,
        "Traffic is not known: the processor reported who answered %s of %s sampled loads, and %.0f are needed. %s",
        number_count(all->sourced), number_count(all->loads), thresholds.fewest_bursts, MORE);
    return words->silence;
}

const char *traffic_silence(const struct traffic *traffic, const struct view_options *options,
                            struct traffic_words *words)
{
    if (traffic_by_samples(traffic))
        return silence_of_samples(traffic, options, words);
    if (!traffic->recorded && traffic->requested && !traffic->possible)
        return "Traffic is not known: it takes the soft sampler (numalens record --source soft).";
    if (!traffic->recorded && traffic->requested)
        return options->damage ? "Traffic is not known: no long burst is in what there is of the incomplete file."
                               : "Traffic is not known: there was no long burst. Record a longer run.";
    if (!traffic->recorded)
        return "Traffic was not recorded (--no-traffic).";
    if (!traffic->too_few)
        return NULL;
    if (traffic->bursts == 0)
        return "Traffic is not known: each long burst ended after a few accesses, at a call that must run by itself, "
               "as "
               "those of allocators must.";
    snprintf(
        words->silence, sizeof words->silence,
        "Traffic is not known: there are %s long bursts, and %.0f are needed. Record a longer run, or with more of a "
        "budget.",
        number_count(traffic->bursts), thresholds.long_bursts);
    return words->silence;
}

static void bursts_opening(const struct traffic *traffic, const struct view_options *options, FILE *out)
{
    const struct traffic_bytes *all = &traffic->all;
    double low = all->lower_bound - 2 * all->error;
    paragraph(
        out, 2, options->width, "",
        "%.2f GB/s (%.2f to %.2f) between caches and memory, %.2f GB/s of it written back, where each thread has %s of "
        "cache.",
        traffic_total(all) / 1e9, (low > 0 ? low : 0) / 1e9, (traffic_total(all) + 2 * all->error) / 1e9,
        all->written / 1e9, number_bytes((uint64_t)traffic->cache));
    if (traffic->at_most)
        paragraph(out, 2, options->width, "",
                  "Long bursts show caches of up to %s: what a larger one holds is not known, and figures are at most "
                  "what is said.",
                  number_bytes((uint64_t)traffic->known_cache));
    paragraph(
        out, 2, options->width, "",
        "From %s long bursts, over %s; the program makes %.2f accesses a ns of CPU time. Threads, nodes and times by "
        "%s samples%s.",
        number_count(traffic->bursts), number_seconds(traffic->seconds), traffic->accesses_ns,
        number_count(all->samples), traffic->unmet > 0.01 ? ", some of them of objects that no long burst met" : "");
}

/* Why bytes are not known, though sources are. */
static void unknown_bytes(const struct traffic *traffic, const struct view_options *options, FILE *out)
{
    const struct traffic_samples *all = &traffic->sampled;
    if (all->by_spe)
        paragraph(
            out, 2, options->width, "",
            "How many bytes come from memory is not known: SPE does not report which loads wait for the same line, "
            "so that lines cannot be counted.");
    else if (all->unweighed == all->loads && all->by_ibs)
        paragraph(
            out, 2, options->width, "",
            "How many bytes come from memory is not known: IBS says how many loads a sample stands for when it counts "
            "operations and its registers are kept. numalens record does both, perf record with -d -e "
            "ibs_op/cnt_ctl=1/ --raw-samples.");
    else if (all->unweighed == all->loads)
        paragraph(out, 2, options->width, "",
                  "How many bytes come from memory is not known: the recording does not say how many accesses a sample "
                  "stands for. Record or import it again.");
    else
        paragraph(
            out, 2, options->width, "",
            "How many bytes come from memory is not known: memory answered %s of the %s sampled loads, and %.0f are "
            "needed. %s",
            number_count(traffic->all.lines), number_count(all->loads), thresholds.bursts, MORE);
}

static void threshold(const struct traffic *traffic, const struct view_options *options, FILE *out)
{
    uint64_t cycles = traffic->sampled.threshold_cycles, ns = traffic->sampled.threshold_ns;
    if (cycles || ns)
        paragraph(out, 2, options->width, "",
                  "Loads that took less than %s %s were not sampled, and are in none of these shares.",
                  number_count(cycles ? cycles : ns), cycles ? "cycles" : "ns");
}

static void samples_opening(const struct traffic *traffic, const struct view_options *options, FILE *out)
{
    const struct traffic_bytes *all = &traffic->all;
    const struct traffic_samples *sampled = &traffic->sampled;
    double of = all->accesses > 0 ? 100 / all->accesses : 0;
    if (all->is_rated)
        paragraph(
            out, 2, options->width, "",
            "At least %.2f GB/s from memory, by the data sources of the processor's samples: the loads that memory "
            "answered, of one line each. What was prefetched, read for stores or written back is not in it.",
            traffic_total(all) / 1e9);
    else
        unknown_bytes(traffic, options, out);
    paragraph(out, 2, options->width, "",
              "Of the loads, %.1f%% waited for memory, %.1f%% were answered by caches (whether prefetched "
              "or not is "
              "not in samples), %.1f%% found their line under way, and of %.1f%% it is not known.",
              all->exposed * of, all->cached * of, all->under_way * of,
              (all->accesses - all->known - all->under_way) * of);
    if ((double)sampled->memory >= thresholds.bursts && traffic->node_count > 1)
        paragraph(out, 2, options->width, "",
                  "Memory of another node answered %.0f%% of the loads that memory answered.",
                  100 * (double)sampled->remote / (double)sampled->memory);
    threshold(traffic, options, out);
    paragraph(out, 2, options->width, "",
              "From %s samples: %s loads, of which memory answered %s, and %s stores, over %s%s.",
              number_count(sampled->samples), number_count(sampled->loads), number_count(sampled->memory),
              number_count(sampled->stores), number_seconds(traffic->seconds),
              sampled->lost ? "; samples were lost (report -v), and what they stood for is not in it" : "");
}

void traffic_opening(const struct traffic *traffic, const struct view_options *options, FILE *out)
{
    if (traffic_by_samples(traffic))
        samples_opening(traffic, options, out);
    else
        bursts_opening(traffic, options, out);
}
