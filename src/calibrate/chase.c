#include "calibrate/chase.h"

#include "isa/probe.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROBES = 41, MPOL_BIND_ = 2, NODES_MOST = 1024 };

static uint64_t dice(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

static bool bind_to(void *memory, size_t size, int node)
{
    unsigned long mask[NODES_MOST / (8 * sizeof(unsigned long))] = {0};
    if (node < 0)
        return true;
    if (node >= NODES_MOST)
        return false;
    mask[(unsigned)node / (8 * sizeof *mask)] |= 1ul << (unsigned)node % (8 * sizeof *mask);
    return syscall(SYS_mbind, memory, size, MPOL_BIND_, mask, (unsigned long)NODES_MOST, 0) == 0;
}

static void *map_aligned(size_t size)
{
    char *whole = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (whole == MAP_FAILED)
        return NULL;
    size_t before = (size_t)(-(uintptr_t)whole & (HUGE_PAGE - 1));
    if (before)
        munmap(whole, before);
    munmap(whole + before + size, HUGE_PAGE - before);
    return whole + before;
}

bool chase_make(struct chase *chase, size_t span, size_t count, int node)
{
    uint64_t state = 88172645463325252u;
    *chase = (struct chase){.size = (span + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1), .count = count};
    chase->memory = map_aligned(chase->size);
    if (!chase->memory)
        return false;
    madvise(chase->memory, chase->size, MADV_HUGEPAGE); /* so that translations are no part of it; small pages do too */
    if (!bind_to(chase->memory, chase->size, node)) {
        chase_free(chase);
        return false;
    }
    memset(chase->memory, 0, span);
    chase->lines = mem_alloc(count * sizeof *chase->lines);
    size_t stride = span / count / CACHE_LINE * CACHE_LINE;
    for (size_t i = 0; i < count; i++)
        chase->lines[i] = chase->memory + i * stride;
    for (size_t i = count; i-- > 1;) {
        size_t other = dice(&state) % (i + 1);
        void *line = chase->lines[i];
        chase->lines[i] = chase->lines[other];
        chase->lines[other] = line;
    }
    for (size_t i = 0; i < count; i++)
        *(void **)chase->lines[i] = chase->lines[(i + 1) % count];
    return true;
}

void chase_free(struct chase *chase)
{
    if (chase->memory)
        munmap(chase->memory, chase->size);
    free(chase->lines);
    *chase = (struct chase){0};
}

static void run_in(const struct chase *chase, unsigned stretch, struct chase_times *times)
{
    void *volatile *at = chase->lines[0];
    for (size_t i = 0; i + stretch <= chase->count; i += stretch) {
        uint64_t start = clock_now_ns();
        /* No load may begin before the clock was read: its first bit, which is never set, is a part of the address. */
        at = (void *volatile *)((char *)at + (start >> 63));
        for (unsigned k = 0; k < stretch; k++)
            at = *at;
        /* The clock must not be read before the last load is there. */
        __asm__ volatile("" : : "r"(at) : "memory");
        array_push(times, (double)(clock_now_ns() - start) / stretch);
    }
}

void chase_run(const struct chase *chase, struct chase_times *times)
{
    run_in(chase, CHASE_STRETCH, times);
}

void chase_step(const struct chase *chase, struct chase_times *times)
{
    run_in(chase, 1, times);
}

void chase_sweep(size_t bytes)
{
    size_t size = bytes < CHASE_SWEEP ? bytes : CHASE_SWEEP;
    char *other = map_aligned((size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1));
    if (!other)
        return;
    memset(other, 1, size);
    for (size_t i = 0; i < size; i += CACHE_LINE)
        (void)*(volatile char *)(other + i);
    munmap(other, (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1));
}

void chase_flush(const struct chase *chase)
{
    for (size_t i = 0; i < chase->count; i++)
        probe_flush(chase->lines[i]);
}

void chase_probe(const struct chase *chase, enum chase_state state, unsigned number, double ns_per_tick,
                 struct chase_times *times)
{
    for (unsigned i = 0; i < PROBES; i++) {
        void *line = chase->lines[(number * PROBES + i) * 7919ul % chase->count];
        uint32_t ticks;
        if (state == CHASE_FLUSHED)
            probe_flush(line);
        else if (state == CHASE_LOADED)
            (void)*(void *volatile *)line;
        if (probe_ticks((uint64_t)line, &ticks))
            array_push(times, ticks * ns_per_tick);
    }
}

ORDER_BY(by_size, double, ORDER(*a, *b))

double chase_quantile(struct chase_times *times, double part)
{
    if (times->count == 0)
        return -1;
    array_sort(times, by_size);
    return times->items[(size_t)(part * (double)(times->count - 1))];
}
