#include "capture/recorder_signals.h"

#include "capture/agent/agent_source.h"

#include <sys/resource.h>

/* SIGXFSZ and SIGPIPE: the write that failed says so by itself. */
static const int taken[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};
enum { TAKEN = sizeof taken / sizeof *taken };

/* Written by handlers, read by the recorder's only thread. */
static volatile sig_atomic_t forward[TAKEN];
static volatile sig_atomic_t child;
/* Written by the recorder's only thread while signals are blocked. */
static struct agent_source *to_wake;

static void note(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number == SIGCHLD)
        child = 1;
    for (unsigned i = 0; i < TAKEN; i++) {
        /* What the terminal sends goes to its whole group, the target among it. */
        if (taken[i] == number && number != SIGCHLD && number != SIGPIPE && number != SIGXFSZ && info->si_code <= 0)
            forward[i] = 1;
    }
    if (to_wake)
        agent_source_wake(to_wake);
}

void signals_take(sigset_t *mask)
{
    sigset_t all;
    sigemptyset(&all);
    for (unsigned i = 0; i < TAKEN; i++)
        sigaddset(&all, taken[i]);
    sigprocmask(SIG_BLOCK, &all, mask);
    for (unsigned i = 0; i < TAKEN; i++) {
        struct sigaction old, action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigemptyset(&action.sa_mask);
        forward[i] = 0;
        /* Ignored ones (nohup) stay ignored, for us and for the target, which inherits that. */
        if (sigaction(taken[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN && taken[i] != SIGCHLD)
            continue;
        sigaction(taken[i], &action, NULL);
    }
}

void signals_ready(struct agent_source *source, const sigset_t *mask)
{
    to_wake = source;
    sigset_t open = *mask;
    for (unsigned i = 0; i < TAKEN; i++)
        sigdelset(&open, taken[i]);
    sigprocmask(SIG_SETMASK, &open, NULL);
}

/* Cleared only where it was set, and before the caller asks: a signal in between is answered by that, one after it sets it again. */
bool signals_child(void)
{
    if (!child)
        return false;
    child = 0;
    return true;
}

void signals_forward(pid_t target, uint64_t now)
{
    static uint64_t since[TAKEN];
    for (unsigned i = 0; i < TAKEN; i++) {
        if (!forward[i]) {
            since[i] = 0;
        } else if (since[i] == 0) {
            since[i] = now;
        } else if (now - since[i] >= SIGNALS_GRACE_NS) {
            forward[i] = 0;
            since[i] = 0;
            kill(target, taken[i]);
        }
    }
}

void signals_release(void)
{
    sigset_t all;
    sigfillset(&all);
    sigset_t old;
    sigprocmask(SIG_BLOCK, &all, &old);
    to_wake = NULL;
    sigprocmask(SIG_SETMASK, &old, NULL);
}

void signals_die_of(int number)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
}
