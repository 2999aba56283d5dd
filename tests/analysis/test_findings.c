/* Patterns from made-up facts: each with a near twin that must give none, or another. */
#include "analysis/findings/findings_advice.h"

#include "../flow/feeding.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 4, THREADS = 9, SAMPLES = 8000, SIZE = 8 << 20 };

/* One object of one site on node 0, that eight workers of four nodes use at the same time: the other tests bend it. */
struct made {
    struct feeding feeding;
    struct facts facts;
    struct facts_subject *object, *site;
    struct findings *findings;
};

static void put_users(struct facts_subject *subject, uint32_t first, uint32_t count)
{
    array_free(&subject->users);
    for (uint32_t i = 0; i < count; i++)
        array_push(&subject->users, (struct fact_user){.thread = first + i,
                                                       .node = (int16_t)((first + i) / 2 % NODES),
                                                       .samples = SAMPLES / count,
                                                       .reads = SAMPLES / count / 2,
                                                       .writes = SAMPLES / count / 2});
}

static void put_subject(struct made *made, struct facts_subject *subject)
{
    *subject = (struct facts_subject){
        .object = 0,
        .site = 0,
        .instances = 1,
        .totals = {.samples = SAMPLES,
                   .reads = SAMPLES * 59 / 100,
                   .writes = SAMPLES * 41 / 100,
                   .home_known = SAMPLES,
                   .remote = SAMPLES * 3 / 4,
                   .latency_sum = SAMPLES * 80ul,
                   .latency_count = SAMPLES},
        .bursts = 500,
        .using_threads = 8,
        .using_nodes = NODES,
        .from = mem_zalloc(NODES * sizeof(uint64_t)),
        .home = mem_zalloc(NODES * sizeof(uint64_t)),
        .use = USE_WRITTEN,
        .writers = 8,
        .sharing = SHARING_ALL,
        .alloc_thread = 0,
        .toucher = 0,
        .main_user = 1,
        .main_user_node = 1,
        .concurrency = CONCURRENCY_CONCURRENT,
        .overlap = 0.97,
        .mixing =
            {.pairs = 200, .changes = 168, .chance = 172, .near_pairs = 150, .near_changes = 127, .near_expected = 43},
        .switches = 100,
        .switch_ns = 20000000,
        .pages = SIZE / 4096,
        .separated = 0.02,
        .parts = {.bursts = 480, .pairs = 400, .agree = 106, .near_pairs = 400, .near_agree = 106, .chance = 0.25},
        .slow_time = 0.4,
        .remote_time = 0.2,
    };
    for (unsigned node = 0; node < NODES; node++)
        subject->from[node] = SAMPLES / NODES;
    subject->home[0] = SAMPLES;
    put_users(subject, 1, 8);
    (void)made;
}

/* Threads take turns: very few pairs of bursts change the thread. */
static void put_turns(struct facts_subject *subject)
{
    subject->concurrency = CONCURRENCY_DISJOINT;
    subject->overlap = 0.03;
    subject->mixing.changes = 6;
    subject->mixing.near_changes = 4;
}

/* Neighbours agree so often, above chance. */
static void put_parted(struct facts_subject *subject, double separated)
{
    struct fact_parts *parts = &subject->parts;
    subject->separated = separated;
    parts->agree = (uint64_t)((double)parts->pairs * (parts->chance + separated * (1 - parts->chance)));
    parts->near_agree = (uint64_t)((double)parts->near_pairs * (parts->chance + separated * (1 - parts->chance)));
}

