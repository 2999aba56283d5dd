#include "capture/faults/mechanism.h"

#include "base/clock.h"
#include "capture/faults/pagemap.h"
#include "capture/faults/settings.h"
#include "capture/faults/soft_dirty.h"
#include "capture/perf/perf_ring.h"
#include "capture/process/procfs.h"
#include "wire/region.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIAL_PAGES = 64, USUAL_FAULT_NS = 1000 };

const char *mechanism_name(enum fault_mechanism mechanism)
{
    static const char *const names[] = {"auto", "numa-hint", "soft-dirty", "uffd-wp", "none"};
    return names[mechanism];
}

const char *mechanism_sees(enum fault_mechanism mechanism)
{
    static const char *const texts[] = {
        [MECHANISM_AUTO] = "the best that is correct here",
        [MECHANISM_NUMA_HINT] = "reads and writes, with thread and CPU",
        [MECHANISM_SOFT_DIRTY] = "writes: every page, with thread and CPU where the fault was seen",
        [MECHANISM_UFFD_WP] = "writes: every page, with thread and CPU where the fault was seen",
        [MECHANISM_NONE] = "first touches only",
    };
    return texts[mechanism];
}

/* Faults are recorded while the program is: that is part of what they cost. */
static void record_faults(struct perf_ring *ring)
{
    struct perf_event_attr attr = perf_attr_of_faults();
    attr.exclude_kernel = 1;
    if (perf_ring_open(ring, &attr, 0, -1, 2) < 0)
        *ring = (struct perf_ring){.fd = -1};
}

/* Protects pages of our own, writes to them and looks whether that shows; *ns is what one such write took. */
static bool try_write_protect(struct error *why, uint64_t *ns)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = TRIAL_PAGES * page;
    struct pagemap_range found[TRIAL_PAGES];
    struct uffdio_api api = {.api = UFFD_API, .features = WIRE_UFFD_FEATURES};
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int uffd = (int)syscall(SYS_userfaultfd, WIRE_UFFD_FLAGS), map = pagemap_open((uint32_t)getpid()), count = 0;
    struct pagemap_request request = {.flags = PAGEMAP_PROTECT,
                                      .start = (uintptr_t)memory,
                                      .end = (uintptr_t)memory + bytes,
                                      .category_mask = PAGEMAP_TRACKED | PAGEMAP_WRITTEN,
                                      .category_anyof_mask = PAGEMAP_PRESENT,
                                      .return_mask = PAGEMAP_WRITTEN};
    struct uffdio_register range = {.range = {(uintptr_t)memory, bytes}, .mode = UFFDIO_REGISTER_MODE_WP};
    if (memory == MAP_FAILED || uffd < 0)
        error_set(why, -errno, "userfaultfd: %s; %s", strerror(errno),
                  errno == EPERM ? "a container's seccomp profile refuses it, most likely"
                                 : "it takes Linux 5.11 with CONFIG_USERFAULTFD");
    else if (ioctl(uffd, UFFDIO_API, &api) < 0)
        error_set(why, -errno, "userfaultfd has no asynchronous write protection here: it takes Linux 6.7");
    else {
        memset(memory, 1, bytes);
        if (ioctl(uffd, UFFDIO_REGISTER, &range) < 0)
            error_set(why, -errno, "userfaultfd: memory cannot be registered: %s", strerror(errno));
        else if (map < 0 || (count = pagemap_scan(map, &request, found, TRIAL_PAGES)) < 0)
            error_set(why, map < 0 ? map : count, "PAGEMAP_SCAN: %s; it takes Linux 6.7",
                      strerror(map < 0 ? -map : -count));
        else {
            struct perf_ring ring;
            record_faults(&ring);
            uint64_t begin = clock_now_ns();
            for (unsigned i = 0; i < TRIAL_PAGES; i += 2)
                *(volatile char *)(memory + i * page) = 2;
            *ns = (clock_now_ns() - begin) / (TRIAL_PAGES / 2);
            perf_ring_close(&ring);
            count = pagemap_scan(map, &request, found, TRIAL_PAGES);
            if (count != TRIAL_PAGES / 2)
                error_set(why, -EIO, "writes to protected pages do not show here");
        }
    }
    if (map >= 0)
        close(map);
    if (uffd >= 0)
        close(uffd);
    if (memory != MAP_FAILED)
        munmap(memory, bytes);
    return why->code == 0;
}

