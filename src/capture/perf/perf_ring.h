/* capture/perf/perf_ring.h - one buffer of perf_event_open, read record by record. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_ring {
    int fd;
    struct perf_event_mmap_page *header; /* NULL: not open */
    const uint8_t *data;
    size_t size; /* of data, a power of two */
    uint64_t tail;
    uint8_t *copy;      /* a record that wraps is put together here */
    const uint8_t *aux; /* NULL: none */
    size_t aux_size;    /* a power of two */
    uint64_t lost_recorded, lost_reported;
    uint64_t corrupt; /* see perf_ring_corrupt */
};

/* Every page fault, with its address, on the agent's clock. */
struct perf_event_attr perf_attr_of_faults(void);

/* What such a record costs the thread that has the fault, on this machine: measured, which takes 2 ms. */
uint64_t perf_record_cost_ns(void);

/* Records of processes, threads and mappings too, each with TID, TIME and CPU at its end. */
void perf_attr_report_tasks(struct perf_event_attr *attr);

/* Lets the event be asked for what it lost, where the kernel can (Linux 6.0), and asks: 0 where it cannot. */
void perf_attr_count_lost(struct perf_event_attr *attr);
uint64_t perf_event_lost(int fd);

/* Opens `attr` on one process and CPU and maps its buffer, with at most `pages` pages: fewer when the kernel will not
 * lock that many. 0 or -errno; -ENODEV for a CPU that is offline. */
int perf_ring_open(struct perf_ring *ring, struct perf_event_attr *attr, pid_t pid, int cpu, size_t pages);
/* The same for a member of `leader`'s group (a descriptor, or -1). */
int perf_ring_open_in(struct perf_ring *ring, struct perf_event_attr *attr, pid_t pid, int cpu, int leader,
                      size_t pages);

/* The second buffer of an event that fills one (SPE): likewise at most `pages`. */
int perf_ring_map_aux(struct perf_ring *ring, size_t pages);
void perf_ring_close(struct perf_ring *ring);

/* The oldest record, or NULL. Good until perf_ring_next. */
const struct perf_event_header *perf_ring_peek(struct perf_ring *ring);
void perf_ring_next(struct perf_ring *ring, const struct perf_event_header *record);

/* How often, since this was last asked, what was there could not be a record. Everything in the buffer is skipped then: each
 * time stands for one lost record at least. */
uint64_t perf_ring_corrupt(struct perf_ring *ring);

/* Gives what was read back to the kernel. */
void perf_ring_release(struct perf_ring *ring);

/* The kernel writes of a loss once there is room again: at the end nobody may hear of the last. Both return what was not reported
 * before: by a record of the ring; by what all events that write into it count. */
uint64_t perf_ring_lost_record(struct perf_ring *ring, uint64_t count);
uint64_t perf_ring_lost(struct perf_ring *ring, uint64_t counted);

/* How full it is, of 1.0. */
double perf_ring_filled(const struct perf_ring *ring);

/* Hands the records of all buffers to `take` in order of time, up to `until`, and gives them back to the kernel. */
void perf_ring_merge(struct perf_ring *rings, unsigned count,
                     uint64_t (*time_of)(const struct perf_event_header *record), uint64_t until,
                     void (*take)(void *context, unsigned ring, const struct perf_event_header *record), void *context);
