/* pages.h - what the programs of this folder share: memory whose pages are used in a way that is known by construction.
 *
 * Each prints where its memory is, one line an array, in words that tests read:
 *     truth array=NAME start=ADDRESS pages=N
 * and one line for each use of it by a thread during a phase:
 *     truth use array=NAME thread=TID first=PAGE pages=N reads=0|1 writes=0|1 phase=N
 * All memory is mapped without huge pages unless --huge is given. Phases last --ms=N milliseconds each (300): every
 * thread goes through its pages again and again for that time. With --idle there is one more thread, which does nothing:
 * the kernel's NUMA hints leave programs with one thread alone. */
#ifndef NUMALENS_PAGES_H
#define NUMALENS_PAGES_H

#include "../example.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static inline uint64_t pages_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static inline volatile char *pages_map(const char *name, size_t pages, bool huge)
{
    size_t room = (pages + 512) * PAGE; /* to begin at a multiple of 2 MiB */
    char *all = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    example_need(all != MAP_FAILED, "mmap");
    char *start = (char *)(((uintptr_t)all + 512 * PAGE - 1) & ~(uintptr_t)(512 * PAGE - 1));
    madvise(all, room, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    printf("truth array=%s start=%#lx pages=%zu\n", name, (unsigned long)(uintptr_t)start, pages);
    return start;
}

static inline void *pages_wait(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static inline void pages_idle(int argc, char **argv)
{
    if (example_flag(argc, argv, "idle"))
        example_thread(pages_wait, NULL);
}

struct pages_use {
    const char *name;
    volatile char *start;
    size_t first, pages;
    bool reads, writes;
    uint64_t until_ms; /* of pages_now_ms() */
    int phase;
};

/* Through all pages again and again until the time is over, at least twice. */
static inline void *pages_run(void *argument)
{
    const struct pages_use *use = argument;
    printf("truth use array=%s thread=%ld first=%zu pages=%zu reads=%d writes=%d phase=%d\n", use->name,
           syscall(SYS_gettid), use->first, use->pages, use->reads, use->writes, use->phase);
    for (int round = 0; round < 2 || pages_now_ms() < use->until_ms; round++) {
        for (size_t page = use->first; page < use->first + use->pages; page++) {
            volatile char *at = use->start + page * PAGE + 64;
            if (use->reads)
                (void)*at;
            if (use->writes)
                *at = (char)round;
        }
    }
    return NULL;
}

#endif
