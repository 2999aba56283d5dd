/* analysis/problems/latency.c - one pass for tallies and histograms, one for the tail; the verdict is in contention.c. */
#include "analysis/problems/latency.h"

#include "analysis/problems/contention.h"
#include "analysis/facts/facts_work.h"
#include "base/map64.h"
#include "base/order.h"
#include "topology/calibration.h"

#include <stdlib.h>
#include <string.h>

enum { EXACT = 8, SUB_BITS = 3 };

unsigned latency_bucket(uint32_t latency)
{
    if (latency < EXACT)
        return latency;
    unsigned octave = 31u - (unsigned)__builtin_clz(latency);
    return EXACT + (octave - SUB_BITS) * EXACT + (latency >> (octave - SUB_BITS) & (EXACT - 1));
}

uint32_t latency_bucket_start(unsigned bucket)
{
    if (bucket < EXACT)
        return bucket;
    unsigned octave = (bucket - EXACT) / EXACT + SUB_BITS, sub = (bucket - EXACT) % EXACT;
    return 1u << octave | sub << (octave - SUB_BITS);
}

uint32_t latency_quantile(const struct latency_histogram *histogram, double part)
{
    uint64_t wanted = (uint64_t)(part * (double)histogram->number), seen = 0;
    for (unsigned i = 0; i + 1 < LATENCY_BUCKETS; i++) {
        seen += histogram->counts[i];
        if (seen > wanted || (seen == histogram->number && seen))
            return latency_bucket_start(i + 1) - 1;
    }
    return 0;
}

static void histogram_add(struct latency_histogram *histogram, uint32_t latency)
{
    histogram->counts[latency_bucket(latency)]++;
    histogram->number++;
}

/* While counting, [k] holds the accesses that are above exactly k thresholds. */
static void finish_at(struct latency_at *at, unsigned count)
{
    struct access_tally above = {0};
    for (unsigned k = count + 1; k-- > 0;) {
        struct access_tally own = at->above[k];
        at->above[k] = above;
        tally_join(&above, &own);
    }
    at->above[count] = above;
}

static unsigned passed(const struct latency *latency, const struct one_access *access)
{
    unsigned k = 0;
    while (k < latency->threshold_count && access->latency > latency->thresholds[k])
        k++;
    return k;
}

/* Pairs by place; after the pass only those with accesses are kept. */
static struct latency_pair **pair_table(const struct accesses *accesses)
{
    return mem_zalloc((size_t)accesses->node_count * accesses->node_count * sizeof(struct latency_pair *) + 1);
}

static struct latency_pair *pair_of(const struct accesses *accesses, struct latency_pair **table,
                                    const struct one_access *access)
{
    if (access->from < 0 || access->home < 0)
        return NULL;
    struct latency_pair **place = &table[(uint32_t)access->from * accesses->node_count + (uint32_t)access->home];
    if (!*place) {
        *place = mem_zalloc(sizeof **place);
        (*place)->from = access->from;
        (*place)->home = access->home;
    }
    return *place;
}

struct functions { /* of stacks that were seen */
    struct map64 known;
    array_of(struct latency_row) rows;
    struct map64 row_of;
};

static struct latency_row *function_row(struct functions *functions, const struct flow *flow,
                                        const struct one_access *access)
{
    bool is_new;
    if (access->thread == FLOW_NONE)
        return NULL;
    uint32_t process = flow_thread(flow, access->thread)->process;
    uint64_t *known = map64_insert(&functions->known, (uint64_t)process << 32 | access->stack, &is_new);
    if (is_new)
        *known = flow_stack_function(flow, process, access->stack);
    if (*known == FLOW_NONE)
        return NULL;
    uint64_t function = *known, *row = map64_insert(&functions->row_of, function, &is_new);
    if (is_new) {
        *row = functions->rows.count;
        array_push(&functions->rows, (struct latency_row){.index = (uint32_t)function});
    }
    return &functions->rows.items[*row];
}

static void count_all(struct latency *latency, struct latency_pair **pairs, uint64_t *latencies, unsigned unit)
{
    const struct accesses *accesses = latency->accesses;
    array_each (&accesses->items, const struct one_access, access) {
        unsigned k = passed(latency, access);
        uint32_t thing = access_thing(accesses, access);
        struct latency_pair *pair = pair_of(accesses, pairs, access);
        tally_add(&latency->at.above[k], access);
        tally_add(&latency->levels[access->level % LATENCY_LEVELS], access);
        if (thing != FLOW_NONE)
            tally_add(&latency->things.items[thing].at.above[k], access);
        if (access->thread != FLOW_NONE)
            tally_add(&latency->threads.items[access->thread].at.above[k], access);
        if (pair)
            tally_add(&pair->at.above[k], access);
        if (!(access->flags & ACCESS_TIMED))
            continue;
        histogram_add(&latency->histogram, access->latency);
        if (pair)
            histogram_add(&pair->histogram, access->latency);
        slow_count(latencies, access->latency, unit);
    }
}

