/* Runs programs under the agent and compares what they say they did with what was recorded. */
#include "../skip.h"
#include "region.h"

#include "base/map64.h"

#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { TRACK = WIRE_TRACK_HEAP | WIRE_FOLLOW_CHILDREN, RINGS = 256, RING_BYTES = 1 << 17 };

/* Where a thread's records have been compared up to. */
struct cursor {
    uint32_t pid, tid;
    size_t next;
};

static int run_in(struct test_region *t, const char *program, const char *what, const char *more)
{
    char *const argv[] = {(char *)program, (char *)what, (char *)more, NULL};
    return test_region_run(t, AGENT, argv, NULL);
}

static int run(struct test_region *t, uint32_t flags, const char *what)
{
    test_region_make(t, RINGS, RING_BYTES, flags);
    return run_in(t, TARGET, what, NULL);
}

static bool matches(const struct test_record *record, const char *kind, unsigned value, uint64_t addr, uint64_t size)
{
    if (strcmp(kind, "alloc") == 0)
        return record->head->type == WIRE_ALLOC && record->alloc->addr == addr &&
               record->alloc->size_fn == (size | (uint64_t)value << WIRE_FN_SHIFT);
    if (strcmp(kind, "free") == 0)
        return record->head->type == WIRE_FREE && record->free->addr == addr && record->head->value == value;
    if (strcmp(kind, "map") == 0)
        return record->head->type == WIRE_MAP && record->map->addr == addr && record->map->size == size &&
               record->map->map_kind == value;
    return record->head->type == WIRE_UNMAP && record->unmap->addr == addr && record->unmap->size == size;
}

/* Every fact that the program prints must be recorded, by the thread that printed it, in the same order. */
static size_t check_facts(const struct test_region *t)
{
    static struct cursor cursors[1024];
    size_t cursor_count = 0, facts = 0;
    char *text = t->output ? strdup(t->output) : NULL, *rest;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
        char kind[16] = "";
        unsigned pid, tid, value;
        unsigned long long addr, size = 0;
        if (strncmp(line, "broken", 6) == 0)
            fail_msg("%s", line);
        if (sscanf(line, "%15s %u %u %u %llx %llu", kind, &pid, &tid, &value, &addr, &size) < 5)
            continue;
        struct cursor *cursor = cursors;
        while (cursor < cursors + cursor_count && (cursor->pid != pid || cursor->tid != tid))
            cursor++;
        if (cursor == cursors + cursor_count)
            cursors[cursor_count++] = (struct cursor){.pid = pid, .tid = tid};
        size_t i = cursor->next;
        while (i < t->count && (t->records[i].pid != pid || t->records[i].tid != tid ||
                                !matches(&t->records[i], kind, value, addr, size)))
            i++;
        if (i == t->count)
            fail_msg("not recorded: %s", line);
        cursor->next = i + 1;
        facts++;
    }
    free(text);
    return facts;
}

/* In the order of time an address is allocated, released, allocated: never twice the same. */
static void check_lives(struct test_region *t)
{
    struct map64 live = {0};
    size_t strangers = 0;
    test_region_sort(t);
    for (size_t i = 0; i < t->count; i++) {
        const struct test_record *record = &t->records[i];
        if (record->head->type != WIRE_ALLOC && record->head->type != WIRE_FREE)
            continue;
        uint64_t key = (uint64_t)record->pid << 48 ^ (uint64_t)record->image << 56 ^ record->alloc->addr;
        uint64_t *state = map64_insert(&live, key, NULL);
        if (record->head->type == WIRE_ALLOC) {
            if (*state == 1)
                fail_msg("%llx allocated twice, by %s", (unsigned long long)record->alloc->addr,
                         alloc_fn_name((unsigned)(record->alloc->size_fn >> WIRE_FN_SHIFT)));
            *state = 1;
        } else {
            if (*state == 2)
                fail_msg("%llx released twice", (unsigned long long)record->free->addr);
            strangers += *state == 0; /* allocated before anyone looked, or by a parent */
            *state = 2;
        }
    }
    assert_true(strangers < 10);
    map64_free(&live);
}

static void check_rings(const struct test_region *t)
{
    assert_false(t->corrupt);
    for (unsigned cause = 0; cause < LOSS_CAUSES; cause++) {
        if (test_region_lost(t, cause))
            fail_msg("lost: %s", loss_name(cause));
    }
}

static void check_ended_well(const struct test_region *t, int status)
{
    if (status != 0)
        print_message("# %s\n", t->output && strstr(t->output, "broken") ? strstr(t->output, "broken") : "");
    assert_int_equal(status, 0);
}