static bool try_copying_descriptors(struct error *why)
{
    int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
    int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, process, 0);
    if (copy < 0)
        error_set(why, -errno, "pidfd_getfd: %s", strerror(errno));
    else
        close(copy);
    if (process >= 0)
        close(process);
    return copy >= 0;
}

bool mechanism_works(enum fault_mechanism mechanism, struct error *why)
{
    struct settings settings;
    uint64_t ns;
    *why = (struct error){0};
    switch (mechanism) {
    case MECHANISM_NUMA_HINT:
        if (settings_open(&settings, why) < 0)
            return false;
        settings_close(&settings);
        return true;
    case MECHANISM_SOFT_DIRTY:
        if (!soft_dirty_works())
            error_set(why, -ENOTSUP, "this kernel marks no written pages (CONFIG_MEM_SOFT_DIRTY; Arm has none)");
        return why->code == 0;
    case MECHANISM_UFFD_WP:
        return try_write_protect(why, &ns) && try_copying_descriptors(why);
    default:
        return true;
    }
}

bool mechanism_unharmful(enum fault_mechanism mechanism, const struct topology *topology, struct error *why)
{
    if (mechanism != MECHANISM_NUMA_HINT || topology->simulated || topology->node_count < 2 ||
        procfs_numa_balancing() > 0)
        return true;
    error_set(why, -EPERM,
              "kernel.numa_balancing is off, and with several nodes switching it on would move the program's pages; "
              "--mechanism numa-hint does it all the same");
    return false;
}

int mechanism_choose(enum fault_mechanism wanted, const struct topology *topology, enum fault_mechanism *chosen,
                     char *why, size_t room, struct error *err)
{
    static const enum fault_mechanism order[] = {MECHANISM_NUMA_HINT, MECHANISM_UFFD_WP, MECHANISM_SOFT_DIRTY};
    struct error reason = {0};
    *why = 0;
    *chosen = wanted;
    if (wanted != MECHANISM_AUTO) {
        if (mechanism_works(wanted, &reason))
            return 0;
        return error_set(err, reason.code, "--mechanism %s does not work here: %.400s", mechanism_name(wanted),
                         reason.text);
    }
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++) {
        *chosen = order[i];
        reason = (struct error){0};
        if (mechanism_works(order[i], &reason) && mechanism_unharmful(order[i], topology, &reason))
            return 0;
        size_t length = strlen(why);
        snprintf(why + length, room - length, "%s%s: %s", length ? "; " : "", mechanism_name(order[i]), reason.text);
    }
    *chosen = MECHANISM_NONE;
    return 0;
}

uint64_t mechanism_fault_ns(void)
{
    uint64_t min_ns = 0;
    for (int pass = 0; pass < 5; pass++) { /* the min_ns: another program may have had the CPU meanwhile */
        struct error ignored = {0};
        uint64_t ns = 0;
        if (try_write_protect(&ignored, &ns) && ns && (!min_ns || ns < min_ns))
            min_ns = ns;
    }
    return min_ns ? min_ns : USUAL_FAULT_NS;
}

uint32_t mechanism_filters(void)
{
    char line[256];
    uint32_t filters = 0, mode = 0;
    FILE *file = procfs_open((uint32_t)getpid(), "status");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "Seccomp: %u", &mode) == 1)
            filters = mode > 0; /* before Linux 5.9 they are not counted */
        if (sscanf(line, "Seccomp_filters: %u", &filters) == 1)
            break;
    }
    if (file)
        fclose(file);
    return filters;
}
