/* Who uses, writes, initialises and owns an object. */
#include "analysis/findings/findings.h"
#include "bursts.h"

enum { SIZE = 64 * 4096 };

/* Main fills it (writing), then `users` threads use it in 20 passes; every `flip`-th access of them writes. */
static struct facts *filled_and_used(struct feeding *f, unsigned fill, uint32_t first, uint32_t last, unsigned flip)
{
    *f = run_begin();
    feed_alloc(f, HEAP, SIZE, CHAIN);
    feed_touches(f, 0, HEAP, 64);
    for (unsigned i = 0; i < fill; i++, f->time += 10 * MS)
        feed_burst(f, (struct burst_of){.addr = HEAP + i * 4096, .step = 8, .flags = SAMPLE_WRITE});
    for (unsigned i = 0; i < 20; i++) {
        for (uint32_t thread = first; thread <= last; thread++, f->time += 10 * MS)
            feed_burst(f, (struct burst_of){.thread = thread, .addr = HEAP + i * 4096, .step = 8, .flip = flip});
    }
    return run_end(f);
}

static void handed_over_and_read(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = filled_and_used(&f, 5, 2, 2, 0);
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(object->use, USE_READ_ONLY);
    assert_int_equal(object->writers, 0);
    assert_int_equal(object->sharing, SHARING_THREAD);
    assert_int_equal(object->using_threads, 1);
    assert_int_equal(object->init_samples, 5 * BURST);
    assert_int_equal(object->bursts, 25);
    assert_int_equal(object->totals.samples, 25 * BURST);
    assert_int_equal(flow_thread(f.flow, object->alloc_thread)->tid, PID);
    assert_int_equal(flow_thread(f.flow, object->toucher)->tid, PID);
    assert_int_equal(flow_thread(f.flow, object->main_user)->tid, PID + 2);
    assert_int_equal(object->alloc_node, 0);
    assert_int_equal(object->toucher_node, 0);
    assert_int_equal(object->main_user_node, 2);
    assert_int_equal(object->main_home, 0);
    assert_int_equal(object->alloc_thread_samples, 0);
    assert_int_equal(object->from[0], 5 * BURST);
    assert_int_equal(object->from[2], 20 * BURST);
    assert_int_equal(object->home[0], 25 * BURST);
    assert_int_equal(object->pages, 64);
    assert_true(object->first_remote < UINT64_MAX && object->first_remote >= 50 * MS);
    assert_int_equal(object->concurrency, CONCURRENCY_NONE);
    assert_int_equal(facts->matrix[2 * 4 + 0], 20 * BURST);
    assert_int_equal(facts->nodes[0].remote, 20 * BURST);
    assert_int_equal(facts->threads[object->main_user].homes[0], 20 * BURST);

    /* The site has one instance: the same facts. */
    const struct facts_subject *site = &facts->sites.items[object->site];
    assert_int_equal(site->instances, 1);
    assert_int_equal(site->private_instances, 1);
    assert_int_equal(site->users.count, object->users.count);
    assert_int_equal(site->home[0], 25 * BURST);
    run_free(&f, facts);
}

static void used_by_its_maker(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = filled_and_used(&f, 5, 0, 0, 0);
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(object->use, USE_READ_ONLY);
    assert_int_equal(object->sharing, SHARING_THREAD);
    assert_int_equal(object->main_user_node, 0);
    assert_int_equal(object->init_samples, 5 * BURST); /* up to the first read */
    assert_int_equal(object->alloc_thread_samples, 20 * BURST);
    assert_int_equal(object->first_remote, UINT64_MAX);
    run_free(&f, facts);
}

static struct fact_value value_of(const char *name, const struct facts_subject *subject, const struct flow *flow)
{
    for (const struct fact *fact = fact_table; fact < fact_table + FACTS; fact++)
        if (strcmp(fact->name, name) == 0)
            return fact_value(fact, subject, flow);
    fail_msg("there is no fact %s", name);
    return (struct fact_value){0};
}

