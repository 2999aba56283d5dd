/* test_findings.c - the verdict, and what holds for every pattern; from made-up facts. */
#include "made_facts.h"

static void little_is_nothing(void **state)
{
    (void)state;
    struct made *made = make();
    made->object->bursts = 5; /* five bursts only: it is worth a word, but not a verdict */
    assert_string_equal(patterns(made), "");
    assert_int_equal(made->findings->undecided.count, 1);
    made->object->bursts = 500;
    made->object->totals.samples = made->object->totals.home_known = 90; /* one access in a hundred */
    made->object->totals.remote = 80;
    assert_string_equal(patterns(made), "");
    assert_int_equal(made->findings->undecided.count, 0);
    put_users(made->object, 1, 8);
    made_free(made);
}

/* Where as many bursts again would do for the program, what is undecided may need more. */
static void a_command_decides_all(void **state)
{
    (void)state;
    struct made *made = make();
    made->facts.bursts = 500;
    made->object->bursts = 4;
    assert_string_equal(patterns(made), "");
    assert_int_equal(made->findings->undecided.count, 1);
    assert_true(4 * findings_needed(made->findings, 2) >= (double)made->findings->undecided.items[0].needed);
    assert_true(findings_needed(made->findings, 100) == 100);
    made->facts.bursts = 3; /* too few of the whole program */
    assert_true(3 * findings_needed(made->findings, 2) >= thresholds.fewest_bursts);
    made_free(made);
}

/* A small thing that is always in a cache costs nothing by being far; nor does a line that moves between caches. */
static void what_caches_answer_is_nothing(void **state)
{
    (void)state;
    struct made *made = make();
    made->object->pages = 1;
    made->object->slow_time = 0.001;
    assert_string_equal(patterns(made), "");
    made->object->slow_time = 0.3;
    assert_string_equal(patterns(made), "concurrent-remote");
    made->object->true_sharing = SAMPLES * 9 / 10;
    assert_string_equal(patterns(made), "cross-node-sharing"); /* which is no matter of its place */
    made_free(made);
}

static void the_verdict_needs_a_cost(void **state)
{
    (void)state;
    struct made *made = make();
    patterns(made);
    assert_true(made->findings->numa_bound && made->findings->decided);
    assert_true(says(made->findings->verdict,
                     "NUMA slows this program: waiting for memory of other nodes takes 13% to 27% of its time"));
    assert_int_equal(made->findings->matters, MATTERS);
    made->facts.remote_time = made->object->remote_time = 0.012;
    made->facts.remote_time_variance = 0.002;
    assert_string_equal(patterns(made), "concurrent-remote"); /* listed all the same */
    assert_true(!made->findings->numa_bound && made->findings->decided);
    assert_true(says(made->findings->verdict, "Latency of remote memory is not what slows this program"));
    assert_int_equal(made->findings->matters, MATTERS_UNDECIDED); /* streams that prefetching hides look the same */
    made->facts.remote_time = made->object->remote_time = 0.2;
    made->object->true_sharing = SAMPLES; /* lines that go from cache to cache are no matter of placement */
    patterns(made);
    assert_false(made->findings->numa_bound);
    made->facts.timed = false;
    patterns(made);
    assert_true(made->findings->numa_bound);
    assert_true(says(made->findings->verdict, "No latency was recorded"));
    made->facts.node_count = 1;
    patterns(made);
    assert_false(made->findings->numa_bound);
    made->facts.node_count = NODES;
    made_free(made);
}

/* Bursts that all show nothing prove little when they are few; those at the bound prove nothing either way. */
static void the_verdict_is_an_interval(void **state)
{
    (void)state;
    struct made *made = make();
    made->facts.remote_time = made->object->remote_time = made->facts.remote_time_variance = 0;
    made->facts.bursts = 26;
    patterns(made);
    assert_false(made->findings->decided);
    assert_true(made->findings->remote_time_high > 0.05);
    assert_true(
        says(made->findings->verdict,
             "Undecided whether NUMA slows this program: waiting for memory of other nodes takes 0.0% to 5.8%"));
    assert_true(says(made->findings->verdict, "26 bursts"));
    made->facts.bursts = 260;
    patterns(made);
    assert_true(made->findings->decided && !made->findings->numa_bound);
    made->facts.remote_time = made->object->remote_time = 0.051;
    made->facts.remote_time_variance = 0.04;
    patterns(made);
    assert_false(made->findings->decided);
    made_free(made);
}