/* An object that all threads use at the same time: on the heap, or the section of a binary. */
static struct made *make_in(const char *binary)
{
    struct made *made = mem_zalloc(sizeof *made);
    made->feeding = feeding_new("numa:4 core:2", ASSIGN_PACKED);
    struct feeding *feeding = &made->feeding;
    uint64_t chain[] = {0x401000, 0x402000};
    feed_start(feeding, PID, 1, false);
    for (uint32_t i = 0; i < THREADS; i++) {
        char name[16];
        snprintf(name, sizeof name, i ? "worker %u" : "main", i);
        feed_thread(feeding, PID + i, name, 0, 0);
    }
    feed_stack(feeding, 1, 2, chain);
    for (unsigned page = 0; page < 16; page++) /* by main, before it is allocated: the allocator had them */
        feed_touch(feeding, 0x10000000 + page * 4096ul);
    feeding->time += 100000000;
    if (binary)
        feed(feeding,
             (struct event){
                 .kind = EVENT_MODULE_LOAD,
                 .module = {.start = 0x10000000, .end = 0x10000000 + SIZE, .bias = 0x10000000, .path = binary}});
    else
        feed_alloc(feeding, 0x10000000, SIZE, 1);
    feed_read(feeding, 0x10000000);
    flow_finish(feeding->flow);
    assert_int_equal(flow_sampled_object_count(feeding->flow), 1);
    assert_int_equal(flow_site_count(feeding->flow), binary ? 0 : 1);
    struct facts *facts = &made->facts;
    facts->flow = feeding->flow;
    facts->node_count = NODES;
    array_push(&facts->objects, (struct facts_subject){0});
    array_push(&facts->sites, (struct facts_subject){0});
    made->object = &facts->objects.items[0];
    made->site = &facts->sites.items[0];
    put_subject(made, made->object);
    put_subject(made, made->site);
    facts->nodes = mem_zalloc(NODES * sizeof *facts->nodes);
    facts->matrix = mem_zalloc((size_t)NODES * NODES * sizeof *facts->matrix);
    facts->totals = made->object->totals;
    facts->totals.samples = facts->totals.home_known = SAMPLES + 2000;
    facts->timed = true;
    facts->slow_ns = 60;
    facts->remote_penalty = 1;
    facts->remote_time = 0.2;
    for (unsigned node = 0; node < NODES; node++)
        facts->nodes[node].samples = (SAMPLES + 2000) / NODES;
    facts->bursts = 620;
    facts->remote_time_variance = 0.04;
    return made;
}

static struct made *make(void)
{
    return make_in(NULL);
}

/* The names of all patterns that are found, with blanks between them. */
static const char *patterns(struct made *made)
{
    static char text[256];
    size_t used = 0;
    text[0] = '\0';
    findings_free(made->findings);
    made->findings = findings_make(&made->facts);
    array_each (&made->findings->items, const struct finding, finding) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "", pattern_name(finding->pattern));
        assert_true(finding->confidence >= CLAIM_HINT && finding->confidence <= 1 && finding->bursts >= CLAIM_BURSTS);
        assert_true(finding->advice.count > 0 && finding->against.count > 0);
        assert_true(strlen(finding->evidence) > 20 && strlen(finding->gain) > 10);
        array_each (&finding->advice, const struct advice, advice)
            assert_true(*advice->why && *advice->code);
    }
    return text;
}

static const struct finding *worst(struct made *made)
{
    assert_true(made->findings->items.count > 0);
    return &made->findings->items.items[0];
}

static bool says(const char *text, const char *part)
{
    if (strstr(text, part))
        return true;
    print_message("# no '%s' in: %s\n", part, text);
    return false;
}

static const struct advice *advised(const struct finding *finding, enum action action)
{
    array_each (&finding->advice, const struct advice, advice)
        if (advice->action == action)
            return advice;
    return NULL;
}

static const struct advice *warned(const struct finding *finding, enum action action)
{
    array_each (&finding->against, const struct advice, advice)
        if (advice->action == action)
            return advice;
    return NULL;
}

