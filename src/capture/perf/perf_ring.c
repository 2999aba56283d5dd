#include "capture/perf/perf_ring.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct perf_event_attr perf_attr_of_faults(void)
{
    return (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(struct perf_event_attr),
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU,
        .exclude_hv = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC_RAW,
    };
}

/* What the first touch of a page takes, in ns. */
static uint64_t touch_pages(bool recorded)
{
    enum { PAGES = 64 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_attr attr = perf_attr_of_faults();
    struct perf_ring ring = {.fd = -1};
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
    attr.exclude_kernel = 1;
    if (recorded)
        perf_ring_open(&ring, &attr, 0, -1, 2);
    uint64_t began = clock_now_ns();
    for (size_t i = 0; i < PAGES; i++)
        *(volatile char *)(memory + i * page) = 1;
    uint64_t took = clock_now_ns() - began;
    perf_ring_close(&ring);
    munmap(memory, PAGES * page);
    return took / PAGES;
}

uint64_t perf_record_cost_ns(void)
{
    enum { PASSES = 9 };
    uint64_t shortest[2] = {UINT64_MAX, UINT64_MAX}; /* other programs may make some longer, never shorter */
    for (int i = 0; i < 2 * PASSES; i++) {
        uint64_t ns = touch_pages(i % 2);
        shortest[i % 2] = ns < shortest[i % 2] ? ns : shortest[i % 2];
    }
    return shortest[1] > shortest[0] ? shortest[1] - shortest[0] : 0;
}

void perf_attr_report_tasks(struct perf_event_attr *attr)
{
    attr->mmap = attr->mmap_data = attr->mmap2 = 1;
    attr->comm = attr->comm_exec = 1;
    attr->task = 1;
    attr->sample_id_all = 1;
}

enum { FORMAT_LOST = 16 }; /* PERF_FORMAT_LOST */

void perf_attr_count_lost(struct perf_event_attr *attr)
{
    struct perf_event_attr trial = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof trial,
        .config = PERF_COUNT_SW_DUMMY,
        .read_format = FORMAT_LOST,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &trial, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    attr->read_format = fd < 0 ? 0 : FORMAT_LOST;
    if (fd >= 0)
        close(fd);
}

uint64_t perf_event_lost(int fd)
{
    uint64_t counts[2]; /* events, lost records */
    return read(fd, counts, sizeof counts) == sizeof counts ? counts[1] : 0;
}

uint64_t perf_ring_lost(struct perf_ring *ring, uint64_t counted)
{
    if (counted <= ring->lost_reported)
        return 0;
    uint64_t news = counted - ring->lost_reported;
    ring->lost_reported = counted;
    return news;
}

uint64_t perf_ring_lost_record(struct perf_ring *ring, uint64_t count)
{
    ring->lost_recorded += count;
    return perf_ring_lost(ring, ring->lost_recorded);
}

int perf_ring_open(struct perf_ring *ring, struct perf_event_attr *attr, pid_t pid, int cpu, size_t pages)
{
    return perf_ring_open_in(ring, attr, pid, cpu, -1, pages);
}

int perf_ring_open_in(struct perf_ring *ring, struct perf_event_attr *attr, pid_t pid, int cpu, int leader,
                      size_t pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *ring = (struct perf_ring){.fd = -1};
    ring->fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
    if (ring->fd < 0)
        return -errno;
    /* perf_event_mlock_kb is shared by everything this user runs: take less rather than nothing. */
    for (; pages; pages /= 2) {
        void *map = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (map != MAP_FAILED) {
            ring->header = map;
            ring->data = (const uint8_t *)map + page;
            ring->size = pages * page;
            return 0;
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    int code = -errno;
    close(ring->fd);
    ring->fd = -1;
    return code;
}

int perf_ring_map_aux(struct perf_ring *ring, size_t pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    ring->header->aux_offset = page + ring->size;
    for (; pages; pages /= 2) {
        ring->header->aux_size = pages * page;
        void *map = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, (off_t)(page + ring->size));
        if (map != MAP_FAILED) {
            ring->aux = map;
            ring->aux_size = pages * page;
            return 0;
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    return -errno;
}

void perf_ring_close(struct perf_ring *ring)
{
    if (ring->aux)
        munmap((void *)ring->aux, ring->aux_size);
    if (ring->header)
        munmap(ring->header, ring->size + (size_t)sysconf(_SC_PAGESIZE));
    if (ring->fd >= 0)
        close(ring->fd);
    free(ring->copy);
    *ring = (struct perf_ring){.fd = -1};
}

const struct perf_event_header *perf_ring_peek(struct perf_ring *ring)
{
    uint64_t head = __atomic_load_n(&ring->header->data_head, __ATOMIC_ACQUIRE);
    size_t filled = head - ring->tail, at = ring->tail & (ring->size - 1);
    if (filled < sizeof(struct perf_event_header))
        return NULL;
    const struct perf_event_header *record = (const struct perf_event_header *)(ring->data + at);
    size_t size = record->size; /* records are 8-aligned, so their heads never wrap */
    if (size < sizeof *record || size % 8 || size > filled || size > ring->size) {
        /* What follows cannot be found again: all that is there is given back, and counted as one loss at least. */
        ring->corrupt++;
        ring->tail = head;
        return NULL;
    }
    size_t to_end = ring->size - at;
    if (size <= to_end)
        return record;
    if (!ring->copy)
        ring->copy = mem_alloc(UINT16_MAX + 1);
    memcpy(ring->copy, record, to_end);
    memcpy(ring->copy + to_end, ring->data, size - to_end);
    return (const struct perf_event_header *)ring->copy;
}

uint64_t perf_ring_corrupt(struct perf_ring *ring)
{
    uint64_t count = ring->corrupt;
    ring->corrupt = 0;
    return count;
}

void perf_ring_next(struct perf_ring *ring, const struct perf_event_header *record)
{
    ring->tail += record->size;
}

void perf_ring_release(struct perf_ring *ring)
{
    __atomic_store_n(&ring->header->data_tail, ring->tail, __ATOMIC_RELEASE);
}

double perf_ring_filled(const struct perf_ring *ring)
{
    uint64_t head = __atomic_load_n(&ring->header->data_head, __ATOMIC_RELAXED);
    return (double)(head - ring->tail) / (double)ring->size;
}

struct front { /* a buffer that has something, by the time of its oldest record */
    uint64_t time;
    unsigned ring;
};

/* Puts the front at `at` in its place below: each is no later than those at 2 * at + 1 and 2 * at + 2. */
static void sink_front(struct front *fronts, unsigned count, unsigned at)
{
    struct front moving = fronts[at];
    for (unsigned child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && fronts[child + 1].time < fronts[child].time;
        if (moving.time <= fronts[child].time)
            break;
        fronts[at] = fronts[child];
    }
    fronts[at] = moving;
}

static uint64_t second_time(const struct front *fronts, unsigned count, uint64_t otherwise)
{
    uint64_t time = otherwise;
    for (unsigned i = 1; i <= 2 && i < count; i++)
        time = fronts[i].time < time ? fronts[i].time : time;
    return time;
}

void perf_ring_merge(struct perf_ring *rings, unsigned count,
                     uint64_t (*time_of)(const struct perf_event_header *record), uint64_t until,
                     void (*take)(void *context, unsigned ring, const struct perf_event_header *record), void *context)
{
    struct front *fronts = mem_alloc((count + 1) * sizeof *fronts);
    const struct perf_event_header *record;
    unsigned filled = 0;
    for (unsigned i = 0; i < count; i++)
        if ((record = perf_ring_peek(&rings[i])) && time_of(record) <= until)
            fronts[filled++] = (struct front){time_of(record), i};
    for (unsigned i = filled / 2; i-- > 0;)
        sink_front(fronts, filled, i);
    while (filled) {
        struct perf_ring *ring = &rings[fronts[0].ring];
        uint64_t next = second_time(fronts, filled, until);
        while ((record = perf_ring_peek(ring)) && time_of(record) <= next) {
            take(context, fronts[0].ring, record);
            perf_ring_next(ring, record);
        }
        perf_ring_release(ring);
        if (record && time_of(record) <= until)
            fronts[0].time = time_of(record);
        else
            fronts[0] = fronts[--filled];
        if (filled)
            sink_front(fronts, filled, 0);
    }
    free(fronts);
}
