/* See reuse.h. */
#include "analysis/reuse/reuse_made.h"

#include "analysis/reuse/reuse_weights.h"
#include "analysis/thresholds.h"
#include "base/interval.h"
#include "base/order.h"
#include "base/units.h"
#include "trace/session.h"

#include <math.h>
#include <string.h>

/* The bursts that must be as long as it takes to fill a cache: fewer show nothing of it. */
enum { LONGEST = 2 };

ORDER_BY(by_thread_and_number, struct reuse_burst, ORDER(a->thread, b->thread) ?: ORDER(a->number, b->number))

ORDER_BY(by_process_time, struct flow_long_burst, ORDER(a->time, b->time))

ORDER_BY(by_subject, struct reuse_row, ORDER(a->subject, b->subject) ?: ORDER(a->burst, b->burst))

/* Of one burst, the one that says most comes first. */
ORDER_BY(by_watched_burst, struct watch,
         ORDER(a->burst, b->burst) ?: ORDER(a->flags & REUSE_AT_LEAST, b->flags & REUSE_AT_LEAST) ?: ORDER(b->ns, a->ns))

ORDER_BY(by_watched_subject, struct watch, ORDER(a->subject, b->subject))

struct tails {
    const struct flow *flow;
    const uint64_t *last;   /* long burst of a process, its time */
    uint64_t *before, *all; /* ticks of a process: up to that, and in all */
};

static void count_tick(void *context, const struct flow_access *access)
{
    struct tails *tails = context;
    if (!(access->flags & SAMPLE_FIRST) || access->thread >= flow_thread_count(tails->flow))
        return;
    uint32_t process = flow_thread(tails->flow, access->thread)->process;
    tails->all[process]++;
    tails->before[process] += access->time <= tails->last[process];
}

/* A process goes on after its last long burst. Ticks come by CPU time: by these its bursts stand for that, too. */
static void stretch(struct reuse *reuse, const uint64_t *last)
{
    size_t count = flow_process_count(reuse->flow) + 1;
    struct tails tails = {reuse->flow, last, mem_zalloc(count * sizeof(uint64_t)),
                          mem_zalloc(count * sizeof(uint64_t))};
    struct error ignored = {0}; /* the flow has read them all before */
    flow_each_access(reuse->flow, count_tick, &tails, &ignored);
    array_each (&reuse->bursts, struct reuse_burst, burst) {
        uint32_t process = flow_thread(reuse->flow, burst->thread)->process;
        if (tails.before[process])
            burst->process_ns =
                (uint64_t)((double)burst->process_ns * (double)tails.all[process] / (double)tails.before[process]);
    }
    free(tails.before);
    free(tails.all);
}

/* Bursts of one kind, in order of time. */
struct seen {
    const struct event_long_burst *event;
    uint64_t time;
    uint32_t process, thread, group;
    double stands_for; /* ns of CPU time */
};

struct kind {
    array_of(struct seen) items;
    uint64_t *last_ns; /* of each process: its CPU time at the last one ... */
    size_t *last;      /* ... and its number, from 1 */
};

/* A burst stands for the CPU time of its process half-way to those before and behind it. */
static void see(struct kind *kind, const struct flow_long_burst *row, uint32_t process, size_t number)
{
    uint64_t now = row->event.process_ns, *last_ns = &kind->last_ns[process];
    double since = now > *last_ns ? (double)(now - *last_ns) : 0;
    size_t *last = &kind->last[process];
    if (*last) {
        since /= 2;
        kind->items.items[*last - 1].stands_for += since;
    }
    array_push(&kind->items,
               (struct seen){&row->event, row->time, process, row->thread, (uint32_t)(number % REUSE_GROUPS), since});
    *last = kind->items.count;
    *last_ns = now;
}

/* A part of the run, in CPU time of a process. */
struct part {
    uint32_t process;
    uint64_t from, to;
};