/* Facts as all that shows them gets them: words, numbers as the kernel has them, seconds; and what is not known. */
static void by_name(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = filled_and_used(&f, 5, 0, 0, 0);
    struct facts_subject object = *subject_at(facts, HEAP);
    assert_string_equal(value_of("use", &object, facts->flow).word, "read-only");
    assert_int_equal(value_of("init_samples", &object, facts->flow).number, 5 * BURST);
    assert_int_equal(value_of("main_user_tid", &object, facts->flow).number, flow_thread(facts->flow, 0)->tid);
    assert_int_equal(value_of("main_user_node", &object, facts->flow).number, 0);
    assert_false(value_of("first_remote_s", &object, facts->flow).known);
    assert_false(value_of("worst_line", &object, facts->flow).known);
    object.first_remote = 1500000000;
    object.stride = -64;
    object.separated = -1;
    object.toucher = FLOW_NONE;
    object.toucher_node = -1;
    struct fact_value late = value_of("first_remote_s", &object, facts->flow);
    assert_true(late.known && late.decimals == 6 && late.real > 1.4999 && late.real < 1.5001);
    assert_int_equal(value_of("stride", &object, facts->flow).number, -64);
    assert_false(value_of("separated", &object, facts->flow).known);
    assert_false(value_of("toucher_tid", &object, facts->flow).known);
    assert_false(value_of("toucher_node", &object, facts->flow).known);
    for (unsigned i = 0; i < FACTS; i++)
        assert_true(*fact_table[i].name && *fact_table[i].meaning);
    run_free(&f, facts);
}

static void shares_of_writes(void **state)
{
    (void)state;
    const struct {
        unsigned flip;
        enum fact_use use;
    } cases[] = {{0, USE_READ_ONLY}, {16, USE_READ_MOSTLY}, {4, USE_WRITTEN}, {1, USE_WRITTEN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct feeding f;
        struct facts *facts = filled_and_used(&f, 0, 1, 2, cases[i].flip);
        const struct facts_subject *object = subject_at(facts, HEAP);
        assert_int_equal(object->use, cases[i].use);
        assert_int_equal(object->writers, cases[i].flip ? 2 : 0);
        assert_int_equal(object->sharing, SHARING_ALL);
        assert_int_equal(object->using_threads, 2);
        assert_int_equal(object->using_nodes, 2);
        run_free(&f, facts);
    }
}

/* Four threads fill their parts, then all read: initialised together. */
static void filled_together(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    for (uint32_t thread = 0; thread < 4; thread++) {
        feed_touches(&f, thread, HEAP + thread * 16 * 4096, 16);
        feed_burst(&f, (struct burst_of){
                           .thread = thread, .addr = HEAP + thread * 16 * 4096, .step = 8, .flags = SAMPLE_WRITE});
    }
    for (unsigned i = 0; i < 80; i++, f.time += 3 * MS)
        feed_burst(&f, (struct burst_of){.thread = i % 4, .addr = HEAP + i % 64 * 4096, .step = 8});
    struct facts *facts = run_end(&f);
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(object->use, USE_READ_ONLY);
    assert_int_equal(object->writers, 0);
    assert_int_equal(object->using_threads, 4);
    run_free(&f, facts);
}

/* Results are written all along by one thread and read by another at the end: the writing is no initialisation. */
static void written_all_along(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    feed_touches(&f, 0, HEAP, 64);
    for (unsigned i = 0; i < 40; i++, f.time += 10 * MS)
        feed_burst(&f, (struct burst_of){.thread = 1 + i % 2, .addr = HEAP, .step = 8, .flags = SAMPLE_WRITE});
    for (unsigned i = 0; i < 10; i++, f.time += 10 * MS)
        feed_burst(&f, (struct burst_of){.addr = HEAP, .step = 8});
    struct facts *facts = run_end(&f);
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(object->use, USE_WRITTEN);
    assert_int_equal(object->writers, 2);
    assert_int_equal(object->init_samples, 0);
    run_free(&f, facts);
}

/* One writer and nobody else: that is its use, not its initialisation. */
static void written_by_one(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = filled_and_used(&f, 20, 1, 0, 0);
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(object->use, USE_WRITTEN);
    assert_int_equal(object->writers, 1);
    assert_int_equal(object->init_samples, 0);
    assert_int_equal(object->init_end, flow_object(f.flow, object->object)->start);
    assert_int_equal(object->using_threads, 1);
    run_free(&f, facts);
}

/* 40 bursts of thread 1 and `others` of thread 2. */
static enum fact_sharing with_others(unsigned others, unsigned count)
{
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < 40; i++, f.time += 10 * MS) {
        feed_burst(&f, (struct burst_of){.thread = 1, .addr = HEAP, .step = 8});
        if (i < others)
            feed_burst(&f, (struct burst_of){.thread = 2, .addr = HEAP, .step = 8, .count = count});
    }
    struct facts *facts = run_end(&f);
    enum fact_sharing sharing = subject_at(facts, HEAP)->sharing;
    run_free(&f, facts);
    return sharing;
}

