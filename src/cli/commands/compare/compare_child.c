#include "cli/commands/compare/compare_child.h"

#include "base/clock.h"
#include "topology/placement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { WATCHED = sizeof watched / sizeof *watched };

/* Written by the handler; `running` by the only thread there is, while handlers may come. */
static volatile sig_atomic_t asked;
static volatile pid_t running;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    asked = number;
    /* What the terminal sends reaches the whole group by itself. */
    if (running > 0 && info->si_code <= 0)
        kill(running, number);
}

/* A pipe can be read once: keep it. */
static int keep_input(struct error *err)
{
    int fd = memfd_create("numalens-input", MFD_CLOEXEC);
    char bytes[65536];
    ssize_t got;
    while (fd >= 0 && (got = read(STDIN_FILENO, bytes, sizeof bytes)) != 0) {
        if (got < 0 && errno == EINTR && !asked)
            continue;
        if (got < 0 || write(fd, bytes, (size_t)got) != got) {
            close(fd);
            fd = -1;
        }
    }
    return fd < 0 ? error_set(err, -errno, "cannot keep standard input for all runs: %s", strerror(errno)) : fd;
}

int compare_child_open(struct compare_child *child, bool again, struct error *err)
{
    *child = (struct compare_child){.input = -1};
    asked = 0;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    for (unsigned i = 0; i < WATCHED; i++) {
        sigaction(watched[i], NULL, &child->old[i]);
        if (child->old[i].sa_handler != SIG_IGN)
            sigaction(watched[i], &action, NULL);
    }
    struct stat status;
    if (!again || fstat(STDIN_FILENO, &status) < 0)
        return 0;
    if (S_ISREG(status.st_mode)) {
        child->input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        child->input_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    } else if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) {
        child->input = keep_input(err);
        return child->input < 0 ? child->input : 0;
    }
    return 0;
}

int compare_child_close(struct compare_child *child)
{
    for (unsigned i = 0; i < WATCHED; i++)
        sigaction(watched[i], &child->old[i], NULL);
    if (child->input >= 0)
        close(child->input);
    child->input = -1;
    return asked;
}

static void become(const struct compare_child *child, char **command, int out, const struct placement *placement,
                   int trouble, const sigset_t *mask)
{
    int cause = 0;
    for (unsigned i = 0; i < WATCHED; i++)
        sigaction(watched[i], &child->old[i], NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if ((child->input >= 0 && dup2(child->input, STDIN_FILENO) < 0) || dup2(out, STDOUT_FILENO) < 0)
        cause = errno;
    if (cause == 0 && placement)
        cause = placement_apply(placement);
    for (const char *const *entry = child->environment; entry && *entry; entry++)
        putenv((char *)*entry);
    if (cause == 0) {
        execvp(command[0], command);
        cause = errno;
    }
    while (write(trouble, &cause, sizeof cause) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* Starts the child with the watched signals blocked until its number is noted: one that comes in between would be
 * passed to nobody, and the run would go on to its end. One that came before means that there is to be no child. */
static pid_t start(const struct compare_child *child, char **command, int out, const struct placement *placement,
                   int trouble)
{
    sigset_t held, mask;
    sigemptyset(&held);
    for (unsigned i = 0; i < WATCHED; i++)
        sigaddset(&held, watched[i]);
    sigprocmask(SIG_BLOCK, &held, &mask);
    errno = EINTR;
    pid_t pid = asked ? -1 : fork();
    if (pid == 0)
        become(child, command, out, placement, trouble, &mask);
    int cause = errno;
    if (pid > 0)
        running = pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    errno = cause;
    return pid;
}

int compare_child_run(struct compare_child *child, char **command, int out, const struct placement *placement,
                      int *status, double *seconds, struct error *err)
{
    int pipes[2];
    if (asked)
        return error_set(err, -EINTR, "asked to end by signal %d (%s)", (int)asked, strsignal(asked));
    if (child->input >= 0 && lseek(child->input, child->input_at, SEEK_SET) < 0)
        return error_set(err, -errno, "cannot wind standard input back: %s", strerror(errno));
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    uint64_t began = clock_now_ns();
    pid_t pid = start(child, command, out, placement, pipes[1]);
    int unstarted = errno;
    close(pipes[1]);
    if (pid < 0) {
        close(pipes[0]);
        if (asked)
            return error_set(err, -EINTR, "asked to end by signal %d (%s)", (int)asked, strsignal(asked));
        return error_set(err, -unstarted, "cannot start a process: %s", strerror(unstarted));
    }
    int cause;
    ssize_t got;
    do
        got = read(pipes[0], &cause, sizeof cause);
    while (got < 0 && errno == EINTR);
    close(pipes[0]);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    running = 0;
    if (seconds)
        *seconds = (double)(clock_now_ns() - began) * 1e-9;
    if (got == sizeof cause)
        return error_set(err, -cause, "%s cannot be run%s: %s", command[0],
                         placement ? " with this placement, without recording" : "", strerror(cause));
    if (asked)
        return error_set(err, -EINTR, "asked to end by signal %d (%s)", (int)asked, strsignal(asked));
    return 0;
}
