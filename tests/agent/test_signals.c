/* test_signals.c - dispositions of the signal of ticks, when two threads have it moved at the same time. */
#include "agent/agent.h"
#include "agent/sampling/sampler.h"
#include "agent/signals/signals.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { THREADS = 2, SPUN_NS = 20000000 };

static void handle(int signal)
{
    (void)signal;
}

static void *move(void *moved)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGURG);
    *(bool *)moved = signals_move_ticks(&wanted);
    return NULL;
}

/* It has found that they are to be moved, and waits for the lock: nothing else takes it so long. */
static void wait_for_lock(pthread_t thread)
{
    clockid_t clock;
    struct timespec used = {0};
    assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
    while (used.tv_sec == 0 && used.tv_nsec < SPUN_NS) {
        usleep(1000);
        assert_int_equal(clock_gettime(clock, &used), 0);
    }
}

static void ticks_move_once(void **state)
{
    (void)state;
    static struct wire_region region = {.config.flags = WIRE_JOINED};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, handler = {.sa_handler = handle}, found;
    pthread_t threads[THREADS];
    bool moved[THREADS];
    int result;
    agent_region = &region;
    sigaction(SIGURG, &ignore, NULL);
    sigaction(SIGWINCH, &handler, NULL);
    assert_true(signals_start());
    assert_int_equal(signals_tick(), SIGURG);
    uint64_t mask = signals_lock();
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, move, &moved[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        wait_for_lock(threads[i]);
    signals_unlock(mask);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(moved[0] && moved[1]);
    assert_int_equal(signals_tick(), SIGWINCH);
    assert_true(sampler_sigaction(SIGURG, NULL, &found, &result));
    assert_true(found.sa_handler == SIG_IGN);
    assert_true(sampler_sigaction(SIGWINCH, NULL, &found, &result));
    assert_true(found.sa_handler == handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ticks_move_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
