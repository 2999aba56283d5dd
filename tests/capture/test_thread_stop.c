/* test_thread_stop.c - a thread that is killed while it is stopped: its end is taken, so that its process ends for its parent. Of its registers
 * nothing is changed but where the stop has made a system call fail that may be made again. */
#include "capture/outside/thread_stop.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#if defined(SYS_epoll_wait)
#define EPOLL_WAIT SYS_epoll_wait
#else
#define EPOLL_WAIT SYS_epoll_pwait
#endif

static int ready;

static void *spin(void *unused)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    if (write(ready, &self, sizeof self) != sizeof self)
        _exit(1);
    for (volatile unsigned i = 0;; i++)
        ;
    return unused;
}

/* A process of two threads; of the second one the number. */
static pid_t start(pid_t *tid)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a check that fails leaves nobody behind */
        ready = ends[1];
        pthread_create(&thread, NULL, spin, NULL);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], tid, sizeof *tid), sizeof *tid);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static struct executor_job *new_job(void)
{
    struct executor_job *job = aligned_alloc(_Alignof(struct executor_job), sizeof *job);
    assert_non_null(job);
    *job = (struct executor_job){0};
    return job;
}

static enum stop_state wait_for(pid_t tid, struct executor_job *job)
{
    enum stop_state state;
    while ((state = stop_take(tid, false, job)) == STOP_NOT_YET)
        usleep(1000);
    return state;
}

/* Stops it in its loop: it may still be in the call by which it said that it runs. */
static void stop_in_loop(pid_t tid, struct executor_job *job)
{
    enum stop_state state;
    do {
        assert_int_equal(stop_ask(tid), 0);
        state = wait_for(tid, job);
        assert_true(state == STOP_TAKEN || (state == STOP_IN_CALL && stop_let_go(tid)));
    } while (state != STOP_TAKEN);
}

static void killed_while_stopped(void **state)
{
    (void)state;
    struct executor_job *job = new_job();
    pid_t tid, pid = start(&tid);
    stop_in_loop(tid, job);
    kill(pid, SIGKILL);
    siginfo_t info = {0};
    assert_int_equal(waitid(P_PID, (id_t)tid, &info, WEXITED | WNOWAIT | __WALL), 0); /* it has ended now */
    assert_false(stop_let_go(tid));
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* its process not, as long as nobody takes that */
    assert_int_equal(wait_for(tid, job), STOP_ENDED);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    free(job);
}

static void killed_before_it_stops(void **state)
{
    (void)state;
    struct executor_job *job = new_job();
    for (int i = 0; i < 20; i++) {
        pid_t tid, pid = start(&tid);
        kill(pid, SIGKILL);
        if (stop_ask(tid) == 0)
            assert_int_equal(wait_for(tid, job), STOP_ENDED);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
    free(job);
}

static void note_signal(int number)
{
    (void)number;
}

/* A process that waits for a byte by a call that the kernel does not make again when it was interrupted, and says what came of it. */
static pid_t start_waiting(int *wake, int *results)
{
    int bytes[2], said[2];
    assert_true(pipe(bytes) == 0 && pipe(said) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct epoll_event event = {.events = EPOLLIN};
        int file = epoll_create1(0);
        char byte;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigaction(SIGUSR1, &(struct sigaction){.sa_handler = note_signal, .sa_flags = SA_RESTART}, NULL);
        epoll_ctl(file, EPOLL_CTL_ADD, bytes[0], &event);
        for (;;) {
            int result = epoll_wait(file, &event, 1, -1) < 0 ? -errno : (int)read(bytes[0], &byte, 1);
            if (write(said[1], &result, sizeof result) != sizeof result)
                _exit(1);
        }
    }
    close(bytes[0]);
    close(said[1]);
    *wake = bytes[1];
    *results = said[0];
    return pid;
}

static void wait_in_call(pid_t pid)
{
    char path[48], text[32];
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    do {
        FILE *stream = fopen(path, "r");
        assert_non_null(stream);
        assert_non_null(fgets(text, sizeof text, stream));
        fclose(stream);
    } while (atoi(text) != EPOLL_WAIT); /* or it runs: then there is no number */
}

/* Stopped in that call, and let go; a signal may come first. */
static void stop_in_call(pid_t pid, int number)
{
    siginfo_t info = {0};
    wait_in_call(pid);
    assert_int_equal(stop_ask(pid), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT | __WALL), 0);
    if (number)
        kill(pid, number);
    enum stop_state state = wait_for(pid, NULL);
    assert_true(state == STOP_OTHER || (state == STOP_IN_CALL && stop_let_go(pid)));
}

static void what_it_interrupts_is_made_again(void **state)
{
    (void)state;
    int wake, results, result;
    pid_t pid = start_waiting(&wake, &results);
    for (int i = 0; i < 20; i++)
        stop_in_call(pid, 0);
    assert_int_equal(write(wake, "", 1), 1);
    assert_int_equal(read(results, &result, sizeof result), sizeof result);
    assert_int_equal(result, 1); /* none of the stops was noticed */
    for (int i = 0; i < 20; i++) {
        stop_in_call(pid, SIGUSR1);
        assert_int_equal(read(results, &result, sizeof result), sizeof result);
        assert_int_equal(result, -EINTR); /* the signal would have interrupted it */
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(wake);
    close(results);
}

#if defined(__x86_64__)
/* Its descriptor is free: made again it might close another one. Stopped as if at the end of such a call. */
static void close_is_not_made_again(void **state)
{
    (void)state;
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof registers};
    siginfo_t info = {0};
    pid_t tid, pid = start(&tid);
    assert_int_equal(stop_ask(tid), 0);
    assert_int_equal(waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOWAIT | __WALL), 0);
    assert_int_equal(ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &all), 0);
    registers.orig_rax = SYS_close;
    registers.rax = (unsigned long long)-EINTR;
    assert_int_equal(ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &all), 0);
    assert_int_equal(wait_for(tid, NULL), STOP_IN_CALL);
    assert_int_equal(ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &all), 0);
    assert_int_equal(registers.rax, (unsigned long long)-EINTR);
    kill(pid, SIGKILL);
    assert_int_equal(wait_for(tid, NULL), STOP_ENDED);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}
#endif

static void let_go_it_runs_on(void **state)
{
    (void)state;
    struct executor_job *job = new_job();
    pid_t tid, pid = start(&tid);
    stop_in_loop(tid, job);
    assert_true(stop_let_go(tid));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_while_stopped),
        cmocka_unit_test(killed_before_it_stops),
        cmocka_unit_test(what_it_interrupts_is_made_again),
#if defined(__x86_64__)
        cmocka_unit_test(close_is_not_made_again),
#endif
        cmocka_unit_test(let_go_it_runs_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
