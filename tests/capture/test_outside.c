/* test_outside.c - nothing that takes long is done while a thread is about to stop. Threads, executors, heaps and time are made up: each of
 * eight threads waits up to 80 ms for a CPU before it stops, and some bursts end their executor. */
#include "capture/outside/outside_process.h"
#include "capture/outside/thread_stop.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

enum { PID = 1000, THREADS = 8, DRAIN_NS = 1000000, CLOCK_STEP_NS = 5000, ENDS_EVERY = 50, ENDS_MOST = 10 };

#define NEVER UINT64_MAX

int __wrap_attach_check(uint32_t pid, struct error *err);
struct executor_client *__wrap_executor_start(uint32_t pid, struct error *err);
void __wrap_executor_stop(struct executor_client *client);
struct executor_job *__wrap_executor_job(struct executor_client *client);
bool __wrap_executor_run(struct executor_client *client, const struct remote_rules *rules);
uint64_t __wrap_executor_cpu_ns(const struct executor_client *client);
void __wrap_executor_find_devices(struct executor_client *client, uint32_t pid);
int __wrap_stop_ask(pid_t tid);
enum stop_state __wrap_stop_take(pid_t tid, bool child, struct executor_job *job);
bool __wrap_stop_let_go(pid_t tid);
void __wrap_stop_copy_stack(pid_t tid, struct executor_job *job);
bool __wrap_glibc_heap_look(struct glibc_heap *heap, struct sink *sink, uint64_t time);
void __wrap_proc_each_thread(uint32_t pid, void (*visit)(uint32_t tid, void *context), void *context);
uint64_t __wrap_outside_thread_cpu(uint32_t pid, uint32_t tid);
bool __wrap_outside_thread_runs(uint32_t pid, struct outside_thread *thread);
void __wrap_outside_thread_stack(struct sink *sink, uint32_t pid, struct outside_thread *thread, uint64_t sp,
                                 uint64_t time);
struct capture_process *__wrap_running_process(struct running *running, uint32_t pid, uint32_t tid, uint64_t time);
void __wrap_remote_python_find(struct remote_python *python);
void __wrap_remote_rules_look(struct remote_rules *rules);
int __wrap_clock_gettime(clockid_t which, struct timespec *time);
int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *wait);

static uint64_t now, stops_at[THREADS]; /* 0: not asked */
static unsigned asks, looks, starts, runs, ends, asks_of[THREADS];
static unsigned
    shared_by; /* threads that have a CPU, each later one a quarter of the one's before; 0: all have one each */
static struct executor_job job = {.end = EXECUTOR_STEPS};

static unsigned about_to_stop(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < THREADS; i++)
        count += stops_at[i] != 0 && stops_at[i] != NEVER;
    return count;
}

int __wrap_attach_check(uint32_t pid, struct error *err)
{
    (void)pid, (void)err;
    return 0;
}

struct executor_client *__wrap_executor_start(uint32_t pid, struct error *err)
{
    (void)pid, (void)err;
    assert_int_equal(about_to_stop(), 0);
    starts++;
    return (struct executor_client *)&job;
}

void __wrap_executor_stop(struct executor_client *client)
{
    (void)client;
}

struct executor_job *__wrap_executor_job(struct executor_client *client)
{
    return (struct executor_job *)client;
}

bool __wrap_executor_run(struct executor_client *client, const struct remote_rules *rules)
{
    (void)rules;
    (void)client;
    return ++runs % ENDS_EVERY || ++ends > ENDS_MOST;
}

uint64_t __wrap_executor_cpu_ns(const struct executor_client *client)
{
    (void)client;
    return 0;
}

void __wrap_executor_find_devices(struct executor_client *client, uint32_t pid)
{
    (void)client, (void)pid;
}

void __wrap_remote_python_find(struct remote_python *python)
{
    (void)python;
}

void __wrap_remote_rules_look(struct remote_rules *rules)
{
    (void)rules;
    assert_int_equal(about_to_stop(), 0);
}

int __wrap_stop_ask(pid_t tid)
{
    asks_of[tid - PID]++;
    stops_at[tid - PID] = now + ++asks * 7919 % 80 * (shared_by ? 100 : 1000000);
    return 0;
}

enum stop_state __wrap_stop_take(pid_t tid, bool child, struct executor_job *asked)
{
    (void)child;
    if (now < stops_at[tid - PID])
        return STOP_NOT_YET;
    stops_at[tid - PID] = 0;
    return asked ? STOP_TAKEN : STOP_IN_CALL;
}

bool __wrap_stop_let_go(pid_t tid)
{
    (void)tid;
    return true;
}

void __wrap_stop_copy_stack(pid_t tid, struct executor_job *asked)
{
    (void)tid, (void)asked;
}

bool __wrap_glibc_heap_look(struct glibc_heap *heap, struct sink *sink, uint64_t time)
{
    (void)heap, (void)sink, (void)time;
    assert_int_equal(about_to_stop(), 0);
    looks++;
    return false;
}

