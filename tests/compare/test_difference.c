/* What is matched with what, and what is called real, on profiles made by hand. */
#include "compare/difference.h"

#include "base/strtab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { BURST = 16 };

static struct profile *blank(unsigned bursts)
{
    struct profile *profile = mem_zalloc(sizeof *profile);
    profile->texts = strtab_new();
    profile->path = profile->command = profile->placement = profile->gate = "";
    profile->unit = "ns";
    profile->nodes = 2;
    profile->homes = mem_zalloc(3 * sizeof *profile->homes);
    profile->node_numbers = mem_zalloc(3 * sizeof *profile->node_numbers);
    profile->bursts = bursts;
    for (unsigned i = 0; i < bursts; i++) {
        ratio_add(&profile->all, BURST, BURST);
        ratio_add(&profile->far, 0, BURST);
    }
    return profile;
}

/* An entry that `with` of the bursts are about, `remote` of 16 of their accesses remote, `latency` each. */
static void add(struct profile *profile, enum profile_table table, const char *name, uint32_t order, unsigned with,
                unsigned remote, double latency)
{
    struct profile_entry entry = {.name = strtab_intern(profile->texts, name),
                                  .file = "",
                                  .module = "",
                                  .line = order,
                                  .order = order,
                                  .loose = strtab_add(profile->texts, name),
                                  .samples = with * BURST};
    for (unsigned i = 0; i < with; i++) {
        ratio_add(&entry.share, BURST, BURST);
        /* Not all bursts are alike, or there would be nothing to be unsure of. */
        ratio_add(&entry.far, i % 2 ? remote : remote ? remote - 1 : 0, BURST);
        ratio_add(&entry.of_all, remote, BURST);
        ratio_add(&entry.latency, latency * BURST * (i % 2 ? 1.1 : 0.9), BURST);
    }
    entry.share.bursts = profile->all.bursts;
    entry.share.n = profile->all.n;
    entry.share.nn = profile->all.nn;
    array_push(&profile->tables[table], entry);
}

static const struct difference_row *row_named(const struct difference *difference, enum profile_table table,
                                              const char *name, uint32_t order)
{
    array_each (&difference->tables[table], const struct difference_row, row) {
        const struct profile_entry *entry = row->sides[0] ? row->sides[0] : row->sides[1];
        if (strcmp(entry->name, name) == 0 && entry->order == order)
            return row;
    }
    fail_msg("no row %s", name);
    return NULL;
}

static void finish(struct difference *difference, struct profile *before, struct profile *after)
{
    difference_free(difference);
    profile_free(before);
    profile_free(after);
}

static void lines_move(void **state)
{
    (void)state;
    struct profile *before = blank(1000), *after = blank(1000);
    /* Names are numbered in another order in the other run. */
    add(after, PROFILE_OBJECTS, "new one", 5, 40, 0, 10);
    add(before, PROFILE_OBJECTS, "grid", 41, 100, 0, 10);
    add(before, PROFILE_OBJECTS, "buffer", 10, 100, 0, 10);
    add(before, PROFILE_OBJECTS, "buffer", 20, 100, 0, 10);
    add(before, PROFILE_OBJECTS, "old one", 7, 40, 0, 10);
    add(after, PROFILE_OBJECTS, "buffer", 20, 100, 0, 10);
    add(after, PROFILE_OBJECTS, "buffer", 12, 100, 0, 10);
    add(after, PROFILE_OBJECTS, "grid", 43, 100, 0, 10);
    struct difference *difference = difference_make(before, after);
    assert_int_equal(difference->tables[PROFILE_OBJECTS].count, 5);
    assert_int_equal(row_named(difference, PROFILE_OBJECTS, "grid", 41)->sides[1]->order, 43);
    assert_int_equal(row_named(difference, PROFILE_OBJECTS, "buffer", 10)->sides[1]->order, 12);
    assert_int_equal(row_named(difference, PROFILE_OBJECTS, "buffer", 20)->sides[1]->order, 20);
    assert_null(row_named(difference, PROFILE_OBJECTS, "old one", 7)->sides[1]);
    assert_null(row_named(difference, PROFILE_OBJECTS, "new one", 5)->sides[0]);
    assert_true(row_named(difference, PROFILE_OBJECTS, "new one", 5)->real[DIFFERENCE_SHARE]);
    finish(difference, before, after);
}

static void one_line_two_names(void **state)
{
    (void)state;
    struct profile *before = blank(1000), *after = blank(1000);
    add(before, PROFILE_OBJECTS, "grid", 41, 100, 0, 10);
    add(after, PROFILE_OBJECTS, "main", 41, 100, 0, 10);
    add(after, PROFILE_OBJECTS, "main", 43, 100, 0, 10);
    before->tables[PROFILE_OBJECTS].items[0].file = "/here/solver.c";
    for (unsigned i = 0; i < 2; i++)
        after->tables[PROFILE_OBJECTS].items[i].file = "../solver.c";
    struct difference *difference = difference_make(before, after);
    assert_int_equal(difference->tables[PROFILE_OBJECTS].count, 2);
    assert_int_equal(row_named(difference, PROFILE_OBJECTS, "grid", 41)->sides[1]->order, 41);
    assert_null(row_named(difference, PROFILE_OBJECTS, "main", 43)->sides[0]);
    finish(difference, before, after);
}

