#include "region.h"

#include "base/clock.h"
#include "capture/agent/signal_cost.h"
#include "ring_peek.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GIVE_UP_SECONDS = 600 };

static void check(bool good, const char *what)
{
    if (good)
        return;
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

void test_region_make(struct test_region *t, uint32_t ring_count, uint32_t ring_bytes, uint32_t flags)
{
    *t = (struct test_region){0};
    uint64_t rings_offset = (sizeof(struct wire_region) + WIRE_PAGE - 1) / WIRE_PAGE * WIRE_PAGE;
    uint64_t data_offset =
        (rings_offset + ring_count * sizeof(struct wire_ring) + WIRE_PAGE - 1) / WIRE_PAGE * WIRE_PAGE;
    t->bytes = data_offset + (size_t)ring_count * ring_bytes;
    t->fd = memfd_create("numalens-test", MFD_CLOEXEC);
    check(t->fd >= 0 && ftruncate(t->fd, (off_t)t->bytes) == 0, "memfd_create");
    t->region = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    check(t->region != MAP_FAILED, "mmap");
    *t->region = (struct wire_region){.magic = WIRE_MAGIC,
                                      .version = WIRE_VERSION,
                                      .header_bytes = sizeof(struct wire_region),
                                      .nonce = clock_now_ns(),
                                      .region_bytes = t->bytes,
                                      .ring_count = ring_count,
                                      .ring_bytes = ring_bytes,
                                      .rings_offset = rings_offset,
                                      .data_offset = data_offset,
                                      .config = {.flags = flags,
                                                 .burst = 8,
                                                 .tick_ns = 1000000,
                                                 .budget_ppm = 20000,
                                                 .max_frames = WIRE_MAX_FRAMES,
                                                 .signal_ns = signal_cost_ns(true)},
                                      .recording = 1,
                                      .heartbeat_ns = clock_now_ns()};
}

void test_region_free(struct test_region *t)
{
    munmap(t->region, t->bytes);
    close(t->fd);
    for (size_t i = 0; i < t->count; i++)
        free((void *)t->records[i].head);
    free(t->records);
    free(t->output);
    *t = (struct test_region){0};
}

void test_region_name(const struct test_region *t, char *text, size_t size)
{
    snprintf(text, size, "%d:%d:%llu:0", (int)getpid(), t->fd, (unsigned long long)t->region->nonce);
}

static void keep(struct test_region *t, uint32_t index, const struct wire_ring *ring, const struct wire_head *head)
{
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? t->capacity * 2 : 1024;
        t->records = realloc(t->records, t->capacity * sizeof *t->records);
        check(t->records, "realloc");
    }
    struct wire_head *copy = malloc(head->words * 8u);
    check(copy, "malloc");
    memcpy(copy, head, head->words * 8u);
    struct test_record *record = &t->records[t->count++];
    *record = (struct test_record){
        .number = t->count, .pid = ring->pid, .tid = ring->tid, .ring = index, .image = ring->image, .head = copy};
    /* Every record but a chain has its time behind the head. */
    if (head->type != WIRE_STACK) {
        record->time = ((const uint64_t *)copy)[1];
        return;
    }
    for (struct test_record *before = record; before-- > t->records;) {
        if (before->ring == index) {
            record->time = before->time;
            break;
        }
    }
}

size_t test_region_drain(struct test_region *t)
{
    size_t before = t->count;
    for (uint32_t i = 0; i < t->region->ring_count; i++) {
        struct wire_ring *ring = wire_ring_at(t->region, i);
        uint32_t state = atomic_load_explicit(&ring->state, memory_order_acquire);
        if (state == WIRE_RING_FREE)
            continue;
        uint64_t tail = atomic_load(&ring->tail);
        const struct wire_head *head;
        while ((head = ring_peek(ring, wire_ring_data(t->region, i), t->region->ring_bytes, &tail, &t->corrupt))) {
            keep(t, i, ring, head);
            tail += head->words * 8u;
            if (t->lazy)
                break;
        }
        wire_ring_release(ring, tail);
        atomic_fetch_add(&ring->tail_word, 1);
        if (atomic_load(&ring->waiting))
            syscall(SYS_futex, &ring->tail_word, FUTEX_WAKE, 1, NULL, NULL, 0);
        if (state == WIRE_RING_CLOSED && tail == atomic_load_explicit(&ring->head, memory_order_acquire))
            atomic_store_explicit(&ring->state, WIRE_RING_FREE, memory_order_release);
    }
    return t->count - before;
}

static pid_t start(struct test_region *t, const char *preload, char *const argv[], char *const environment[], int *out)
{
    int ends[2];
    check(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "pipe2");
    char name[64];
    test_region_name(t, name, sizeof name);
    pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
        fcntl(ends[1], F_SETFL, 0);
        dup2(ends[1], 1);
        syscall(SYS_close_range, 3, ~0u, 0); /* what a test runner left open is not the agent's */
        for (char *const *entry = environment; entry && *entry; entry++)
            putenv(*entry);
        setenv(WIRE_ENVIRONMENT, name, 1);
        setenv("LD_PRELOAD", preload, 1);
        execv(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    *out = ends[0];
    return child;
}

static void read_output(struct test_region *t, int out)
{
    char bytes[4096];
    ssize_t got;
    while ((got = read(out, bytes, sizeof bytes)) > 0) {
        t->output = realloc(t->output, t->output_size + (size_t)got + 1);
        check(t->output, "realloc");
        memcpy(t->output + t->output_size, bytes, (size_t)got);
        t->output_size += (size_t)got;
        t->output[t->output_size] = '\0';
    }
}

int test_region_run(struct test_region *t, const char *preload, char *const argv[], char *const environment[])
{
    int out, status = -1;
    pid_t child = start(t, preload, argv, environment, &out);
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    check(pidfd >= 0, "pidfd_open");
    uint64_t began = clock_now_ns();
    for (bool ended = false; !ended;) {
        /* A full ring is looked into at once, an empty one a little later; the program's end and words wake us. */
        struct pollfd waits[] = {{.fd = pidfd, .events = POLLIN}, {.fd = out, .events = POLLIN}};
        poll(waits, 2, t->idle ? 100 : 1);
        read_output(t, out);
        if (!t->idle) {
            atomic_store(&t->region->heartbeat_ns, clock_now_ns());
            while (!t->deaf && test_region_drain(t))
                ;
        }
        ended = waits[0].revents != 0;
        if (!ended && clock_now_ns() - began > GIVE_UP_SECONDS * 1000000000ull) {
            kill(child, SIGKILL);
            waitpid(child, NULL, 0);
            child = -1;
            break;
        }
    }
    if (child > 0)
        waitpid(child, &status, 0);
    read_output(t, out);
    t->lazy = false;
    while (!t->idle && test_region_drain(t))
        ;
    close(out);
    close(pidfd);
    return status;
}

static int by_time(const void *a, const void *b)
{
    const struct test_record *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void test_region_sort(struct test_region *t)
{
    if (t->count)
        qsort(t->records, t->count, sizeof *t->records, by_time);
}

uint64_t test_region_lost(const struct test_region *t, unsigned cause)
{
    uint64_t lost = atomic_load(&t->region->shared.lost[cause]);
    for (uint32_t i = 0; i < t->region->ring_count; i++)
        lost += atomic_load(&wire_ring_at(t->region, i)->counters.lost[cause]);
    return lost;
}

size_t test_region_count(const struct test_region *t, unsigned type, uint32_t pid)
{
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        count += t->records[i].head->type == type && (!pid || t->records[i].pid == pid);
    return count;
}
