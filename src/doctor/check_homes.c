/* doctor/check_homes.c - whether the kernel reports home nodes, and whether target and recorder can share memory. */
#include "doctor/trial.h"
#include "topology/home.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Asks for a page of this process, then for the same page of a child, as the recorder would. */
static int ask(int32_t *own, int32_t *other, struct error *err)
{
    static volatile char touched[1];
    touched[0] = 1;
    uint64_t page = (uint64_t)(uintptr_t)touched & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
    int result = home_query(0, &page, 1, own, err);
    if (result != 0)
        return result;
    pid_t child = fork();
    if (child < 0)
        return error_set(err, -errno, "fork failed");
    if (child == 0) {
        pause();
        _exit(0);
    }
    result = home_query(child, &page, 1, other, err);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return result;
}

static void check_move_pages(struct doctor *doctor)
{
    struct error err = {0};
    int32_t own = -1, other = -1;
    if (ask(&own, &other, &err) != 0)
        probe_add(doctor, "homes", "homes", "home nodes of pages", DOCTOR_MISSING,
                  "the report then has no remote accesses; --topology simulates home nodes", "%s", err.text);
    else if (own < 0 || other < 0)
        probe_add(doctor, "homes", "homes", "home nodes of pages", DOCTOR_MISSING, NULL,
                  "move_pages answers, but with %s", probe_error_text(own < 0 ? -own : -other));
    else
        probe_add(doctor, "homes", "homes", "home nodes of pages", DOCTOR_WORKS, NULL,
                  "move_pages returns the node of own and others' pages (node %d)", own);
}

/* The agent opens the recorder's memfd through /proc: the child plays the agent. */
static struct probe_result try_region(void *argument)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", getppid(), *(int *)argument);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return (struct probe_result){.error = errno};
    volatile char *memory = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return (struct probe_result){.error = errno};
    memory[0] = 'x';
    return (struct probe_result){0};
}

static void check_region(struct doctor *doctor)
{
    int fd = memfd_create("numalens-doctor", MFD_CLOEXEC);
    struct probe_result result = {.error = errno};
    char seen = 0;
    if (fd >= 0 && ftruncate(fd, sysconf(_SC_PAGESIZE)) == 0) {
        result = probe_in_child(try_region, &fd);
        if (result.error == 0 && (pread(fd, &seen, 1, 0) != 1 || seen != 'x'))
            result.error = PROBE_SILENT;
    }
    if (fd >= 0)
        close(fd);
    if (result.error == 0)
        probe_add(doctor, "homes", "region", "shared memory", DOCTOR_WORKS, NULL,
                  "a memfd can be opened through /proc/PID/fd");
    else
        probe_add(doctor, "homes", "region", "shared memory", DOCTOR_MISSING,
                  "mount /proc, and run recorder and program as the same user", "a memfd through /proc/PID/fd: %s",
                  probe_error_text(result.error));
}

void doctor_check_homes(struct doctor *doctor)
{
    check_move_pages(doctor);
    check_region(doctor);
}
