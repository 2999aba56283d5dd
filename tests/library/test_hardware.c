/* Sessions of numalens/capture.h on "hardware", through a real kernel: the PMU is the software one, its memory event the
 * page fault. Linked statically, for the one function that says where PMUs are described. */
#include "../skip.h"
#include "../capture/soft_pmu.h"

#include "lib/sampling/session_hardware.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { PAGES = 200, THREADS = 5 };

static char folder[] = "/tmp/numalens-session-XXXXXX";
static char sysfs[64];
static size_t page_size;

struct area {
    char *memory;
    unsigned of_page[PAGES];
    uint32_t tid; /* of its last sample */
};

static struct area new_area(void)
{
    struct area area = {mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    assert_true(area.memory != MAP_FAILED);
    madvise(area.memory, PAGES * page_size, MADV_NOHUGEPAGE);
    return area;
}

static void free_area(struct area *area)
{
    munmap(area->memory, PAGES * page_size);
}

static __attribute__((noinline)) void touch(const struct area *area, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        ((volatile char *)area->memory)[i * page_size] = 1;
}

static void count_samples(struct area *area, const nlens_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t page = (samples[i].addr - (uintptr_t)area->memory) / page_size;
        if (samples[i].addr < (uintptr_t)area->memory || page >= PAGES)
            continue;
        area->of_page[page]++;
        area->tid = samples[i].tid;
    }
}

static void read_samples(nlens_session *session, struct area *area)
{
    nlens_sample samples[64];
    for (size_t count; (count = nlens_session_read(session, samples, 64)) > 0;)
        count_samples(area, samples, count);
}

static void each_page(const struct area *area, size_t first, size_t count, unsigned times)
{
    for (size_t i = first; i < first + count; i++)
        assert_int_equal(area->of_page[i], times);
}

static bool refused(int code)
{
    return code == -EACCES || code == -EPERM || code == -ENOSYS;
}

