#include "capture/source.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A source that writes down what is done with it. */
struct noted {
    char name;
    char *diary;
    int refused; /* what open and want return */
    double filled;
    size_t bytes;
    uint64_t until, cost;
};

static void note(struct noted *noted, const char *what)
{
    char line[8];
    snprintf(line, sizeof line, "%c%s ", noted->name, what);
    strcat(noted->diary, line);
}

static int open_noted(void *context, struct error *err)
{
    struct noted *noted = context;
    note(noted, "o");
    return noted->refused ? error_set(err, noted->refused, "%c is not to be had", noted->name) : 0;
}

static int want(void *context, bool wanted)
{
    struct noted *noted = context;
    note(noted, wanted ? "+" : "-");
    return noted->refused;
}

static void drain(void *context, uint64_t until, struct source_level *level)
{
    struct noted *noted = context;
    note(noted, "d");
    noted->until = until;
    level->bytes += noted->bytes;
    source_level_raise(level, noted->filled);
}

static void tend(void *context, uint64_t now)
{
    (void)now;
    note(context, "t");
}

static uint64_t cost_ns(void *context)
{
    return ((const struct noted *)context)->cost;
}

static void finish(void *context)
{
    note(context, "f");
}

static void close_noted(void *context)
{
    note(context, "c");
}

static struct source source_of(struct noted *noted, enum source_kind kind)
{
    return (struct source){.kind = kind,
                           .context = noted,
                           .open = open_noted,
                           .want = want,
                           .drain = drain,
                           .tend = tend,
                           .cost_ns = cost_ns,
                           .finish = finish,
                           .close = close_noted};
}

static void assert_diary(char *diary, const char *expected)
{
    assert_string_equal(diary, expected);
    *diary = '\0';
}

static int add(struct sources *sources, struct noted *noted, enum source_kind kind, bool needed, struct error *err)
{
    struct source source = source_of(noted, kind);
    source.needed = needed;
    return sources_open(sources, source, err);
}

/* Opened as recorders do: hardware before perf. */
static void drained_by_kind_and_finished_as_opened(void **state)
{
    (void)state;
    char diary[256] = "";
    struct error err = {0};
    struct sources sources = {0};
    struct source_level level;
    struct noted agents = {.name = 'A', .diary = diary, .bytes = 100},
                 hardware = {.name = 'H', .diary = diary, .filled = 0.2},
                 perf = {.name = 'P', .diary = diary, .filled = 0.05};
    assert_int_equal(add(&sources, &agents, FROM_AGENTS, true, &err), 0);
    assert_int_equal(add(&sources, &hardware, FROM_HARDWARE, false, &err), 0);
    assert_int_equal(add(&sources, &perf, FROM_PERF, false, &err), 0);
    assert_diary(diary, "Ao Ho Po ");
    assert_ptr_equal(sources.items[FROM_PERF].context, &perf);
    assert_null(sources.items[FROM_HOMES].context);
    sources_drain(&sources, 1000, &level);
    assert_diary(diary, "Ad Pd Hd ");
    assert_int_equal(perf.until, 1000);
    assert_int_equal(level.bytes, 100);
    assert_true(level.filled == 0.2);
    assert_int_equal(source_sleep_ns(&level), SOURCE_HURRY_NS);
    hardware.filled = 0;
    sources_drain(&sources, 1001, &level);
    assert_int_equal(level.bytes, 100);
    assert_int_equal(source_sleep_ns(&level), SOURCE_IDLE_NS);
    *diary = '\0';
    sources_finish(&sources);
    assert_diary(diary, "Af Hf Pf ");
    sources_close_one(&sources, FROM_AGENTS);
    assert_null(sources.items[FROM_AGENTS].context);
    sources_close(&sources);
    assert_diary(diary, "Ac Pc Hc ");
    sources_close(&sources);
    assert_diary(diary, "");
}