/* Accesses per ns of CPU time in a part of the run, without group `without`; 0 where too few have counted. */
static double speed_of(const struct kind *kind, const struct part *part, unsigned without)
{
    double accesses = 0, ns = 0;
    unsigned bursts = 0;
    array_each (&kind->items, const struct seen, seen) {
        const struct event_long_burst *event = seen->event;
        if (event->counted_ns == 0 || seen->process != part->process || event->process_ns < part->from ||
            event->process_ns > part->to)
            continue;
        bursts++;
        if (seen->group == without)
            continue;
        accesses += (double)event->counted / (double)event->counted_ns * seen->stands_for;
        ns += seen->stands_for;
    }
    return bursts >= thresholds.long_bursts && ns > 0 ? accesses / ns : 0;
}

/* From as many bursts before this one to as many behind it as make it known. */
static struct part part_of(const struct kind *kind, size_t at)
{
    const struct seen *items = kind->items.items;
    struct part part = {items[at].process, items[at].event->process_ns, items[at].event->process_ns};
    unsigned before = 0, behind = 0;
    for (size_t i = at; i-- > 0 && before < thresholds.long_bursts;)
        if (items[i].process == part.process) {
            part.from = items[i].event->process_ns;
            before++;
        }
    for (size_t i = at + 1; i < kind->items.count && behind < thresholds.long_bursts; i++)
        if (items[i].process == part.process) {
            part.to = items[i].event->process_ns;
            behind++;
        }
    return part;
}

/* What is counted right behind is too slow, since others have had the shared cache while the burst looked; and of loops that take turns it
 * is the quicker one too often, since looking goes on for so many accesses. What bursts count before they look is neither. So what was
 * counted behind is multiplied by what makes the two equal in that part of the run. */
static double correction(const struct kind *before, const struct kind *behind, const struct part *part,
                         unsigned without)
{
    double counted = speed_of(behind, part, without), right = speed_of(before, part, without);
    return counted > 0 && right > 0 ? right / counted : 1;
}

/* Of all that were counted behind, as corrected; where none was, of those before. */
static double mean_rate(const struct reuse *reuse, const struct kind *before)
{
    double accesses = 0, ns = 0;
    array_each (&reuse->bursts, const struct reuse_burst, burst) {
        double stands_for = burst->rate[REUSE_GROUPS] > 0 ? (double)burst->process_ns : 0;
        accesses += burst->rate[REUSE_GROUPS] * stands_for;
        ns += stands_for;
    }
    bool any = ns > 0;
    array_each (&before->items, const struct seen, seen) {
        double stands_for = any || seen->event->counted_ns == 0 ? 0 : seen->stands_for;
        accesses += stands_for > 0 ? (double)seen->event->counted / (double)seen->event->counted_ns * stands_for : 0;
        ns += stands_for;
    }
    return ns > 0 ? accesses / ns : 0;
}