static void made_free(struct made *made)
{
    findings_free(made->findings);
    struct facts_subject *subjects[] = {made->object, made->site};
    for (unsigned i = 0; i < 2; i++) {
        array_free(&subjects[i]->users);
        free(subjects[i]->from);
        free(subjects[i]->home);
    }
    array_free(&made->facts.objects);
    array_free(&made->facts.sites);
    free(made->facts.nodes);
    free(made->facts.matrix);
    feeding_free(&made->feeding);
    free(made);
}

static void concurrent(void **state)
{
    (void)state;
    struct made *made = make();
    assert_string_equal(patterns(made), "concurrent-remote");
    const struct finding *finding = worst(made);
    assert_int_equal(finding->advice.items[0].action, ACTION_INTERLEAVE);
    assert_true(says(finding->evidence, "8 threads on 4 nodes"));
    assert_true(says(finding->evidence, "75% of the accesses are remote"));
    assert_true(says(warned(finding, ACTION_DUPLICATE)->why, "41% of its accesses are writes"));
    assert_true(says(warned(finding, ACTION_MIGRATE)->why, "97%"));
    assert_true(says(warned(finding, ACTION_PIN_TOGETHER)->why, "8 threads use it, node 0 has 2 CPUs"));
    assert_true(says(finding->gain, "Distance costs at most 20.0%"));
    assert_true(says(finding->gain, "simulated"));
    assert_true(says(finding->gain, "75% of the accesses stay remote"));
    assert_true(finding->share_of_remote > 0.99);

    made->object->use = USE_READ_ONLY; /* no write was sampled: that is no proof */
    made->object->totals.writes = 0;
    assert_string_equal(patterns(made), "concurrent-remote");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_INTERLEAVE);
    assert_true(says(worst(made)->evidence, "at most 0.5% of its accesses are writes (95% sure)"));
    assert_true(says(warned(worst(made), ACTION_DUPLICATE)->why, "numalens record --faults -- "));

    made->object->proof = PROOF_READ_ONLY;
    assert_string_equal(patterns(made), "concurrent-remote");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_DUPLICATE);
    assert_true(says(worst(made)->advice.items[0].why, "no page of it was written"));
    assert_true(says(worst(made)->advice.items[0].code, "numa_alloc_onnode"));
    assert_null(warned(worst(made), ACTION_DUPLICATE));
    made->object->proof = PROOF_WRITTEN; /* pages were written that no sample shows */
    made->object->written_pages = 7;
    patterns(made);
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_INTERLEAVE);
    assert_true(says(warned(worst(made), ACTION_DUPLICATE)->why, "7 of its pages were written"));

    made->object->using_threads = 2; /* now they fit on the node */
    patterns(made);
    assert_true(
        says(advised(worst(made), ACTION_PIN_TOGETHER)->code, "numa_run_on_node(0)")); /* not all of its threads */
    made_free(made);
}

/* A library's tables are the loader's to place: neither a finding nor undecided, and no cost of placement. */
static void of_libraries(void **state)
{
    (void)state;
    static const char *const binaries[] = {"/opt/solver/bin/solver", "/usr/lib/x86_64-linux-gnu/libm.so.6",
                                           "/lib64/libm.so.6"};
    for (unsigned i = 0; i < 3; i++) {
        struct made *made = make_in(binaries[i]);
        made->object->site = FLOW_NONE;
        made->facts.sites.count = 0;
        assert_string_equal(patterns(made), i ? "" : "concurrent-remote");
        assert_int_equal(made->findings->undecided.count, 0);
        assert_true(i ? made->findings->remote_time_share < 0.001 : made->findings->remote_time_share > 0.19);
        for (unsigned from = 0; from < NODES; from++) /* nor do they saturate a node */
            made->facts.matrix[from * NODES] = 2250;
        made->facts.nodes[0] =
            (struct facts_node){.samples = 9000, .remote = 6000, .remote_time = 0.21, .mixing = made->object->mixing};
        assert_string_equal(patterns(made), i ? "" : "concurrent-remote saturated-node");
        made->facts.sites.count = 1;
        made_free(made);
    }
}

