/* Reuse times against an exact LRU cache: what the agent notes of a long burst, and what is made of it. */
#include "agent/sampling/reuse_times.h"
#include "analysis/reuse/reuse_curve.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LINE = 64, ACCESSES = 2000000, BURSTS = 8 };

static struct reuse_times times;
static struct reuse_counts counts, dirty;
static uint64_t random_state;

static uint64_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* One access of a program: which line, and whether it is stored to. */
typedef uint64_t program(uint64_t i, bool *write);

enum { THREADS = 4, APART = 1 << 22 /* lines of one thread, where there are several */ };

/* Threads that share a cache, each with lines of its own. */
struct threads {
    unsigned count;
    program *next[THREADS];
};

/* c[i] = a[i] + b[i]; i, eight to a line, over arrays of 2 MiB. */
static uint64_t triad(uint64_t i, bool *write)
{
    uint64_t array = i % 3, element = i / 3 % (256 << 10);
    *write = array == 2;
    return (array << 20) + element / 8;
}

/* The same over arrays of 8,000 lines. */
static uint64_t small(uint64_t i, bool *write)
{
    uint64_t array = i % 3, element = i / 3 % 64000;
    *write = array == 2;
    return (array << 20) + element / 8;
}

/* A stream, and at random of 30,000 lines. */
static uint64_t gather(uint64_t i, bool *write)
{
    *write = false;
    return i % 2 ? (1 << 24) + random_number() % 30000 : i / 2 / 8;
}

/* 40,000 lines over and over; each is used again after 2,000 others, and stored to the first time only. */
static uint64_t twice(uint64_t i, bool *write)
{
    uint64_t block = i / 4000 % 20, place = i % 4000;
    *write = place < 2000;
    return block * 2000 + place % 2000;
}

enum { SIZES = 2 }; /* of caches that are asked about at a time */

/* Exact: a stack of lines by their last use: a bit for each position, and a Fenwick tree of how many a word has. */
struct lru {
    uint64_t *bits;
    uint32_t *tree;
    uint64_t *last;
    uint8_t *is_dirty; /* a bit for each size */
    uint64_t words, lines;
};

/* The truth is this test's own, and takes most of its time: never as slow as a build with sanitizers makes what is tested. */
#define TRUTH __attribute__((optimize("O2"), no_sanitize("address", "undefined")))

TRUTH static void tree_flip(struct lru *lru, uint64_t at)
{
    uint64_t bit = (uint64_t)1 << at % 64;
    uint32_t by = lru->bits[at / 64] & bit ? UINT32_MAX : 1;
    lru->bits[at / 64] ^= bit;
    for (at = at / 64 + 1; at <= lru->words; at += at & -at)
        lru->tree[at] += by;
}

/* Lines whose last use is before `at`. */
TRUTH static uint64_t tree_before(const struct lru *lru, uint64_t at)
{
    uint64_t sum = (unsigned)__builtin_popcountll(lru->bits[at / 64] & (((uint64_t)1 << at % 64) - 1));
    for (at /= 64; at > 0; at -= at & -at)
        sum += lru->tree[at];
    return sum;
}

struct truth {
    double misses, written;
};

/* One access at a cache of so many lines, whose bit is `bit`. */
TRUTH static void meet(struct truth *truth, uint8_t *is_dirty, uint8_t bit, bool hit, bool write, bool counts_now)
{
    truth->misses += counts_now && !hit;
    truth->written += counts_now && !hit && *is_dirty & bit; /* it was written back before it came again */
    *is_dirty = (uint8_t)(write || (hit && *is_dirty & bit) ? *is_dirty | bit : *is_dirty & ~bit);
}

/* For each size, of the second half, when the cache is warm; the threads take turns. */
TRUTH static void simulate(const struct threads *threads, const uint64_t *lines, struct truth *truths)
{
    enum { SPACE = 1 << 25 };
    uint64_t accesses = 2 * ACCESSES;
    struct lru lru = {.bits = calloc(accesses / 64 + 1, sizeof *lru.bits),
                      .tree = calloc(accesses / 64 + 2, sizeof *lru.tree),
                      .last = calloc(SPACE, sizeof *lru.last),
                      .is_dirty = calloc(SPACE, 1),
                      .words = accesses / 64 + 1};
    random_state = 88172645463325252u;
    for (uint64_t i = 0; i < accesses; i++) {
        bool write;
        unsigned thread = i % threads->count;
        uint64_t line = (threads->next[thread](i / threads->count, &write) + thread * APART) % SPACE;
        uint64_t used = lru.last[line];
        uint64_t apart = used ? lru.lines - tree_before(&lru, used) : UINT64_MAX;
        if (used)
            tree_flip(&lru, used - 1);
        else
            lru.lines++;
        tree_flip(&lru, i);
        lru.last[line] = i + 1;
        for (unsigned s = 0; s < SIZES; s++)
            meet(&truths[s], &lru.is_dirty[line], (uint8_t)(1 << s), apart < lines[s], write, i >= ACCESSES);
    }
    for (unsigned s = 0; s < SIZES; s++) {
        truths[s].misses /= ACCESSES;
        truths[s].written /= ACCESSES;
    }
    free(lru.bits);
    free(lru.tree);
    free(lru.last);
    free(lru.is_dirty);
}

