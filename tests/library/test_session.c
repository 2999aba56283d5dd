/* Sessions of numalens/capture.h in this very process, with the soft sampler. */
#include "work.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bounds are between two levels, as far from both by factor when a nanosecond is added: sqrt(2 * 11) - 1 = 3.7 and
 * sqrt(11 * 101) - 1 = 32.3. */
static uint32_t level_of(const nlens_sample *sample)
{
    if (!sample->has_latency)
        return NLENS_LEVEL_UNKNOWN;
    return sample->latency < 4 ? NLENS_LEVEL_L1 : sample->latency < 33 ? NLENS_LEVEL_L2 : NLENS_LEVEL_RAM;
}

static void pull_gives_what_was_read(void **state)
{
    (void)state;
    uint64_t *array = new_array();
    nlens_session *session = make((nlens_session_options){.wanted = NLENS_READS});
    assert_int_equal(nlens_session_add_thread(session, 0, NULL), 0);
    assert_int_equal(nlens_session_start(session, NULL), 0);
    read_until(session, array, 600);
    assert_int_equal(nlens_session_stop(session, NULL), 0);
    nlens_sample samples[100];
    uint64_t expected = 1, inside = 0, has_ip = 0, reported = 0, last = 0;
    for (size_t count; (count = nlens_session_read(session, samples, 100)) > 0;) {
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(samples[i].sequence, expected++);
            assert_true(samples[i].read);
            assert_int_equal(samples[i].tid, syscall(SYS_gettid));
            assert_true(samples[i].time >= last);
            last = samples[i].time;
            inside += lies_in(array, samples[i].addr);
            has_ip += samples[i].ip != 0;
            assert_int_equal(samples[i].level, level_of(&samples[i])); /* by the calibration that main() kept */
            reported += samples[i].level != NLENS_LEVEL_UNKNOWN;
        }
    }
    nlens_session_stats stats;
    nlens_session_get_stats(session, &stats);
    assert_int_equal(stats.samples, expected - 1);
    assert_int_equal(stats.lost, 0);
    assert_int_equal(stats.threads, 1);
    assert_true(inside * 10 > stats.samples * 9);
    assert_int_equal(has_ip, stats.samples);
    assert_true(reported * 10 > stats.samples * 9);
    assert_non_null(strstr(nlens_session_source(session), "soft"));
    assert_int_equal(nlens_session_close(session, NULL), 0);
    free(array);
}

static void directions_are_distinguished(void **state)
{
    (void)state;
    uint64_t *read_array = new_array(), *written = new_array();
    nlens_session *reads = make((nlens_session_options){.wanted = NLENS_READS});
    nlens_session *writes = make((nlens_session_options){.wanted = NLENS_WRITES});
    nlens_session_add_thread(reads, 0, NULL);
    nlens_session_add_thread(writes, 0, NULL);
    nlens_session_start(reads, NULL);
    nlens_session_start(writes, NULL);
    while (samples_of(reads) < 200 || samples_of(writes) < 200) {
        for (int i = 0; i < 10; i++) {
            read_all(read_array);
            write_all(written);
        }
    }
    nlens_sample sample;
    while (nlens_session_read(reads, &sample, 1)) {
        assert_true(sample.read);
        assert_false(lies_in(written, sample.addr));
    }
    while (nlens_session_read(writes, &sample, 1)) {
        assert_true(sample.write);
        assert_false(lies_in(read_array, sample.addr));
    }
    nlens_session_close(reads, NULL);
    nlens_session_close(writes, NULL);
    free(read_array);
    free(written);
}

static void only_what_is_between_start_and_stop(void **state)
{
    (void)state;
    uint64_t *inside = new_array(), *outside = new_array();
    nlens_session *session = make((nlens_session_options){.wanted = NLENS_READS});
    nlens_session_add_thread(session, 0, NULL);
    uint64_t rounds = 0;
    while (rounds < 1000 || samples_of(session) < 100) {
        assert_int_equal(nlens_session_start(session, NULL), 0);
        read_all(inside);
        assert_int_equal(nlens_session_stop(session, NULL), 0);
        read_all(outside);
        rounds++;
    }
    nlens_sample sample;
    uint64_t wrong = 0;
    while (nlens_session_read(session, &sample, 1))
        wrong += lies_in(outside, sample.addr);
    assert_int_equal(wrong, 0);
    nlens_session_close(session, NULL);
    free(inside);
    free(outside);
}