/* Functions of the tail only: to name a function, its binary must be read. */
static void count_functions(struct latency *latency, unsigned tail)
{
    struct functions functions = {0};
    array_each (&latency->accesses->items, const struct one_access, access) {
        unsigned k = passed(latency, access);
        if (k <= tail || !(access->flags & ACCESS_TIMED))
            continue;
        struct latency_row *row = function_row(&functions, latency->accesses->flow, access);
        if (row)
            tally_add(&row->at.above[k], access);
    }
    array_each (&functions.rows, struct latency_row, row)
        array_push(&latency->functions, *row);
    array_free(&functions.rows);
    map64_free(&functions.known);
    map64_free(&functions.row_of);
}

static int by_tail(const void *left, const void *right, void *context)
{
    const struct latency_row *a = left, *b = right;
    unsigned at = *(const unsigned *)context;
    const struct access_tally *x = &a->at.above[at], *y = &b->at.above[at];
    return ORDER(y->latency, x->latency) ?: ORDER(y->accesses, x->accesses) ?: ORDER(a->index, b->index);
}

ORDER_BY(by_accesses, struct latency_pair,
         ORDER(b->histogram.number, a->histogram.number) ?: ORDER(a->from, b->from) ?: ORDER(a->home, b->home))

/* Gives the first rows a histogram each, and fills them. */
static void fill_histograms(struct latency *latency)
{
    const struct accesses *accesses = latency->accesses;
    struct latency_histogram **of_thing = mem_zalloc((accesses->things.count + 1) * sizeof *of_thing);
    struct latency_histogram **of_thread = mem_zalloc((latency->threads.count + 1) * sizeof *of_thread);
    for (size_t i = 0; i < latency->things.count && i < LATENCY_ROWS; i++) {
        struct latency_row *row = &latency->things.items[i];
        row->histogram = of_thing[row->index] = mem_zalloc(sizeof *row->histogram);
    }
    for (size_t i = 0; i < latency->threads.count && i < LATENCY_ROWS; i++) {
        struct latency_row *row = &latency->threads.items[i];
        row->histogram = of_thread[row->index] = mem_zalloc(sizeof *row->histogram);
    }
    array_each (&accesses->items, const struct one_access, access) {
        uint32_t thing = access_thing(accesses, access);
        if (!(access->flags & ACCESS_TIMED))
            continue;
        if (thing != FLOW_NONE && of_thing[thing])
            histogram_add(of_thing[thing], access->latency);
        if (access->thread != FLOW_NONE && of_thread[access->thread])
            histogram_add(of_thread[access->thread], access->latency);
    }
    free(of_thing);
    free(of_thread);
}

static void begin_rows(struct latency *latency)
{
    for (uint32_t i = 0; i < latency->accesses->things.count; i++)
        array_push(&latency->things, (struct latency_row){.index = i});
    for (uint32_t i = 0; i < flow_thread_count(latency->accesses->flow); i++)
        array_push(&latency->threads, (struct latency_row){.index = i});
}

#define finish_rows(latency, rows, tail)                                                                               \
    do {                                                                                                               \
        array_each (rows, struct latency_row, row)                                                                     \
            finish_at(&row->at, (latency)->threshold_count);                                                           \
        if ((rows)->count)                                                                                             \
            qsort_r((rows)->items, (rows)->count, sizeof *(rows)->items, by_tail, &(tail));                            \
    } while (0)

static void keep_pairs(struct latency *latency, struct latency_pair **table)
{
    for (size_t i = 0; i < (size_t)latency->accesses->node_count * latency->accesses->node_count; i++) {
        if (!table[i])
            continue;
        finish_at(&table[i]->at, latency->threshold_count);
        array_push(&latency->pairs, *table[i]);
        free(table[i]);
    }
    array_sort(&latency->pairs, by_accesses);
    free(table);
}

struct latency *latency_make(const struct accesses *accesses, const uint32_t *above, unsigned count,
                             const struct calibration *calibration)
{
    struct latency *latency = mem_zalloc(sizeof *latency);
    uint64_t latencies[SLOW_BUCKETS] = {0};
    unsigned unit = slow_unit_of(accesses->flow);
    latency->accesses = accesses;
    latency->threshold_count = count < LATENCY_THRESHOLDS ? count : LATENCY_THRESHOLDS;
    for (unsigned i = 0; i < latency->threshold_count; i++)
        latency->thresholds[i] = above[i];
    begin_rows(latency);
    struct latency_pair **table = pair_table(accesses);
    count_all(latency, table, latencies, unit);
    finish_at(&latency->at, latency->threshold_count);
    unsigned tail = latency->threshold_count;
    while (tail > 0 && (tail == latency->threshold_count || latency->at.above[tail].timed == 0))
        tail--;
    latency->tail = tail;
    count_functions(latency, tail);
    keep_pairs(latency, table);
    finish_rows(latency, &latency->things, tail);
    finish_rows(latency, &latency->threads, tail);
    finish_rows(latency, &latency->functions, tail);
    fill_histograms(latency);
    latency->slow = slow_bound(latencies, accesses->flow);
    contention_judge(latency, unit == 1 ? calibration : NULL);
    return latency;
}

void latency_free(struct latency *latency)
{
    if (!latency)
        return;
    array_each (&latency->things, struct latency_row, row)
        free(row->histogram);
    array_each (&latency->threads, struct latency_row, row)
        free(row->histogram);
    array_free(&latency->things);
    array_free(&latency->threads);
    array_free(&latency->functions);
    array_free(&latency->pairs);
    free(latency);
}