static void threads_keep_their_place(void **state)
{
    (void)state;
    struct profile *before = blank(1000), *after = blank(1000);
    for (uint32_t i = 0; i < 4; i++)
        add(before, PROFILE_THREADS, "worker", i, 100, 0, 10);
    for (uint32_t i = 0; i < 2; i++)
        add(after, PROFILE_THREADS, "worker", i, 200, 0, 10);
    struct difference *difference = difference_make(before, after);
    assert_int_equal(difference->tables[PROFILE_THREADS].count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct difference_row *row = row_named(difference, PROFILE_THREADS, "worker", i);
        assert_int_equal(row->sides[1] != NULL, i < 2);
    }
    finish(difference, before, after);
}

static void real_and_noise(void **state)
{
    (void)state;
    struct profile *before = blank(1000), *after = blank(1000);
    add(before, PROFILE_OBJECTS, "moved", 1, 300, 12, 100);
    add(after, PROFILE_OBJECTS, "moved", 1, 300, 1, 100);
    add(before, PROFILE_OBJECTS, "slow", 1, 200, 4, 100);
    add(after, PROFILE_OBJECTS, "slow", 1, 200, 4, 300);
    add(before, PROFILE_OBJECTS, "more", 1, 100, 4, 100);
    add(after, PROFILE_OBJECTS, "more", 1, 250, 4, 100);
    add(before, PROFILE_OBJECTS, "as ever", 1, 100, 4, 100);
    add(after, PROFILE_OBJECTS, "as ever", 1, 110, 4, 130);
    add(before, PROFILE_OBJECTS, "rare", 1, 5, 16, 100); /* too few bursts, whatever it says */
    add(after, PROFILE_OBJECTS, "rare", 1, 5, 0, 900);
    struct difference *difference = difference_make(before, after);
    static const struct {
        const char *name;
        bool real[DIFFERENCES];
    } wanted[] = {{"moved", {false, true, false}},
                  {"slow", {false, false, true}},
                  {"more", {true, false, false}},
                  {"as ever", {false, false, false}},
                  {"rare", {false, false, false}}};
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct difference_row *row = row_named(difference, PROFILE_OBJECTS, wanted[i].name, 1);
        for (unsigned kind = 0; kind < DIFFERENCES; kind++)
            assert_int_equal(row->real[kind], wanted[i].real[kind]);
    }
    /* What is real comes first. */
    assert_true(difference->tables[PROFILE_OBJECTS].items[0].real[DIFFERENCE_REMOTE] ||
                difference->tables[PROFILE_OBJECTS].items[0].real[DIFFERENCE_SHARE]);
    finish(difference, before, after);
}

static void what_cannot_be_compared(void **state)
{
    (void)state;
    struct profile *before = blank(1000), *after = blank(1000);
    add(before, PROFILE_OBJECTS, "slow", 1, 200, 4, 100);
    add(after, PROFILE_OBJECTS, "slow", 1, 200, 4, 900);
    after->unit = "cycles";
    struct difference *difference = difference_make(before, after);
    assert_false(row_named(difference, PROFILE_OBJECTS, "slow", 1)->real[DIFFERENCE_LATENCY]);
    assert_false(difference->comparable);
    assert_non_null(strstr(difference->note, "cycles"));
    difference_free(difference);
    after->unit = "ns";
    after->nodes = 1;
    difference = difference_make(before, after);
    assert_false(difference->comparable);
    assert_int_equal(difference->nodes, 0);
    finish(difference, before, after);

    before = blank(3);
    after = blank(1000);
    difference = difference_make(before, after);
    assert_false(difference->comparable);
    assert_non_null(strstr(difference->note, "too few"));
    finish(difference, before, after);
}

static void findings_go_and_stay(void **state)
{
    (void)state;
    struct profile *before = blank(1000), *after = blank(1000);
    static const struct {
        const char *name;
        unsigned before, after; /* remote of 16 */
        bool found_again;
        enum finding_fate fate;
    } wanted[] = {{"mended", 12, 0, false, FATE_GONE},
                  {"as ever", 12, 12, true, FATE_REMAINS},
                  {"barely below the bound", 12, 12, false, FATE_UNSURE}};
    for (uint32_t i = 0; i < 3; i++) {
        add(before, PROFILE_OBJECTS, wanted[i].name, 1, 200, wanted[i].before, 10);
        add(after, PROFILE_OBJECTS, wanted[i].name, 9, 200, wanted[i].after, 10);
        struct profile_finding finding = {.pattern = PATTERN_CONCURRENT_REMOTE,
                                          .name = wanted[i].name,
                                          .file = "",
                                          .entry = i,
                                          .node = -1,
                                          .evidence = ""};
        array_push(&before->findings, finding);
        if (wanted[i].found_again)
            array_push(&after->findings, finding);
    }
    struct profile_finding other = {
        .pattern = PATTERN_FALSE_SHARING, .name = "mended", .file = "", .entry = 0, .node = -1, .evidence = ""};
    array_push(&after->findings, other);
    struct difference *difference = difference_make(before, after);
    assert_int_equal(difference->findings.count, 4);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(difference->findings.items[i].fate, wanted[i].fate);
    assert_int_equal(difference->findings.items[3].fate, FATE_NEW);
    assert_non_null(strstr(difference->proof, "remains"));
    finish(difference, before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_move),
        cmocka_unit_test(one_line_two_names),
        cmocka_unit_test(threads_keep_their_place),
        cmocka_unit_test(real_and_noise),
        cmocka_unit_test(what_cannot_be_compared),
        cmocka_unit_test(findings_go_and_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