/* Written by all, and already on all nodes: nothing is better. Threads' turns with too few samples: nothing is said. */
static void not_concurrent(void **state)
{
    (void)state;
    struct made *made = make();
    for (unsigned node = 0; node < NODES; node++)
        made->object->home[node] = SAMPLES / NODES;
    assert_string_equal(patterns(made), "");
    made->object->home[0] = SAMPLES;
    made->object->mixing = (struct fact_mixing){.pairs = 40, .changes = 30, .chance = 34}; /* none is close in time */
    assert_string_equal(patterns(made), "");
    assert_int_equal(made->findings->undecided.count, 1);
    made_free(made);
}

static void alternate(void **state)
{
    (void)state;
    struct made *made = make();
    put_turns(made->object);
    made->object->switch_ns = 400000000; /* 8 MiB at 1 GB/s take 8 ms */
    assert_string_equal(patterns(made), "alternate-remote");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_MIGRATE);
    assert_true(says(worst(made)->advice.items[0].why, "for 400.0 ms at a time, migrating it takes about 8.4 ms"));
    assert_true(says(warned(worst(made), ACTION_DUPLICATE)->why, "41%"));
    assert_true(says(warned(worst(made), ACTION_INTERLEAVE)->why, "3%"));

    made->object->switch_ns = 2000000; /* too short to move anything */
    assert_string_equal(patterns(made), "alternate-remote");
    assert_null(advised(worst(made), ACTION_MIGRATE));
    assert_true(says(warned(worst(made), ACTION_MIGRATE)->why, "for 2.0 ms at a time"));
    made_free(made);
}

static void after_allocation(void **state)
{
    (void)state;
    struct made *made = make();
    put_users(made->object, 5, 1);
    made->object->sharing = SHARING_THREAD;
    made->object->using_threads = made->object->using_nodes = 1;
    made->object->main_user = 5;
    made->object->main_user_node = 2;
    assert_string_equal(patterns(made), "remote-after-allocation");
    assert_true(
        says(worst(made)->evidence, "by thread main, so its home is on node 0; thread worker 5 on node 2 makes 100%"));
    assert_true(says(worst(made)->advice.items[0].code, "numa_alloc_onnode(size, 2)"));
    assert_true(says(warned(worst(made), ACTION_INTERLEAVE)->why, "75%"));

    made->object->sharing = SHARING_NODE; /* several threads of that node */
    made->object->using_threads = 2;
    assert_string_equal(patterns(made), "remote-after-allocation");

    made->object->sharing = SHARING_ALL; /* others look in now and then */
    made->object->users.items[0].samples = SAMPLES * 9 / 10;
    array_push(&made->object->users, (struct fact_user){.thread = 1, .node = 0, .samples = SAMPLES / 10});
    assert_string_equal(patterns(made), "remote-after-allocation");

    made->object->main_user_node = 0; /* twin: it is used on its home node */
    made->object->sharing = SHARING_THREAD;
    made->object->totals.remote = SAMPLES / 10;
    assert_string_equal(patterns(made), "");
    made_free(made);
}

/* Its user allocates it already: it is far because the allocator had its pages from another thread. */
static void recycled_pages(void **state)
{
    (void)state;
    struct made *made = make();
    put_users(made->object, 5, 1);
    made->object->sharing = SHARING_THREAD;
    made->object->using_threads = made->object->using_nodes = 1;
    made->object->main_user = made->object->alloc_thread = 5;
    made->object->main_user_node = 2;
    assert_string_equal(patterns(made), "remote-after-allocation");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_ALLOCATE_NEAR); /* twin: another allocates it */
    made->object->alloc_thread_samples = SAMPLES;
    assert_string_equal(patterns(made), "remote-after-allocation");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_SEPARATE_PAGES);
    assert_true(says(worst(made)->advice.items[0].why, "100% of its pages are recycled"));
    assert_non_null(warned(worst(made), ACTION_ALLOCATE_NEAR));
    made_free(made);
}

