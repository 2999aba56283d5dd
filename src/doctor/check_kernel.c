/* doctor/check_kernel.c - features of the kernel that commands beside `record` build on. */
#include "doctor/trial.h"

#include "capture/faults/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUP "kernel"

/* Newer than the headers of long-lived distributions. */
enum { USER_MODE_ONLY = 1, FEATURE_WP = 1 << 0, FEATURE_WP_ASYNC = 1 << 15, PR_SYSCALL_USER_DISPATCH = 59 };

static void check_numa_balancing(struct doctor *doctor)
{
    long mode = probe_read_number("/proc/sys/kernel/numa_balancing", -1);
    if (mode < 0)
        probe_add(doctor, GROUP, "numa_balancing", "NUMA balancing", DOCTOR_MISSING,
                  "a kernel with CONFIG_NUMA_BALANCING", "not in this kernel");
    else
        probe_add(doctor, GROUP, "numa_balancing", "NUMA balancing", DOCTOR_FACT,
                  mode ? NULL : "sudo sysctl kernel.numa_balancing=1",
                  mode ? "on: the kernel moves pages by itself while a program runs"
                       : "off: pages stay where they are");
}

static struct probe_result try_soft_dirty(void *unused)
{
    (void)unused;
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int clear = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (page == MAP_FAILED || clear < 0 || map < 0)
        return (struct probe_result){.error = errno};
    off_t at = (off_t)((uintptr_t)page / size * 8);
    uint64_t before = 0, after = 0;
    page[0] = 1;
    if (write(clear, "4", 1) != 1 || pread(map, &before, 8, at) != 8)
        return (struct probe_result){.error = errno};
    page[0] = 2;
    if (pread(map, &after, 8, at) != 8)
        return (struct probe_result){.error = errno};
    bool works = !(before >> 55 & 1) && after >> 55 & 1;
    return (struct probe_result){.error = works ? 0 : PROBE_SILENT};
}

static struct probe_result try_userfaultfd(void *unused)
{
    (void)unused;
    long fd = syscall(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY);
    if (fd < 0)
        return (struct probe_result){.error = errno};
    struct uffdio_api api = {.api = UFFD_API};
    if (ioctl((int)fd, UFFDIO_API, &api) != 0)
        return (struct probe_result){.error = errno};
    return (struct probe_result){.value = api.features};
}

static struct probe_result try_pagemap_scan(void *unused)
{
    (void)unused;
    struct pagemap_range found;
    struct pagemap_request request = {.category_mask = PAGEMAP_PRESENT, .return_mask = PAGEMAP_PRESENT};
    int map = pagemap_open((uint32_t)getpid()), code = map < 0 ? map : pagemap_scan(map, &request, &found, 1);
    if (code < 0)
        return (struct probe_result){.error = -code};
    return (struct probe_result){0};
}

static struct probe_result try_protection_keys(void *unused)
{
    (void)unused;
    long key = syscall(SYS_pkey_alloc, 0, 0);
    return (struct probe_result){.error = key < 0 ? errno : 0};
}

static struct probe_result try_user_dispatch(void *unused)
{
    (void)unused;
    return (struct probe_result){.error = prctl(PR_SYSCALL_USER_DISPATCH, 0, 0, 0, 0) != 0 ? errno : 0};
}

static void check_userfaultfd(struct doctor *doctor)
{
    struct probe_result result = probe_in_child(try_userfaultfd, NULL);
    if (result.error)
        probe_add(doctor, GROUP, "userfaultfd", "userfaultfd", DOCTOR_MISSING,
                  result.error == EPERM
                      ? "sudo sysctl vm.unprivileged_userfaultfd=1, or allow it in the seccomp profile"
                      : "Linux 5.11 or newer with CONFIG_USERFAULTFD",
                  "userfaultfd: %s", probe_error_text(result.error));
    else if (!(result.value & FEATURE_WP_ASYNC))
        probe_add(doctor, GROUP, "userfaultfd", "userfaultfd", DOCTOR_LIMITED, "Linux 6.7 or newer",
                  "there, %s write-protection but not asynchronous (WP_ASYNC)",
                  result.value & FEATURE_WP ? "with" : "without");
    else
        probe_add(doctor, GROUP, "userfaultfd", "userfaultfd", DOCTOR_WORKS, NULL,
                  "with asynchronous write-protection (WP_ASYNC)");
}

void doctor_check_kernel(struct doctor *doctor)
{
    static const struct {
        const char *id, *name, *works, *missing, *remedy;
        struct probe_result (*trial)(void *);
    } features[] = {
        {"soft_dirty", "soft-dirty bits", "writes to a page show in pagemap", "writes to a page do not show in pagemap",
         "a kernel with CONFIG_MEM_SOFT_DIRTY (on x86-64; Arm has none)", try_soft_dirty},
        {"pagemap_scan", "PAGEMAP_SCAN", "pages can be queried in ranges", "this kernel has no such request",
         "Linux 6.7 or newer", try_pagemap_scan},
        {"protection_keys", "protection keys", "a key can be allocated",
         "the CPU or the kernel has none; nothing here needs them", NULL, try_protection_keys},
        {"user_dispatch", "syscall user dispatch", "there", "this kernel has none; nothing here needs it", NULL,
         try_user_dispatch},
    };
    check_numa_balancing(doctor);
    check_userfaultfd(doctor);
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        struct probe_result result = probe_in_child(features[i].trial, NULL);
        if (result.error == 0)
            probe_add(doctor, GROUP, features[i].id, features[i].name, DOCTOR_WORKS, NULL, "%s", features[i].works);
        else
            probe_add(doctor, GROUP, features[i].id, features[i].name, DOCTOR_MISSING, features[i].remedy, "%s (%s)",
                      features[i].missing, probe_error_text(result.error));
    }
}