static void strays_do_not_share(void **state)
{
    (void)state;
    assert_int_equal(with_others(0, 0), SHARING_THREAD);
    assert_int_equal(with_others(1, BURST), SHARING_THREAD); /* one look of many */
    assert_int_equal(with_others(6, 2), SHARING_THREAD);     /* 2% */
    assert_int_equal(with_others(6, BURST), SHARING_ALL);
    assert_int_equal(with_others(40, 1), SHARING_ALL);
}

/* Thread 2 makes 13 bursts; thread 1, and then thread 3 too, one. */
static void single_bursts(void **state)
{
    (void)state;
    for (uint32_t others = 1; others <= 2; others++) {
        struct feeding f = run_begin();
        feed_alloc(&f, HEAP, SIZE, CHAIN);
        feed_touches(&f, 0, HEAP, 64);
        for (unsigned i = 0; i < 13 + others; i++, f.time += 10 * MS)
            feed_burst(&f, (struct burst_of){.thread = i < 13    ? 2
                                                       : i == 13 ? 1
                                                                 : 3,
                                             .addr = HEAP + i * 4096,
                                             .step = 8});
        struct facts *facts = run_end(&f);
        const struct facts_subject *object = subject_at(facts, HEAP);
        assert_int_equal(object->sharing, others == 1 ? SHARING_THREAD : SHARING_ALL);
        assert_int_equal(object->using_threads, others == 1 ? 1 : 3);
        run_free(&f, facts);
    }
}

static void one_node_or_all(void **state)
{
    (void)state;
    for (uint32_t nodes = 1; nodes <= 2; nodes++) {
        struct feeding f = feeding_new("numa:2 core:4", ASSIGN_PACKED);
        feeding_record(&f);
        feed_start(&f, PID, 1, false);
        for (uint32_t i = 1; i < 8; i++)
            feed_thread(&f, PID + i, "worker", 0, 0);
        feed_alloc(&f, HEAP, SIZE, 0);
        for (unsigned i = 0; i < 80; i++, f.time += 3 * MS)
            feed_burst(&f, (struct burst_of){.thread = i % (4 * nodes), .addr = HEAP, .step = 8});
        struct facts *facts = run_end(&f);
        const struct facts_subject *object = subject_at(facts, HEAP);
        assert_int_equal(object->sharing, nodes == 1 ? SHARING_NODE : SHARING_ALL);
        assert_int_equal(object->using_threads, 4 * nodes);
        assert_int_equal(object->using_nodes, nodes);
        run_free(&f, facts);
    }
}

/* None of very many equal users is a stray. */
static void a_hundred_equal_users(void **state)
{
    (void)state;
    struct feeding f = feeding_new("numa:4 core:1", ASSIGN_ROUND_ROBIN);
    feeding_record(&f);
    feed_start(&f, PID, 1, false);
    for (uint32_t i = 1; i < 100; i++)
        feed_thread(&f, PID + i, "worker", 0, 0);
    feed_alloc(&f, HEAP, SIZE, 0);
    for (unsigned i = 0; i < 300; i++, f.time += MS)
        feed_burst(&f, (struct burst_of){.thread = i % 100, .addr = HEAP, .step = 8});
    struct facts *facts = run_end(&f);
    assert_int_equal(subject_at(facts, HEAP)->using_threads, 100);
    assert_int_equal(subject_at(facts, HEAP)->concurrency, CONCURRENCY_CONCURRENT);
    run_free(&f, facts);
}

static void a_single_sample(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, 100, CHAIN);
    feed_access(&f, HEAP, 0, SAMPLE_WRITE, 0);
    struct facts *facts = run_end(&f);
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(object->totals.samples, 1);
    assert_int_equal(object->using_threads, 1);
    assert_int_equal(object->sharing, SHARING_THREAD);
    assert_int_equal(object->concurrency, CONCURRENCY_NONE);
    assert_int_equal(object->shape, SHAPE_UNKNOWN);
    assert_int_equal(object->phases.count, 1);
    assert_int_equal(object->phases.items[0].samples, 1);
    assert_int_equal(object->switches, 0);
    assert_int_equal(object->worst_line, 0);
    run_free(&f, facts);
}

