#include "doctor/trial.h"

#include "base/own_files.h"
#include "base/small_file.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

enum { TRIAL_SECONDS = 3 };

struct probe_result probe_in_child(struct probe_result (*trial)(void *argument), void *argument)
{
    struct probe_result result = {.error = PROBE_CRASHED};
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0)
        return (struct probe_result){.error = errno};
    pid_t child = fork();
    if (child < 0) {
        result.error = errno;
    } else if (child == 0) {
        close(pipe_ends[0]);
        alarm(TRIAL_SECONDS);
        result = trial(argument);
        ssize_t written = write(pipe_ends[1], &result, sizeof result);
        _exit(written == sizeof result ? 0 : 1);
    }
    close(pipe_ends[1]);
    if (child > 0) {
        if (read(pipe_ends[0], &result, sizeof result) != sizeof result)
            result = (struct probe_result){.error = PROBE_CRASHED};
        int status;
        if (waitpid(child, &status, 0) == child && WIFSIGNALED(status))
            result.error = WTERMSIG(status) == SIGALRM ? PROBE_HUNG : PROBE_CRASHED;
    }
    close(pipe_ends[0]);
    return result;
}

const char *probe_error_text(int error)
{
    switch (error) {
    case PROBE_CRASHED:
        return "the trial crashed";
    case PROBE_HUNG:
        return "the trial hung";
    case PROBE_SILENT:
        return "accepted, but nothing arrives";
    default:
        return strerror(error);
    }
}

static void add(struct doctor *doctor, struct doctor_check check)
{
    array_push(&doctor->checks, check);
}

void probe_add(struct doctor *doctor, const char *group, const char *id, const char *name, enum doctor_status status,
               const char *remedy, const char *format, ...)
{
    char detail[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    add(doctor, (struct doctor_check){.group = group,
                                      .id = id,
                                      .name = name,
                                      .status = status,
                                      .detail = mem_strdup(detail),
                                      .remedy = remedy ? mem_strdup(remedy) : NULL});
}

/* Refusals look alike from inside: the sysctl, a seccomp filter and a security module all say EPERM or EACCES. The
 * sysctl speaks first, because it can be read. */
void probe_add_perf_refusal(struct doctor *doctor, const char *group, const char *id, const char *name, int error)
{
    long paranoid = small_file_number(-2, "/proc/sys/kernel/perf_event_paranoid");
    bool privileged = self_may(CAP_PERFMON) || self_may(CAP_SYS_ADMIN);
    bool refused = error == EPERM || error == EACCES;
    if (refused && paranoid > 2 && !privileged)
        probe_add(doctor, group, id, name, DOCTOR_MISSING, "sudo sysctl kernel.perf_event_paranoid=2",
                  "perf_event_open: %s, because kernel.perf_event_paranoid is %ld", strerror(error), paranoid);
    else if ((refused || error == ENOSYS) && probe_has_seccomp_filter())
        probe_add(doctor, group, id, name, DOCTOR_MISSING,
                  "allow perf_event_open in the container's seccomp profile (docker: --cap-add PERFMON, or "
                  "--security-opt seccomp=unconfined)",
                  "perf_event_open: %s, from a seccomp filter%s%s", strerror(error), probe_container() ? " of " : "",
                  probe_container() ? probe_container() : "");
    else if (refused && paranoid == -2)
        probe_add(doctor, group, id, name, DOCTOR_MISSING, "a kernel with CONFIG_PERF_EVENTS",
                  "perf_event_open: %s, and the kernel has no perf_event_paranoid", strerror(error));
    else if (refused)
        probe_add(doctor, group, id, name, DOCTOR_MISSING, "ask whoever runs this machine about its security module",
                  "perf_event_open: %s though kernel.perf_event_paranoid is %ld", strerror(error), paranoid);
    else if (error == ENOSYS)
        probe_add(doctor, group, id, name, DOCTOR_MISSING, "a kernel with CONFIG_PERF_EVENTS",
                  "this kernel has no perf_event_open");
    else
        probe_add(doctor, group, id, name, DOCTOR_MISSING, NULL, "perf_event_open: %s", probe_error_text(error));
}

int probe_perf_open(struct perf_event_attr *attr)
{
    attr->size = sizeof *attr;
    long fd = syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

bool probe_has_seccomp_filter(void)
{
    char *mode = small_file_field("/proc/self/status", "Seccomp:");
    bool filter = mode && strcmp(mode, "2") == 0;
    free(mode);
    return filter;
}

const char *probe_container(void)
{
    if (access("/.dockerenv", F_OK) == 0)
        return "docker";
    if (access("/run/.containerenv", F_OK) == 0)
        return "podman";
    if (access("/run/systemd/container", F_OK) == 0)
        return "a container";
    return getenv("KUBERNETES_SERVICE_HOST") ? "kubernetes" : NULL;
}
