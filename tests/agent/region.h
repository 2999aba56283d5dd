/* tests/agent/region.h - a recorder of the simplest kind, for tests: makes a region, runs a program in it, keeps every
 * record that comes. */
#ifndef NUMALENS_TESTS_REGION_H
#define NUMALENS_TESTS_REGION_H

#include "wire/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct test_record {
    uint64_t time;   /* as in the record; a WIRE_STACK has its predecessor's */
    uint64_t number; /* in the order of reading: the tie-breaker */
    uint32_t pid, tid, ring, image;
    union {
        const struct wire_head *head;
        const struct wire_process *process;
        const struct wire_thread *thread;
        const struct wire_thread_name *thread_name;
        const struct wire_module *module;
        const struct wire_map *map;
        const struct wire_unmap *unmap;
        const struct wire_stack *stack;
        const struct wire_alloc *alloc;
        const struct wire_free *free;
        const struct wire_sample *sample;
    };
};

struct test_region {
    struct wire_region *region;
    int fd;
    size_t bytes;
    struct test_record *records; /* copies, in the order they were read; sorted by test_region_sort */
    size_t count, capacity;
    char *output; /* what the program wrote to its standard output, NUL-terminated */
    size_t output_size;
    bool corrupt; /* a ring held what cannot be a record */
    bool idle;    /* set by a test: rings are never read and the heart does not beat */
    bool deaf;    /* set by a test: rings are never read, but the heart beats */
    bool lazy;    /* set by a test: one record is read of each ring at a time */
};

/* `flags`: enum wire_flag. Exits the test with a message when the machine refuses. */
void test_region_make(struct test_region *t, uint32_t ring_count, uint32_t ring_bytes, uint32_t flags);
void test_region_free(struct test_region *t);

/* "PID:FD:NONCE:FILTERS" for NUMALENS_REGION. */
void test_region_name(const struct test_region *t, char *text, size_t size);

/* Reads what is in the rings now; frees the closed ones. Returns how many records came. */
size_t test_region_drain(struct test_region *t);

/* Runs argv[0] under the agent, draining, until it ends and what it left has been read. Its standard output is kept.
 * `preload` is LD_PRELOAD's value; further environment entries may be given, NULL-terminated, or NULL. Returns the
 * status as wait() gives it, or -1 when it did not end within a minute (it is killed then). */
int test_region_run(struct test_region *t, const char *preload, char *const argv[], char *const environment[]);

/* Puts the records in the order of their times. */
void test_region_sort(struct test_region *t);

/* Losses for a cause, over all rings and the shared counters. */
uint64_t test_region_lost(const struct test_region *t, unsigned cause);

/* Records of a type; pid 0 means any. */
size_t test_region_count(const struct test_region *t, unsigned type, uint32_t pid);

#endif
