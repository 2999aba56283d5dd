#include "capture/outside/executor_client.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/own_files.h"
#include "capture/outside/remote_memory.h"
#include "capture/process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    START_MS = 30000, /* on a machine that is very busy */
    JOB_MS = 200,     /* a job takes some 100 us */
    ASIDE = 32,       /* descriptors while they get their numbers */
    STACK_BYTES = 16384,
};

struct executor_client {
    pid_t pid;
    int talk;
    struct executor_job *job;
};

/* What becomes an executor: it has the recorder's memory until then, and a stack of its own. */
struct executor_child {
    const char *path;
    int talk, mem, pagemap, area;
    char stack[STACK_BYTES] __attribute__((aligned(16)));
};

/* Only what may be called in another's memory. Signals are blocked: the executor opens them. */
static int become_executor(void *argument)
{
    static char *const words[] = {"numalens-executor", NULL}, *const nothing[] = {NULL};
    const struct executor_child *child = argument;
    const int from[] = {child->talk, child->mem, child->pagemap, child->area},
              to[] = {EXECUTOR_TALK, EXECUTOR_MEM, EXECUTOR_PAGEMAP, EXECUTOR_AREA};
    int aside[4];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; i < 4; i++)
        aside[i] = fcntl(from[i], F_DUPFD_CLOEXEC, ASIDE);
    for (unsigned i = 0; i < 4; i++)
        if (aside[i] < 0 || dup2(aside[i], to[i]) < 0)
            _exit(1);
    close(1);
    close(2);
    syscall(SYS_close_range, EXECUTOR_AREA + 1, ~0u, 0);
    execve(child->path, words, nothing);
    _exit(1);
}

/* Without a copy of the recorder's memory, which would be made and thrown away: with locks on each library that others wait for. */
static pid_t start_child(struct executor_child *child)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = clone(become_executor, child->stack + sizeof child->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, child);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static bool hear(struct executor_client *client, uint8_t *byte, int timeout_ms)
{
    struct pollfd ready = {.fd = client->talk, .events = POLLIN};
    int code;
    do
        code = poll(&ready, 1, timeout_ms);
    while (code < 0 && errno == EINTR);
    return code > 0 && read(client->talk, byte, 1) == 1;
}

/* Pages of the kernel's clock: from [vvar] up to [vdso]. */
static void find_time(const struct proc_map *map, struct executor_range *time)
{
    if (strcmp(map->path, "[vvar]") == 0)
        time->low = map->start;
    else if (strcmp(map->path, "[vdso]") == 0 && time->low)
        time->high = map->start;
}

static void find_ranges(uint32_t pid, bool own, struct executor_setup *setup)
{
    size_t count = 0;
    struct proc_map map;
    for (struct proc_maps maps = proc_maps_of(pid); proc_maps_next(&maps, &map);) {
        find_time(&map, own ? &setup->own_time : &setup->its_time);
        bool outside = map.start - EXECUTOR_WINDOW >= EXECUTOR_WINDOW_BYTES && map.start < 1ull << 63;
        if (own && outside && strncmp(map.path, "[vvar", 5) != 0 && count < EXECUTOR_HOLES)
            setup->own[count++] = (struct executor_range){map.start, map.end};
    }
}

/* Where there are too many, the last range has what is between them too. */
void executor_find_devices(struct executor_client *client, uint32_t pid)
{
    struct executor_range *devices = client->job->devices;
    unsigned count = 0;
    struct proc_map map;
    memset(devices, 0, sizeof client->job->devices);
    for (struct proc_maps maps = proc_maps_of(pid); proc_maps_next(&maps, &map);) {
        if (!proc_map_is_device(pid, &map))
            continue;
        if (count < EXECUTOR_DEVICES)
            devices[count++].low = map.start;
        devices[count - 1].high = map.end;
    }
}

