/* Reuse times longer than bursts, by watches, where the right answer follows from how a program goes through its lines. Two words of a
 * line are waited for, as by the processor's breakpoints. */
#include "agent/sampling/reuse_times.h"
#include "analysis/reuse/watches.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
    LINE = 64,
    WORD = 8,
    WORDS = LINE / WORD,
    LINES = 24000,
    BURST = 20000, /* accesses: no line of a sweep is used twice in it */
    BURSTS = 400,
    TOGETHER = 64, /* accesses that one visit of a line takes at most */
    PATIENCE = 1 << 23,
};

/* Which word of LINES the program uses next. */
typedef uint64_t program(uint64_t i);

static uint64_t random_state;

static uint64_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t sweep(uint64_t i)
{
    return i % (LINES * WORDS);
}

/* One field of each item. */
static uint64_t field(uint64_t i)
{
    return i % LINES * WORDS + 3;
}

static uint64_t single_words(uint64_t i)
{
    (void)i;
    return random_number() % (LINES * WORDS);
}

/* Half a line, from a word at random. */
static uint64_t four_words(uint64_t i)
{
    static uint64_t line, first;
    if (i % 4 == 0) {
        line = random_number() % LINES;
        first = random_number() % WORDS;
    }
    return line * WORDS + (first + i % 4) % WORDS;
}

/* Never the same line again. */
static uint64_t stream(uint64_t i)
{
    return i;
}

static struct reuse_times times;
static struct reuse_counts counts;
static struct reuse_watched watched;
static struct watch watches[BURSTS];
static struct watched_words words;

static const struct reuse_line *choose(void)
{
    const struct reuse_line *line;
    do
        line = &times.lines[random_number() % REUSE_LINE_TABLE];
    while (!line->line);
    return line;
}

/* From access `i` on. */
static struct watch wait_for(program *next, uint64_t i, uint64_t patience)
{
    const struct reuse_line *line = choose();
    uint64_t first = (line->line - 1) * WORDS, word = first + line->word,
             other = first + (line->word + 1 + random_number() % (WORDS - 1)) % WORDS, met[2] = {0}, end = i + patience;
    struct watch watch = {.age = (double)(times.now - line->last), .ns = (double)patience, .flags = REUSE_WATCHED};
    for (uint64_t at = i; at < end && !(met[0] && met[1]); at++) {
        uint64_t used = next(at);
        if (used == word && !met[0])
            met[0] = at - i + 1;
        if (used == other && !met[1])
            met[1] = at - i + 1;
        if ((met[0] || met[1]) && end > at + TOGETHER)
            end = at + TOGETHER;
    }
    if (!met[0] && !met[1])
        watch.flags |= REUSE_AT_LEAST;
    else
        watch.ns = (double)(!met[1] || (met[0] && met[0] < met[1]) ? met[0] : met[1]);
    watch.flags |= (met[0] ? REUSE_LAST : 0) | (met[1] ? REUSE_OTHER : 0);
    return watch;
}

static void look(program *next, unsigned bursts, uint64_t patience)
{
    memset(&counts, 0, sizeof counts);
    memset(&words, 0, sizeof words);
    memset(&watched, 0, sizeof watched);
    random_state = 88172645463325252u;
    for (unsigned burst = 0; burst < bursts; burst++) {
        uint64_t from = random_number() % (1 << 24) & ~3ul;
        double followed = 0;
        reuse_begin(&times, random_number(), BURST);
        for (uint64_t i = from; i < from + BURST; i++)
            reuse_note(&times, 0x1000, next(i) * WORD, false);
        for (uint32_t i = 0; i < times.row_count; i++) {
            const struct reuse_row *row = &times.rows[i];
            (row->flags & REUSE_AT_LEAST ? counts.at_least : counts.used)[row->bin] += (double)row->count;
            counts.smallest_row = (double)row->count;
            followed += (double)row->count;
        }
        counts.at_once += BURST - followed;
        watches[burst] = wait_for(next, from + BURST, patience);
        watched_words_add(&words, &watches[burst]);
    }
    for (unsigned burst = 0; burst < bursts; burst++)
        reuse_watched_add(&watched, &watches[burst], 1, 1, watched_words_factor(&words, NULL));
}

/* Of all accesses, at a cache of so many lines. */
static double misses(const struct reuse_watched *by, double lines)
{
    static struct reuse_curve all;
    reuse_curve_make(&all, &counts, by, NULL);
    return reuse_curve_at(&all, reuse_curve_time(&all, lines));
}

static void close_to(double estimate, double truth, double within)
{
    if (fabs(estimate - truth) > within)
        print_message("estimate %g, truth %g\n", estimate, truth);
    assert_true(fabs(estimate - truth) <= within);
}

/* Lines and what misses with them, before the whole fits and after; bursts alone would say that nothing ever hits. */
static void in_turn(program *next, double of_all)
{
    look(next, BURSTS, PATIENCE);
    close_to(misses(&watched, LINES / 2.0), of_all, 0.01 * of_all);
    close_to(misses(&watched, LINES * 1.1), 0, 0.02 * of_all);
    close_to(misses(NULL, LINES * 1.1), of_all, 0.02 * of_all);
}

static void test_in_turn(void **state)
{
    (void)state;
    in_turn(sweep, 1.0 / WORDS);
    in_turn(field, 1);
}

/* Of lines used at random a cache holds its share. */
static void at_random(program *next, double of_all)
{
    look(next, BURSTS, PATIENCE);
    close_to(misses(&watched, LINES * 0.5), of_all * 0.5, 0.05 * of_all);
    close_to(misses(&watched, LINES * 0.8), of_all * 0.2, 0.05 * of_all);
}

static void test_at_random(void **state)
{
    (void)state;
    at_random(single_words, 1);
    at_random(four_words, 0.25);
}

static void test_never_again(void **state)
{
    (void)state;
    look(stream, BURSTS, BURST);
    close_to(misses(&watched, LINES / 4.0), 1.0 / WORDS, 0.001);
}

/* A few say nothing, and what ends before it is known neither. */
static void test_few(void **state)
{
    struct reuse_curve all;
    (void)state;
    look(sweep, 3, PATIENCE);
    reuse_curve_make(&all, &counts, &watched, NULL);
    assert_int_equal(all.watched, 0);
    look(sweep, BURSTS, 50000);
    reuse_curve_make(&all, &counts, &watched, NULL);
    assert_in_range(reuse_bin_time(all.watched), 45000, 75000);
}

static void test_factor(void **state)
{
    (void)state;
    double factor = watched_words_factor(&(struct watched_words){.last = 50, .other = 50}, NULL);
    close_to(factor, 4, 1e-9); /* a word at a time, at random: two of eight */
    close_to(watched_words_factor(&(struct watched_words){.both = 9}, NULL), 1, 1e-9);
    close_to(watched_words_factor(&(struct watched_words){.last = 9}, NULL), 1, 1e-9);
    close_to(watched_words_factor(&(struct watched_words){0}, NULL), 1, 1e-9);
    close_to(watched_words_factor(&(struct watched_words){0}, &(struct watched_words){.last = 50, .other = 50}), 4,
             1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_turn), cmocka_unit_test(test_at_random), cmocka_unit_test(test_never_again),
        cmocka_unit_test(test_few),     cmocka_unit_test(test_factor),
    };
    return cmocka_run_group_tests_name("watches", tests, NULL, NULL);
}