static void the_kernel_is_spared(void **state)
{
    (void)state;
    char diary[256] = "";
    struct error err = {0};
    struct sources sources = {.spacing_ns = SOURCE_HURRY_NS};
    struct source_level level;
    struct noted agents = {.name = 'A', .diary = diary, .bytes = 7}, perf = {.name = 'P', .diary = diary};
    uint64_t now = 5 * (uint64_t)SOURCE_FLUSH_NS;
    add(&sources, &agents, FROM_AGENTS, true, &err);
    add(&sources, &perf, FROM_PERF, true, &err);
    *diary = '\0';
    sources_drain(&sources, now, &level);
    assert_diary(diary, "Ad Pd ");
    assert_true(level.filled == 0);
    /* Who woke us may be a buffer that fills up. */
    sources_drain(&sources, now + SOURCE_HURRY_NS - 1, &level);
    assert_diary(diary, "Ad ");
    assert_int_equal(level.bytes, 7);
    assert_true(level.filled == 1);
    sources_drain(&sources, now + SOURCE_HURRY_NS, &level);
    assert_diary(diary, "Ad Pd ");
    assert_true(level.filled == 0);
    assert_true(sources_tend(&sources, now));
    assert_false(sources_tend(&sources, now + SOURCE_TEND_NS - 1));
    assert_true(sources_tend(&sources, now + SOURCE_TEND_NS));
    assert_diary(diary, "At Pt At Pt ");
    sources_close(&sources);
}

/* One that is not needed stays out of everything; its reason is kept under its name. */
static void a_refused_source_is_skipped(void **state)
{
    (void)state;
    char diary[256] = "";
    struct error err = {0};
    struct sources sources = {0};
    struct source_level level;
    struct noted agents = {.name = 'A', .diary = diary}, hardware = {.name = 'H', .diary = diary, .refused = -EACCES},
                 faults = {.name = 'F', .diary = diary, .refused = -EPERM};
    assert_int_equal(add(&sources, &agents, FROM_AGENTS, true, &err), 0);
    assert_int_equal(add(&sources, &hardware, FROM_HARDWARE, false, &err), 1);
    assert_int_equal(err.code, 0);
    assert_diary(diary, "Ao Ho Hc ");
    assert_null(sources.items[FROM_HARDWARE].context);
    assert_int_equal(sources.refusals[FROM_HARDWARE].code, -EACCES);
    assert_string_equal(sources.refusals[FROM_HARDWARE].text, "H is not to be had");
    assert_int_equal(sources.refusals[FROM_AGENTS].code, 0);
    /* A needed one: the caller is given its words, and what was opened is finished and closed all the same. */
    assert_int_equal(add(&sources, &faults, FROM_FAULTS, true, &err), -EPERM);
    assert_int_equal(err.code, -EPERM);
    assert_string_equal(err.text, "F is not to be had");
    assert_int_equal(sources.refusals[FROM_FAULTS].code, -EPERM);
    *diary = '\0';
    sources_drain(&sources, 1, &level);
    sources_finish(&sources);
    sources_close(&sources);
    assert_diary(diary, "Ad Af Ac ");
}

static void one_that_fails_keeps_none_from_its_turn(void **state)
{
    (void)state;
    char diary[256] = "";
    struct error err = {0};
    struct sources sources = {0};
    struct noted faults = {.name = 'F', .diary = diary, .cost = 40},
                 hardware = {.name = 'H', .diary = diary, .cost = 2};
    add(&sources, &faults, FROM_FAULTS, true, &err);
    add(&sources, &hardware, FROM_HARDWARE, true, &err);
    faults.refused = -ESRCH;
    hardware.refused = -EBUSY;
    *diary = '\0';
    assert_int_equal(sources_want(&sources, false), -ESRCH);
    assert_diary(diary, "F- H- ");
    faults.refused = 0;
    assert_int_equal(sources_want(&sources, true), -EBUSY);
    assert_int_equal(sources_cost_ns(&sources), 42);
    sources_close(&sources);
}

static void what_a_source_lacks_is_skipped(void **state)
{
    (void)state;
    char diary[16] = "";
    struct error err = {0};
    struct sources sources = {0};
    struct source_level level;
    struct noted maps = {.name = 'M', .diary = diary};
    const struct source source = {.kind = FROM_MAPS, .context = &maps, .drain = drain};
    assert_int_equal(sources_open(&sources, source, &err), 0);
    assert_int_equal(sources_want(&sources, true), 0);
    assert_int_equal(sources_cost_ns(&sources), 0);
    assert_true(sources_tend(&sources, SOURCE_TEND_NS));
    sources_drain(&sources, 1, &level);
    sources_finish(&sources);
    sources_close(&sources);
    assert_diary(diary, "Md ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drained_by_kind_and_finished_as_opened),
        cmocka_unit_test(the_kernel_is_spared),
        cmocka_unit_test(a_refused_source_is_skipped),
        cmocka_unit_test(one_that_fails_keeps_none_from_its_turn),
        cmocka_unit_test(what_a_source_lacks_is_skipped),
    };
    return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
