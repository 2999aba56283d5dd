/* See reuse.h. */
#include "analysis/reuse/reuse.h"

#include "analysis/reuse/reuse_curve.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

/* Standard errors by the jackknife: bursts are assigned to so many groups, or as many as there are bursts, and each is omitted once. */
enum { GROUPS = 8 };

/* The bursts that must be as long as it takes to fill a cache: fewer show nothing of it. */
enum { LONGEST = 2 };

struct burst {
    uint32_t thread, number, group;
    uint64_t process_ns, accesses;
    double followed; /* accesses that its rows stand for */
    double weight;   /* accesses of the program that each of these stands for */
    double rate;     /* accesses per ns of CPU time; 0: was not counted */
};

struct row {
    uint64_t subject; /* a site, or an object above all sites */
    uint32_t burst, object;
    uint16_t bin;
    uint8_t flags;
    double value;
};

struct reuse {
    const struct flow *flow;
    array_of(struct burst) bursts;
    array_of(struct row) rows; /* by subject */
    double rate, seconds;
    uint32_t looked, groups;
    double stands_for[GROUPS + 1];      /* ns of CPU time: all but group k; then all */
    struct reuse_curve all[GROUPS + 1]; /* without group k; then of all */
    struct reuse_counts counts[GROUPS]; /* of all subjects, by group */
    double known_lines;
};

static int by_thread_and_number(const void *left, const void *right)
{
    const struct burst *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int by_process_time(const void *left, const void *right)
{
    const struct flow_long_burst *a = left, *b = right;
    return a->time < b->time ? -1 : a->time > b->time;
}

static int by_subject(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->subject != b->subject)
        return a->subject < b->subject ? -1 : 1;
    return a->burst < b->burst ? -1 : a->burst > b->burst;
}

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
    array_each (&reuse->bursts, struct burst, burst) {
        uint32_t process = flow_thread(reuse->flow, burst->thread)->process;
        if (tails.before[process])
            burst->process_ns =
                (uint64_t)((double)burst->process_ns * (double)tails.all[process] / (double)tails.before[process]);
    }
    free(tails.before);
    free(tails.all);
}

/* Each burst stands for the CPU time of its process from the one before it to itself. */
static void take_bursts(struct reuse *reuse)
{
    const struct flow_long_burst *rows;
    size_t count = flow_long_bursts(reuse->flow, &rows);
    double counted = 0, counted_ns = 0;
    struct flow_long_burst *sorted = mem_alloc((count + 1) * sizeof *sorted);
    if (count)
        memcpy(sorted, rows, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_process_time);
    uint64_t *last = mem_zalloc((flow_process_count(reuse->flow) + 1) * sizeof *last);
    uint64_t *last_time = mem_zalloc((flow_process_count(reuse->flow) + 1) * sizeof *last_time);
    for (size_t i = 0; i < count; i++) {
        const struct event_long_burst *event = &sorted[i].event;
        const struct flow_thread *thread = flow_thread(reuse->flow, sorted[i].thread);
        uint64_t *before = &last[thread->process];
        counted += (double)event->counted;
        counted_ns += (double)event->counted_ns;
        if (event->accesses == 0)
            continue; /* it only counted: the next one stands for its time, too */
        struct burst burst = {.thread = sorted[i].thread,
                              .number = event->burst,
                              .group = reuse->looked++ % GROUPS,
                              .process_ns = event->process_ns > *before ? event->process_ns - *before : 0,
                              .accesses = event->accesses,
                              .rate = event->counted_ns ? (double)event->counted / (double)event->counted_ns : 0};
        *before = event->process_ns;
        last_time[thread->process] = sorted[i].time;
        array_push(&reuse->bursts, burst);
    }
    reuse->rate = counted_ns > 0 ? counted / counted_ns : 0;
    reuse->groups = reuse->looked < GROUPS ? reuse->looked : GROUPS;
    stretch(reuse, last_time);
    free(last_time);
    array_sort(&reuse->bursts, by_thread_and_number);
    free(last);
    free(sorted);
}

static struct burst *burst_of(struct reuse *reuse, uint32_t thread, uint32_t number)
{
    struct burst key = {.thread = thread, .number = number};
    return reuse->bursts.count
               ? bsearch(&key, reuse->bursts.items, reuse->bursts.count, sizeof key, by_thread_and_number)
               : NULL;
}

static void take_rows(struct reuse *reuse)
{
    const struct flow_reuse *rows;
    size_t count = flow_reuses(reuse->flow, &rows);
    for (size_t i = 0; i < count; i++) {
        struct burst *burst = burst_of(reuse, rows[i].thread, rows[i].event.burst);
        if (!burst)
            continue; /* its end was lost */
        uint32_t site = rows[i].site;
        struct row row = {.subject = site != FLOW_NONE ? site : (uint64_t)1 << 32 | rows[i].object,
                          .burst = (uint32_t)(burst - reuse->bursts.items),
                          .object = rows[i].object,
                          .bin = rows[i].event.bin < REUSE_BINS ? rows[i].event.bin : REUSE_BINS - 1,
                          .flags = rows[i].event.flags,
                          .value = (double)rows[i].event.count};
        if (!(row.flags & REUSE_DIRTY))
            burst->followed += row.value;
        array_push(&reuse->rows, row);
    }
    array_each (&reuse->bursts, struct burst, burst) {
        double rate = burst->rate > 0 ? burst->rate : reuse->rate;
        burst->weight = rate * (double)burst->process_ns / (double)burst->accesses;
    }
    array_sort(&reuse->rows, by_subject);
}

