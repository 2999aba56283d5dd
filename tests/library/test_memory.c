/* When memory runs out, sampling ends and the program goes on: each allocation in turn fails, on the program's threads and on
 * the library's own. Each time in a process of its own, since a process samples no more after that. */
#include "../api/failing_malloc.h"
#include "../api/spared_hwloc.h"
#include "work.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRONG = 1, DONE = 10, REFUSED = 11, WHOLE = 12, LATE_S = 120, SLOW_US = 10000 };

static _Atomic uint64_t pushed;

static void take(void *context, const nlens_sample *samples, size_t count)
{
    (void)context;
    pushed += samples[0].sequence ? count : 0;
}

static int wrong(const nlens_error *err)
{
    fprintf(stderr, "# %d: %s\n", err->code, err->text);
    return WRONG;
}

static _Atomic pid_t other;

/* Another thread that is sampled: the library's thread has something to deliver while the main thread is at it. */
static void *read_on(void *unused)
{
    static uint64_t array[WORDS];
    (void)unused;
    other = gettid();
    for (;;)
        read_all(array);
    return NULL;
}

/* Everything that a program may do with a session. Whatever fails must say so with -ENOMEM. */
static int use_session(const char *path)
{
    nlens_error err = {0};
    static uint64_t array[WORDS];
    nlens_session_options options = {sizeof options, .period_ns = 50000, .samples = take, .room = 1 << 12,
                                     .output = path};
    nlens_session *session = nlens_session_new(&options, &err);
    if (!session) /* -EAGAIN: of pthread_create() */
        return err.code == -ENOMEM || err.code == -EAGAIN ? REFUSED : wrong(&err);
    int code = nlens_session_add_thread(session, 0, &err);
    code = code || !other ? code : nlens_session_add_thread(session, other, &err);
    code = code ? code : nlens_session_start(session, &err);
    nlens_session_stats stats = {0};
    for (int round = 0; code == 0 && round < 100000 && stats.samples < 64; round++) {
        read_all(array);
        nlens_session_get_stats(session, &stats);
        code = round % 64 == 0 ? nlens_session_flush(session, &err) : 0;
    }
    nlens_sample samples[16];
    while (nlens_session_read(session, samples, 16) > 0)
        ;
    if (code == 0)
        code = nlens_session_stop(session, &err);
    int closed = nlens_session_close(session, &err);
    if ((code && code != -ENOMEM) || (closed && closed != -ENOMEM))
        return wrong(&err);
    return code || closed ? DONE : WHOLE;
}

enum how { ONE, ALL_AFTER, ONE_SLOWLY };

/* Reached: whether there were so many allocations. */
static int attempt(long n, enum how how, const char *path, bool *reached)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* cmocka's handlers */
        signal(SIGBUS, SIG_DFL);
        signal(SIGILL, SIG_DFL);
        signal(SIGFPE, SIG_DFL);
        pthread_t reader;
        if (how == ONE_SLOWLY && pthread_create(&reader, NULL, read_on, NULL) != 0)
            _exit(WRONG);
        while (how == ONE_SLOWLY && !other)
            sched_yield();
        failing_slow_us = how == ONE_SLOWLY ? SLOW_US : 0;
        alarm(LATE_S); /* a lock that is held for ever is a failure, not a hang */
        failing_begin(n, how == ALL_AFTER);
        int result = use_session(path);
        bool seen = failing_end();
        if (write(ends[1], &seen, sizeof seen) != sizeof seen)
            result = WRONG;
        _exit(result);
    }
    close(ends[1]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    bool heard = read(ends[0], reached, sizeof *reached) == sizeof *reached;
    close(ends[0]);
    if (!heard || !WIFEXITED(status) || WEXITSTATUS(status) == WRONG)
        fail_msg("allocation %ld%s: status %#x", n, how == ALL_AFTER ? " and all after it" : "", status);
    return WEXITSTATUS(status);
}

/* Where threads wait for each other: all that is allocated while a session is used, more or less. */
static long step(long n, enum how how, int result)
{
    if (how == ONE_SLOWLY)
        return result == REFUSED ? 16 : 3;
    return n < 64 ? 1 : n / 16;
}

static void each_fails(enum how how)
{
    char path[] = "/tmp/numalens-library-memory-XXXXXX";
    close(mkstemp(path));
    unsigned refused = 0, ended = 0, whole = 0;
    bool reached = true;
    int result = REFUSED;
    for (long n = 1; reached; n += step(n, how, result)) {
        result = attempt(n, how, path, &reached);
        refused += reached && result == REFUSED;
        ended += reached && result == DONE;
        whole += reached && result == WHOLE;
    }
    print_message("# %u sessions refused, %u ended, %u whole all the same\n", refused, ended, whole);
    assert_true(refused > (how == ONE_SLOWLY ? 5 : 20)); /* by larger steps */
    assert_true(ended > 0 || how == ONE);
    unlink(path);
}

static void one_allocation_fails(void **state)
{
    (void)state;
    each_fails(ONE);
}

static void all_allocations_fail(void **state)
{
    (void)state;
    each_fails(ALL_AFTER);
}

/* What one thread has left half-way when it gives its locks back, no other takes up. */
static void one_allocation_fails_while_others_wait(void **state)
{
    (void)state;
    each_fails(ONE_SLOWLY);
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
    options.room = 100;
    nlens_session *session = nlens_session_new(&options, &err);
    assert_non_null(session);
    assert_int_equal(nlens_session_close(session, &err), 0);
}

int main(void)
{
    failing_spare("libhwloc");
    failing_spare("libpfm");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_allocation_fails),
        cmocka_unit_test(all_allocations_fail),
        cmocka_unit_test(one_allocation_fails_while_others_wait),
        cmocka_unit_test(too_much_room_is_refused),
    };
    return cmocka_run_group_tests_name("sessions without memory", tests, NULL, NULL);
}