void __wrap_proc_each_thread(uint32_t pid, void (*visit)(uint32_t tid, void *context), void *context)
{
    for (uint32_t i = 0; i < (shared_by ? shared_by : THREADS); i++)
        visit(pid + i, context);
}

static uint64_t cpu_of(unsigned thread)
{
    return shared_by ? now * 3 >> (2 * thread + 2) : now;
}

uint64_t __wrap_outside_thread_cpu(uint32_t pid, uint32_t tid)
{
    return cpu_of(tid - pid);
}

bool __wrap_outside_thread_runs(uint32_t pid, struct outside_thread *thread)
{
    (void)pid, (void)thread;
    return true;
}

void __wrap_outside_thread_stack(struct sink *sink, uint32_t pid, struct outside_thread *thread, uint64_t sp,
                                 uint64_t time)
{
    (void)sink, (void)pid, (void)thread, (void)sp, (void)time;
}

struct capture_process *__wrap_running_process(struct running *running, uint32_t pid, uint32_t tid, uint64_t time)
{
    static struct capture_process process;
    (void)running, (void)pid, (void)tid, (void)time;
    return &process;
}

int __wrap_clock_gettime(clockid_t which, struct timespec *time)
{
    now += which == CLOCK_MONOTONIC_RAW ? CLOCK_STEP_NS : 0;
    uint64_t reading = which == CLOCK_MONOTONIC_RAW ? now : 0;
    *time = (struct timespec){(time_t)(reading / 1000000000), (long)(reading % 1000000000)};
    return 0;
}

int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *wait)
{
    (void)set, (void)info;
    now += (uint64_t)wait->tv_nsec;
    errno = EAGAIN;
    return -1;
}

static void drain(const struct source *source, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct source_level level = {0};
        now += DRAIN_NS;
        source->drain(source->context, now, &level);
    }
}

static void what_takes_long_waits_for_stops(void **state)
{
    (void)state;
    static const struct source_listener listener;
    const struct capture_options options = {.burst = 28, .tick_ns = 1000000, .budget_ppm = 1000000};
    struct sink sink = {0};
    struct running running = {0};
    struct error err = {0};
    now = 1000000000;
    struct outside *outside = outside_new(&options);
    struct source source = outside_source(outside);
    outside_connect(outside, &sink, &running, &listener);
    assert_int_equal(outside_follow(outside, PID, false, &err), 0);
    source.want(outside, true);
    drain(&source, 10000);
    assert_in_range(looks, 5, 12); /* in ten seconds */
    assert_true(asks > 500);
    assert_int_equal(starts, 1 + ENDS_MOST);
    assert_int_equal(sink.lost[LOSS_TICK_UNSTEPPED], ENDS_MOST);
    assert_true(about_to_stop() > 0);
    assert_false(outside_hold(outside)); /* for what the recorder does besides */
    unsigned before = asks;
    drain(&source, 100);
    assert_true(outside_hold(outside));
    assert_int_equal(asks, before);
    outside_go_on(outside);
    drain(&source, 100);
    assert_true(asks > before);
    for (unsigned i = 0; i < THREADS; i++) /* what gets no CPU any more is not waited for */
        stops_at[i] = stops_at[i] ? NEVER : 0;
    before = looks;
    drain(&source, 5000);
    assert_true(looks > before + 1);
    source.close(outside);
}

/* Three threads that always run or wait for their one CPU, of which they get 48:12:3, and more ticks asked for than drains can make. */
static void ticks_are_by_cpu_time(void **state)
{
    (void)state;
    static const uint64_t periods[] = {20000000, 1000000, 250000}; /* ns */
    static const struct source_listener listener;
    for (unsigned i = 0; i < sizeof periods / sizeof *periods; i++) {
        const struct capture_options options = {.burst = 28, .tick_ns = periods[i], .budget_ppm = 1000000};
        struct sink sink = {0};
        struct running running = {0};
        struct error err = {0};
        shared_by = 3;
        ends = ENDS_MOST;
        memset(asks_of, 0, sizeof asks_of);
        memset(stops_at, 0, sizeof stops_at);
        struct outside *outside = outside_new(&options);
        struct source source = outside_source(outside);
        outside_connect(outside, &sink, &running, &listener);
        assert_int_equal(outside_follow(outside, PID, false, &err), 0);
        source.want(outside, true);
        uint64_t began = now;
        drain(&source, 60000);
        double rate[3];
        for (unsigned k = 0; k < 3; k++)
            rate[k] = asks_of[k] * 4e9 * (1 << 2 * k) / (double)(now - began) / 3;
        print_message("# period %.2f ms: %.0f, %.0f, %.0f ticks a second of CPU time\n", (double)periods[i] / 1e6,
                      rate[0], rate[1], rate[2]);
        assert_true(asks_of[2] > 50);
        for (unsigned k = 0; k < 2; k++)
            assert_true(rate[k] > 0.93 * rate[k + 1] && rate[k] < 1.07 * rate[k + 1]);
        source.close(outside);
    }
    shared_by = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_takes_long_waits_for_stops),
                                       cmocka_unit_test(ticks_are_by_cpu_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