struct worker {
    nlens_session *session;
    uint64_t *array;
    pid_t tid;
    _Atomic uint64_t own, foreign;
    _Atomic bool *stop;
    pthread_barrier_t *ready;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->tid = (pid_t)syscall(SYS_gettid);
    pthread_barrier_wait(worker->ready);
    while (!*worker->stop)
        read_all(worker->array);
    return NULL;
}

enum { WORKERS = 24 };

static void take_of_workers(void *context, const nlens_sample *samples, size_t count)
{
    struct worker *workers = context;
    for (size_t i = 0; i < count; i++)
        for (int w = 0; w < WORKERS; w++) {
            if (!lies_in(workers[w].array, samples[i].addr))
                continue;
            if ((uint32_t)workers[w].tid == samples[i].tid)
                workers[w].own++;
            else
                workers[w].foreign++;
        }
}

static bool all_seen(const struct worker *workers)
{
    for (int w = 0; w < WORKERS; w++)
        if (workers[w].own == 0)
            return false;
    return true;
}

/* `whole`: the process; else each thread by its number. */
static void sample_workers(bool whole)
{
    struct worker workers[WORKERS] = {0};
    pthread_t threads[WORKERS];
    pthread_barrier_t ready;
    _Atomic bool stop = false;
    nlens_session *session = make((nlens_session_options){
        .wanted = NLENS_READS, .whole_process = whole, .samples = take_of_workers, .context = workers});
    pthread_barrier_init(&ready, NULL, WORKERS + 1);
    for (int w = 0; w < WORKERS; w++) {
        workers[w] = (struct worker){.array = new_array(), .stop = &stop, .ready = &ready};
        pthread_create(&threads[w], NULL, work, &workers[w]);
    }
    pthread_barrier_wait(&ready);
    for (int w = 0; w < WORKERS && !whole; w++)
        assert_int_equal(nlens_session_add_thread(session, workers[w].tid, NULL), 0);
    assert_int_equal(nlens_session_start(session, NULL), 0);
    while (!all_seen(workers))
        usleep(1000); /* the workers work; they would have the CPU longer without this thread */
    nlens_session_stats stats;
    nlens_session_get_stats(session, &stats);
    assert_true(stats.threads >= WORKERS);
    nlens_session_stop(session, NULL);
    stop = true;
    for (int w = 0; w < WORKERS; w++)
        pthread_join(threads[w], NULL);
    assert_int_equal(nlens_session_close(session, NULL), 0);
    for (int w = 0; w < WORKERS; w++) {
        assert_int_equal(workers[w].foreign, 0);
        free(workers[w].array);
    }
    pthread_barrier_destroy(&ready);
}

static void many_threads_by_number(void **state)
{
    (void)state;
    sample_workers(false);
}

static void all_threads_of_the_process(void **state)
{
    (void)state;
    sample_workers(true);
}

static void *short_life(void *argument)
{
    nlens_session *session = argument;
    uint64_t *array = calloc(WORDS, sizeof *array);
    nlens_session_add_thread(session, 0, NULL);
    for (int i = 0; i < 5; i++)
        read_all(array);
    free(array);
    return NULL;
}

static void threads_may_end_while_sampled(void **state)
{
    (void)state;
    uint64_t *array = new_array();
    nlens_session *session = make((nlens_session_options){.wanted = NLENS_READS});
    nlens_session_add_thread(session, 0, NULL);
    nlens_session_start(session, NULL);
    for (int i = 0; i < 200; i++) {
        pthread_t threads[2];
        for (int t = 0; t < 2; t++)
            pthread_create(&threads[t], NULL, short_life, session);
        for (int t = 0; t < 2; t++)
            pthread_join(threads[t], NULL);
    }
    read_until(session, array, 100);
    nlens_session_stats stats;
    nlens_session_get_stats(session, &stats);
    assert_int_equal(stats.overrun, 0);
    nlens_session_close(session, NULL);
    free(array);
}