static int prepare(struct executor_client *client, uint32_t target, struct error *err)
{
    struct executor_setup setup = {.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    uint8_t answer = UINT8_MAX;
    if (!hear(client, &answer, START_MS)) {
        int status = 0;
        bool ended = waitpid(client->pid, &status, WNOHANG) == client->pid;
        client->pid = ended ? -1 : client->pid;
        return error_set(err, -ENOEXEC, "numalens-executor, which samples from outside, %s %d",
                         !ended                ? "does not start; seconds waited:"
                         : WIFSIGNALED(status) ? "was ended at its start by signal"
                                               : "does not start, status",
                         !ended                ? START_MS / 1000
                         : WIFSIGNALED(status) ? WTERMSIG(status)
                                               : WEXITSTATUS(status));
    }
    find_ranges((uint32_t)client->pid, true, &setup);
    find_ranges(target, false, &setup);
    executor_find_devices(client, target);
    if (write(client->talk, &setup, sizeof setup) != (ssize_t)sizeof setup || !hear(client, &answer, START_MS) ||
        answer != 0)
        return error_set(
            err, -ENOEXEC,
            "numalens-executor, which samples from outside, cannot prepare itself (step %u): memory that is "
            "executable, or a filter of its own system calls, is forbidden here",
            answer);
    return 0;
}

static int start(struct executor_client *client, const char *path, uint32_t pid, struct error *err)
{
    int talk[2] = {-1, -1};
    int mem = remote_file(pid, "mem"), refused = errno, pagemap = remote_file(pid, "pagemap");
    int area = memfd_create("numalens", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int code = 0;
    if (mem < 0 || pagemap < 0)
        code = error_set(err, mem < 0 ? -refused : -errno, "the memory of process %u cannot be read: %s", pid,
                         strerror(mem < 0 ? refused : errno));
    else if (area < 0 || ftruncate(area, sizeof *client->job) < 0 ||
             fcntl(area, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ||
             (client->job = mmap(NULL, sizeof *client->job, PROT_READ | PROT_WRITE, MAP_SHARED, area, 0)) ==
                 MAP_FAILED ||
             socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk) < 0)
        code = error_set(err, -errno, "cannot start numalens-executor: %s", strerror(errno));
    if (code == 0) {
        struct executor_child child = {.path = path, .talk = talk[1], .mem = mem, .pagemap = pagemap, .area = area};
        client->pid = start_child(&child);
        if (client->pid < 0)
            code = error_set(err, -errno, "cannot start numalens-executor: %s", strerror(errno));
    }
    client->talk = talk[0];
    const int unused[] = {talk[1], mem, pagemap, area};
    for (unsigned i = 0; i < sizeof unused / sizeof *unused; i++)
        if (unused[i] >= 0)
            close(unused[i]);
    return code < 0 ? code : prepare(client, pid, err);
}

struct executor_client *executor_start(uint32_t pid, struct error *err)
{
    char *path = self_find("../executor/numalens-executor"); /* a build tree: src/cli/numalens */
    if (!path)
        path = self_find(NUMALENS_EXECUTOR_FROM_BIN); /* installed */
    if (!path) {
        error_set(err, -ENOENT, "numalens-executor is not beside this program nor where it would be installed");
        return NULL;
    }
    struct executor_client *client = mem_zalloc(sizeof *client);
    *client = (struct executor_client){.pid = -1, .talk = -1, .job = MAP_FAILED};
    int code = start(client, path, pid, err);
    free(path);
    if (code == 0)
        return client;
    executor_stop(client);
    return NULL;
}

void executor_stop(struct executor_client *client)
{
    if (!client)
        return;
    if (client->talk >= 0)
        close(client->talk);
    if (client->pid > 0) {
        kill(client->pid, SIGKILL);
        while (waitpid(client->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (client->job != MAP_FAILED)
        munmap(client->job, sizeof *client->job);
    free(client);
}

struct executor_job *executor_job(struct executor_client *client)
{
    return client->job;
}

bool executor_run(struct executor_client *client, const struct remote_rules *rules)
{
    uint64_t began = clock_now_ns(), most = JOB_MS * 1000000ull;
    for (uint8_t byte = 0;;) {
        uint64_t took = clock_now_ns() - began;
        if (took >= most || write(client->talk, &byte, 1) != 1 ||
            !hear(client, &byte, (int)((most - took) / 1000000) + 1))
            return false;
        if (byte != EXECUTOR_ASKS || !rules)
            return byte == EXECUTOR_DONE;
        client->job->rule = remote_rules_of(rules, *(volatile uint64_t *)&client->job->asked);
    }
}

uint64_t executor_cpu_ns(const struct executor_client *client)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(client->pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
        return 0;
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