static void check_all(struct test_region *t, int status, size_t facts_at_least)
{
    check_ended_well(t, status);
    check_rings(t);
    assert_true(check_facts(t) >= facts_at_least);
    check_lives(t);
}

static const char *exe_of(const struct test_record *record)
{
    return record->process->texts;
}

static void a_process_introduces_itself(void **state)
{
    (void)state;
    struct test_region t;
    assert_int_equal(run(&t, TRACK, "environment"), 0);
    assert_int_equal(test_region_count(&t, WIRE_PROCESS, 0), 1);
    const struct test_record *first = &t.records[0];
    assert_int_equal(first->head->type, WIRE_PROCESS);
    assert_int_equal(first->head->value, getpid());
    assert_int_equal(first->process->forked, 0);
    assert_non_null(strstr(exe_of(first), "target"));
    const char *command = exe_of(first) + strlen(exe_of(first)) + 1;
    assert_non_null(strstr(command, "target environment"));
    assert_int_equal(t.records[1].head->type, WIRE_THREAD);
    assert_int_equal(t.records[1].thread->head.value, first->pid);
    assert_memory_equal(t.records[1].thread->name, "target", 7);
    uint64_t low = t.records[1].thread->stack_low, high = t.records[1].thread->stack_high;
    assert_true(high > low && high - low >= 65536);
    bool stack = false, own = false, vdso = false, with_id = false;
    for (size_t i = 0; i < t.count; i++) {
        const struct test_record *record = &t.records[i];
        stack |= record->head->type == WIRE_MAP && record->map->map_kind == MAP_KIND_STACK &&
                 record->map->addr == low && record->map->size == high - low;
        if (record->head->type != WIRE_MODULE)
            continue;
        own |= strcmp(record->module->path, exe_of(first)) == 0;
        vdso |= strstr(record->module->path, "vdso") != NULL;
        with_id |= record->head->value == 20 && strstr(record->module->path, "libc.so") != NULL;
        assert_true(record->module->start < record->module->end && record->module->bias <= record->module->start);
    }
    assert_true(stack && own && vdso && with_id);
    assert_int_equal(test_region_count(&t, WIRE_THREAD_EXIT, 0), 1);
    check_rings(&t);
    test_region_free(&t);
}

static void every_allocation_is_seen(void **state)
{
    (void)state;
    struct test_region t;
    check_all(&t, run(&t, TRACK, "heap"), 20);
    test_region_free(&t);
}

static void allocations_have_chains(void **state)
{
    (void)state;
    struct test_region t;
    check_all(&t, run(&t, TRACK, "heap"), 20);
    size_t named = 0;
    for (size_t i = 0; i < t.count; i++)
        named += t.records[i].head->type == WIRE_ALLOC && t.records[i].head->value != 0;
    assert_true(named >= 10 && test_region_count(&t, WIRE_STACK, 0) >= 10);
    test_region_free(&t);
}

static void nothing_is_seen_when_not_wanted(void **state)
{
    (void)state;
    struct test_region t;
    assert_int_equal(run(&t, WIRE_FOLLOW_CHILDREN, "heap"), 0);
    assert_int_equal(test_region_count(&t, WIRE_ALLOC, 0) + test_region_count(&t, WIRE_FREE, 0), 0);
    assert_int_equal(test_region_count(&t, WIRE_PROCESS, 0), 1);
    test_region_free(&t);
}

static void every_operator_is_seen(void **state)
{
    (void)state;
    struct test_region t;
    test_region_make(&t, RINGS, RING_BYTES, TRACK);
    check_all(&t, run_in(&t, TARGET_CXX, NULL, NULL), 18);
    test_region_free(&t);
}

static void every_map_is_seen(void **state)
{
    (void)state;
    struct test_region t;
    check_ended_well(&t, run(&t, TRACK, "maps"));
    check_rings(&t);
    assert_true(check_facts(&t) >= 16);
    size_t of_target = 0;
    for (size_t i = 0; i < t.count; i++)
        of_target += t.records[i].head->type == WIRE_MAP && t.records[i].map->map_kind == MAP_KIND_FILE &&
                     strstr(t.records[i].map->path, "/target") != NULL;
    assert_int_equal(of_target, 3);
    for (size_t i = 0; i < t.count; i++) /* what the kernel refused did not happen */
        assert_false(
            t.records[i].head->type == WIRE_UNMAP &&
            (t.records[i].unmap->addr == 1 || t.records[i].unmap->addr == -4096ul || t.records[i].unmap->size == 0));
    test_region_free(&t);
}

