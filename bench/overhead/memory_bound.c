/* memory_bound.c - two threads, each: random updates of one array and a triad over three others, 160 MiB in all. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 21, UPDATES = 1 << 22 };

static long rounds;

static void *work(void *argument)
{
    uint64_t *table = malloc(2 * COUNT * sizeof *table), random = (uintptr_t)argument + 88172645463325252u;
    double *a = malloc(COUNT * sizeof *a), *b = malloc(COUNT * sizeof *b), *c = malloc(COUNT * sizeof *c);
    if (!table || !a || !b || !c)
        abort();
    for (size_t i = 0; i < COUNT; i++) {
        table[2 * i] = table[2 * i + 1] = i;
        a[i] = b[i] = c[i] = (double)i;
    }
    for (long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < UPDATES; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            table[random % (2 * COUNT)] ^= random;
        }
        for (size_t i = 0; i < COUNT; i++)
            a[i] = b[i] + 3.0 * c[i];
    }
    uint64_t sum = (uint64_t)a[COUNT / 2];
    for (size_t i = 0; i < 2 * COUNT; i++)
        sum += table[i];
    free(table);
    free(a);
    free(b);
    free(c);
    return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atol(argv[1]) : 60;
    pthread_t other;
    if (pthread_create(&other, NULL, work, (void *)1) != 0)
        return 1;
    uint64_t sum = (uintptr_t)work((void *)2);
    void *result;
    pthread_join(other, &result);
    printf("%lu\n", (unsigned long)(sum + (uintptr_t)result));
    return 0;
}