/* Recordings of one program whose costs differ by a factor of 1.75, each with enough bursts to have no doubt about itself. */
static void runs_do_not_contradict(void **state)
{
    (void)state;
    static const double costs[] = {0.04, 0.07}; /* on an idle machine, and on one that others use too */
    static const struct {
        double cost;
        bool slows;
    } clear[] = {{0.08, true}, {0.035, false}};
    struct made *made = make();
    made->facts.bursts = 100000;
    for (size_t i = 0; i < 2; i++) {
        made->facts.remote_time = made->object->remote_time = costs[i];
        patterns(made);
        assert_false(made->findings->decided);
        made->facts.remote_time = made->object->remote_time = clear[i].cost;
        patterns(made);
        assert_true(made->findings->decided && made->findings->numa_bound == clear[i].slows);
    }
    made_free(made);
}

/* Each pattern needs its own evidence; without, there is none, but how much would be needed. */
static void no_pattern_is_what_remains(void **state)
{
    (void)state;
    struct made *made = make();
    struct fact_parts sparse = {
        .bursts = 22, .pairs = 21, .agree = 13, .near_pairs = 2, .near_agree = 1, .chance = 0.25};
    made->object->bursts = 22; /* of eight parts 22 bursts show that neighbours differ now and then */
    made->object->parts = sparse;
    made->object->separated = -1;
    assert_string_equal(patterns(made), "");
    assert_int_equal(made->findings->undecided.count, 1);
    const struct undecided *undecided = &made->findings->undecided.items[0];
    assert_int_equal(undecided->bursts, 22);
    assert_true(undecided->needed >= 33);
    assert_string_equal(undecided->finding.name, flow_site(made->feeding.flow, 0)->label);

    made->object->parts =
        (struct fact_parts){.bursts = 60, .pairs = 59, .agree = 52, .near_pairs = 30, .near_agree = 30, .chance = 0.25};
    made->object->bursts = 60; /* more of them, and it is parts */
    assert_string_equal(patterns(made), "far-initialised");
    assert_int_equal(made->findings->undecided.count, 0);
    assert_true(worst(made)->confidence > 0.95);
    made_free(made);
}

/* As sure as the weakest claim: that it is remote, whose it is, in which parts, when. */
static void as_sure_as_the_weakest(void **state)
{
    (void)state;
    struct made *made = make();
    patterns(made);
    assert_true(worst(made)->confidence > 0.99);
    made->object->parts.near_agree = 230; /* of 400: halfway is 250 */
    made->object->parts.bursts = 60;
    patterns(made);
    assert_true(worst(made)->confidence > 0.75 && worst(made)->confidence < 0.9);
    made->object->parts.near_agree = 106;
    made->object->mixing.near_pairs = 20;
    made->object->mixing.near_changes = 10;
    made->object->mixing.near_expected = 8;
    patterns(made);
    assert_true(worst(made)->confidence > 0.75 && worst(made)->confidence < 0.9);
    made_free(made);
}

static bool sure(struct judging *judging, const struct finding *about, struct verdict *verdict)
{
    (void)judging;
    (void)about;
    verdict_claim(verdict, (struct claim){.share = 0.9, .null = 0.1, .bursts = 500});
    return true;
}

static const char *where(struct consult *it)
{
    return findings_text(it->findings, "%s: %lu", it->finding->name, (unsigned long)it->finding->remote_samples);
}

static void bind(struct consult *it)
{
    advise_to(it, ACTION_PIN_TOGETHER, code_pin_thread(it), "%u nodes", it->nodes);
}