/* Bursts are of one thread, and of each as many. */
static void look(const struct threads *threads)
{
    memset(&counts, 0, sizeof counts);
    memset(&dirty, 0, sizeof dirty);
    for (unsigned burst = 0; burst < BURSTS; burst++) {
        double followed = 0;
        random_state = 88172645463325252u + burst;
        uint64_t from = random_number() % ACCESSES;
        reuse_begin(&times, random_number(), ACCESSES);
        for (uint64_t i = from; i < from + ACCESSES; i++) {
            bool write;
            uint64_t line = threads->next[burst % threads->count](i, &write);
            reuse_note(&times, 0x1000 + write, line * LINE, write);
        }
        assert_int_equal(times.now, ACCESSES);
        assert_int_equal(times.lost, 0);
        for (uint32_t i = 0; i < times.row_count; i++) {
            const struct reuse_row *row = &times.rows[i];
            struct reuse_counts *to = row->flags & REUSE_DIRTY ? &dirty : &counts;
            (row->flags & REUSE_AT_LEAST ? to->at_least : to->used)[row->bin] += (double)row->count;
            to->smallest_row =
                to->smallest_row > 0 && to->smallest_row < (double)row->count ? to->smallest_row : (double)row->count;
            if (to == &counts)
                followed += (double)row->count;
        }
        counts.at_once += ACCESSES - followed;
    }
}

static double total(const struct reuse_counts *of)
{
    double sum = of->at_once;
    for (unsigned bin = 0; bin < REUSE_BINS; bin++)
        sum += of->used[bin] + of->at_least[bin];
    return sum;
}

static void close_to(double estimate, double truth, double within, double floor)
{
    if (fabs(estimate - truth) > within * truth + floor)
        print_message("estimate %g, truth %g\n", estimate, truth);
    assert_true(fabs(estimate - truth) <= within * truth + floor);
}

/* Footprints of threads add up in a cache that they share: each has its part of it. */
static void compare_size(const struct threads *threads, uint64_t lines, struct truth truth)
{
    static struct reuse_curve all, stores;
    double own = (double)lines / threads->count;
    reuse_curve_make(&all, &counts, NULL, NULL);
    double time = reuse_curve_time(&all, own), accesses = total(&counts);
    assert_true(all.lines > own || truth.misses < 1e-6);
    close_to(reuse_curve_at(&all, time), truth.misses, 0.1, 0.002);
    if (total(&dirty) <= 0)
        return;
    reuse_curve_make(&stores, &dirty, NULL, NULL);
    close_to(reuse_curve_at(&stores, time) * total(&dirty) / accesses, truth.written, 0.1, 0.002);
}

static void compare_threads(struct threads threads, uint64_t lines, uint64_t other_lines)
{
    const uint64_t sizes[SIZES] = {lines, other_lines};
    struct truth truths[SIZES] = {0};
    look(&threads);
    simulate(&threads, sizes, truths);
    for (unsigned s = 0; s < SIZES; s++)
        compare_size(&threads, sizes[s], truths[s]);
}

static void compare(program *next, uint64_t lines, uint64_t other_lines)
{
    compare_threads((struct threads){1, {next}}, lines, other_lines);
}

static void test_streams_miss(void **state)
{
    (void)state;
    compare(triad, 4096, 65536);
}

static void test_what_fits_hits(void **state)
{
    (void)state;
    compare(small, 32768, 4096);
}

static void test_gather(void **state)
{
    (void)state;
    compare(gather, 8192, 80000);
}

/* Stored to once, used twice: a cache that keeps it in between writes it back once, and one that does not, too. */
static void test_written_once(void **state)
{
    (void)state;
    compare(twice, 1000, 16384);
}

static void test_threads_share(void **state)
{
    (void)state;
    compare_threads((struct threads){2, {small, small}}, 8192, 32768);
    compare_threads((struct threads){2, {small, triad}}, 8192, 32768);
    compare_threads((struct threads){4, {small, twice, small, twice}}, 8192, 32768);
    compare_threads((struct threads){4, {triad, twice, small, small}}, 8192, 32768);
}

static unsigned asked;

/* Of every other line nothing can be said. */
static bool load(uint64_t addr, uint32_t *ns)
{
    asked++;
    *ns = (uint32_t)(addr / LINE);
    return addr / LINE % 2 == 0;
}

/* Line n of a stream is last used by access 8 n + 8: of the lines that are timed the time since then is known. */
static void test_timed_loads(void **state)
{
    uint32_t found = 0, oldest = 0;
    (void)state;
    reuse_begin(&times, 12345, ACCESSES);
    for (uint64_t i = 0; i < ACCESSES; i++)
        reuse_note(&times, 0x1000, i / 8 * LINE, false);
    uint32_t before = times.row_count;
    reuse_time_loads(&times, 678, load);
    assert_in_range(asked, REUSE_LOADS, REUSE_LINE_TABLE);
    for (uint32_t i = before; i < times.row_count; i++, found++) {
        const struct reuse_row *row = &times.rows[i];
        assert_int_equal(row->flags, REUSE_TIMED);
        assert_int_equal(row->count, row->addr / LINE);
        assert_int_equal(row->bin, reuse_bin(ACCESSES - (row->addr / LINE * 8 + 8)));
        oldest = row->bin > oldest ? row->bin : oldest;
    }
    assert_int_equal(found, REUSE_LOADS);
    assert_true(oldest > reuse_bin(ACCESSES / 2)); /* of all that are followed, not of the latest */
}

static void test_bins(void **state)
{
    (void)state;
    for (uint64_t time = 0; time < 100000; time++) {
        unsigned bin = reuse_bin(time);
        assert_true(reuse_bin_time(bin) <= time && time < reuse_bin_time(bin + 1));
    }
    assert_true(reuse_bin(UINT64_MAX) < REUSE_BINS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bins),        cmocka_unit_test(test_streams_miss), cmocka_unit_test(test_what_fits_hits),
        cmocka_unit_test(test_gather),      cmocka_unit_test(test_written_once), cmocka_unit_test(test_threads_share),
        cmocka_unit_test(test_timed_loads),
    };
    return cmocka_run_group_tests_name("reuse", tests, NULL, NULL);
}
