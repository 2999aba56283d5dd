#include "capture/count/count_run.h"

#include "base/clock.h"
#include "capture/count/count_session.h"
#include "capture/process/launch.h"
#include "capture/recorder_signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static const int watched[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
enum { WATCHED = sizeof watched / sizeof *watched };

struct running {
    struct count_session *session;
    struct count_reading readings[2];            /* of intervals, in turn */
    const struct count_reading *before, *latest; /* the last but one, and the last */
    const struct count_run *run;
    struct count_run_result *result;
    struct launch launch;
    sigset_t signals;
    int to_pass; /* a signal for the program, once the grace is over */
    uint64_t pass_at;
    bool ended;
};

uint64_t count_run_next(uint64_t start, uint64_t interval_ns, uint64_t now)
{
    return now < start ? start + interval_ns : start + ((now - start) / interval_ns + 1) * interval_ns;
}

/* Blocked from here on, and taken one by one. Ignored ones (nohup) stay ignored. `*mask` is the program's. */
static void block_signals(struct running *running, sigset_t *mask)
{
    sigemptyset(&running->signals);
    for (unsigned i = 0; i < WATCHED; i++) {
        struct sigaction action;
        if (watched[i] != SIGCHLD && sigaction(watched[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            continue;
        sigaddset(&running->signals, watched[i]);
    }
    sigprocmask(SIG_BLOCK, &running->signals, mask);
}

/* One that came together with the end has done its work; delivered now it would cost the figures. */
static void unblock_signals(struct running *running, const sigset_t *mask)
{
    struct timespec none = {0, 0};
    /* The program's status is still to be passed on, whoever has stopped reading. */
    if (running->run->command)
        signal(SIGPIPE, SIG_IGN);
    while (sigtimedwait(&running->signals, NULL, &none) > 0)
        ;
    sigprocmask(SIG_SETMASK, mask, NULL);
}

static void see_child(struct running *running)
{
    int status;
    pid_t pid;
    if (running->launch.pid <= 0)
        return;
    do
        pid = waitpid(running->launch.pid, &status, WNOHANG);
    while (pid < 0 && errno == EINTR);
    if (pid == 0)
        return;
    struct count_run_result *result = running->result;
    result->signal = pid > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result->exit_status = pid < 0 ? 0 : result->signal ? 128 + result->signal : WEXITSTATUS(status);
    running->launch.pid = -1;
    running->ended = true;
}

static void see_signal(struct running *running, const siginfo_t *info, uint64_t now)
{
    if (info->si_signo == SIGPIPE)
        return;
    if (info->si_signo == SIGCHLD) {
        see_child(running);
    } else if (!running->run->command) {
        running->ended = true;
    } else if (info->si_code <= 0) {
        running->to_pass = info->si_signo;
        running->pass_at = now + SIGNALS_GRACE_NS;
    }
}

/* Waits for a signal until `until` (UINT64_MAX: for ever), and acts on it. */
static void wait_until(struct running *running, uint64_t now, uint64_t until)
{
    uint64_t rest = until > now ? until - now : 0;
    struct timespec time = {(time_t)(rest / 1000000000), (long)(rest % 1000000000)};
    siginfo_t info;
    int number =
        until == UINT64_MAX ? sigwaitinfo(&running->signals, &info) : sigtimedwait(&running->signals, &info, &time);
    if (number > 0)
        see_signal(running, &info, clock_now_ns());
}

static void pass_signal(struct running *running, uint64_t now)
{
    if (!running->to_pass || now < running->pass_at)
        return;
    if (running->launch.pid > 0)
        kill(running->launch.pid, running->to_pass);
    running->to_pass = 0;
}

static void take(struct running *running, struct count_reading *reading)
{
    count_session_read(running->session, reading);
    running->before = running->latest;
    running->latest = reading;
}

static void print_interval(struct running *running)
{
    take(running, &running->readings[running->latest == &running->readings[0]]);
    if (!running->run->interval(running->run->context, running->before, running->latest) && !running->run->command)
        running->ended = true;
}

static void count_until_end(struct running *running)
{
    const struct count_run *run = running->run;
    uint64_t start = running->result->first.time;
    uint64_t end = run->duration_ns ? start + run->duration_ns : UINT64_MAX;
    uint64_t next = run->interval_ns ? start + run->interval_ns : UINT64_MAX;
    while (!running->ended) {
        uint64_t now = clock_now_ns();
        pass_signal(running, now);
        if (now >= end)
            break;
        if (now >= next) {
            print_interval(running);
            uint64_t after = count_run_next(start, run->interval_ns, clock_now_ns());
            running->result->merged += (after - next) / run->interval_ns - 1;
            next = after;
            continue;
        }
        uint64_t until = next < end ? next : end;
        if (running->to_pass && running->pass_at < until)
            until = running->pass_at;
        wait_until(running, now, until);
    }
    take(running, &running->result->last);
    /* The last, shorter one; without any before it, it would say the same as the sum. */
    if (run->interval_ns && running->before->time > start)
        run->interval(run->context, running->before, running->latest);
}

int count_run(struct count_session *session, const struct count_run *run, struct count_run_result *result,
              struct error *err)
{
    struct running running = {.session = session, .run = run, .result = result, .launch = {-1, -1, -1}};
    sigset_t mask;
    int code = 0;
    *result = (struct count_run_result){.exit_status = 1};
    block_signals(&running, &mask);
    if (run->command && (code = launch_prepare(&running.launch, run->command, NULL, NULL, &mask, err)) < 0)
        goto cleanup;
    /* Only now: the program has inherited how it was. */
    signal(SIGCHLD, SIG_DFL);
    take(&running, &result->first);
    if (run->command && (code = launch_go(&running.launch, run->command[0], &result->exit_status, err)) < 0)
        goto cleanup;
    result->exit_status = 0;
    count_until_end(&running);
cleanup:
    count_reading_free(&running.readings[0]);
    count_reading_free(&running.readings[1]);
    unblock_signals(&running, &mask);
    return code;
}
