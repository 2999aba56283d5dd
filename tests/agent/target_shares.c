/* Loops whose accesses are counted by construction: target_shares WHICH prints the arrays' places and true shares.
 *
 * Each loop is uniform in time, so that shares of time and of accesses are the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { COUNT = 1 << 21 };

static volatile uint64_t *make(const char *name)
{
    uint64_t *array = mmap(NULL, COUNT * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint64_t i = 0; i < COUNT; i++)
        array[i] = i * 2654435761u;
    printf("array %s %lx %lx\n", name, (uint64_t)array, (uint64_t)(array + COUNT));
    return array;
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";
    int rounds = argc > 2 ? atoi(argv[2]) : 20;
    volatile uint64_t *a = make("a"), *b = make("b"), *c = make("c");
    uint64_t sum = 0;
    /* A generator with the full period: through all of b before it comes back, where no prefetcher follows. */
    for (unsigned i = 0; i < COUNT && strcmp(which, "chase") == 0; i++)
        b[i] = (i * 1664525u + 1013904223u) % COUNT;
    puts("begin");
    fflush(stdout);
    for (int round = 0; round < rounds; round++) {
        if (strcmp(which, "three_to_one") == 0)
            for (unsigned i = 0; i < COUNT - 2; i++)
                sum += a[i] + a[i + 1] + a[i + 2] + b[i];
        else if (strcmp(which, "two_to_one") == 0)
            for (unsigned i = 0; i < COUNT - 1; i++)
                sum += a[i] + a[i + 1] + b[i];
        else if (strcmp(which, "gather") == 0)
            for (unsigned i = 0; i < COUNT; i++)
                sum += b[a[i] % COUNT];
        else if (strcmp(which, "chase") == 0)
            for (unsigned i = 0, at = 0; i < COUNT / 4; i++) {
                at = (unsigned)b[at];
                sum += a[i] + c[i] + c[i + 1];
            }
        else if (strcmp(which, "writes") == 0)
            for (unsigned i = 0; i < COUNT - 3; i++) {
                sum += a[i] + a[i + 1] + a[i + 2] + a[i + 3];
                b[i * 7919u % COUNT] = sum;
            }
        else if (strcmp(which, "eleven_to_one") == 0)
            for (unsigned i = 0; i < COUNT - 11; i++) {
                for (unsigned k = 0; k < 11; k++)
                    sum += a[i + k];
                sum += b[i * 7919u % COUNT];
            }
        else
            return 2;
    }
    return sum == 42;
}
