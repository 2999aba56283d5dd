/* analysis/memory_map/run_phases.c - the borders of phases: the segmentation of the run that explains most for what it costs.
 *
 * In a phase, bursts fall on (role, thing, read or write) with fixed chances. The shortest description of the run (Rissanen,
 * MDL) is looked for: each phase costs its chances, half of log2 N bits for each kind that occurs in it, and its border,
 * unless threads of a new role start there, which is known; and what happens in it costs its entropy. The optimum over all
 * segmentations is found by going over the ends of phases. */
#include "analysis/memory_map/run_phases.h"

#include "base/order.h"
#include "analysis/thresholds.h"

#include <math.h>
#include <string.h>

enum { MOST_KINDS = 96, MOST_PHASES = 16, SHORT_BINS = 2 };

struct segmenting {
    const struct phase_counts *counts;
    uint32_t kinds[MOST_KINDS]; /* the frequent ones; the rest is taken together */
    uint32_t kind_count;
    double *total; /* by bin: of all kinds, before it */
    bool *starts;  /* by bin: the first thread of a role starts in it */
};

struct kind_total {
    uint32_t kind;
    double total;
};

ORDER_BY(by_total, struct kind_total, ORDER(b->total, a->total))

static void find_frequent(struct segmenting *s)
{
    size_t width = s->counts->kinds.count;
    const double *end = s->counts->before + s->counts->bins * width;
    struct kind_total *totals = mem_alloc((width + 1) * sizeof *totals);
    s->total = mem_zalloc((s->counts->bins + 1) * sizeof *s->total);
    for (uint32_t k = 0; k < width; k++)
        totals[k] = (struct kind_total){k, end[k]};
    qsort(totals, width, sizeof *totals, by_total);
    for (; s->kind_count < width && s->kind_count < MOST_KINDS; s->kind_count++)
        s->kinds[s->kind_count] = totals[s->kind_count].kind;
    s->starts = mem_zalloc((s->counts->bins + 1) * sizeof *s->starts);
    array_each (&s->counts->roles, const struct phase_role, role)
        s->starts[role->first_bin] = true;
    for (uint32_t bin = 0; bin <= s->counts->bins; bin++) {
        for (size_t k = 0; k < width; k++)
            s->total[bin] += s->counts->before[bin * width + k];
    }
    free(totals);
}

static double xlogx(double x)
{
    return x > 0 ? x * log2(x) : 0;
}

/* What it costs to describe bins [from, to) as one phase, with the dearer a kind the larger `factor` is. */
static double cost_of(const struct segmenting *s, uint32_t from, uint32_t to, double factor)
{
    size_t width = s->counts->kinds.count;
    const double *low = s->counts->before + from * width, *high = s->counts->before + to * width;
    double all = s->total[to] - s->total[from], rest = all, bits = xlogx(all);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < s->kind_count; i++) {
        double count = high[s->kinds[i]] - low[s->kinds[i]];
        if (count <= 1e-9)
            continue;
        bits -= xlogx(count);
        rest -= count;
        seen++;
    }
    if (rest > 1e-9) {
        bits -= xlogx(rest);
        seen++;
    }
    double border = s->starts[from] ? 0 : log2(s->counts->bins);
    return bits + factor * (0.5 * seen * log2(s->total[s->counts->bins] + 2) + border);
}

/* A phase begins with something, and a lone look at the program is none, but beside the start of threads, which is known. */
static bool may_be_phase(const struct segmenting *s, uint32_t from, uint32_t to)
{
    uint32_t bins = s->counts->bins;
    if (from == 0 && to == bins)
        return true;
    if (from && s->total[from + 1] == s->total[from] && !s->starts[from])
        return false;
    return s->total[to] - s->total[from] > 1.5 || (from && s->starts[from]) || (to < bins && s->starts[to]);
}

/* The first bin of each phase, and the number of bins; how many phases there are. */
static uint32_t segment(const struct segmenting *s, double factor, uint32_t *borders)
{
    uint32_t bins = s->counts->bins, phases = 0;
    double *best = mem_alloc((bins + 1) * sizeof *best);
    uint32_t *from = mem_alloc((bins + 1) * sizeof *from);
    best[0] = 0;
    for (uint32_t to = 1; to <= bins; to++) {
        best[to] = INFINITY;
        for (uint32_t i = 0; i < to; i++) {
            if (!may_be_phase(s, i, to))
                continue;
            double cost = best[i] + cost_of(s, i, to, factor);
            if (cost < best[to]) {
                best[to] = cost;
                from[to] = i;
            }
        }
    }
    for (uint32_t at = bins; at > 0; at = from[at])
        phases++;
    for (uint32_t at = bins, i = phases; at > 0; at = from[at])
        borders[--i] = from[at];
    borders[phases] = bins;
    free(best);
    free(from);
    return phases;
}

