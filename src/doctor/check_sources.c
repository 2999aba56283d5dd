/* doctor/check_sources.c - the parts of the soft sampler, page faults, counters. */
#include "doctor/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GROUP "sources"

enum {
    TICK_NS = 1000000,
    TICKS_WANTED = 3,
    TRIAL_NS = 300 * 1000 * 1000, /* of CPU time: then nothing will come any more */
    FAULT_PAGES = 16,
};

static volatile sig_atomic_t ticks; /* in a trial's child only: its handler and its loop */

static void count_tick(int signal)
{
    (void)signal;
    ticks++;
}

static struct probe_result wait_for_ticks(void)
{
    struct timespec start, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    do {
        for (volatile int i = 0; i < 10000; i++)
            ;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (ticks < TICKS_WANTED &&
             (now.tv_sec - start.tv_sec) * 1000000000ll + now.tv_nsec - start.tv_nsec < TRIAL_NS);
    return (struct probe_result){.error = ticks ? 0 : PROBE_SILENT, .value = (uint64_t)ticks};
}

static struct probe_result try_perf_tick(void *unused)
{
    (void)unused;
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = TICK_NS,
        .remove_on_exec = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)syscall(SYS_gettid)};
    sigaction(SIGURG, &(struct sigaction){.sa_handler = count_tick}, NULL);
    int fd = probe_perf_open(&attr);
    if (fd < 0)
        return (struct probe_result){.error = -fd};
    if (fcntl(fd, F_SETOWN_EX, &owner) != 0 || fcntl(fd, F_SETSIG, SIGURG) != 0 || fcntl(fd, F_SETFL, O_ASYNC) != 0)
        return (struct probe_result){.error = errno};
    /* The agent keeps the event by a mapping, not by a descriptor. */
    if (mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
        return (struct probe_result){.error = errno};
    close(fd);
    return wait_for_ticks();
}

static struct probe_result try_timer_tick(void *unused)
{
    (void)unused;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    struct itimerspec every = {.it_interval = {.tv_nsec = TICK_NS}, .it_value = {.tv_nsec = TICK_NS}};
    timer_t timer;
    sigaction(SIGURG, &(struct sigaction){.sa_handler = count_tick}, NULL);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0 || timer_settime(timer, 0, &every, NULL) != 0)
        return (struct probe_result){.error = errno};
    return wait_for_ticks();
}

/* Code that the agent makes is written through one mapping and run through another. */
static struct probe_result try_executable_memory(void *unused)
{
    (void)unused;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *writable = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (writable == MAP_FAILED)
        return (struct probe_result){.error = errno};
    void *code = mremap(writable, 0, page, MREMAP_MAYMOVE);
    if (code == MAP_FAILED || mprotect(code, page, PROT_READ | PROT_EXEC) != 0)
        return (struct probe_result){.error = errno};
    return (struct probe_result){0};
}

/* Counts fault samples in a ring whose address is in [start, end). */
static uint64_t count_faults(const void *ring, uint64_t start, uint64_t end)
{
    struct sample {
        struct perf_event_header header;
        uint64_t addr;
    };
    const struct perf_event_mmap_page *page = ring;
    const char *data = (const char *)ring + page->data_offset;
    uint64_t found = 0, head = page->data_head;
    atomic_thread_fence(memory_order_acquire);
    for (uint64_t at = 0; at + sizeof(struct sample) <= head && head <= page->data_size;) {
        struct sample sample;
        memcpy(&sample, data + at, sizeof sample);
        if (sample.header.size < sizeof sample.header)
            break;
        found += sample.header.type == PERF_RECORD_SAMPLE && sample.addr >= start && sample.addr < end;
        at += sample.header.size;
    }
    return found;
}

static struct probe_result try_faults(void *unused)
{
    (void)unused;
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_ADDR,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, FAULT_PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = probe_perf_open(&attr);
    if (fd < 0)
        return (struct probe_result){.error = -fd};
    const void *ring = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ring == MAP_FAILED || memory == MAP_FAILED)
        return (struct probe_result){.error = errno};
    for (size_t i = 0; i < FAULT_PAGES; i++)
        ((volatile char *)memory)[i * page] = 1;
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    uint64_t found = count_faults(ring, (uint64_t)(uintptr_t)memory, (uint64_t)(uintptr_t)memory + FAULT_PAGES * page);
    return (struct probe_result){.error = found ? 0 : PROBE_SILENT, .value = found};
}

static void check_ticks(struct doctor *doctor)
{
    struct probe_result perf = probe_in_child(try_perf_tick, NULL);
    if (perf.error == 0)
        probe_add(doctor, GROUP, "tick_perf", "tick by perf", DOCTOR_WORKS, NULL,
                  "SIGURG from the software event cpu-clock arrives");
    else if (perf.error == EINVAL || perf.error == E2BIG)
        probe_add(doctor, GROUP, "tick_perf", "tick by perf", DOCTOR_MISSING, "Linux 5.13 or newer",
                  "this kernel's perf events do not end with their program");
    else
        probe_add_perf_refusal(doctor, GROUP, "tick_perf", "tick by perf", perf.error);
    struct probe_result timer = probe_in_child(try_timer_tick, NULL);
    if (timer.error == 0)
        probe_add(doctor, GROUP, "tick_timer", "tick by timer", DOCTOR_WORKS, NULL,
                  "timers on a thread's CPU time fire%s",
                  perf.error == 0 ? "; for new threads and those that switch context often" : "");
    else
        probe_add(doctor, GROUP, "tick_timer", "tick by timer", DOCTOR_MISSING, NULL, "timer_create: %s",
                  probe_error_text(timer.error));
    struct probe_result code = probe_in_child(try_executable_memory, NULL);
    if (code.error == 0)
        probe_add(doctor, GROUP, "executable_memory", "executable memory", DOCTOR_WORKS, NULL,
                  "memory can be mapped for running code");
    else
        probe_add(
            doctor, GROUP, "executable_memory", "executable memory", DOCTOR_LIMITED,
            "allow execmem to the program (SELinux: setsebool -P deny_execmem 0)",
            "memory cannot be mapped for running code (%s): on x86-64, threads are sampled by --source outside only; "
            "on Arm, fewer instructions can be stepped",
            probe_error_text(code.error));
}

void doctor_check_sources(struct doctor *doctor)
{
    check_ticks(doctor);
    struct probe_result faults = probe_in_child(try_faults, NULL);
    if (faults.error == 0)
        probe_add(doctor, GROUP, "faults", "page faults", DOCTOR_WORKS, NULL,
                  "%llu of %d first touches seen with their address", (unsigned long long)faults.value, FAULT_PAGES);
    else
        probe_add_perf_refusal(doctor, GROUP, "faults", "page faults", faults.error);
    doctor_check_pmu(doctor);
}
