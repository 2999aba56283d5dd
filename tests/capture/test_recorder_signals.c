/* A child's end is seen whenever its signal comes: between any two instructions of the question for it. */
#include "capture/recorder_signals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    SEEN = 1,
    MANY = 5000, /* instructions: the question takes some dozens, some hundreds where it is sanitized */
};

/* Stops, asks, stops and asks again. */
static void ask(void)
{
    sigset_t mask;
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    signals_take(&mask);
    signals_ready(NULL, &mask);
    raise(SIGSTOP);
    bool seen = signals_child();
    raise(SIGSTOP);
    seen |= signals_child();
    _exit(seen ? SEEN : 0);
}

static int stopped_by(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSTOPPED(status));
    return WSTOPSIG(status);
}

/* Whether the signal is seen when it comes after so many instructions; `*within` says whether that is before the second stop. */
static bool seen_after(int instructions, bool *within)
{
    int status, signal = SIGTRAP;
    pid_t pid = fork();
    if (pid == 0)
        ask();
    assert_int_equal(stopped_by(pid), SIGSTOP);
    for (int i = 0; i < instructions && signal == SIGTRAP; i++) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
        signal = stopped_by(pid);
    }
    *within = signal == SIGTRAP;
    assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, SIGCHLD), 0);
    if (*within) {
        assert_int_equal(stopped_by(pid), SIGSTOP);
        assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == SEEN;
}

static void test_at_every_instruction(void **state)
{
    (void)state;
    int instructions = 0;
    for (bool within = true; within && instructions < MANY; instructions++)
        if (!seen_after(instructions, &within))
            fail_msg("a signal after %d instructions is not seen", instructions);
    assert_in_range(instructions, 20, MANY - 1);
}

/* None was sent, none is seen. */
static void test_none(void **state)
{
    sigset_t mask;
    (void)state;
    signals_take(&mask);
    signals_ready(NULL, &mask);
    assert_false(signals_child());
    raise(SIGCHLD);
    assert_true(signals_child());
    assert_false(signals_child());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_every_instruction),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
