/* pieces.c - does a small piece of work over and over and prints, in ns, by how much those took longer that something
 * came in between: a tick, and the burst that it may start. A piece is 100 loads with ten other instructions each. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PLAIN = 20001, MOST = 1 << 16, LOADS = 100, WORDS = 1024, NOTICED_NS = 1500, DESCHEDULED_NS = 5000000 };

static uint64_t data[WORDS], extra[MOST];

static uint64_t counter(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#else
    uint64_t value;
    __asm__ volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(value));
    return value;
#endif
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) uint64_t piece(uint64_t hash)
{
    for (int i = 0; i < LOADS; i++) {
        hash ^= data[(hash >> 7) % WORDS];
        hash ^= hash << 13;
        hash ^= hash >> 7;
        hash ^= hash << 17;
    }
    return hash;
}

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

int main(int argc, char **argv)
{
    static uint64_t plain[PLAIN];
    unsigned wanted = argc > 1 ? (unsigned)atoi(argv[1]) : 1000, count = 0;
    uint64_t hash = 88172645463325252u, ticks = counter(), began = clock_ns();
    for (int i = 0; i < WORDS; i++)
        data[i] = (uint64_t)i * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < PLAIN; i++) {
        uint64_t from = counter();
        hash = piece(hash);
        plain[i] = counter() - from;
    }
    while (clock_ns() - began < 20000000)
        ;
    double per_ns = (double)(counter() - ticks) / (double)(clock_ns() - began);
    qsort(plain, PLAIN, sizeof *plain, by_size);
    uint64_t usual = plain[PLAIN / 2], noticed = usual + (uint64_t)(NOTICED_NS * per_ns), sum = 0;
    wanted = wanted < MOST ? wanted : MOST;
    while (count < wanted) { /* a burst may reach into the next piece: those in a row are one */
        uint64_t from = counter();
        hash = piece(hash);
        uint64_t taken = counter() - from;
        if (taken > noticed) {
            sum += taken - usual;
        } else if (sum) {
            uint64_t ns = (uint64_t)((double)sum / per_ns);
            if (ns < DESCHEDULED_NS)
                extra[count++] = ns;
            sum = 0;
        }
    }
    for (unsigned i = 0; i < count; i++)
        printf("%" PRIu64 "\n", extra[i]);
    return hash == 1;
}
