/* What is matched with what, and what is called real, on profiles made by hand. */
#include "profiles.h"

static void finish(struct difference *difference, struct profile *before, struct profile *after)
{
    difference_free(difference);
    profile_free(before);
    profile_free(after);
}

struct place {
    const char *name;
    uint32_t line;
};

static void add_places(struct profile *profile, const struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(profile, PROFILE_OBJECTS, places[i].name, places[i].line, strstr(places[i].name, " one") ? 40 : 100, 0, 10);
}

static void lines_move(void **state)
{
    (void)state;
    /* Names are numbered in another order in the other run. */
    static const struct place was[] = {{"grid", 41}, {"buffer", 10}, {"buffer", 20}, {"old one", 7}};
    static const struct place is[] = {{"new one", 5}, {"buffer", 20}, {"buffer", 12}, {"grid", 43}};
    static const struct {
        struct place was;
        uint32_t is;
    } moved[] = {{{"grid", 41}, 43}, {{"buffer", 10}, 12}, {{"buffer", 20}, 20}};
    struct profile *before = blank(1000), *after = blank(1000);
    add_places(before, was, sizeof was / sizeof *was);
    add_places(after, is, sizeof is / sizeof *is);
    struct difference *difference = difference_make(before, after);
    assert_int_equal(difference->tables[PROFILE_OBJECTS].count, 5);
    for (unsigned i = 0; i < sizeof moved / sizeof *moved; i++) {
        const struct difference_row *row = row_named(difference, PROFILE_OBJECTS, moved[i].was.name, moved[i].was.line);
        assert_int_equal(row->sides[1]->order, moved[i].is);
    }
    assert_null(row_named(difference, PROFILE_OBJECTS, "old one", 7)->sides[1]);
    const struct difference_row *fresh = row_named(difference, PROFILE_OBJECTS, "new one", 5);
    assert_null(fresh->sides[0]);
    assert_true(fresh->real[DIFFERENCE_SHARE]);
    finish(difference, before, after);
}

static struct profile_entry *last_object(struct profile *profile)
{
    return &profile->tables[PROFILE_OBJECTS].items[profile->tables[PROFILE_OBJECTS].count - 1];
}

/* An object of a size, allocated in a file, that `user` accesses from a part of the run on. */
static void add_used(struct profile *profile, const char *name, const char *file, uint64_t bytes, const char *user,
                     double from)
{
    add(profile, PROFILE_OBJECTS, name, 10, 200, strcmp(name, "grid") == 0 ? 12 : 4, 10);
    struct profile_entry *entry = last_object(profile);
    entry->file = file;
    entry->kind = OBJECT_HEAP;
    entry->bytes = bytes;
    entry->from = from;
    entry->until = 1;
    entry->users[0] = (struct profile_user){.function = strtab_add(profile->texts, user), .share = 1};
}

