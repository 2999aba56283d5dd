#include "capture/process/launch.h"

#include "base/mem.h"
#include "capture/process/program.h"
#include "topology/placement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct trouble { /* what kept the program from running */
    int cause;
    bool placing;
};

static void child(struct launch *launch, int held, int trouble, char **command, const char *region, const char *preload,
                  const sigset_t *mask, const struct placement *placement)
{
    struct trouble failure = {0};
    close(launch->go);
    char byte;
    ssize_t got;
    do
        got = read(held, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(0);
    if (region && preload) {
        const char *value = strchr(region, '=');
        char *name = mem_format("%.*s", (int)(value - region), region);
        setenv(name, value + 1, 1);
        setenv("LD_PRELOAD", preload, 1);
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
    failure.cause = placement ? placement_apply(placement) : 0;
    failure.placing = failure.cause != 0;
    if (failure.cause == 0) {
        execvp(command[0], command);
        failure.cause = errno;
    }
    while (write(trouble, &failure, sizeof failure) < 0 && errno == EINTR)
        ;
    _exit(PROGRAM_NOT_FOUND);
}

int launch_prepare(struct launch *launch, char **command, const char *region, const char *agent, const sigset_t *mask,
                   struct error *err)
{
    return launch_prepare_placed(launch, command, region, agent, mask, NULL, err);
}

int launch_prepare_placed(struct launch *launch, char **command, const char *region, const char *agent,
                          const sigset_t *mask, const struct placement *placement, struct error *err)
{
    int held[2], trouble[2];
    *launch = (struct launch){-1, -1, -1};
    if (pipe2(held, O_CLOEXEC) < 0)
        return error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    if (pipe2(trouble, O_CLOEXEC) < 0) {
        close(held[0]);
        close(held[1]);
        return error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    }
    const char *others = getenv("LD_PRELOAD");
    char *preload = agent ? mem_format("%s%s%s", agent, others && *others ? ":" : "", others ? others : "") : NULL;
    launch->go = held[1];
    launch->trouble = trouble[0];
    launch->pid = fork();
    if (launch->pid == 0)
        child(launch, held[0], trouble[1], command, region, preload, mask, placement);
    int cause = errno;
    free(preload);
    close(held[0]);
    close(trouble[1]);
    if (launch->pid > 0)
        return 0;
    launch_cancel(launch);
    return error_set(err, -cause, "cannot start a process: %s", strerror(cause));
}

static void reap(struct launch *launch)
{
    while (launch->pid > 0 && waitpid(launch->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    launch->pid = -1;
}

int launch_go(struct launch *launch, const char *name, int *exit_status, struct error *err)
{
    struct trouble failure = {0};
    char byte = 1;
    while (write(launch->go, &byte, 1) < 0 && errno == EINTR)
        ;
    close(launch->go);
    ssize_t got;
    do
        got = read(launch->trouble, &failure, sizeof failure);
    while (got < 0 && errno == EINTR);
    close(launch->trouble);
    launch->go = launch->trouble = -1;
    if (got != sizeof failure)
        return 0;
    reap(launch);
    if (failure.placing) {
        *exit_status = PROGRAM_REFUSED;
        return error_set(err, -failure.cause, "%s cannot be placed as requested: %s", name, strerror(failure.cause));
    }
    *exit_status = failure.cause == ENOENT ? PROGRAM_NOT_FOUND : PROGRAM_NOT_EXECUTABLE;
    return error_set(err, -failure.cause, "%s cannot be run: %s", name, strerror(failure.cause));
}

void launch_cancel(struct launch *launch)
{
    if (launch->go >= 0)
        close(launch->go);
    if (launch->trouble >= 0)
        close(launch->trouble);
    launch->go = launch->trouble = -1;
    reap(launch);
}
