/* doctor/check_permissions.c - what this user may do, as the system says it. */
#include "doctor/trial.h"

#include "base/own_files.h"
#include "base/sandbox.h"
#include "base/small_file.h"
#include "capture/outside/outside.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define GROUP "permissions"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

static void check_user(struct doctor *doctor)
{
    static const struct {
        int number;
        const char *name;
    } capabilities[] = {{CAP_SYS_ADMIN, "SYS_ADMIN"},
                        {CAP_PERFMON, "PERFMON"},
                        {CAP_SYS_PTRACE, "SYS_PTRACE"},
                        {CAP_SYS_NICE, "SYS_NICE"}};
    char held[128] = "";
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        if (!self_may(capabilities[i].number))
            continue;
        strcat(held, *held ? ", " : "");
        strcat(held, capabilities[i].name);
    }
    probe_add(doctor, GROUP, "user", "user", DOCTOR_FACT, NULL, "uid %d, %s%s", (int)geteuid(),
              *held ? "with " : "without capabilities that matter here", held);
}

static void check_paranoid(struct doctor *doctor)
{
    long level = small_file_number(-2, "/proc/sys/kernel/perf_event_paranoid");
    static const char *const meanings[] = {
        "everything is allowed", "raw tracepoints are not allowed to users", "users may not count whole CPUs",
        "users see their own programs only, without the kernel", "users may not use perf events at all"};
    if (level == -2) {
        probe_add(doctor, GROUP, "perf_event_paranoid", "perf_event_paranoid", DOCTOR_MISSING,
                  "a kernel with CONFIG_PERF_EVENTS", "not there: the kernel has no perf events");
        return;
    }
    bool refused = level > 2 && !self_may(CAP_PERFMON) && !self_may(CAP_SYS_ADMIN);
    probe_add(doctor, GROUP, "perf_event_paranoid", "perf_event_paranoid", refused ? DOCTOR_LIMITED : DOCTOR_FACT,
              refused ? "sudo sysctl kernel.perf_event_paranoid=2" : NULL, "%ld: %s", level,
              meanings[level < -1  ? 0
                       : level > 3 ? 4
                                   : level + 1]);
}

static void check_yama(struct doctor *doctor)
{
    static const char *const meanings[] = {"processes of the same user may be attached to",
                                           "only descendants may be attached to", "only root may attach",
                                           "no process may attach"};
    long scope = small_file_number(0, "/proc/sys/kernel/yama/ptrace_scope");
    scope = scope < 0 ? 0 : scope > 3 ? 3 : scope;
    probe_add(doctor, GROUP, "ptrace_scope", "yama ptrace_scope", DOCTOR_FACT,
              scope > 0 ? "sudo sysctl kernel.yama.ptrace_scope=0, if running programs are to be attached to" : NULL,
              "%ld: %s", scope, meanings[scope]);
}

/* Tried on a process made for it; then what is known of others. */
static void check_outside(struct doctor *doctor)
{
    struct error why = {0};
    if (outside_try(&why) == 0)
        probe_add(doctor, GROUP, "outside", "from outside", DOCTOR_WORKS, NULL,
                  "programs that run already can be sampled: numalens record -p PID");
    else
        probe_add(doctor, GROUP, "outside", "from outside", DOCTOR_LIMITED, NULL, "%s", why.text);
}

static void check_confinement(struct doctor *doctor)
{
    const char *container = probe_container();
    if (probe_has_seccomp_filter())
        probe_add(doctor, GROUP, "seccomp", "seccomp", DOCTOR_LIMITED, NULL,
                  "a filter is in force%s%s: system calls may be refused whatever the user's rights are",
                  container ? ", in " : "", container ? container : "");
    else
        probe_add(doctor, GROUP, "seccomp", "seccomp", DOCTOR_FACT, NULL, "no filter%s%s", container ? ", in " : "",
                  container ? container : "");
}

static struct probe_result enter_sandbox(void *argument)
{
    (void)argument;
    return (struct probe_result){.error = -sandbox_enter(SANDBOX_SERVER)};
}

/* The recorder takes its own rights away once the program runs; where that is refused it records all the same. */
static void check_sandbox(struct doctor *doctor)
{
    struct probe_result result = probe_in_child(enter_sandbox, NULL);
    if (result.error)
        probe_add(doctor, GROUP, "sandbox", "sandbox", DOCTOR_LIMITED, NULL,
                  "the recorder cannot restrict itself: seccomp: %s", probe_error_text(result.error));
    else
        probe_add(doctor, GROUP, "sandbox", "sandbox", DOCTOR_WORKS, NULL,
                  "the recorder starts no program and opens no socket once it runs (seccomp)");
}

static void check_memory_limits(struct doctor *doctor)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    char locked[32] = "unlimited";
    if (limit.rlim_cur != RLIM_INFINITY)
        snprintf(locked, sizeof locked, "%" PRIu64 " KiB", (uint64_t)limit.rlim_cur / 1024);
    long rings = small_file_number(-1, "/proc/sys/kernel/perf_event_mlock_kb");
    probe_add(doctor, GROUP, "memlock", "locked memory", DOCTOR_FACT, NULL,
              "RLIMIT_MEMLOCK %s; perf_event_mlock_kb %ld: room for perf's rings, per CPU", locked, rings);
}

void doctor_check_permissions(struct doctor *doctor)
{
    check_user(doctor);
    check_paranoid(doctor);
    check_yama(doctor);
    check_outside(doctor);
    check_confinement(doctor);
    check_sandbox(doctor);
    check_memory_limits(doctor);
}