static void nothing_at_all(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    struct facts *facts = run_end(&f);
    assert_int_equal(facts->objects.count, 0);
    assert_int_equal(facts->totals.samples, 0);
    run_free(&f, facts);
}

/* A real machine that does not report home nodes: nothing is remote, nobody's node is made up. */
static void homes_unknown(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    f.topology->simulated = false;
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < 20; i++, f.time += 10 * MS)
        feed_burst(&f, (struct burst_of){.thread = i % 2, .addr = HEAP, .step = 8});
    struct facts *facts = run_end(&f);
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(object->main_home, -1);
    assert_int_equal(object->totals.remote, 0);
    assert_int_equal(object->first_remote, UINT64_MAX);
    assert_int_equal(object->sharing, SHARING_ALL);
    assert_int_equal(object->users.items[0].node, 0);
    assert_int_equal(object->users.items[1].node, 1);
    assert_int_equal(object->alloc_node, 3); /* of the CPU that malloc was called on */
    run_free(&f, facts);
}

static void stacks_are_one_subject(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    for (uint32_t i = 1; i < 4; i++)
        feed_thread(&f, PID + i, "worker", 0x7f0000000000 + i * 0x100000, 0x7f0000000000 + (i + 1) * 0x100000);
    for (unsigned i = 0; i < 30; i++, f.time += 3 * MS)
        feed_burst(&f, (struct burst_of){.thread = 1 + i % 3, .addr = 0x7f0000000000 + (1 + i % 3) * 0x100000 + 64});
    struct facts *facts = run_end(&f);
    assert_int_equal(facts->objects.count, 3);
    assert_int_equal(facts->objects.items[0].totals.samples, 30 * BURST);
    assert_int_equal(facts->objects.items[0].instances, 3);
    assert_int_equal(facts->objects.items[0].users.count, 3);
    assert_int_equal(facts->objects.items[1].totals.samples, 0);
    run_free(&f, facts);
}

/* Instances of a site, each used by another thread: private each, though the site as a whole has four users. */
static void private_instances(void **state)
{
    (void)state;
    for (unsigned mixed = 0; mixed < 2; mixed++) {
        struct feeding f = run_begin();
        for (unsigned i = 0; i < 40; i++)
            feed_alloc(&f, HEAP + i * 0x10000, 0x8000, CHAIN);
        for (unsigned i = 0; i < 400; i++, f.time += 2 * MS) {
            unsigned object = i % 40;
            feed_burst(&f, (struct burst_of){
                               .thread = mixed ? i / 40 % 4 : object % 4, .addr = HEAP + object * 0x10000, .step = 8});
        }
        struct facts *facts = run_end(&f);
        const struct facts_subject *site = &facts->sites.items[subject_at(facts, HEAP)->site];
        assert_int_equal(site->instances, 40);
        assert_int_equal(site->private_instances, mixed ? 0 : 40);
        assert_int_equal(site->using_threads, 4);
        assert_int_equal(site->sharing, SHARING_ALL);
        assert_int_equal(site->bursts, 400);
        assert_int_equal(site->concurrency, mixed ? CONCURRENCY_CONCURRENT : CONCURRENCY_NONE);
        run_free(&f, facts);
    }
}

/* The bound between near and far follows the latencies; without any it is the usual one. */
static void what_is_slow(void **state)
{
    (void)state;
    for (unsigned timed = 0; timed < 2; timed++) {
        struct feeding f = run_begin();
        feed_alloc(&f, HEAP, SIZE, CHAIN);
        feed_touches(&f, 0, HEAP, 64);
        for (unsigned i = 0; i < 200; i++, f.time += 5 * MS)
            feed_burst(
                &f, (struct burst_of){
                        .thread = i % 2, .addr = HEAP, .step = 8, .latency = timed ? (i % 5 ? 55 + i % 9 : 110) : 0});
        struct facts *facts = run_end(&f);
        const struct facts_subject *object = subject_at(facts, HEAP);
        if (timed)
            assert_in_range(facts->slow_ns, 64, 109);
        assert_int_equal(facts->slow_local.count, timed ? 20 * BURST : 0);
        assert_int_equal(facts->slow_remote.count, timed ? 20 * BURST : 0);
        assert_int_equal(object->slow_remote_count, timed ? 20 * BURST : 0);
        assert_int_equal(object->slow_remote_sum, timed ? 20 * BURST * 110 : 0);
        run_free(&f, facts);
    }
}