static void threads_come_and_go(void **state)
{
    (void)state;
    struct test_region t;
    check_all(&t, run(&t, TRACK, "threads"), 80);
    unsigned threads = 0;
    assert_int_equal(sscanf(strstr(t.output, "threads "), "threads %u", &threads), 1);
    assert_int_equal(test_region_count(&t, WIRE_THREAD, 0), threads + 1);
    assert_int_equal(test_region_count(&t, WIRE_THREAD_EXIT, 0), threads + 1);
    bool late = false, other = false, self = false;
    for (size_t i = 0; i < t.count; i++) {
        const struct test_record *record = &t.records[i];
        if (record->head->type == WIRE_THREAD && record->tid != record->pid)
            assert_true(record->thread->stack_low < record->thread->stack_high);
        if (record->head->type != WIRE_THREAD_NAME)
            continue;
        late |= strcmp(record->thread_name->name, "late-steps") == 0 && record->head->value == record->tid;
        other |= strcmp(record->thread_name->name, "other-named") == 0 && record->head->value != record->tid;
        self |= strcmp(record->thread_name->name, "self-named") == 0 && record->head->value == record->tid;
    }
    assert_true(late && other && self);
    for (uint32_t i = 0; i < RINGS; i++)
        assert_int_equal(atomic_load(&wire_ring_at(t.region, i)->state), WIRE_RING_FREE);
    test_region_free(&t);
}

static void threads_without_a_ring_are_counted(void **state)
{
    (void)state;
    struct test_region t;
    test_region_make(&t, 8, RING_BYTES, TRACK);
    assert_int_equal(run_in(&t, TARGET, "crowd", NULL), 0);
    assert_false(t.corrupt);
    assert_true(test_region_lost(&t, LOSS_NO_RING) > 0);
    assert_true(test_region_count(&t, WIRE_THREAD, 0) >= 8);
    test_region_free(&t);
}

static void children_get_rings_of_their_own(void **state)
{
    (void)state;
    struct test_region t;
    check_all(&t, run(&t, TRACK, "forks"), 19);
    assert_int_equal(test_region_count(&t, WIRE_PROCESS, 0), 6);
    for (size_t i = 0; i < t.count; i++) {
        if (t.records[i].head->type == WIRE_PROCESS)
            assert_int_equal(t.records[i].process->forked, t.records[i].head->value != (uint32_t)getpid());
    }
    assert_int_equal(atomic_load(&t.region->images), 6);
    test_region_free(&t);
}

static void forks_among_busy_threads(void **state)
{
    (void)state;
    struct test_region t;
    test_region_make(&t, RINGS, RING_BYTES, TRACK);
    check_ended_well(&t, run_in(&t, TARGET, "storm", NULL));
    check_rings(&t);
    assert_int_equal(check_facts(&t), 40);
    assert_int_equal(test_region_count(&t, WIRE_PROCESS, 0), 21);
    test_region_free(&t);
}

static void children_are_left_alone_when_not_followed(void **state)
{
    (void)state;
    struct test_region t;
    assert_int_equal(run(&t, WIRE_TRACK_HEAP, "forks"), 0);
    assert_int_equal(test_region_count(&t, WIRE_PROCESS, 0), 1);
    for (size_t i = 0; i < t.count; i++)
        assert_int_equal(t.records[i].pid, t.records[0].pid);
    test_region_free(&t);
    assert_int_equal(run(&t, WIRE_TRACK_HEAP, "execs"), 0);
    assert_int_equal(test_region_count(&t, WIRE_PROCESS, 0), 1);
    assert_non_null(strstr(t.output, "environment - -"));
    test_region_free(&t);
}

static void other_programs_are_followed(void **state)
{
    (void)state;
    struct test_region t;
    check_ended_well(&t, run(&t, TRACK, "execs"));
    assert_false(t.corrupt);
    unsigned images = 0;
    for (size_t i = 0; i < t.count; i++)
        images += t.records[i].head->type == WIRE_PROCESS && !t.records[i].process->forked;
    assert_int_equal(images, 7);
    assert_int_equal(test_region_lost(&t, LOSS_CHILD_UNTRACKED), 1);
    assert_non_null(strstr(t.output, "region\n"));
    test_region_free(&t);
}

static void only_its_own_entry_leaves_the_environment(void **state)
{
    (void)state;
    struct test_region t;
    test_region_make(&t, RINGS, RING_BYTES, WIRE_TRACK_HEAP);
    char *const argv[] = {TARGET, "environment", NULL};
    assert_int_equal(test_region_run(&t, AGENT ":" PLUGIN, argv, NULL), 0);
    assert_string_equal(t.output, "environment " PLUGIN " -\n");
    test_region_free(&t);
}