static void take_bursts(struct reuse *reuse)
{
    const struct flow_long_burst *rows;
    size_t count = flow_long_bursts(reuse->flow, &rows), processes = flow_process_count(reuse->flow) + 1;
    struct flow_long_burst *sorted = mem_alloc((count + 1) * sizeof *sorted);
    struct kind kinds[2] = {0}, *before = &kinds[0], *behind = &kinds[1];
    struct reuse_phases *phases = reuse_phases_new(reuse->flow);
    uint64_t *last_time = mem_zalloc(processes * sizeof *last_time);
    for (unsigned k = 0; k < 2; k++) {
        kinds[k].last_ns = mem_zalloc(processes * sizeof *kinds[k].last_ns);
        kinds[k].last = mem_zalloc(processes * sizeof *kinds[k].last);
    }
    if (count)
        memcpy(sorted, rows, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_process_time);
    for (size_t i = 0; i < count; i++) {
        uint32_t process = flow_thread(reuse->flow, sorted[i].thread)->process;
        size_t number = behind->items.count; /* what is counted before goes with the next one that looks */
        see(sorted[i].event.accesses ? behind : before, &sorted[i], process, number);
        if (sorted[i].event.accesses)
            last_time[process] = sorted[i].time;
    }
    for (size_t i = 0; i < behind->items.count; i++) {
        const struct seen *seen = &behind->items.items[i];
        const struct event_long_burst *event = seen->event;
        struct part part = part_of(behind, i);
        double rate = event->counted_ns ? (double)event->counted / (double)event->counted_ns : 0;
        struct reuse_burst burst = {.thread = seen->thread,
                                    .number = event->burst,
                                    .group = seen->group,
                                    .phase = reuse_phase_at(phases, seen->process, seen->time),
                                    .process_ns = (uint64_t)seen->stands_for,
                                    .accesses = event->accesses};
        for (unsigned k = 0; k <= REUSE_GROUPS; k++)
            burst.rate[k] = rate > 0 ? rate * correction(before, behind, &part, k) : 0;
        array_push(&reuse->bursts, burst);
    }
    reuse->rate = mean_rate(reuse, before);
    reuse->looked = (uint32_t)reuse->bursts.count;
    reuse->groups = reuse->looked < REUSE_GROUPS ? reuse->looked : REUSE_GROUPS;
    reuse->student = reuse->groups > 1 ? student_quantile(reuse->groups - 1, 0.05) : INFINITY;
    stretch(reuse, last_time);
    array_sort(&reuse->bursts, by_thread_and_number);
    for (unsigned k = 0; k < 2; k++) {
        array_free(&kinds[k].items);
        free(kinds[k].last_ns);
        free(kinds[k].last);
    }
    reuse_phases_free(phases);
    free(last_time);
    free(sorted);
}

struct reuse_burst *reuse_burst_of(const struct reuse *reuse, uint32_t thread, uint32_t number)
{
    struct reuse_burst key = {.thread = thread, .number = number};
    return reuse->bursts.count
               ? bsearch(&key, reuse->bursts.items, reuse->bursts.count, sizeof key, by_thread_and_number)
               : NULL;
}

static void keep_one_watch_a_burst(struct reuse *reuse)
{
    size_t kept = 0;
    array_sort(&reuse->watches, by_watched_burst);
    for (size_t i = 0; i < reuse->watches.count; i++) {
        const struct watch *watch = &reuse->watches.items[i];
        if (kept && reuse->watches.items[kept - 1].burst == watch->burst)
            continue;
        watched_words_add(&reuse->words, watch);
        reuse->watches.items[kept++] = *watch;
    }
    reuse->watches.count = kept;
    array_sort(&reuse->watches, by_watched_subject);
}

static void take_rows(struct reuse *reuse)
{
    const struct flow_reuse *rows;
    size_t count = flow_reuses(reuse->flow, &rows);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].event.flags & REUSE_TIMED)
            continue; /* see reuse_check */
        struct reuse_burst *burst = reuse_burst_of(reuse, rows[i].thread, rows[i].event.burst);
        if (!burst)
            continue; /* its end was lost */
        uint32_t site = rows[i].site;
        struct reuse_row row = {.subject = reuse_subject(rows[i].object, site),
                                .burst = (uint32_t)(burst - reuse->bursts.items),
                                .object = rows[i].object,
                                .bin = rows[i].event.bin < REUSE_BINS ? rows[i].event.bin : REUSE_BINS - 1,
                                .flags = rows[i].event.flags,
                                .value = (double)rows[i].event.count};
        if (row.flags & REUSE_WATCHED) {
            array_push(&reuse->watches, (struct watch){.subject = row.subject,
                                                       .burst = row.burst,
                                                       .age = row.value,
                                                       .ns = (double)reuse_bin_time(row.bin),
                                                       .flags = row.flags});
            continue;
        }
        if (!(row.flags & REUSE_DIRTY))
            burst->followed += row.value;
        array_push(&reuse->rows, row);
    }
    array_sort(&reuse->rows, by_subject);
    keep_one_watch_a_burst(reuse);
}