/* The bound is before the misses, however fast memory is: behind them, where nothing is, none would be slow. */
static void memory_that_answers_soon_is_slow(void **state)
{
    (void)state;
    static const uint16_t seen[] = {0, 1, 0, 4, 20, 82, 0, 1, 24, 88};
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    feed_touches(&f, 0, HEAP, 64);
    for (unsigned i = 0; i < 200; i++, f.time += 5 * MS)
        feed_burst(&f, (struct burst_of){.thread = i % 2, .addr = HEAP, .step = 8, .latency = seen[i % 10]});
    struct facts *facts = run_end(&f);
    assert_in_range(facts->slow_ns, 40, 81);
    assert_int_equal(facts->slow_local.count + facts->slow_remote.count, 40 * BURST);
    run_free(&f, facts);
}

/* Threads whose stacks begin on a page that main touched keep to their own: nothing is shared, and nothing is found. The
 * same stacks used by everybody are, also where caches answer, unless it is only a few pages of each. */
static void whose_stack(void **state)
{
    (void)state;
    enum { LOW = 0x30000000 };
    static const struct {
        bool stray;
        uint32_t pages;
        uint16_t latency;
        bool found;
    } cases[] = {{false, SIZE / 4096, 200, false},
                 {true, SIZE / 4096, 200, true},
                 {true, SIZE / 4096, 5, true},
                 {true, 4, 5, false}};
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        bool stray = cases[c].stray;
        struct feeding f = run_begin();
        for (uint32_t i = 1; i < 4; i++)
            feed_thread(&f, PID + 10 + i, "owner", LOW + i * SIZE, LOW + (i + 1) * SIZE);
        for (uint32_t i = 1; i < 4; i++)
            feed_touches(&f, 0, LOW + i * SIZE, cases[c].pages);
        for (unsigned i = 0; i < 200; i++, f.time += 10 * MS) {
            uint32_t owner = 1 + dice(3), user = stray ? 1 + dice(3) : owner;
            feed_burst(&f, (struct burst_of){.thread = 10 + user,
                                             .addr = LOW + owner * SIZE + dice(cases[c].pages) * 4096,
                                             .step = 8,
                                             .flip = 2,
                                             .latency = cases[c].latency});
        }
        struct facts *facts = run_end(&f);
        const struct facts_subject *stacks = facts_of_object(facts, flow_sampled_object_count(f.flow) - 1);
        assert_int_equal(stacks->instances, 3);
        assert_true(stray ? stacks->strangers > stacks->totals.samples / 2 : stacks->strangers == 0);
        struct findings *findings = findings_make(facts);
        bool found = false;
        array_each (&findings->items, const struct finding, finding)
            found |= finding->subject == stacks && finding->pattern == PATTERN_CONCURRENT_REMOTE;
        assert_int_equal(found, cases[c].found);
        findings_free(findings);
        run_free(&f, facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handed_over_and_read),
        cmocka_unit_test(used_by_its_maker),
        cmocka_unit_test(by_name),
        cmocka_unit_test(shares_of_writes),
        cmocka_unit_test(filled_together),
        cmocka_unit_test(written_all_along),
        cmocka_unit_test(written_by_one),
        cmocka_unit_test(strays_do_not_share),
        cmocka_unit_test(single_bursts),
        cmocka_unit_test(one_node_or_all),
        cmocka_unit_test(a_hundred_equal_users),
        cmocka_unit_test(a_single_sample),
        cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(homes_unknown),
        cmocka_unit_test(stacks_are_one_subject),
        cmocka_unit_test(private_instances),
        cmocka_unit_test(what_is_slow),
        cmocka_unit_test(memory_that_answers_soon_is_slow),
        cmocka_unit_test(whose_stack),
    };
    return cmocka_run_group_tests_name("users", tests, NULL, NULL);
}