/* A command for all of the program is for what most remote accesses are, never for a part of them. */
static void no_wider_than_the_evidence(void **state)
{
    (void)state;
    struct made *made = make();
    made->facts.totals.remote = 3 * made->object->totals.remote;
    patterns(made);
    array_each (&worst(made)->advice, const struct advice, advice)
        assert_null(strstr(advice->code, "numactl"));
    made->facts.totals.remote = made->object->totals.remote; /* twin: all of them */
    patterns(made);
    assert_true(says(worst(made)->advice.items[0].code, "numactl --interleave=all")); /* it has no name in the source */
    made_free(made);
}

static void many_instances(void **state)
{
    (void)state;
    struct made *made = make();
    made->site->instances = 193;
    made->site->private_instances = 190;
    made->object->totals.remote = 100;
    assert_string_equal(patterns(made), "remote-after-allocation");
    assert_true(worst(made)->is_site);
    assert_true(says(worst(made)->evidence, "190 of 193"));
    made->object->totals.remote = SAMPLES * 74 / 100; /* one of them is nearly all of it */
    assert_string_equal(patterns(made), "concurrent-remote");
    assert_false(worst(made)->is_site);
    made_free(made);
}

static void far_initialised(void **state)
{
    (void)state;
    struct made *made = make();
    put_parted(made->object, 0.93);
    array_push(&made->object->users, (struct fact_user){.thread = 0, .node = 0, .touched = SIZE / 4096});
    assert_string_equal(patterns(made), "far-initialised");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_FIRST_TOUCH);
    assert_true(says(worst(made)->evidence, "thread main touched 100% of its pages first"));
    assert_true(says(worst(made)->evidence, "use their own part (93% separated), but"));
    made->object->separated = -1; /* too few pairs for a figure: what is not known is not printed as a number */
    assert_string_equal(patterns(made), "far-initialised");
    assert_true(says(worst(made)->evidence, "use their own part, but"));
    assert_null(strstr(worst(made)->advice.items[0].why, "separated"));
    made->object->users.count--; /* another thread touched some of its pages: the other sentence */
    patterns(made);
    assert_true(says(worst(made)->evidence, "use their own part, but the parts have their home elsewhere"));
    put_parted(made->object, 0.3); /* twin: all over the place */
    assert_string_equal(patterns(made), "concurrent-remote");
    made_free(made);
}

static void mixed_pages(void **state)
{
    (void)state;
    struct made *made = make();
    made->site->instances = made->site->private_instances = 4000;
    made->site->mixed_pages = 900;
    made->site->pages = 1000;
    made->site->mixed_remote = SAMPLES * 3 / 4;
    made->object->totals.remote = 100;
    assert_string_equal(patterns(made), "mixed-pages");
    assert_true(says(worst(made)->evidence, "900 of their 1000 pages"));
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_SEPARATE_PAGES);
    made->site->mixed_remote = SAMPLES / 8; /* twin: pages of their own, though far */
    assert_string_equal(patterns(made), "remote-after-allocation");
    made_free(made);
}

static void false_sharing(void **state)
{
    (void)state;
    struct made *made = make();
    made->object->totals.remote = 0;
    made->object->false_sharing = SAMPLES * 6 / 10;
    made->object->worst_line = 0x10000000 + 128;
    assert_string_equal(patterns(made), "false-sharing");
    assert_true(says(worst(made)->evidence, "60% of its accesses"));
    assert_true(says(worst(made)->evidence, "offset 128"));
    assert_true(worst(made)->lost_time_share > 0.23 && worst(made)->lost_time_share < 0.25);
    made->object->false_sharing = SAMPLES / 20; /* twin: a line at the border of two parts */
    assert_string_equal(patterns(made), "");
    made->object->false_sharing = SAMPLES * 3 / 10; /* twin: they do use the same bytes */
    made->object->true_sharing = SAMPLES * 6 / 10;
    assert_string_equal(patterns(made), "cross-node-sharing");
    assert_int_equal(worst(made)->advice.items[0].action, ACTION_PIN_TOGETHER);
    made->object->sharing = SHARING_NODE; /* twin: on one node */
    assert_string_equal(patterns(made), "");
    made_free(made);
}

