#include "capture/outside/attach_check.h"
#include "capture/outside/executor_client.h"
#include "capture/outside/outside.h"
#include "capture/outside/thread_stop.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ACCESSES = 16, ATTEMPTS = 2000, ATTEMPT_NS = 1000000 };

/* What is followed: it reads and writes, and ends with who started it. */
static void spin(pid_t parent)
{
    static volatile long cells[64];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; getppid() == parent; i++)
        for (unsigned j = 0; j < 1u << 20; j++)
            cells[j % 64] += i;
    _exit(0);
}

static void rest(void)
{
    nanosleep(&(struct timespec){0, ATTEMPT_NS}, NULL);
}

/* A burst of the process. */
static bool follow(struct executor_client *client, pid_t pid)
{
    struct executor_job *job = executor_job(client);
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        enum stop_state state = stop_ask(pid) < 0 ? STOP_ENDED : STOP_NOT_YET;
        while (state == STOP_NOT_YET && i++ < ATTEMPTS) {
            rest();
            state = stop_take(pid, true, job);
        }
        job->skip = 0;
        job->want = ACCESSES;
        bool done = state == STOP_TAKEN && executor_run(client, NULL);
        if (state == STOP_TAKEN || state == STOP_IN_CALL)
            stop_let_go(pid);
        if (state == STOP_TAKEN || state == STOP_ENDED)
            return done && job->end == EXECUTOR_ENOUGH && job->count == ACCESSES;
    }
    return false;
}

int outside_try(struct error *err)
{
    pid_t own = getpid(), pid = fork();
    if (pid < 0)
        return error_set(err, -errno, "no process can be started");
    if (pid == 0)
        spin(own);
    struct executor_client *client = attach_check((uint32_t)pid, err) < 0 ? NULL : executor_start((uint32_t)pid, err);
    if (client && !follow(client, pid))
        error_set(err, -EPERM, "a process of one's own cannot be followed: ptrace is refused here");
    executor_stop(client);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return err->code < 0 ? err->code : attach_allowed_here(err);
}
