/* page_faults.c - runs a command and writes down every page fault of it and its children.
 *
 *   page_faults FILE COMMAND [ARGUMENT...]
 *
 * Lines of FILE: TIME PID TID ADDRESS. Ends with the command's status, or with 77 when the kernel gives no such events. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, RING = 1024 * PAGE, MOST_CPUS = 1024, SKIPPED = 77 };

struct record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t time, address;
};

static struct perf_event_mmap_page *rings[MOST_CPUS];
static int cpu_count;

static void give_up(const char *what)
{
    fprintf(stderr, "page_faults: %s: %s\n", what, strerror(errno));
    exit(SKIPPED);
}

static void watch(pid_t pid)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
        .inherit = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC, /* the default may differ between the CPUs of a virtual machine */
        .disabled = 1,
        .enable_on_exec = 1,
    };
    cpu_count = (int)sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < cpu_count && cpu < MOST_CPUS; cpu++) {
        int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0 && errno == ENODEV)
            continue; /* the CPU is off */
        if (fd < 0)
            give_up("perf_event_open");
        void *map = mmap(NULL, PAGE + RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
            give_up("mmap");
        rings[cpu] = map;
    }
}

static void copy(void *to, const char *data, uint64_t from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((char *)to)[i] = data[(from + i) % RING];
}

static void drain(FILE *file)
{
    for (int cpu = 0; cpu < cpu_count; cpu++) {
        struct perf_event_mmap_page *ring = rings[cpu];
        if (!ring)
            continue;
        const char *data = (const char *)ring + PAGE;
        uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE), tail = ring->data_tail;
        while (tail < head) {
            struct record record;
            copy(&record, data, tail, sizeof record);
            if (record.header.type == PERF_RECORD_SAMPLE)
                fprintf(file, "%" PRIu64 " %u %u %" PRIu64 "\n", record.time, record.pid, record.tid, record.address);
            else if (record.header.type == PERF_RECORD_LOST)
                fprintf(file, "lost\n");
            tail += record.header.size;
        }
        __atomic_store_n(&ring->data_tail, tail, __ATOMIC_RELEASE);
    }
}

int main(int argc, char **argv)
{
    FILE *file = argc > 2 ? fopen(argv[1], "w") : NULL;
    int gate[2], status;
    if (!file || pipe2(gate, O_CLOEXEC) < 0)
        give_up("usage: page_faults FILE COMMAND...");
    pid_t child = fork();
    if (child == 0) {
        char byte;
        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a huge page is touched once for all */
        if (read(gate[0], &byte, 1) == 1)
            execvp(argv[2], argv + 2);
        _exit(127);
    }
    watch(child);
    if (write(gate[1], "", 1) != 1)
        give_up("write");
    while (waitpid(child, &status, WNOHANG) == 0) {
        drain(file);
        usleep(2000);
    }
    drain(file);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