static void saturated(void **state)
{
    (void)state;
    struct made *made = make();
    made->object->totals.remote = 10; /* many objects, none of them worth a finding */
    for (unsigned from = 0; from < NODES; from++)
        made->facts.matrix[from * NODES] = 2000;
    made->facts.nodes[0] =
        (struct facts_node){.samples = 8000, .remote = 6000, .remote_time = 0.2, .mixing = made->object->mixing};
    assert_string_equal(patterns(made), "saturated-node");
    assert_int_equal(worst(made)->node, 0);
    assert_string_equal(worst(made)->name, "node 0");
    assert_true(says(worst(made)->evidence, "80% of the accesses go to its memory, from 4 nodes"));
    assert_true(says(worst(made)->evidence, "cannot be measured on a simulated topology"));
    assert_true(says(worst(made)->advice.items[0].code, "numactl --interleave=all"));

    made->feeding.topology->simulated = false;
    made->facts.nodes[0].latency_sum = 500 * 700;
    made->facts.nodes[0].latency_count = 500;
    made->facts.nodes[1].latency_sum = 500 * 300;
    made->facts.nodes[1].latency_count = 500;
    patterns(made);
    assert_true(says(worst(made)->evidence, "is 700 ns, that of the other nodes 300 ns: it is overloaded"));

    made->object->false_sharing = SAMPLES; /* twin: a line that moves between caches loads no memory */
    made->object->totals.samples = SAMPLES;
    assert_string_equal(patterns(made), "false-sharing");
    made->object->false_sharing = 0;
    made->facts.nodes[0].mixing.near_changes = 20; /* twin: one node at a time */
    assert_string_equal(patterns(made), "");
    made->facts.nodes[0].mixing = made->object->mixing;
    made->facts.nodes[0].samples = 5000; /* twin: a bit more than the others */
    assert_string_equal(patterns(made), "");
    made->facts.nodes[0] = (struct facts_node){.samples = 8000, .remote = 100}; /* twin: its own CPUs use it */
    made->facts.matrix[0] = 7900;
    made->facts.matrix[NODES] = 100;
    made->facts.matrix[2 * NODES] = made->facts.matrix[3 * NODES] = 0;
    assert_string_equal(patterns(made), "");
    made_free(made);
}

/* A node that is busy because of one object comes behind it, and names it. */
static void an_object_comes_before_its_node(void **state)
{
    (void)state;
    struct made *made = make();
    for (unsigned from = 0; from < NODES; from++)
        made->facts.matrix[from * NODES] = 2250;
    made->facts.nodes[0] =
        (struct facts_node){.samples = 9000, .remote = 6000, .remote_time = 0.21, .mixing = made->object->mixing};
    assert_string_equal(patterns(made), "concurrent-remote saturated-node");
    assert_true(says(made->findings->items.items[1].evidence, worst(made)->name));
    made_free(made);
}

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

