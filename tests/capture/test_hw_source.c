/* test_hw_source.c - the whole way of a hardware sample through a real kernel, with an event that every machine has: page
 * faults, in the layout of PEBS. */
#include "../skip.h"

#include "base/clock.h"
#include "capture/hardware/hw_source.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { PAGES = 64, MEMORY = 8 << 20 };

static size_t page_size;

/* What came of the pages between `start` and `end`. */
struct seen {
    uintptr_t start, end;
    unsigned *of_page; /* how often each was seen */
    uint64_t total, lost, throttled, last_time, first_time;
    uint32_t tids[16];
    unsigned tid_count;
    bool disorder;
    struct hw_sample last;
};

static void see_sample(void *context, const struct hw_sample *sample)
{
    struct seen *seen = context;
    const struct memory_access *access = &sample->access;
    if (access->addr < seen->start || access->addr >= seen->end)
        return;
    seen->of_page[(access->addr - seen->start) / page_size]++;
    seen->total++;
    seen->disorder |= access->time < seen->last_time;
    seen->first_time = seen->first_time ? seen->first_time : access->time;
    seen->last_time = access->time;
    seen->last = *sample;
    for (unsigned i = 0; i < seen->tid_count; i++)
        if (seen->tids[i] == access->tid)
            return;
    if (seen->tid_count < 16)
        seen->tids[seen->tid_count++] = access->tid;
}

static void see_loss(void *context, uint64_t time, enum loss_cause cause, uint64_t count)
{
    struct seen *seen = context;
    assert_true(time > 0);
    if (cause == LOSS_PERF)
        seen->lost += count;
    if (cause == LOSS_THROTTLED)
        seen->throttled += count;
}

