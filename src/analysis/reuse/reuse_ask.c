/* What a cache of some size leaves to memory, asked of what reuse.c made; see reuse.h. */
#include "analysis/reuse/reuse_made.h"

#include "base/order.h"
#include "base/units.h"
#include "topology/calibration.h"

#include <math.h>
#include <string.h>

/* Accesses of one subject in three populations: those that read lines for themselves or for a store, those past the caches, and
 * stores by the longest time between uses since the store before. */
enum population { CACHED, PAST, DIRTY, POPULATIONS };

struct subject {
    struct reuse_counts counts[POPULATIONS][REUSE_GROUPS + 1]; /* without group k, then of all */
    double accesses;
    uint32_t bursts;
};

static void gather(const struct reuse *reuse, size_t from, size_t to, enum reuse_phase phase, struct subject *subject)
{
    uint32_t last = UINT32_MAX;
    memset(subject, 0, sizeof *subject);
    for (size_t i = from; i < to; i++) {
        const struct reuse_row *row = &reuse->rows.items[i];
        const struct reuse_burst *burst = &reuse->bursts.items[row->burst];
        bool past = row->flags & REUSE_NONTEMPORAL, dirty = row->flags & REUSE_DIRTY;
        if (burst->phase != phase || (past && dirty))
            continue;
        for (unsigned k = 0; k <= REUSE_GROUPS; k++)
            reuse_add_row(&subject->counts[dirty ? DIRTY : past ? PAST : CACHED][k], row, burst->weight[k]);
        if (!dirty)
            subject->accesses += row->value * burst->weight[REUSE_GROUPS];
        if (row->burst != last) {
            last = row->burst;
            subject->bursts++;
        }
    }
}

/* Lines that pass a cache that forgets after `time`. */
static double misses(const struct reuse_counts *counts, const struct reuse_watched *watched,
                     const struct reuse_curve *all, double time)
{
    struct reuse_curve curve;
    double accesses = reuse_total(counts);
    if (accesses <= 0)
        return 0;
    reuse_curve_make(&curve, counts, watched, all);
    return accesses * reuse_curve_at(&curve, time);
}

struct spread {
    double value, without[REUSE_GROUPS];
};

/* Of few groups as much more as Student's interval is wider than two standard errors, at 95%. */
static double error_of(const struct reuse *reuse, const struct spread *spread)
{
    double mean = 0, sum = 0, groups = reuse->groups;
    if (reuse->groups < 2)
        return INFINITY;
    for (unsigned k = 0; k < reuse->groups; k++)
        mean += spread->without[k] / groups;
    for (unsigned k = 0; k < reuse->groups; k++)
        sum += (spread->without[k] - mean) * (spread->without[k] - mean);
    return sqrt(sum * (groups - 1) / groups) * reuse->student / 2;
}

ORDER_BY(by_bytes, struct reuse_object, ORDER(b->bytes.read + b->bytes.written, a->bytes.read + a->bytes.written))

/* The first watch of a subject, at `from` or behind it; `*to`: the first that is not. */
static size_t watches_of(const struct reuse *reuse, uint64_t subject, size_t from, size_t *to)
{
    const struct watch *watches = reuse->watches.items;
    while (from < reuse->watches.count && watches[from].subject < subject)
        from++;
    for (*to = from; *to < reuse->watches.count && watches[*to].subject == subject; ++*to)
        ;
    return from;
}

/* A cache that forgets after these times. */
struct asked {
    double times[REUSE_PHASES][REUSE_GROUPS + 1];
    double scale; /* bytes a second of a line */
};

/* What a larger cache leaves to memory is at most what the largest known one does. The curve's end is no bound: where the last line that
 * is seen is one that is used again, it falls to 0. */
static void find_times(const struct reuse *reuse, double lines, struct asked *asked)
{
    asked->scale = CACHE_LINE / reuse->seconds;
    for (unsigned phase = 0; phase < REUSE_PHASES; phase++)
        for (unsigned k = 0; k <= REUSE_GROUPS; k++)
            asked->times[phase][k] = reuse_curve_time(&reuse->all[phase][k], fmin(lines, reuse->known_lines[phase]));
}

static void spread_add(struct spread *spread, unsigned k, double more)
{
    *(k == REUSE_GROUPS ? &spread->value : &spread->without[k]) += more;
}

/* What a subject with these rows and watches brings and writes back in a phase. */
struct share {
    const struct asked *asked;
    enum reuse_phase phase;
    size_t watched_from, watched_to;
    struct spread read, written;
};

