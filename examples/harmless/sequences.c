/* sequences.c - threads count on the CPU that they run on, without locks or atomic instructions: each count is a restartable
 * sequence (rseq), which the kernel starts again when the thread loses its CPU in it.
 * Truth: prints "counted", and "lost" with how many when one was not started again. x86-64, with the C library's registration. */
#include "../example.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define THREADS 6
#define CPUS    1024
#define COUNTS  50000
#define COPIES  10

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static struct {
    uint64_t count;
    char line[56];
} counters[CPUS];
static long rounds = 200;
static char copied[THREADS][2][1 << 20];
static _Atomic int started;

/* struct rseq: the CPU is at 4, the descriptor's address goes to 8. Through a pointer, as libraries do. */
static inline void count_here(char *area)
{
    __asm__ volatile(".pushsection __rseq_cs, \"aw\"\n"
                     ".balign 32\n"
                     "3: .long 0, 0\n"
                     ".quad 1f, 2f - 1f, 4f\n"
                     ".popsection\n"
                     ".pushsection __rseq_abort, \"ax\"\n"
                     ".byte 0x0f, 0xb9, 0x3d\n"
                     ".long 0x53053053\n"
                     "4: jmp 5f\n"
                     ".popsection\n"
                     "5: leaq 3b(%%rip), %%rax\n"
                     "movq %%rax, 8(%[area])\n"
                     "1: movl 4(%[area]), %%eax\n"
                     "shlq $6, %%rax\n"
                     "movq (%[counters], %%rax), %%rcx\n"
                     "leaq 1(%%rcx), %%rcx\n"
                     "movq %%rcx, (%[counters], %%rax)\n"
                     "2:\n"
                     :
                     : [area] "r"(area), [counters] "r"(counters)
                     : "rax", "rcx", "memory", "cc");
}

static void *work(void *unused)
{
    char *area = (char *)__builtin_thread_pointer() + __rseq_offset;
    char(*own)[1 << 20] = copied[started++];
    for (long i = 0; i < rounds; i++) {
        for (int k = 0; k < COUNTS; k++)
            count_here(area);
        for (int k = 0; k < COPIES; k++) /* code of the C library, which has no sequences */
            memcpy(own[k % 2], own[1 - k % 2], sizeof *own);
    }
    return unused;
}

int main(int argc, char **argv)
{
    rounds = example_option(argc, argv, "rounds", rounds);
    if (!&__rseq_size || !__rseq_size) {
        puts("counted");
        return 0;
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        threads[i] = example_thread(work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t sum = 0;
    for (int i = 0; i < CPUS; i++)
        sum += counters[i].count;
    if (sum == (uint64_t)rounds * COUNTS * THREADS)
        puts("counted");
    else
        printf("lost %ld\n", (long)((uint64_t)rounds * COUNTS * THREADS - sum));
    return 0;
}