static void add(struct reuse_counts *counts, const struct row *row, double weight)
{
    if (row->flags & REUSE_AT_LEAST)
        counts->at_least[row->bin] += row->value * weight;
    else
        counts->used[row->bin] += row->value * weight;
    double value = row->value * weight;
    counts->least = counts->least > 0 && counts->least < value ? counts->least : value;
}

/* All groups but one; GROUPS: all of them. */
static void sum_counts(struct reuse_counts *sum, const struct reuse_counts *groups, unsigned without)
{
    memset(sum, 0, sizeof *sum);
    for (unsigned k = 0; k < GROUPS; k++) {
        if (k == without)
            continue;
        for (unsigned bin = 0; bin < REUSE_BINS; bin++) {
            sum->used[bin] += groups[k].used[bin];
            sum->at_least[bin] += groups[k].at_least[bin];
        }
        sum->at_once += groups[k].at_once;
        sum->bursts += groups[k].bursts;
        if (groups[k].least > 0 && (sum->least <= 0 || groups[k].least < sum->least))
            sum->least = groups[k].least;
    }
}

/* The footprint of the longest burst but a few. */
static double known_lines(const struct reuse *reuse)
{
    uint64_t longest[LONGEST] = {0};
    array_each (&reuse->bursts, const struct burst, burst) {
        uint64_t length = burst->accesses;
        for (unsigned i = 0; i < LONGEST; i++)
            if (length > longest[i]) {
                uint64_t other = longest[i];
                longest[i] = length;
                length = other;
            }
    }
    const struct reuse_curve *curve = &reuse->all[GROUPS];
    unsigned end = reuse_bin(longest[LONGEST - 1]);
    double lines = 0, before = 1;
    for (unsigned bin = 0; bin < end && bin <= curve->last; bin++) {
        lines += (before + curve->survival[bin]) / 2 * (double)(reuse_bin_time(bin + 1) - reuse_bin_time(bin));
        before = curve->survival[bin];
    }
    return lines;
}

struct reuse *reuse_make(const struct flow *flow)
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
    array_each (&reuse->rows, const struct row, row) {
        const struct burst *burst = &reuse->bursts.items[row->burst];
        if (!(row->flags & REUSE_DIRTY))
            add(&reuse->counts[burst->group], row, burst->weight);
    }
    array_each (&reuse->bursts, const struct burst, burst) {
        for (unsigned k = 0; k <= GROUPS; k++)
            reuse->stands_for[k] += k == burst->group ? 0 : (double)burst->process_ns;
        reuse->counts[burst->group].at_once += ((double)burst->accesses - burst->followed) * burst->weight;
        reuse->counts[burst->group].bursts++;
    }
    struct reuse_counts *sum = mem_alloc(sizeof *sum);
    for (unsigned k = 0; k <= GROUPS; k++) {
        sum_counts(sum, reuse->counts, k);
        reuse_curve_make(&reuse->all[k], sum, NULL);
    }
    free(sum);
    reuse->known_lines = known_lines(reuse);
    return reuse;
}

void reuse_free(struct reuse *reuse)
{
    if (!reuse)
        return;
    array_free(&reuse->bursts);
    array_free(&reuse->rows);
    free(reuse);
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
    array_each (&reuse->bursts, const struct burst, burst)
        sum += (double)burst->process_ns * 1e-9;
    return sum;
}

double reuse_known_bytes(const struct reuse *reuse)
{
    return reuse->known_lines * CACHE_LINE;
}

/* Accesses of one subject in three populations: those that read lines for themselves or for a store, those past the caches, and
 * stores by the longest time between uses since the store before. */
enum population { CACHED, PAST, DIRTY, POPULATIONS };

struct subject {
    struct reuse_counts counts[POPULATIONS][GROUPS];
    double accesses;
    uint32_t bursts;
};

static void gather(const struct reuse *reuse, size_t from, size_t to, struct subject *subject)
{
    uint32_t last = UINT32_MAX;
    memset(subject, 0, sizeof *subject);
    for (size_t i = from; i < to; i++) {
        const struct row *row = &reuse->rows.items[i];
        const struct burst *burst = &reuse->bursts.items[row->burst];
        bool past = row->flags & REUSE_NONTEMPORAL, dirty = row->flags & REUSE_DIRTY;
        if (past && dirty)
            continue;
        add(&subject->counts[dirty ? DIRTY : past ? PAST : CACHED][burst->group], row, burst->weight);
        if (!dirty)
            subject->accesses += row->value * burst->weight;
        if (row->burst != last) {
            last = row->burst;
            subject->bursts++;
            for (unsigned p = 0; p < POPULATIONS; p++)
                subject->counts[p][burst->group].bursts++;
        }
    }
}