/* A phase of few bursts, or watches where there are any, has no curve of its own. */
static void join_small_phases(struct reuse *reuse)
{
    size_t shown[REUSE_PHASES] = {0};
    array_each (&reuse->watches, const struct watch, watch)
        shown[reuse->bursts.items[watch->burst].phase]++;
    for (size_t i = 0; reuse->watches.count < thresholds.long_bursts && i < reuse->bursts.count; i++)
        shown[reuse->bursts.items[i].phase]++;
    if (fmin(shown[REUSE_ALONE], shown[REUSE_TOGETHER]) >= thresholds.long_bursts)
        return;
    array_each (&reuse->bursts, struct reuse_burst, burst)
        burst->phase = REUSE_TOGETHER;
}

/* Of the CPU time, what sampling left to the program. */
static double own_share(const struct flow *flow)
{
    const struct trace_session *ending = flow_ending(flow);
    double cpu_ns = ending ? (double)trace_session_number(ending, "cpu_ns", 0) : 0;
    return cpu_ns > 0 ? fmax(1 - (double)trace_session_number(ending, "handler_ns", 0) / cpu_ns, 0) : 1;
}

static double rate_of(const struct reuse *reuse, const struct reuse_burst *burst, unsigned without)
{
    return burst->rate[without] > 0 ? burst->rate[without] : reuse->rate;
}

static void weigh(struct reuse *reuse)
{
    size_t count = reuse->bursts.count;
    struct reuse_burst *bursts = reuse->bursts.items;
    struct reuse_weights *weights = reuse_weights_new(reuse->flow, count);
    double *times = mem_alloc((count + 1) * sizeof *times);
    array_each (&reuse->rows, const struct reuse_row, row) {
        struct reuse_burst *burst = &bursts[row->burst];
        if (!(row->flags & REUSE_DIRTY))
            burst->line = burst->line > 0 && burst->line < row->value ? burst->line : row->value;
        if (!(row->flags & REUSE_DIRTY) && row->flags & REUSE_AT_LEAST)
            burst->lines += row->value;
    }
    array_each (&reuse->rows, const struct reuse_row, row) {
        const struct reuse_burst *burst = &bursts[row->burst];
        bool first = row->flags & REUSE_AT_LEAST; /* use of a line in the burst */
        if (!(row->flags & REUSE_DIRTY))
            reuse_weights_add(weights, row->burst, row->subject, row->value / (double)burst->accesses,
                              first ? row->value / burst->line : 0);
    }
    reuse_weights_sample(weights);
    double all = reuse_cpu_seconds(reuse) * 1e9 * own_share(reuse->flow);
    for (unsigned k = 0; k <= REUSE_GROUPS; k++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += times[i] = bursts[i].group == k ? 0 : (double)bursts[i].process_ns;
        for (size_t i = 0; i < count && sum > 0; i++)
            times[i] *= all / sum;
        reuse_weights_find(weights, times);
        for (size_t i = 0; i < count; i++) {
            bursts[i].weight[k] = rate_of(reuse, &bursts[i], k) * times[i] / (double)bursts[i].accesses;
        }
    }
    free(times);
    reuse_weights_free(weights);
}

void reuse_add_row(struct reuse_counts *counts, const struct reuse_row *row, double weight)
{
    double value = row->value * weight;
    if (value <= 0)
        return;
    if (row->flags & REUSE_AT_LEAST)
        counts->at_least[row->bin] += value;
    else
        counts->used[row->bin] += value;
    counts->smallest_row = counts->smallest_row > 0 && counts->smallest_row < value ? counts->smallest_row : value;
}

double reuse_footprint(const struct reuse_curve *curve, uint64_t accesses)
{
    unsigned end = reuse_bin(accesses);
    double lines = 0, before = 1;
    for (unsigned bin = 0; bin < end && bin <= curve->last; bin++) {
        lines += (before + curve->survival[bin]) / 2 * (double)(reuse_bin_time(bin + 1) - reuse_bin_time(bin));
        before = curve->survival[bin];
    }
    return lines;
}