static void what_was_renamed_is_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *file, *user;
        uint64_t bytes;
        double from;
        bool same;
    } cases[] = {
        {"/a/solver.c", "sweep", 64 << 20, 0, true},   {"/a/grid.c", "sweep", 65 << 20, 0.02, true},
        {"/a/grid.c", "sweep", 64 << 20, 0.5, false},  {"/a/solver.c", "sweep", 24 << 20, 0, false},
        {"/a/solver.c", "reduce", 64 << 20, 0, false}, {"/a/solver.c", "sweep", 64 << 20, 0.5, true},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *before = blank(1000), *after = blank(1000);
        add_used(before, "grid", "/a/solver.c", 64 << 20, "sweep", 0);
        add_used(after, "Grid::cells", cases[i].file, cases[i].bytes, cases[i].user, cases[i].from);
        last_object(after)->line = last_object(after)->order = 77;
        array_push(&before->findings,
                   (struct profile_finding){
                       .pattern = PATTERN_FAR_INITIALISED, .name = "grid", .file = "", .node = -1, .evidence = ""});
        array_push(&after->findings,
                   (struct profile_finding){
                       .pattern = PATTERN_MIXED_PAGES, .name = "Grid::cells", .file = "", .node = -1, .evidence = ""});
        struct difference *difference = difference_make(before, after);
        const struct difference_row *row = row_named(difference, PROFILE_OBJECTS, "grid", 10);
        assert_int_equal(row->renamed, cases[i].same);
        assert_int_equal(row->sides[1] != NULL, cases[i].same);
        assert_int_equal(strstr(difference->what, "Grid::cells (") && strstr(difference->what, "is what was grid"),
                         cases[i].same);
        /* What is left of a problem, under another name and pattern, is not a new one. */
        const struct difference_finding *fate = &difference->findings.items[difference->findings.count - 1];
        assert_string_equal(fate->after->name, "Grid::cells");
        assert_int_equal(fate->fate == FATE_NEW, !cases[i].same);
        finish(difference, before, after);
    }
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
    struct side {
        unsigned bursts, remote;
        double latency;
    };
    static const struct {
        const char *name;
        struct side before, after;
        bool real[DIFFERENCES];
    } cases[] = {
        {"moved", {300, 12, 100}, {300, 1, 100}, {false, true, false}},
        {"slow", {200, 4, 100}, {200, 4, 300}, {false, false, true}},
        {"more", {100, 4, 100}, {250, 4, 100}, {true, false, false}},
        {"as ever", {100, 4, 100}, {110, 4, 130}, {false, false, false}},
        {"rare", {5, 16, 100}, {5, 0, 900}, {false, false, false}}, /* too few bursts, whatever it says */
    };
    struct profile *profiles[2] = {blank(1000), blank(1000)};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned k = 0; k < 2; k++) {
            const struct side *side = k ? &cases[i].after : &cases[i].before;
            add(profiles[k], PROFILE_OBJECTS, cases[i].name, 1, side->bursts, side->remote, side->latency);
        }
    struct difference *difference = difference_make(profiles[0], profiles[1]);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct difference_row *row = row_named(difference, PROFILE_OBJECTS, cases[i].name, 1);
        for (unsigned kind = 0; kind < DIFFERENCES; kind++)
            assert_int_equal(row->real[kind], cases[i].real[kind]);
    }
    /* What is real comes first. */
    assert_true(difference->tables[PROFILE_OBJECTS].items[0].real[DIFFERENCE_REMOTE] ||
                difference->tables[PROFILE_OBJECTS].items[0].real[DIFFERENCE_SHARE]);
    finish(difference, profiles[0], profiles[1]);
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

static void lost_samples_explain(void **state)
{
    (void)state;
    static const struct {
        uint64_t lost;
        bool real, note;
    } cases[] = {{0, true, false}, {1000 * BURST / 200, true, false}, {1000 * BURST, false, true}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *before = blank(1000), *after = blank(1000);
        after->lost = cases[i].lost; /* half of all in the last case: the thread may have had as many as before */
        add(before, PROFILE_THREADS, "worker", 0, 500, 0, 10);
        add(after, PROFILE_THREADS, "worker", 0, 250, 0, 10);
        struct difference *difference = difference_make(before, after);
        assert_int_equal(row_named(difference, PROFILE_THREADS, "worker", 0)->real[DIFFERENCE_SHARE], cases[i].real);
        assert_int_equal(strstr(difference->note, "50% of the samples were lost") != NULL, cases[i].note);
        assert_true(difference->comparable);
        finish(difference, before, after);
    }
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
    } wanted[] = {{"fixed", 12, 0, false, FATE_GONE},
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
        .pattern = PATTERN_FALSE_SHARING, .name = "fixed", .file = "", .entry = 0, .node = -1, .evidence = ""};
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
        cmocka_unit_test(lines_move),           cmocka_unit_test(what_was_renamed_is_the_same),
        cmocka_unit_test(one_line_two_names),   cmocka_unit_test(threads_keep_their_place),
        cmocka_unit_test(real_and_noise),       cmocka_unit_test(what_cannot_be_compared),
        cmocka_unit_test(lost_samples_explain), cmocka_unit_test(findings_go_and_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