static nlens_session *make(nlens_session_options options)
{
    nlens_error err;
    options.size = sizeof options;
    options.period = 1;
    nlens_session *session = nlens_session_new(&options, &err);
    if (!session && refused(err.code))
        skip_test("perf_event_open is refused here: %s", err.text);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static void add_self(nlens_session *session)
{
    nlens_error err;
    int code = nlens_session_add_thread(session, 0, &err);
    if (refused(code)) {
        nlens_session_close(session, NULL);
        skip_test("perf_event_open is refused here: %s", err.text);
    }
    if (code < 0)
        fail_msg("%s", err.text);
}

static void one_thread_between_start_and_stop(void **state)
{
    (void)state;
    struct area area = new_area();
    nlens_session *session = make((nlens_session_options){.wanted = NLENS_READS, .source = NLENS_SOURCE_HARDWARE});
    assert_non_null(strstr(nlens_session_source(session), "Intel PEBS: cpu/mem-loads/"));
    add_self(session);
    touch(&area, 0, 10);
    assert_int_equal(nlens_session_start(session, NULL), 0);
    touch(&area, 10, 80);
    assert_int_equal(nlens_session_stop(session, NULL), 0);
    touch(&area, 90, 10);
    assert_int_equal(nlens_session_start(session, NULL), 0);
    touch(&area, 100, PAGES - 100);
    assert_int_equal(nlens_session_stop(session, NULL), 0);
    read_samples(session, &area);
    each_page(&area, 0, 10, 0);
    each_page(&area, 10, 80, 1);
    each_page(&area, 90, 10, 0);
    each_page(&area, 100, PAGES - 100, 1);
    assert_int_equal(area.tid, syscall(SYS_gettid));
    nlens_session_stats stats;
    nlens_session_get_stats(session, &stats);
    assert_true(stats.samples >= PAGES - 20);
    assert_int_equal(stats.lost + stats.overrun, 0);
    assert_int_equal(stats.threads, 1);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(nlens_session_close(session, NULL), 0);
    free_area(&area);
}

static void samples_have_place_time_and_direction(void **state)
{
    (void)state;
    struct area area = new_area();
    nlens_session *session = make((nlens_session_options){.source = NLENS_SOURCE_PEBS, .wanted = NLENS_READS});
    add_self(session);
    nlens_session_start(session, NULL);
    touch(&area, 0, PAGES);
    nlens_session_stop(session, NULL);
    nlens_sample sample;
    uint64_t expected = 1, inside = 0, last = 0;
    while (nlens_session_read(session, &sample, 1)) {
        assert_int_equal(sample.sequence, expected++);
        assert_true(sample.time >= last);
        last = sample.time;
        assert_true(sample.read && !sample.write); /* what the event is for */
        assert_true(sample.data_src != 0);
        if (sample.addr - (uintptr_t)area.memory >= PAGES * page_size)
            continue;
        inside++;
        assert_in_range(sample.ip, (uintptr_t)touch, (uintptr_t)touch + 4096);
    }
    assert_int_equal(inside, PAGES);
    nlens_session_close(session, NULL);
    /* No event of this PMU samples writes. */
    nlens_error err;
    nlens_session_options writes = {.size = sizeof writes, .source = NLENS_SOURCE_PEBS, .wanted = NLENS_WRITES};
    assert_null(nlens_session_new(&writes, &err));
    assert_int_equal(err.code, -ENODEV);
    free_area(&area);
}

struct worker {
    struct area area;
    pid_t tid;
    pthread_barrier_t *ready, *go;
    nlens_session *session; /* adds itself */
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->tid = (pid_t)syscall(SYS_gettid);
    if (worker->session)
        assert_int_equal(nlens_session_add_thread(worker->session, 0, NULL), 0);
    pthread_barrier_wait(worker->ready);
    pthread_barrier_wait(worker->go);
    touch(&worker->area, 0, PAGES);
    return NULL;
}

static void take_of_workers(void *context, const nlens_sample *samples, size_t count)
{
    struct worker *workers = context;
    for (int i = 0; i < THREADS; i++)
        count_samples(&workers[i].area, samples, count);
}

/* Threads that are there, by number or all of the process; and those that add themselves while it runs. */
static void sample_workers(bool whole, bool themselves)
{
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    pthread_barrier_t ready, go;
    pthread_barrier_init(&ready, NULL, THREADS + 1);
    pthread_barrier_init(&go, NULL, THREADS + 1);
    nlens_session_options options = {.source = NLENS_SOURCE_HARDWARE,
                                     .wanted = NLENS_READS,
                                     .whole_process = whole,
                                     .samples = take_of_workers,
                                     .context = workers};
    nlens_session *session = NULL;
    if (themselves) {
        session = make(options);
        add_self(session);
        assert_int_equal(nlens_session_start(session, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){new_area(), 0, &ready, &go, session};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    pthread_barrier_wait(&ready);
    if (!session) {
        session = make(options);
        for (int i = 0; i < THREADS && !whole; i++)
            assert_int_equal(nlens_session_add_thread(session, workers[i].tid, NULL), 0);
        assert_int_equal(nlens_session_start(session, NULL), 0);
    }
    nlens_session_stats stats;
    nlens_session_get_stats(session, &stats);
    assert_int_equal(stats.waiting, 0);
    assert_true(stats.threads >= THREADS);
    pthread_barrier_wait(&go);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(nlens_session_stop(session, NULL), 0);
    assert_int_equal(nlens_session_flush(session, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        each_page(&workers[i].area, 0, PAGES, 1);
        assert_int_equal(workers[i].area.tid, workers[i].tid);
        free_area(&workers[i].area);
    }
    assert_int_equal(nlens_session_close(session, NULL), 0);
    pthread_barrier_destroy(&ready);
    pthread_barrier_destroy(&go);
}

static void threads_by_number(void **state)
{
    (void)state;
    sample_workers(false, false);
}

static void the_whole_process(void **state)
{
    (void)state;
    sample_workers(true, false);
}

/* After its main thread: what is wrong, 0 for nothing. */
static void *sample_without_main(void *unused)
{
    (void)unused;
    nlens_session_options options = {.size = sizeof options,
                                     .source = NLENS_SOURCE_HARDWARE,
                                     .wanted = NLENS_READS,
                                     .whole_process = 1,
                                     .period = 1};
    char state[64], path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
    do {
        FILE *file = fopen(path, "r");
        if (!file || !fgets(state, sizeof state, file))
            _exit(1);
        fclose(file);
    } while (!strstr(state, ") Z"));
    nlens_session *session = nlens_session_new(&options, NULL);
    if (!session)
        _exit(2);
    if (nlens_session_start(session, NULL) != 0)
        _exit(3);
    nlens_session_stats stats;
    nlens_session_get_stats(session, &stats);
    _exit(stats.threads != 1 ? 4 : stats.waiting ? 5 : 0);
}

static void a_thread_that_ended_is_not_waited_for(void **state)
{
    (void)state;
    nlens_session_close(make((nlens_session_options){.source = NLENS_SOURCE_HARDWARE, .wanted = NLENS_READS}), NULL);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_hardware", sysfs, NULL);
        _exit(6);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void threads_add_themselves(void **state)
{
    (void)state;
    sample_workers(false, true);
}

static void rings_wrap_and_nothing_is_lost(void **state)
{
    (void)state;
    enum { ROUNDS = 100 }; /* 20,000 samples: more than its ring holds, many times */
    struct area area = new_area();
    nlens_session *session = make((nlens_session_options){.wanted = NLENS_READS, .source = NLENS_SOURCE_HARDWARE});
    add_self(session);
    nlens_session_start(session, NULL);
    for (unsigned i = 0; i < ROUNDS; i++) {
        touch(&area, 0, PAGES);
        madvise(area.memory, PAGES * page_size, MADV_DONTNEED);
        read_samples(session, &area);
    }
    nlens_session_stop(session, NULL);
    read_samples(session, &area);
    for (size_t i = 0; i < PAGES; i++) /* a kernel that balances nodes lets a page fault once more */
        assert_in_range(area.of_page[i], ROUNDS, ROUNDS + ROUNDS / 10);
    nlens_session_close(session, NULL);

    /* And what is lost when nobody reads for too long is counted. */
    session = make((nlens_session_options){.wanted = NLENS_READS, .source = NLENS_SOURCE_HARDWARE, .room = 50});
    add_self(session);
    nlens_session_start(session, NULL);
    touch(&area, 0, PAGES);
    nlens_session_stop(session, NULL);
    nlens_sample samples[PAGES];
    assert_int_equal(nlens_session_read(session, samples, PAGES), 50);
    nlens_session_stats stats;
    nlens_session_get_stats(session, &stats);
    assert_int_equal(stats.lost, stats.samples - 50);
    nlens_session_close(session, NULL);
    free_area(&area);
}

static char static_area[PAGES * 4096] __attribute__((aligned(4096)));

static void file_is_a_trace(void **state)
{
    (void)state;
    char path[96];
    nlens_error err = {0};
    snprintf(path, sizeof path, "%s/out.data", folder);
    nlens_session *session =
        make((nlens_session_options){.source = NLENS_SOURCE_HARDWARE, .wanted = NLENS_READS, .output = path});
    add_self(session);
    nlens_session_start(session, NULL);
    for (size_t i = 0; i < sizeof static_area; i += page_size)
        ((volatile char *)static_area)[i] = 1;
    nlens_session_stop(session, NULL);
    nlens_session_flush(session, NULL);
    nlens_session_stats stats;
    nlens_session_get_stats(session, &stats);
    assert_int_equal(nlens_session_close(session, &err), 0);
    nlens_trace *trace = nlens_open(path, &err);
    if (!trace)
        fail_msg("%s", err.text);
    assert_int_equal(nlens_trace_totals(trace)->samples, stats.samples);
    assert_string_equal(nlens_info(trace, "source"), "pebs");
    assert_string_equal(nlens_info(trace, "latency_unit"), "cycles");
    uint64_t in_static = 0;
    for (const nlens_object *object = NULL; (object = nlens_next_object(trace, object));)
        if (object->kind == NLENS_STATIC && strcmp(object->name, "static_area") == 0)
            in_static += object->totals.samples;
    assert_true(in_static * page_size >= sizeof static_area - 2 * page_size);
    nlens_close(trace);
}

static void auto_takes_it_and_says_so(void **state)
{
    (void)state;
    nlens_session *session = make((nlens_session_options){.wanted = NLENS_READS});
    if (strstr(nlens_session_source(session), "soft"))
        skip_test("there are no hardware events of loads here");
    assert_non_null(strstr(nlens_session_source(session), "cpu/mem-loads/"));
    nlens_session_close(session, NULL);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    nlens_error err = {0};
    nlens_session_options options = {.size = sizeof options, .source = NLENS_SOURCE_IBS, .wanted = NLENS_READS};
    assert_null(nlens_session_new(&options, &err)); /* there is another */
    assert_int_equal(err.code, -ENODEV);
    assert_string_equal(err.text, "there is no AMD IBS here, but Intel PEBS; NLENS_SOURCE_AUTO takes it");
    hardware_look_in(folder); /* where nothing is */
    options.source = NLENS_SOURCE_PEBS;
    assert_null(nlens_session_new(&options, &err));
    assert_int_equal(err.code, -ENODEV);
    assert_non_null(strstr(err.text, "no PMU"));
    assert_non_null(strstr(err.text, "NLENS_SOURCE_SOFT needs none"));
    assert_null(strstr(err.text, "--source"));
    assert_null(strchr(err.text, '\n'));
    hardware_look_in(sysfs);
    soft_pmu_make(folder, 8); /* emulation faults: can be opened, and never happen */
    options.source = NLENS_SOURCE_AUTO;
    assert_null(nlens_session_new(&options, &err)); /* the soft sampler is not for static programs */
    assert_int_equal(err.code, -ENOTSUP);
    soft_pmu_make(folder, 0xee); /* the kernel has no such event */
    options.source = NLENS_SOURCE_HARDWARE;
    nlens_session *session = nlens_session_new(&options, &err);
    assert_non_null(session);
    assert_true(nlens_session_add_thread(session, 0, &err) < 0);
    assert_non_null(strstr(err.text, "cpu/mem-loads/"));
    assert_null(strchr(err.text, '\n'));
    nlens_session_close(session, NULL);
    soft_pmu_make(folder, 2);
}

/* A process of its own: sessions do not outlive a fork. */
static void end_main_and_sample(const char *described_in)
{
    pthread_t thread;
    hardware_look_in(described_in);
    pthread_create(&thread, NULL, sample_without_main, NULL);
    syscall(SYS_exit, 0); /* this thread's end alone, without the unwinder that pthread_exit loads */
}

int main(int argc, char **argv)
{
    if (argc > 1)
        end_main_and_sample(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_between_start_and_stop),
        cmocka_unit_test(samples_have_place_time_and_direction),
        cmocka_unit_test(threads_by_number),
        cmocka_unit_test(the_whole_process),
        cmocka_unit_test(a_thread_that_ended_is_not_waited_for),
        cmocka_unit_test(threads_add_themselves),
        cmocka_unit_test(rings_wrap_and_nothing_is_lost),
        cmocka_unit_test(file_is_a_trace),
        cmocka_unit_test(auto_takes_it_and_says_so),
        cmocka_unit_test(what_is_missing_is_said),
    };
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    if (!mkdtemp(folder) || soft_pmu_make(folder, 2) != 0)
        return 1;
    snprintf(sysfs, sizeof sysfs, "%s/sys", folder);
    hardware_look_in(sysfs);
    int failed = cmocka_run_group_tests_name("hardware", tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || failed;
}