static void ask_in_phase(const struct reuse *reuse, const struct subject *subject, struct share *share,
                         struct reuse_watched *watched)
{
    bool any = share->watched_from < share->watched_to;
    for (unsigned k = 0; k <= REUSE_GROUPS; k++) {
        const struct reuse_curve *all = &reuse->all[share->phase][k];
        double time = share->asked->times[share->phase][k], scale = share->asked->scale;
        if (any)
            reuse_add_watches(reuse, share->watched_from, share->watched_to, share->phase, k, watched);
        double past = misses(&subject->counts[PAST][k], NULL, all, time);
        spread_add(&share->read, k, scale * misses(&subject->counts[CACHED][k], any ? watched : NULL, all, time));
        spread_add(&share->written, k, scale * (misses(&subject->counts[DIRTY][k], NULL, all, time) + past));
    }
}

static void spread_sum(struct spread *sum, const struct spread *more)
{
    sum->value += more->value;
    for (unsigned k = 0; k < REUSE_GROUPS; k++)
        sum->without[k] += more->without[k];
}

void reuse_ask(const struct reuse *reuse, double bytes, struct reuse_answer *answer)
{
    struct asked asked;
    struct spread all_read = {0}, all_written = {0};
    memset(answer, 0, sizeof *answer);
    answer->bytes = bytes;
    answer->known = bytes <= reuse_known_bytes(reuse);
    find_times(reuse, bytes / CACHE_LINE, &asked);
    struct subject *subject = mem_alloc(sizeof *subject);
    struct reuse_watched *watched = mem_alloc(sizeof *watched);
    size_t watched_from = 0, watched_to = 0;
    for (size_t from = 0, to; from < reuse->rows.count; from = to) {
        struct share share = {.asked = &asked};
        const struct reuse_row *first = &reuse->rows.items[from];
        uint32_t object = FLOW_NONE; /* one that was sampled: else nothing more is known of the site */
        for (to = from; to < reuse->rows.count && reuse->rows.items[to].subject == first->subject; to++)
            if (object == FLOW_NONE)
                object = reuse->rows.items[to].object;
        watched_from = watches_of(reuse, first->subject, watched_to, &watched_to);
        share.watched_from = watched_from;
        share.watched_to = watched_to;
        double accesses = 0;
        uint32_t bursts = 0;
        for (unsigned phase = 0; phase < REUSE_PHASES; phase++) {
            share.phase = (enum reuse_phase)phase;
            gather(reuse, from, to, share.phase, subject);
            ask_in_phase(reuse, subject, &share, watched);
            accesses += subject->accesses;
            bursts += subject->bursts;
        }
        spread_sum(&all_read, &share.read);
        spread_sum(&all_written, &share.written);
        array_push(&answer->objects,
                   (struct reuse_object){.object = object,
                                         .site = first->subject >> 32 ? FLOW_NONE : (uint32_t)first->subject,
                                         .bursts = bursts,
                                         .accesses = accesses / reuse->seconds,
                                         .bytes = {share.read.value, share.written.value, error_of(reuse, &share.read),
                                                   error_of(reuse, &share.written)}});
    }
    answer->all = (struct reuse_bytes){all_read.value, all_written.value, error_of(reuse, &all_read),
                                       error_of(reuse, &all_written)};
    array_sort(&answer->objects, by_bytes);
    free(watched);
    free(subject);
}

void reuse_answer_free(struct reuse_answer *answer)
{
    array_free(&answer->objects);
}

struct reuse_check reuse_check(const struct reuse *reuse, const struct calibration *calibration)
{
    enum { PRIVATE = 2, FACTOR = 2 /* caches are not quite filled in the order of use */ };
    const struct flow_reuse *rows;
    size_t count = flow_reuses(reuse->flow, &rows);
    struct reuse_check check = {0};
    for (uint32_t i = 0; calibration && i < calibration->cache_count && calibration_shows(calibration); i++)
        if (calibration->caches[i].level == PRIVATE)
            check.cache = calibration->caches[i].size;
    for (size_t i = 0; i < count && check.cache; i++) {
        const struct event_reuse *event = &rows[i].event;
        const struct reuse_burst *burst = reuse_burst_of(reuse, rows[i].thread, event->burst);
        if (!(event->flags & REUSE_TIMED) || event->bin >= REUSE_BINS || event->count > UINT32_MAX || !burst)
            continue;
        double used = reuse_footprint(&reuse->all[burst->phase][REUSE_GROUPS], reuse_bin_time(event->bin)) * CACHE_LINE;
        bool near = calibration_level(calibration, (uint32_t)event->count) <= PRIVATE;
        if (used * FACTOR < (double)check.cache) {
            check.inside++;
            check.near += near;
        } else if (used > (double)check.cache * FACTOR) {
            check.beyond++;
            check.far += !near;
        }
    }
    return check;
}
