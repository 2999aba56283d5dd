/* pairs.c - malloc and free in a loop: by a site that no entry of the plan is about, or by one that it names. Prints the nanoseconds of CPU
 * time that a pair took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEPT = 64 };

#define SITE(name)                                                                                                     \
    static __attribute__((noinline)) void *name(size_t size)                                                           \
    {                                                                                                                  \
        void *block = malloc(size);                                                                                    \
        __asm__ volatile("" : "+r"(block));                                                                            \
        return block;                                                                                                  \
    }
SITE(other_block)
SITE(placed_block)

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    long pairs = argc > 2 ? atol(argv[2]) : 20000000;
    void *(*allocate)(size_t) = argc > 1 && strcmp(argv[1], "placed") == 0 ? placed_block : other_block;
    void *kept[KEPT] = {0};
    double began = now_ns();
    for (long i = 0; i < pairs; i++) {
        free(kept[i % KEPT]);
        kept[i % KEPT] = allocate(16 + (size_t)(i % 13) * 24);
    }
    printf("%.3f\n", (now_ns() - began) / (double)pairs);
    return 0;
}
