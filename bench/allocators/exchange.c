/* exchange.c - threads that allocate blocks of random sizes, keep them in random places and release what was there; one in
 * eight goes to another thread, which releases it. Prints the operations of all threads per second.
 *     exchange SECONDS THREADS */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PLACES = 5000, SHARED = 256, SMALLEST = 8, LARGEST = 1000 };

static _Atomic(void *) shared[SHARED];
static atomic_bool over;
static atomic_ulong operations;

static uint32_t next(uint32_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random;
}

static void *work(void *argument)
{
    uint32_t random = (uint32_t)(uintptr_t)argument * 2654435761u | 1;
    void **places = calloc(PLACES, sizeof *places);
    unsigned long count = 0;
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        char *block = malloc(SMALLEST + next(&random) % (LARGEST - SMALLEST));
        block[0] = 1;
        uint32_t place = next(&random);
        if (place % 8 == 0) {
            free(atomic_exchange(&shared[place / 8 % SHARED], block));
        } else {
            free(places[place % PLACES]);
            places[place % PLACES] = block;
        }
        count++;
    }
    for (unsigned i = 0; i < PLACES; i++)
        free(places[i]);
    free(places);
    atomic_fetch_add(&operations, count);
    return NULL;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    int threads = argc > 2 ? atoi(argv[2]) : 2;
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, (void *)(uintptr_t)(i + 1)) != 0)
            return 1;
    nanosleep(&pause, NULL);
    atomic_store(&over, true);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    printf("%.0f operations per second\n", (double)atomic_load(&operations) / seconds);
    free(ids);
    return 0;
}
