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
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

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

/* Stopped as if at the end of such a call, which failed with EINTR: what it is given instead. */
static long result_of(long number)
{
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof registers};
    siginfo_t info = {0};
    pid_t tid, pid = start(&tid);
    assert_int_equal(stop_ask(tid), 0);
    assert_int_equal(waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOWAIT | __WALL), 0);
    assert_int_equal(ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &all), 0);
    registers.orig_rax = (unsigned long long)number;
    registers.rax = (unsigned long long)-EINTR;
    assert_int_equal(ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &all), 0);
    assert_int_equal(wait_for(tid, NULL), STOP_IN_CALL);
    assert_int_equal(ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &all), 0);
    kill(pid, SIGKILL);
    assert_int_equal(wait_for(tid, NULL), STOP_ENDED);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return (long)registers.rax;
}

static void what_it_interrupts_is_made_again(void **state)
{
    (void)state;
    assert_int_equal(result_of(SYS_epoll_wait), -514); /* ERESTARTNOHAND */
    assert_int_equal(result_of(SYS_close), -EINTR);    /* its descriptor is free: made again it may close another one */
}

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
        cmocka_unit_test(let_go_it_runs_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