static void count_left(struct reuse *reuse)
{
    array_each (&reuse->rows, const struct reuse_row, row) {
        const struct reuse_burst *burst = &reuse->bursts.items[row->burst];
        if (reuse->left.count == 0 || reuse->left.items[reuse->left.count - 1].subject != row->subject)
            array_push(&reuse->left, (struct reuse_left){.subject = row->subject});
        struct reuse_left *left = &reuse->left.items[reuse->left.count - 1];
        bool first = row->flags & REUSE_AT_LEAST && !(row->flags & REUSE_DIRTY);
        for (unsigned k = 0; k <= REUSE_GROUPS && first; k++)
            left->lines[burst->phase][k] += row->value * burst->weight[k];
    }
}

static double lines_left(const struct reuse *reuse, uint64_t subject, enum reuse_phase phase, unsigned k)
{
    size_t low = 0, high = reuse->left.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (reuse->left.items[middle].subject < subject)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < reuse->left.count && reuse->left.items[low].subject == subject;
    return found ? reuse->left.items[low].lines[phase][k] : 0;
}

static double chosen_from(const struct reuse *reuse, const struct watch *watch, enum reuse_phase phase, unsigned k)
{
    const struct reuse_burst *burst = &reuse->bursts.items[watch->burst];
    return burst->phase == phase ? burst->lines * burst->weight[k] : 0;
}

void reuse_add_watches(const struct reuse *reuse, size_t from, size_t to, enum reuse_phase phase, unsigned k,
                       struct reuse_watched *watched)
{
    struct watched_words words = {0};
    const struct watch *watches = reuse->watches.items;
    memset(watched, 0, sizeof *watched);
    for (size_t i = from; i < to; i++)
        watched_words_add(&words, &watches[i]);
    double factor = watched_words_factor(&words, &reuse->words);
    for (size_t next; from < to; from = next) {
        double all = 0, lines = lines_left(reuse, watches[from].subject, phase, k);
        for (next = from; next < to && watches[next].subject == watches[from].subject; next++)
            all += chosen_from(reuse, &watches[next], phase, k);
        for (size_t i = from; i < next && all > 0; i++) {
            const struct reuse_burst *burst = &reuse->bursts.items[watches[i].burst];
            reuse_watched_add(watched, &watches[i], lines * chosen_from(reuse, &watches[i], phase, k) / all,
                              rate_of(reuse, burst, k), factor);
        }
    }
}

/* What watches show, or the footprint of the longest burst but a few. */
static void find_known_lines(struct reuse *reuse, enum reuse_phase phase)
{
    uint64_t longest[LONGEST] = {0};
    array_each (&reuse->bursts, const struct reuse_burst, burst) {
        uint64_t length = burst->phase == phase ? burst->accesses : 0;
        for (unsigned i = 0; i < LONGEST; i++)
            if (length > longest[i]) {
                uint64_t other = longest[i];
                longest[i] = length;
                length = other;
            }
    }
    const struct reuse_curve *all = &reuse->all[phase][REUSE_GROUPS];
    uint64_t watched = all->watched ? reuse_bin_time(all->watched) : 0;
    reuse->burst_lines[phase] = reuse_footprint(all, longest[LONGEST - 1]);
    reuse->known_lines[phase] = fmax(reuse->burst_lines[phase], reuse_footprint(all, watched));
}

static void reuse_free(void *made)
{
    struct reuse *reuse = made;
    if (!reuse)
        return;
    array_free(&reuse->bursts);
    array_free(&reuse->rows);
    array_free(&reuse->watches);
    array_free(&reuse->left);
    free(reuse);
}

