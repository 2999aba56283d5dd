/* Two threads add to places all over one large array, as chance has it: scatter MIB MILLIONS. Every page is written in
 * every interval, in no order: the worst that can happen to page faults. Says a sum that must not change. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct half {
    uint64_t *cells;
    size_t count, updates;
    uint64_t seed;
};

static void *run(void *argument)
{
    struct half *half = argument;
    for (size_t i = 0; i < half->updates; i++) {
        half->seed = half->seed * 6364136223846793005u + 1442695040888963407u;
        half->cells[(half->seed >> 20) % half->count] += half->seed >> 50;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 512;
    size_t updates = (argc > 2 ? strtoul(argv[2], NULL, 10) : 40) * 1000000;
    size_t cells = (mib << 20) / sizeof(uint64_t);
    uint64_t *array = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), sum = 0;
    if (array == MAP_FAILED)
        return 1;
    struct half halves[2] = {{array, cells / 2, updates / 2, 1}, {array + cells / 2, cells / 2, updates / 2, 2}};
    pthread_t other;
    if (pthread_create(&other, NULL, run, &halves[1]))
        return 1;
    run(&halves[0]);
    pthread_join(other, NULL);
    for (size_t i = 0; i < cells; i++)
        sum += array[i];
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