struct pushed {
    uint64_t count, next, gaps;
};

static void take_pushed(void *context, const nlens_sample *samples, size_t count)
{
    struct pushed *pushed = context;
    for (size_t i = 0; i < count; i++) {
        pushed->gaps += samples[i].sequence != pushed->next;
        pushed->next = samples[i].sequence + 1;
    }
    pushed->count += count;
}

static void nothing_is_lost_on_a_long_run(void **state)
{
    (void)state;
    uint64_t *array = new_array();
    struct pushed pushed = {.next = 1};
    nlens_session *push = make((nlens_session_options){.period_ns = 50000, .samples = take_pushed, .context = &pushed});
    nlens_session *pull = make((nlens_session_options){.period_ns = 50000, .room = 1 << 11});
    nlens_session_add_thread(push, 0, NULL);
    nlens_session_add_thread(pull, 0, NULL);
    nlens_session_start(push, NULL);
    nlens_session_start(pull, NULL);
    uint64_t pulled = 0;
    nlens_sample samples[256];
    while (pulled < 10000) { /* five times its room, and more than a thread's ring holds */
        for (int i = 0; i < 20; i++)
            read_all(array);
        for (size_t count; (count = nlens_session_read(pull, samples, 256)) > 0;)
            for (size_t i = 0; i < count; i++)
                assert_int_equal(samples[i].sequence, ++pulled);
    }
    nlens_session_stop(push, NULL);
    nlens_session_flush(push, NULL);
    nlens_session_stats stats;
    nlens_session_get_stats(push, &stats);
    assert_int_equal(stats.overrun, 0);
    assert_int_equal(stats.samples, pushed.count);
    assert_int_equal(pushed.gaps, 0);
    assert_true(pushed.count > 8000);
    nlens_session_close(push, NULL);
    nlens_session_close(pull, NULL);
    free(array);
}

/* As a header of a later version may have it. */
struct larger_sample {
    nlens_sample sample;
    uint64_t later[2];
};

static void take_larger(void *context, const nlens_sample *samples, size_t count)
{
    const struct larger_sample *larger = (const struct larger_sample *)samples;
    struct pushed *pushed = context;
    for (size_t i = 0; i < count; i++) {
        pushed->gaps += larger[i].sample.sequence != pushed->next || larger[i].later[0] || larger[i].later[1];
        pushed->next = larger[i].sample.sequence + 1;
    }
    pushed->count += count;
}

static void samples_have_the_size_of_the_client(void **state)
{
    (void)state;
    uint64_t *array = new_array();
    struct pushed pushed = {.next = 1};
    nlens_error err = {0};
    assert_null(nlens_session_new_sized(NULL, NLENS_SAMPLE_LEAST - 8, &err));
    assert_int_equal(err.code, -EINVAL);
    assert_null(nlens_session_new_sized(NULL, NLENS_SAMPLE_LEAST + 4, &err));
    nlens_session_options options = {sizeof options, .samples = take_larger, .context = &pushed, .room = 1 << 16};
    nlens_session *session = nlens_session_new_sized(&options, sizeof(struct larger_sample), &err);
    assert_non_null(session);
    nlens_session *least = (nlens_session_new)(NULL, &err);
    assert_non_null(least);
    nlens_session_add_thread(session, 0, NULL);
    nlens_session_add_thread(least, 0, NULL);
    nlens_session_start(session, NULL);
    nlens_session_start(least, NULL);
    read_until(session, array, 300);
    read_until(least, array, 300);
    nlens_session_stop(session, NULL);
    nlens_session_stop(least, NULL);
    struct larger_sample larger[64];
    for (size_t i = 0; i < 64; i++)
        larger[i].later[0] = larger[i].later[1] = 7;
    assert_int_equal(nlens_session_read(session, &larger[0].sample, 64), 64);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(larger[i].sample.sequence, i + 1);
        assert_int_equal(larger[i].later[0] | larger[i].later[1], 0);
    }
    _Alignas(nlens_sample) char bytes[64][NLENS_SAMPLE_LEAST];
    assert_int_equal(nlens_session_read(least, (nlens_sample *)bytes, 64), 64);
    for (size_t i = 0; i < 64; i++) {
        uint64_t sequence;
        memcpy(&sequence, bytes[i] + offsetof(nlens_sample, sequence), sizeof sequence);
        assert_int_equal(sequence, i + 1);
    }
    nlens_session_close(session, NULL);
    nlens_session_close(least, NULL);
    assert_true(pushed.count >= 300);
    assert_int_equal(pushed.gaps, 0);
    free(array);
}