double reuse_total(const struct reuse_counts *counts)
{
    double sum = counts->at_once;
    for (unsigned bin = 0; bin < REUSE_BINS; bin++)
        sum += counts->used[bin] + counts->at_least[bin];
    return sum;
}

static void make_curves(struct reuse *reuse, enum reuse_phase phase)
{
    struct reuse_counts *counts = mem_alloc(sizeof *counts);
    struct reuse_watched *watched = mem_alloc(sizeof *watched);
    for (unsigned k = 0; k <= REUSE_GROUPS; k++) {
        memset(counts, 0, sizeof *counts);
        array_each (&reuse->rows, const struct reuse_row, row) {
            const struct reuse_burst *burst = &reuse->bursts.items[row->burst];
            if (burst->phase == phase && !(row->flags & REUSE_DIRTY))
                reuse_add_row(counts, row, burst->weight[k]);
        }
        array_each (&reuse->bursts, const struct reuse_burst, burst)
            if (burst->phase == phase)
                counts->at_once += ((double)burst->accesses - burst->followed) * burst->weight[k];
        reuse_add_watches(reuse, 0, reuse->watches.count, phase, k, watched);
        reuse_curve_make(&reuse->all[phase][k], counts, watched, NULL);
    }
    const struct reuse_curve *all = &reuse->all[phase][REUSE_GROUPS];
    find_known_lines(reuse, phase);
    reuse->missed[phase] = reuse_total(counts) * reuse_curve_at(all, reuse_curve_time(all, reuse->known_lines[phase]));
    free(watched);
    free(counts);
}

static struct reuse *reuse_make(const struct flow *flow)
{
    struct reuse *reuse = mem_zalloc(sizeof *reuse);
    reuse->flow = flow;
    reuse->seconds = (double)(flow_end(flow) - flow_start(flow)) * 1e-9;
    take_bursts(reuse);
    if (reuse->looked == 0 || reuse->rate <= 0 || reuse->seconds <= 0) {
        reuse_free(reuse);
        return NULL;
    }
    take_rows(reuse);
    join_small_phases(reuse);
    weigh(reuse);
    count_left(reuse);
    for (unsigned phase = 0; phase < REUSE_PHASES; phase++)
        make_curves(reuse, (enum reuse_phase)phase);
    return reuse;
}

const struct reuse *reuse_of(const struct flow *flow)
{
    struct flow_kept *kept = flow_kept(flow);
    if (!kept->free)
        *kept = (struct flow_kept){reuse_make(flow), reuse_free};
    return kept->item;
}

uint32_t reuse_burst_count(const struct reuse *reuse)
{
    return reuse->looked;
}

double reuse_access_rate(const struct reuse *reuse)
{
    return reuse->rate;
}

double reuse_cpu_seconds(const struct reuse *reuse)
{
    double sum = 0;
    array_each (&reuse->bursts, const struct reuse_burst, burst)
        sum += (double)burst->process_ns * 1e-9;
    return sum;
}

/* Of the phases that bring a good part of all lines the least is known. */
static double least_known(const struct reuse *reuse, const double lines[REUSE_PHASES])
{
    double all = 0, least = INFINITY, largest = 0;
    for (unsigned phase = 0; phase < REUSE_PHASES; phase++)
        all += reuse->missed[phase];
    for (unsigned phase = 0; phase < REUSE_PHASES; phase++) {
        largest = fmax(largest, lines[phase]);
        if (reuse->missed[phase] > 0 && reuse->missed[phase] >= thresholds.part * all)
            least = fmin(least, lines[phase]);
    }
    return fmin(least, largest);
}

uint32_t reuse_watch_count(const struct reuse *reuse)
{
    return (uint32_t)reuse->watches.count;
}

double reuse_burst_bytes(const struct reuse *reuse)
{
    return least_known(reuse, reuse->burst_lines) * CACHE_LINE;
}

double reuse_known_bytes(const struct reuse *reuse)
{
    return least_known(reuse, reuse->known_lines) * CACHE_LINE;
}