static double total(const struct reuse_counts *counts)
{
    double sum = counts->at_once;
    for (unsigned bin = 0; bin < REUSE_BINS; bin++)
        sum += counts->used[bin] + counts->at_least[bin];
    return sum;
}

/* Lines that pass a cache of `lines`, without group `without`; scaled up to all. */
static double misses(const struct reuse *reuse, const struct reuse_counts *groups, unsigned without, double time,
                     struct reuse_counts *sum)
{
    struct reuse_curve curve;
    sum_counts(sum, groups, without);
    double accesses = total(sum);
    if (accesses <= 0)
        return 0;
    reuse_curve_make(&curve, sum, &reuse->all[without]);
    return accesses * reuse_curve_at(&curve, time) *
           (reuse->stands_for[without] > 0 ? reuse->stands_for[GROUPS] / reuse->stands_for[without] : 0);
}

struct spread {
    double value, without[GROUPS];
};

/* Of few groups as much more as Student's interval is wider than two standard errors, at 95%. */
static double error_of(const struct reuse *reuse, const struct spread *spread)
{
    static const double student[GROUPS + 1] = {0, 0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36};
    double mean = 0, sum = 0, groups = reuse->groups;
    if (reuse->groups < 2)
        return INFINITY;
    for (unsigned k = 0; k < reuse->groups; k++)
        mean += spread->without[k] / groups;
    for (unsigned k = 0; k < reuse->groups; k++)
        sum += (spread->without[k] - mean) * (spread->without[k] - mean);
    return sqrt(sum * (groups - 1) / groups) * student[reuse->groups] / 2;
}

static int by_bytes(const void *left, const void *right)
{
    const struct reuse_object *a = left, *b = right;
    double more = b->bytes.read + b->bytes.written - a->bytes.read - a->bytes.written;
    return more > 0 ? 1 : more < 0 ? -1 : 0;
}

void reuse_ask(const struct reuse *reuse, double bytes, struct reuse_answer *answer)
{
    double times[GROUPS + 1], scale = CACHE_LINE / reuse->seconds;
    struct spread all_read = {0}, all_written = {0};
    memset(answer, 0, sizeof *answer);
    answer->bytes = bytes;
    answer->known = bytes / CACHE_LINE <= reuse->known_lines;
    /* What a larger cache leaves to memory is at most what the largest known one does. The curve's end is no bound: where the last
     * line that is seen is one that is used again, it falls to 0. */
    double lines = answer->known ? bytes / CACHE_LINE : reuse->known_lines;
    for (unsigned k = 0; k <= GROUPS; k++)
        times[k] = reuse_curve_time(&reuse->all[k], lines);
    struct subject *subject = mem_alloc(sizeof *subject);
    struct reuse_counts *sum = mem_alloc(sizeof *sum);
    for (size_t from = 0, to; from < reuse->rows.count; from = to) {
        struct spread read = {0}, written = {0};
        const struct row *first = &reuse->rows.items[from];
        uint32_t object = FLOW_NONE; /* one that was sampled: else nothing more is known of the site */
        for (to = from; to < reuse->rows.count && reuse->rows.items[to].subject == first->subject; to++)
            ;
        gather(reuse, from, to, subject);
        for (size_t i = from; i < to && object == FLOW_NONE; i++)
            object = reuse->rows.items[i].object;
        for (unsigned k = 0; k <= GROUPS; k++) {
            double past = misses(reuse, subject->counts[PAST], k, times[k], sum);
            double in = misses(reuse, subject->counts[CACHED], k, times[k], sum) * scale,
                   out = (misses(reuse, subject->counts[DIRTY], k, times[k], sum) + past) * scale;
            if (k == GROUPS) {
                read.value = in;
                written.value = out;
                all_read.value += in;
                all_written.value += out;
            } else {
                read.without[k] = in;
                written.without[k] = out;
                all_read.without[k] += in;
                all_written.without[k] += out;
            }
        }
        array_push(&answer->objects,
                   (struct reuse_object){
                       .object = object,
                       .site = first->subject >> 32 ? FLOW_NONE : (uint32_t)first->subject,
                       .bursts = subject->bursts,
                       .accesses = subject->accesses / reuse->seconds,
                       .bytes = {read.value, written.value, error_of(reuse, &read), error_of(reuse, &written)}});
    }
    answer->all = (struct reuse_bytes){all_read.value, all_written.value, error_of(reuse, &all_read),
                                       error_of(reuse, &all_written)};
    array_sort(&answer->objects, by_bytes);
    free(sum);
    free(subject);
}

void reuse_answer_free(struct reuse_answer *answer)
{
    array_free(&answer->objects);
}