/* A pattern may be about anything: a process and the run as a whole are judged as objects are. */
static void on_processes_and_the_run(void **state)
{
    (void)state;
    const struct pattern_row process = {"p", "of a process", &on_process, sure, where, bind},
                             run = {"r", "of the run", &on_run, sure, where, bind};
    const struct pattern_row *const rows[] = {&process, &run};
    struct made *made = make();
    struct findings *findings = findings_make_with(
        &made->facts, rows, 2, &(struct judged_on){.penalty = made->facts.remote_penalty, .most = 1});
    assert_int_equal(findings->items.count, 2);
    array_each (&findings->items, const struct finding, finding) {
        const struct pattern_row *row = rows[finding->pattern];
        assert_true(says(finding->evidence, row == &run ? "the run: 6000" : "process "));
        assert_true(says(finding->gain, "20.0% of run time"));
        assert_null(finding->subject);
        assert_int_equal(finding->node, -1);
        assert_int_equal(finding->process, row == &run ? FLOW_NONE : 0);
        assert_string_equal(finding->advice.items[0].why, "4 nodes");
        assert_true(finding->confidence > 1 - thresholds.doubt_likely && finding->bursts == made->facts.bursts);
    }
    findings_free(findings);
    made_free(made);
}

static const char *option(struct made *made)
{
    const struct advice *advice = advised(worst(made), ACTION_RUNTIME_OPTION);
    return advice ? advice->code : "";
}

/* What a runtime maps for itself has no line that could place it: an option of the runtime or numactl, whatever the pattern is. */
static void heaps_of_runtimes_have_no_code(void **state)
{
    (void)state;
    static const struct {
        const char *mapper, *name, *option;
    } heaps[] = {{"ReservedHeapSpace::ReservedHeapSpace", "Java heap", "-XX:+UseNUMA"},
                 {"CodeHeap::reserve", "Java code cache", ""},
                 {"v8::internal::SemiSpace::Commit", "V8 heap, new space", ""},
                 {"runtime.(*mheap).sysAlloc", "Go heap", ""},
                 {"make_grid", NULL, ""}}; /* and what is none has code as ever */
    for (size_t i = 0; i < sizeof heaps / sizeof *heaps; i++) {
        struct made *made = make_by(NULL, heaps[i].mapper);
        for (unsigned parted = 0; parted < 2; parted++) {
            put_parted(made->object, parted ? 0.9 : 0.02);
            assert_string_equal(patterns(made), parted ? "far-initialised" : "concurrent-remote");
            bool code = false;
            array_each (&worst(made)->advice, const struct advice, advice)
                code |= strstr(advice->code, "/*") != NULL;
            assert_int_equal(code, parted && !heaps[i].name);
            if (heaps[i].name) {
                assert_string_equal(worst(made)->name, heaps[i].name);
                assert_true(says(advised(worst(made), ACTION_INTERLEAVE)->code, "numactl --interleave=all"));
                assert_true(says(option(made), heaps[i].option));
                assert_null(advised(worst(made), ACTION_FIRST_TOUCH));
            }
            assert_int_equal(*option(made) != '\0', *heaps[i].option != '\0');
        }
        made_free(made);
    }
}

static void all_have_names(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PATTERNS; i++)
        assert_true(*pattern_name(i) && *pattern_text(i) && *pattern_on(i));
    for (unsigned i = 0; i < ACTIONS; i++)
        assert_true(*action_name(i) && *action_text(i));
    assert_string_equal(pattern_name(PATTERNS), "");
    assert_string_equal(action_text(ACTIONS), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_is_nothing),
        cmocka_unit_test(a_command_decides_all),
        cmocka_unit_test(what_caches_answer_is_nothing),
        cmocka_unit_test(the_verdict_needs_a_cost),
        cmocka_unit_test(the_verdict_is_an_interval),
        cmocka_unit_test(runs_do_not_contradict),
        cmocka_unit_test(no_pattern_is_what_remains),
        cmocka_unit_test(as_sure_as_the_weakest),
        cmocka_unit_test(on_processes_and_the_run),
        cmocka_unit_test(heaps_of_runtimes_have_no_code),
        cmocka_unit_test(all_have_names),
    };
    return cmocka_run_group_tests_name("findings", tests, NULL, NULL);
}