/* Whether every frequent kind of bins [from, to) is frequent on one of the two sides too. */
static bool is_mixture(const struct segmenting *s, const uint32_t *borders, uint32_t phase)
{
    size_t width = s->counts->kinds.count;
    double all[3], *before = s->counts->before;
    for (unsigned i = 0; i < 3; i++)
        all[i] = s->total[borders[phase + i]] - s->total[borders[phase + i - 1]];
    for (uint32_t i = 0; i < s->kind_count; i++) {
        double part[3];
        for (unsigned side = 0; side < 3; side++) {
            uint32_t from = borders[phase + side - 1], to = borders[phase + side];
            double count = before[to * width + s->kinds[i]] - before[from * width + s->kinds[i]];
            part[side] = all[side] > 0 ? count / all[side] : 0;
        }
        if (part[1] > thresholds.part && part[0] < thresholds.part / 2 && part[2] < thresholds.part / 2)
            return false;
    }
    return true;
}

/* A border within a bin leaves a bin that is half of one phase and half of the next: no phase of its own. */
static uint32_t drop_mixtures(const struct segmenting *s, uint32_t *borders, uint32_t phases)
{
    for (uint32_t i = 1; i + 1 < phases; i++) {
        if (borders[i + 1] - borders[i] > SHORT_BINS || !is_mixture(s, borders, i))
            continue;
        double left = cost_of(s, borders[i - 1], borders[i + 1], 1) + cost_of(s, borders[i + 1], borders[i + 2], 1);
        double right = cost_of(s, borders[i - 1], borders[i], 1) + cost_of(s, borders[i], borders[i + 2], 1);
        uint32_t removed = left < right ? i : i + 1; /* the border that goes */
        memmove(&borders[removed], &borders[removed + 1], (phases - removed) * sizeof *borders);
        phases--;
        i--;
    }
    return phases;
}

/* What a phase's threads use may have been made ready before they lived, in less time than a sampler needs to see it. */
static uint32_t split_prepared(const struct segmenting *s, uint32_t *borders, uint32_t phases)
{
    for (uint32_t i = 0; i < phases && phases < MOST_PHASES; i++) {
        uint32_t border = phase_prepared_until(s->counts, borders[i], borders[i + 1]);
        if (border == borders[i])
            continue;
        memmove(&borders[i + 2], &borders[i + 1], (phases - i) * sizeof *borders);
        borders[i + 1] = border;
        phases++;
        i++;
    }
    return phases;
}

static void phase_free(struct phase *phase)
{
    free(phase->name);
    array_free(&phase->uses);
}

static void find(struct phases *phases, const struct phase_counts *counts)
{
    const struct memory_map *map = counts->map;
    struct segmenting s = {.counts = counts};
    uint32_t *borders = mem_alloc((counts->bins + MOST_PHASES + 1) * sizeof *borders), count;
    find_frequent(&s);
    double factor = 1;
    while ((count = segment(&s, factor, borders)) > MOST_PHASES)
        factor *= 2;
    count = split_prepared(&s, borders, drop_mixtures(&s, borders, count));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t first = (uint64_t)borders[i] * counts->slices_a_bin;
        uint64_t behind = (uint64_t)borders[i + 1] * counts->slices_a_bin;
        array_push(&phases->items,
                   (struct phase){.start = map->start + first * map->slice_ns,
                                  .end = behind < map->slices ? map->start + behind * map->slice_ns : map->end});
    }
    free(borders);
    free(s.total);
    free(s.starts);
}

/* What is said in the same words is one phase. */
static bool join_equal(struct phases *phases)
{
    size_t count = 0;
    bool joined = false;
    array_each (&phases->items, struct phase, phase) {
        struct phase *before = count ? &phases->items.items[count - 1] : NULL;
        if (before && strcmp(before->name, phase->name) == 0) {
            before->end = phase->end;
            phase_free(phase);
            joined = true;
        } else {
            phases->items.items[count++] = *phase;
        }
    }
    phases->items.count = count;
    return joined;
}

struct phases *phases_find(const struct memory_map *map)
{
    struct phases *phases = mem_zalloc(sizeof *phases);
    struct phase_counts *counts = phase_counts_make(map);
    find(phases, counts);
    phases_name(phases, counts);
    if (join_equal(phases))
        phases_name(phases, counts);
    phase_counts_free(counts);
    return phases;
}

void phases_free(struct phases *phases)
{
    if (!phases)
        return;
    array_each (&phases->items, struct phase, phase)
        phase_free(phase);
    array_free(&phases->items);
    free(phases);
}