static void constructors_and_destructors_are_seen(void **state)
{
    (void)state;
    struct test_region t;
    check_all(&t, run(&t, TRACK, "library"), 2);
    test_region_free(&t);
}

static void no_descriptor_stays_open(void **state)
{
    (void)state;
    struct test_region t;
    check_all(&t, run(&t, TRACK, "closed"), 20);
    test_region_free(&t);
}

static void a_full_ring_is_waited_for(void **state)
{
    (void)state;
    struct test_region t;
    test_region_make(&t, 2, WIRE_PAGE, TRACK);
    t.lazy = true;
    check_all(&t, run_in(&t, TARGET, "flood", NULL), 0);
    assert_true(test_region_count(&t, WIRE_ALLOC, 0) >= 20000 && test_region_count(&t, WIRE_FREE, 0) >= 20000);
    test_region_free(&t);
}

static void the_target_outlives_its_recorder(void **state)
{
    (void)state;
    struct test_region t;
    test_region_make(&t, 2, WIRE_PAGE, TRACK);
    t.idle = true;
    atomic_store(&t.region->heartbeat_ns, 1); /* long ago */
    assert_int_equal(run_in(&t, TARGET, "flood", NULL), 0);
    assert_false(t.corrupt);
    assert_true(test_region_lost(&t, LOSS_RING_FULL) > 0);
    test_region_free(&t);

    test_region_make(&t, 2, WIRE_PAGE, TRACK);
    atomic_store(&t.region->recording, 0);
    assert_int_equal(run_in(&t, TARGET, "heap", NULL), 0);
    assert_int_equal(t.count, 0);
    test_region_free(&t);
}

static void a_ring_that_nobody_reads_is_not_waited_for_for_ever(void **state)
{
    (void)state;
    struct test_region t;
    test_region_make(&t, 2, WIRE_PAGE, TRACK);
    t.deaf = true;
    assert_int_equal(run_in(&t, TARGET, "flood", NULL), 0);
    assert_false(t.corrupt);
    assert_true(test_region_lost(&t, LOSS_RING_FULL) > 0);
    test_region_free(&t);
}

static void a_killed_recorder_is_not_waited_for(void **state)
{
    (void)state;
    struct test_region t;
    test_region_make(&t, 2, WIRE_PAGE, TRACK);
    t.deaf = true;
    atomic_store(&t.region->recorder_tid, FUTEX_OWNER_DIED);
    assert_int_equal(run_in(&t, TARGET, "flood", NULL), 0);
    assert_true(test_region_lost(&t, LOSS_RING_FULL) <= 4); /* nothing is tried any more, by none of its threads */
    test_region_free(&t);
}

static void a_wrong_region_is_left_alone(void **state)
{
    (void)state;
    struct test_region t;
    for (unsigned wrong = 0; wrong < 8; wrong++) {
        test_region_make(&t, 2, WIRE_PAGE, TRACK);
        t.idle = true;
        struct wire_region good = *t.region;
        struct wire_region *region = t.region;
        switch (wrong) {
        case 0:
            region->magic++;
            break;
        case 1:
            region->version++;
            break;
        case 2:
            region->header_bytes++;
            break;
        case 3:
            region->ring_count = 1 << 30;
            break;
        case 4:
            region->ring_bytes = 5000;
            break;
        case 5:
            region->data_offset = 64;
            break;
        case 6:
            region->rings_offset = UINT64_MAX - 63;
            break;
        default:
            region->region_bytes = t.bytes + 1;
        }
        assert_int_equal(run_in(&t, TARGET, "heap", NULL), 0);
        *region = good;
        assert_int_equal(test_region_drain(&t), 0);
        assert_int_equal(atomic_load(&wire_ring_at(region, 0)->state), WIRE_RING_FREE);
        test_region_free(&t);
    }
}

static void libraries_come_and_go(void **state)
{
    (void)state;
    struct test_region t;
    check_all(&t, run(&t, TRACK, "plugin"), 4);
    uint64_t start = 0;
    bool unloaded = false;
    for (size_t i = 0; i < t.count; i++) {
        const struct test_record *record = &t.records[i];
        if (record->head->type == WIRE_MODULE && strstr(record->module->path, "libtarget_plugin"))
            start = record->module->start;
        unloaded |= record->head->type == WIRE_MODULE_UNLOADED && start && record->module->start == start;
    }
    assert_true(start && unloaded);
    test_region_free(&t);
}

static void signals_mean_what_they_meant(void **state)
{
    (void)state;
    struct test_region t;
    check_all(&t, run(&t, TRACK, "signals"), 0);
    test_region_free(&t);
}

