/* churn.c - two threads that allocate and free small blocks, each block from a call depth of 8 to 12 by one of some
 * dozens of call paths. Prints the nanoseconds a pair took: wall time, and CPU time of the two threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KEPT = 8, PATHS = 64 };

static long pairs;

static double clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

struct path {
    unsigned depth; /* calls still to make */
    unsigned turns; /* one bit a call: which of two functions */
    void **place;
    size_t size;
};

static void descend(struct path *path);

/* The block that was in the place goes, a new one comes. */
static __attribute__((noinline)) void renew(struct path *path)
{
    free(*path->place);
    char *block = malloc(path->size);
    block[0] = 1;
    *path->place = block;
}

static __attribute__((noinline)) void through_small(struct path *path)
{
    descend(path);
    __asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void through_large(struct path *path)
{
    volatile char room[160];
    room[0] = 1;
    descend(path);
    room[1] = 1;
}

static inline __attribute__((always_inline)) void descend(struct path *path)
{
    if (path->depth-- == 0) {
        renew(path);
    } else {
        unsigned turn = path->turns & 1;
        path->turns >>= 1;
        if (turn)
            through_large(path);
        else
            through_small(path);
    }
}

static void *churn(void *argument)
{
    void *kept[KEPT] = {0};
    double *cpu = argument;
    double began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (long i = 0; i < pairs; i++) {
        /* Few turns differ, so that there are PATHS / 4 of each of four depths between 8 and 12 frames. */
        unsigned which = (unsigned)(i * 7919 % PATHS);
        struct path path = {
            .depth = 4 + which % 4, .turns = which / 4 * 3, .place = &kept[i % KEPT], .size = 16 + (size_t)(which * 8)};
        descend(&path);
    }
    for (int i = 0; i < KEPT; i++)
        free(kept[i]);
    *cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
    return NULL;
}

int main(int argc, char **argv)
{
    pairs = argc > 1 ? atol(argv[1]) : 2000000;
    pthread_t other;
    double cpu[2] = {0}, began = clock_ns(CLOCK_MONOTONIC);
    if (pthread_create(&other, NULL, churn, &cpu[0]) != 0)
        return 1;
    churn(&cpu[1]);
    pthread_join(other, NULL);
    double wall = clock_ns(CLOCK_MONOTONIC) - began;
    printf("churn %.2f %.2f\n", wall / (double)pairs, (cpu[0] + cpu[1]) / (2 * (double)pairs));
    return 0;
}