static void reading_too_late_is_counted(void **state)
{
    (void)state;
    uint64_t *array = new_array();
    nlens_session *session = make((nlens_session_options){.room = 100});
    nlens_session_add_thread(session, 0, NULL);
    nlens_session_start(session, NULL);
    read_until(session, array, 400);
    nlens_session_stop(session, NULL);
    nlens_sample samples[200];
    assert_int_equal(nlens_session_read(session, samples, 200), 100);
    nlens_session_stats stats;
    nlens_session_get_stats(session, &stats);
    assert_int_equal(stats.lost, stats.samples - 100);
    nlens_session_start(session, NULL);
    read_until(session, array, 1);
    assert_true(nlens_session_read(session, samples, 1) == 1);
    assert_int_equal(samples[0].sequence, stats.samples + 1); /* the gap shows */
    nlens_session_close(session, NULL);
    free(array);
}

static void file_is_a_trace(void **state)
{
    (void)state;
    uint64_t *array = new_array();
    char path[] = "/tmp/numalens-library-XXXXXX";
    close(mkstemp(path));
    nlens_session *session = make((nlens_session_options){.output = path});
    nlens_session_add_thread(session, 0, NULL);
    nlens_session_start(session, NULL);
    read_until(session, array, 300);
    nlens_session_stop(session, NULL);
    uint64_t samples = samples_of(session);
    nlens_error err = {0};
    assert_int_equal(nlens_session_close(session, &err), 0);
    nlens_trace *trace = nlens_open(path, &err);
    if (!trace)
        fail_msg("%s", err.text);
    assert_int_equal(nlens_trace_totals(trace)->samples, samples);
    /* malloc mapped the array: its samples belong to that map. */
    uint64_t inside = 0;
    nlens_foreach_access (trace, access) {
        if (!lies_in(array, access->address))
            continue;
        inside++;
        assert_non_null(access->object);
        assert_true(access->object->address <= (uintptr_t)array);
        assert_true(access->object->address + access->object->size >= (uintptr_t)(array + WORDS));
    }
    assert_true(inside > 0);
    nlens_close(trace);
    unlink(path);
    free(array);
}