static void sudden_ends_lose_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *how;
        int status;
    } ends[] = {{"_exit", 3 << 8}, {"quick_exit", 3 << 8}, {"abort", SIGABRT}, {"kill", SIGKILL}};
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct test_region t;
        test_region_make(&t, RINGS, RING_BYTES, TRACK);
        int status = run_in(&t, TARGET, "quick", ends[i].how);
        assert_int_equal(status & ~0x80, ends[i].status); /* with or without a core */
        assert_int_equal(check_facts(&t), 1);
        check_rings(&t);
        test_region_free(&t);
    }
}

static void a_malloc_of_its_own_is_noticed(void **state)
{
    (void)state;
    struct test_region t;
    test_region_make(&t, RINGS, RING_BYTES, TRACK);
    assert_int_equal(run_in(&t, TARGET_MALLOC, NULL, NULL), 0);
    assert_int_equal(test_region_lost(&t, LOSS_HEAP_UNSEEN), 1);
    assert_int_equal(test_region_count(&t, WIRE_ALLOC, 0), 0);
    test_region_free(&t);
}

static void another_allocator_is_seen(void **state)
{
    (void)state;
    static const char *const programs[] = {TARGET, TARGET_CXX};
    static const char *const libraries[] = {JEMALLOC};
    for (unsigned i = 0; i < 2 && *libraries[0]; i++) {
        struct test_region t;
        test_region_make(&t, RINGS, RING_BYTES, TRACK);
        char preload[1024];
        snprintf(preload, sizeof preload, "%s:%s", AGENT, libraries[0]);
        char *const argv[] = {(char *)programs[i], "threads", NULL};
        check_all(&t, test_region_run(&t, preload, argv, NULL), i ? 18 : 80);
        test_region_free(&t);
    }
    if (!*libraries[0])
        skip_test("jemalloc was not found when this was configured");
}

/* The same with ticks and bursts in between. */
static void sampling_disturbs_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        bool by_timer; /* tried with the fall-back too */
    } scenarios[] = {{"heap"},        {"maps"},   {"threads", true}, {"forks"}, {"execs", true}, {"signals"},
                     {"waits", true}, {"closed"}, {"plugin"},        {"flood"}, {"storm"},       {"errno"}};
    const uint32_t sample = WIRE_SAMPLE_LOADS | WIRE_SAMPLE_STORES | WIRE_MEASURE_LATENCY;
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        for (unsigned timer = 0; timer <= scenarios[i].by_timer; timer++) {
            struct test_region t;
            test_region_make(&t, RINGS, RING_BYTES, TRACK | sample | (timer ? WIRE_TICK_TIMER_ONLY : 0));
            t.region->config.tick_ns = 100000;
            t.region->config.budget_ppm = 500000;
            check_ended_well(&t, run_in(&t, TARGET, scenarios[i].what, NULL));
            assert_false(t.corrupt);
            assert_int_equal(test_region_lost(&t, LOSS_RING_FULL), 0);
            check_facts(&t);
            if (strcmp(scenarios[i].what, "maps") != 0)
                check_lives(&t);
            test_region_free(&t);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_introduces_itself),
        cmocka_unit_test(every_allocation_is_seen),
        cmocka_unit_test(allocations_have_chains),
        cmocka_unit_test(nothing_is_seen_when_not_wanted),
        cmocka_unit_test(every_operator_is_seen),
        cmocka_unit_test(every_map_is_seen),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(threads_without_a_ring_are_counted),
        cmocka_unit_test(children_get_rings_of_their_own),
        cmocka_unit_test(forks_among_busy_threads),
        cmocka_unit_test(children_are_left_alone_when_not_followed),
        cmocka_unit_test(other_programs_are_followed),
        cmocka_unit_test(only_its_own_entry_leaves_the_environment),
        cmocka_unit_test(constructors_and_destructors_are_seen),
        cmocka_unit_test(no_descriptor_stays_open),
        cmocka_unit_test(a_full_ring_is_waited_for),
        cmocka_unit_test(the_target_outlives_its_recorder),
        cmocka_unit_test(a_ring_that_nobody_reads_is_not_waited_for_for_ever),
        cmocka_unit_test(a_killed_recorder_is_not_waited_for),
        cmocka_unit_test(a_wrong_region_is_left_alone),
        cmocka_unit_test(libraries_come_and_go),
        cmocka_unit_test(signals_mean_what_they_meant),
        cmocka_unit_test(sudden_ends_lose_nothing),
        cmocka_unit_test(a_malloc_of_its_own_is_noticed),
        cmocka_unit_test(another_allocator_is_seen),
        cmocka_unit_test(sampling_disturbs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