static struct seen watch(size_t pages)
{
    char *memory = mmap(NULL, pages * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    madvise(memory, pages * page_size, MADV_NOHUGEPAGE);
    return (struct seen){.start = (uintptr_t)memory,
                         .end = (uintptr_t)memory + pages * page_size,
                         .of_page = calloc(pages, sizeof(unsigned))};
}

static void forget(struct seen *seen)
{
    munmap((void *)seen->start, seen->end - seen->start);
    free(seen->of_page);
}

static __attribute__((noinline)) void touch(const struct seen *seen, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        ((volatile char *)seen->start)[i * page_size] = 1;
}

static struct pmu_choice page_faults(void)
{
    struct pmu_choice choice = {.count = 1};
    choice.events[0] = (struct pmu_event){
        .name = "page faults",
        .source = SOURCE_PEBS,
        .flags = SAMPLE_WRITE,
        .attr = {.type = PERF_TYPE_SOFTWARE,
                 .size = sizeof(struct perf_event_attr),
                 .config = PERF_COUNT_SW_PAGE_FAULTS,
                 .sample_period = 1,
                 .sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC,
                 .disabled = 1,
                 .exclude_kernel = 1,
                 .exclude_hv = 1,
                 .use_clockid = 1,
                 .clockid = CLOCK_MONOTONIC_RAW},
    };
    return choice;
}

static struct hw_source *open_faults(struct hw_target target)
{
    struct pmu_choice choice = page_faults();
    struct error err = {0};
    target.memory = MEMORY;
    struct hw_source *source = hw_source_open(&choice, &target, &err);
    if (!source && (err.code == -EACCES || err.code == -EPERM || err.code == -ENOSYS))
        skip_test("perf_event_open is refused here: %s", err.text);
    if (!source)
        fail_msg("%s", err.text);
    return source;
}

static void drain(struct hw_source *source, struct seen *seen, uint64_t until)
{
    struct hw_listener listener = {.context = seen, .sample = see_sample, .loss = see_loss};
    hw_source_drain(source, until, &listener);
}

static void each_once(const struct seen *seen, size_t pages)
{
    for (size_t i = 0; i < pages; i++)
        assert_int_equal(seen->of_page[i], 1);
}

static void test_thread(void **state)
{
    (void)state;
    struct seen seen = watch(PAGES);
    struct hw_source *source = open_faults((struct hw_target){.max_frames = 16});
    assert_int_equal(hw_source_totals(source).rings, 1);
    touch(&seen, 0, 1); /* before it begins */
    uint64_t start = clock_now_ns();
    assert_int_equal(hw_source_enable(source, true), 0);
    touch(&seen, 1, PAGES - 2);
    assert_int_equal(hw_source_enable(source, false), 0);
    uint64_t end = clock_now_ns();
    touch(&seen, PAGES - 1, 1);  /* after it ended */
    drain(source, &seen, start); /* nothing is that old */
    assert_int_equal(seen.total, 0);
    drain(source, &seen, UINT64_MAX);
    assert_int_equal(seen.of_page[0] + seen.of_page[PAGES - 1], 0);
    seen.of_page[0] = seen.of_page[PAGES - 1] = 1;
    each_once(&seen, PAGES);
    assert_true(seen.first_time >= start && seen.last_time <= end); /* the agent's clock */
    assert_false(seen.disorder);
    assert_int_equal(seen.tid_count, 1);
    assert_int_equal(seen.tids[0], syscall(SYS_gettid));
    const struct memory_access *access = &seen.last.access;
    assert_int_equal(access->pid, getpid());
    assert_true(access->has_cpu);
    assert_int_equal(access->flags, SAMPLE_WRITE); /* what the event is for: the kernel does not report it */
    assert_int_equal(access->level, LEVEL_UNKNOWN);
    assert_true(seen.last.depth >= 1);
    assert_in_range(access->ip, (uintptr_t)touch, (uintptr_t)touch + 4096);
    struct hw_totals totals = hw_source_totals(source);
    assert_true(totals.samples >= PAGES - 2 && totals.unreadable == 0);
    hw_source_close(source);
    forget(&seen);
}

struct part {
    const struct seen *seen;
    size_t first, count;
};

static void *touch_part(void *argument)
{
    const struct part *part = argument;
    touch(part->seen, part->first, part->count);
    return NULL;
}

static void test_inherited(void **state)
{
    (void)state;
    enum { THREADS = 3, EACH = 16 };
    struct seen seen = watch((THREADS + 1) * EACH);
    struct hw_source *source = open_faults((struct hw_target){.inherit = true});
    assert_true(hw_source_totals(source).rings >= 1);
    assert_int_equal(hw_source_enable(source, true), 0);
    pthread_t threads[THREADS];
    struct part parts[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        parts[i] = (struct part){&seen, i * EACH, EACH};
        assert_int_equal(pthread_create(&threads[i], NULL, touch_part, &parts[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        touch(&seen, THREADS * EACH, EACH);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    hw_source_enable(source, false);
    drain(source, &seen, UINT64_MAX);
    each_once(&seen, (THREADS + 1) * EACH);
    assert_int_equal(seen.tid_count, THREADS + 1);
    assert_false(seen.disorder); /* rings of all CPUs in order of time */
    assert_int_equal(seen.last.access.pid, child);
    hw_source_close(source);
    forget(&seen);
}

struct idler {
    struct part part;
    atomic_uint tid;
    atomic_bool go;
};

static void *touch_later(void *argument)
{
    struct idler *idler = argument;
    atomic_store(&idler->tid, (unsigned)syscall(SYS_gettid));
    while (!atomic_load(&idler->go))
        sched_yield();
    return touch_part(&idler->part);
}

/* Threads that run already, each with an event of its own, all into the same rings. */
static void test_attached(void **state)
{
    (void)state;
    enum { THREADS = 3, EACH = 16 };
    struct seen seen = watch((THREADS + 1) * EACH);
    pthread_t threads[THREADS];
    struct idler idlers[THREADS] = {0};
    pid_t tids[THREADS + 1];
    for (unsigned i = 0; i < THREADS; i++) {
        idlers[i].part = (struct part){&seen, i * EACH, EACH};
        assert_int_equal(pthread_create(&threads[i], NULL, touch_later, &idlers[i]), 0);
        while (!atomic_load(&idlers[i].tid))
            sched_yield();
        tids[i + 1] = (pid_t)atomic_load(&idlers[i].tid);
    }
    pid_t ended = fork(); /* the number of one that has ended */
    if (ended == 0)
        _exit(0);
    assert_int_equal(waitpid(ended, NULL, 0), ended);
    tids[0] = ended;
    struct hw_source *source =
        open_faults((struct hw_target){.threads = tids, .thread_count = THREADS + 1, .inherit = true});
    struct hw_source *alone = open_faults((struct hw_target){.inherit = true});
    assert_int_equal(hw_source_totals(source).rings, hw_source_totals(alone).rings); /* not more for more threads */
    hw_source_close(alone);
    assert_int_equal(hw_source_enable(source, true), 0);
    for (unsigned i = 0; i < THREADS; i++)
        atomic_store(&idlers[i].go, true);
    touch(&seen, THREADS * EACH, EACH); /* this thread was not asked for */
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    hw_source_enable(source, false);
    drain(source, &seen, UINT64_MAX);
    each_once(&seen, THREADS * EACH);
    assert_int_equal(seen.tid_count, THREADS);
    assert_int_equal(seen.of_page[THREADS * EACH], 0);
    assert_false(seen.disorder);
    hw_source_close(source);

    struct error err = {0};
    struct pmu_choice choice = page_faults();
    assert_null(hw_source_open(
        &choice, &(struct hw_target){.threads = &ended, .thread_count = 1, .inherit = true, .memory = MEMORY}, &err));
    assert_int_equal(err.code, -ESRCH);
    forget(&seen);
}

static void test_overflow(void **state)
{
    (void)state;
    enum { MANY = 4000 };
    struct seen seen = watch(MANY + 1);
    struct hw_source *source = open_faults((struct hw_target){.pages = 1});
    hw_source_enable(source, true);
    touch(&seen, 0, MANY); /* nobody drains: most do not fit */
    drain(source, &seen, UINT64_MAX);
    assert_true(seen.total > 0 && seen.total < MANY);
    uint64_t first = seen.total;
    struct utsname kernel;
    assert_int_equal(uname(&kernel), 0);
    if (atoi(kernel.release) >= 6) /* it counts what no record reports yet */
        assert_true(seen.lost >= MANY - first);
    for (size_t i = 0; i < first; i++)
        assert_int_equal(seen.of_page[i], 1); /* the oldest are kept */
    touch(&seen, MANY, 1);                    /* now there is room: how many were lost comes first */
    drain(source, &seen, UINT64_MAX);
    hw_source_enable(source, false);
    assert_int_equal(seen.of_page[MANY], 1);
    assert_true(seen.lost >= MANY - first);
    assert_true(seen.lost < MANY - first + 64); /* and not much else */
    hw_source_close(source);
    forget(&seen);
}

static void test_wrap(void **state)
{
    (void)state;
    enum { ROUNDS = 400, EACH = 7 };
    struct seen seen = watch(ROUNDS * EACH);
    struct hw_source *source = open_faults((struct hw_target){.pages = 1, .max_frames = 5});
    hw_source_enable(source, true);
    for (size_t i = 0; i < ROUNDS; i++) { /* the ring is filled many times; records wrap at its end */
        touch(&seen, i * EACH, EACH);
        drain(source, &seen, UINT64_MAX);
    }
    hw_source_enable(source, false);
    assert_int_equal(seen.lost, 0);
    each_once(&seen, ROUNDS * EACH);
    assert_int_equal(hw_source_totals(source).unreadable, 0);
    hw_source_close(source);
    forget(&seen);
}

static void test_lowered(void **state)
{
    (void)state;
    struct pmu_choice choice = page_faults();
    struct error err = {0};
    /* No kernel takes both weights: one must be given up, after the physical address. */
    choice.events[0].attr.sample_type |= PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_PHYS_ADDR;
    struct hw_source *source = hw_source_open(&choice, &(struct hw_target){.memory = MEMORY}, &err);
    if (!source && (err.code == -EACCES || err.code == -EPERM))
        skip_test("perf_event_open is refused here: %s", err.text);
    if (!source)
        fail_msg("%s", err.text);
    assert_false(hw_source_totals(source).physical);
    struct seen seen = watch(PAGES);
    hw_source_enable(source, true);
    touch(&seen, 0, PAGES);
    hw_source_enable(source, false);
    drain(source, &seen, UINT64_MAX);
    each_once(&seen, PAGES); /* and the layout is that of what was opened */
    hw_source_close(source);
    forget(&seen);

    choice = page_faults();
    choice.events[0].attr.type = 0xfffffff; /* nobody's */
    assert_null(hw_source_open(&choice, &(struct hw_target){.memory = MEMORY}, &err));
    assert_non_null(strstr(err.text, "page faults"));
    assert_null(strchr(err.text, '\n'));
}

static void test_try(void **state)
{
    (void)state;
    struct pmu_choice choice = page_faults();
    struct error err = {0};
    int code = hw_source_try(&choice, &err);
    if (code == -EACCES || code == -EPERM || code == -ENOSYS)
        skip_test("perf_event_open is refused here: %s", err.text);
    assert_int_equal(code, 0);
    choice.events[0].attr.type = 0xfffffff;
    assert_true(hw_source_try(&choice, NULL) == hw_source_try(&choice, &err) && err.code < 0);
    choice.events[0].attr.type = PERF_TYPE_SOFTWARE;
    choice.events[0].attr.config = PERF_COUNT_SW_EMULATION_FAULTS; /* opens, and never happens */
    assert_int_equal(hw_source_try(&choice, &err), -ENODATA);
    assert_non_null(strstr(err.text, "reported no access"));
    assert_int_equal(hw_source_try(&choice, NULL), -ENODATA);
}

/* A ring on each CPU for everybody, where that is allowed. */
static void test_system_wide(void **state)
{
    (void)state;
    struct pmu_choice choice = page_faults();
    struct error err = {0};
    struct hw_source *source = hw_source_open(&choice, &(struct hw_target){.pid = -1, .memory = MEMORY}, &err);
    if (!source) {
        assert_string_not_equal(err.text, "");
        skip_test("no event for the whole machine here: %s", err.text);
    }
    struct seen seen = watch(PAGES);
    hw_source_enable(source, true);
    touch(&seen, 0, PAGES);
    hw_source_enable(source, false);
    drain(source, &seen, UINT64_MAX);
    assert_true(seen.total + seen.lost >= PAGES);
    hw_source_close(source);
    forget(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_thread),   cmocka_unit_test(test_inherited),
                                       cmocka_unit_test(test_attached), cmocka_unit_test(test_overflow),
                                       cmocka_unit_test(test_wrap),     cmocka_unit_test(test_lowered),
                                       cmocka_unit_test(test_try),      cmocka_unit_test(test_system_wide)};
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