static void errors_have_cause_and_remedy(void **state)
{
    (void)state;
    nlens_error err;
    nlens_session_options options = {0};
    assert_null(nlens_session_new(&options, &err));
    assert_int_equal(err.code, -EINVAL);
    assert_non_null(strstr(err.text, "sizeof"));
    options = (nlens_session_options){.size = sizeof options, .wanted = 8};
    assert_null(nlens_session_new(&options, &err));
    assert_int_equal(err.code, -EINVAL);
    options = (nlens_session_options){.size = sizeof options, .output = "/nonexistent/folder/x"};
    assert_null(nlens_session_new(&options, &err));
    assert_int_equal(err.code, -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/folder/x"));
    nlens_session *session = make((nlens_session_options){0});
    assert_int_equal(nlens_session_start(session, &err), -EINVAL);
    assert_non_null(strstr(err.text, "nlens_session_add_thread"));
    assert_int_equal(nlens_session_add_thread(session, 1 << 30, &err), -ESRCH);
    assert_int_equal(nlens_session_stop(session, &err), -EALREADY);
    nlens_session_add_thread(session, 0, NULL);
    assert_int_equal(nlens_session_start(session, &err), 0);
    assert_int_equal(nlens_session_start(session, &err), -EALREADY);
    nlens_session_close(session, NULL);
}

static void hardware_or_one_line(void **state)
{
    (void)state;
    nlens_error err = {0};
    static const int sources[] = {NLENS_SOURCE_HARDWARE, NLENS_SOURCE_PEBS, NLENS_SOURCE_IBS, NLENS_SOURCE_SPE};
    for (unsigned i = 0; i < sizeof sources / sizeof *sources; i++) {
        nlens_session_options options = {.size = sizeof options, .source = sources[i]};
        nlens_session *session = nlens_session_new(&options, &err);
        assert_true(session || strstr(err.text, "NLENS_SOURCE_SOFT") || strstr(err.text, "NLENS_SOURCE_AUTO"));
        assert_true(session || (!strchr(err.text, '\n') && !strstr(err.text, "--source")));
        nlens_session_close(session, NULL);
    }
    nlens_counting *counting = nlens_counting_new(&err);
    assert_true(counting || strchr(err.text, '\n') == NULL);
    nlens_counting_close(counting);
}

static void children_have_no_sessions(void **state)
{
    (void)state;
    nlens_session *session = make((nlens_session_options){0});
    nlens_session_add_thread(session, 0, NULL);
    nlens_session_start(session, NULL);
    pid_t child = fork();
    if (child == 0) {
        nlens_error err;
        uint64_t *array = calloc(WORDS, sizeof *array);
        bool good = nlens_session_stop(session, &err) == -ECHILD && nlens_session_new(NULL, &err) == NULL &&
                    err.code == -ECHILD && nlens_session_close(session, NULL) == 0;
        for (int i = 0; i < 100; i++)
            read_all(array);
        _exit(good ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(nlens_session_close(session, NULL), 0);
}

/* In place of whatever this machine keeps: one node, 64 KiB of L1 at 1 ns, 1 MiB of L2 at 10 ns, memory at 100 ns. */
static int keep_calibration(char *folder)
{
    char path[128], boot[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file && !fgets(boot, sizeof boot, file))
        boot[0] = 0;
    if (file)
        fclose(file);
    boot[strcspn(boot, "\n")] = 0;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/numalens", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/numalens/calibration", folder);
    file = fopen(path, "w");
    if (!file)
        return -1;
    fprintf(file, "%s %s a machine\n1 nodes=1 L1:65536:1:1 L2:1048576:10:10 0>0:100:100\n", nlens_version(), boot);
    return fclose(file) || setenv("XDG_CACHE_HOME", folder, 1);
}

/* What no machine has is refused, and sessions that ask for less work. */
static void too_much_room_is_refused(void **state)
{
    (void)state;
    nlens_error err = {0};
    nlens_session_options options = {sizeof options, .room = SIZE_MAX / sizeof(nlens_sample) / 2};
    assert_null(nlens_session_new(&options, &err));
    assert_int_equal(err.code, -ENOMEM);
    options.room = SIZE_MAX / 2;
    assert_null(nlens_session_new(&options, &err));
    assert_int_equal(err.code, -ENOMEM);
    assert_non_null(strstr(err.text, "take fewer"));
    options.room = 100;
    nlens_session *session = nlens_session_new(&options, &err);
    assert_non_null(session);
    assert_int_equal(nlens_session_close(session, &err), 0);
}

/* A pattern for titles may be given. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pull_gives_what_was_read),
        cmocka_unit_test(directions_are_distinguished),
        cmocka_unit_test(only_what_is_between_start_and_stop),
        cmocka_unit_test(many_threads_by_number),
        cmocka_unit_test(all_threads_of_the_process),
        cmocka_unit_test(threads_may_end_while_sampled),
        cmocka_unit_test(nothing_is_lost_on_a_long_run),
        cmocka_unit_test(samples_have_the_size_of_the_client),
        cmocka_unit_test(reading_too_late_is_counted),
        cmocka_unit_test(file_is_a_trace),
        cmocka_unit_test(errors_have_cause_and_remedy),
        cmocka_unit_test(too_much_room_is_refused),
        cmocka_unit_test(hardware_or_one_line),
        cmocka_unit_test(children_have_no_sessions),
    };
    char folder[] = "/tmp/numalens-calibration-XXXXXX", command[96];
    if (keep_calibration(folder) != 0)
        return 1;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests_name("session", tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || failed;
}