static void the_gate(void **state)
{
    (void)state;
    struct made *made = make();
    patterns(made);
    assert_true(made->findings->numa_bound && made->findings->decided);
    assert_true(says(made->findings->verdict, "NUMA slows this program: remote memory costs 10% to 30% of run time"));
    assert_int_equal(made->findings->matters, MATTERS);
    assert_true(made->findings->run_time.low > 1.1 &&
                made->findings->run_time.high == 0); /* what bandwidth adds is not known */
    made->facts.remote_time = made->object->remote_time = 0.012;
    made->facts.remote_time_variance = 0.002;
    assert_string_equal(patterns(made), "concurrent-remote"); /* listed all the same */
    assert_true(!made->findings->numa_bound && made->findings->decided);
    assert_true(says(made->findings->verdict, "Latency of remote memory costs at most 2.1%"));
    assert_true(says(made->findings->verdict, "numalens record --traffic"));
    assert_int_equal(made->findings->matters, MATTERS_UNDECIDED); /* streams that prefetching hides look the same */
    assert_true(made->findings->run_time.high == 0);
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
static void the_gate_is_an_interval(void **state)
{
    (void)state;
    struct made *made = make();
    made->facts.remote_time = made->object->remote_time = made->facts.remote_time_variance = 0;
    made->facts.bursts = 26;
    patterns(made);
    assert_false(made->findings->decided);
    assert_true(made->findings->remote_time_high > 0.05);
    assert_true(
        says(made->findings->verdict, "Undecided whether NUMA slows this program: remote memory costs 0.0% to 5.8%"));
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

/* Recordings of one program whose costs differ by a factor of two and more, each with enough bursts to have no doubt about itself. */
static void runs_do_not_contradict(void **state)
{
    (void)state;
    static const double costs[] = {0.034, 0.08}; /* a streamcluster on a machine that others use too */
    static const struct {
        double cost;
        bool slows;
    } clear[] = {{0.12, true}, {0.03, false}};
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
    advise_to(it, ACTION_PIN_TOGETHER, code_pin_thread(it, 0), "%u nodes", it->nodes);
}

/* A pattern may be about anything: a process and the run as a whole are judged as objects are. */
static void on_processes_and_the_run(void **state)
{
    (void)state;
    const struct pattern_row process = {"p", "of a process", &on_process, sure, where, bind},
                             run = {"r", "of the run", &on_run, sure, where, bind};
    const struct pattern_row *const rows[] = {&process, &run};
    struct made *made = make();
    struct findings *findings = findings_make_with(&made->facts, rows, 2);
    assert_int_equal(findings->items.count, 2);
    array_each (&findings->items, const struct finding, finding) {
        const struct pattern_row *row = rows[finding->pattern];
        assert_true(says(finding->evidence, row == &run ? "the run: 6000" : "process "));
        assert_true(says(finding->gain, "At most 20.0% of run time"));
        assert_null(finding->subject);
        assert_int_equal(finding->node, -1);
        assert_int_equal(finding->process, row == &run ? FLOW_NONE : 0);
        assert_string_equal(finding->advice.items[0].why, "4 nodes");
        assert_true(finding->confidence > CLAIM_LIKELY && finding->bursts == made->facts.bursts);
    }
    findings_free(findings);
    made_free(made);
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
        cmocka_unit_test(concurrent),
        cmocka_unit_test(of_libraries),
        cmocka_unit_test(not_concurrent),
        cmocka_unit_test(alternate),
        cmocka_unit_test(after_allocation),
        cmocka_unit_test(many_instances),
        cmocka_unit_test(recycled_pages),
        cmocka_unit_test(no_wider_than_the_evidence),
        cmocka_unit_test(far_initialised),
        cmocka_unit_test(mixed_pages),
        cmocka_unit_test(false_sharing),
        cmocka_unit_test(saturated),
        cmocka_unit_test(an_object_comes_before_its_node),
        cmocka_unit_test(little_is_nothing),
        cmocka_unit_test(what_caches_answer_is_nothing),
        cmocka_unit_test(the_gate),
        cmocka_unit_test(the_gate_is_an_interval),
        cmocka_unit_test(runs_do_not_contradict),
        cmocka_unit_test(no_pattern_is_what_remains),
        cmocka_unit_test(as_sure_as_the_weakest),
        cmocka_unit_test(on_processes_and_the_run),
        cmocka_unit_test(all_have_names),
    };
    return cmocka_run_group_tests_name("findings", tests, NULL, NULL);
}
