/* calls.c - calls of a pool allocator that does next to nothing, at call depth 8: what hooking it adds is seen bare.
 * Prints the nanoseconds a call took: of allocations, and of clearing the pool once in 1000 of them. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct pool {
    char *bytes;
    size_t used;
};

static __attribute__((noinline, noclone)) void *pool_alloc(struct pool *pool, size_t size)
{
    void *memory = pool->bytes + pool->used;
    pool->used += (size + 15) / 16 * 16;
    return memory;
}

static __attribute__((noinline, noclone)) void pool_clear(struct pool *pool)
{
    pool->used = 0;
}

static long calls;

static __attribute__((noinline)) void descend(struct pool *pool, int depth)
{
    if (depth > 0) {
        descend(pool, depth - 1);
    } else {
        for (long i = 0; i < calls; i++) {
            *(volatile char *)pool_alloc(pool, 32) = 1;
            if (i % 1000 == 999)
                pool_clear(pool);
        }
    }
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    struct pool pool = {malloc(64000), 0};
    struct timespec from, to;
    calls = argc > 1 ? atol(argv[1]) : 5000000;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    descend(&pool, 6);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    printf("calls %.2f\n", ns / (double)calls);
    return 0;
}
