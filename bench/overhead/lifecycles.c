/* lifecycles.c - two threads that allocate and free small blocks from several places: for counting bytes an event. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEPT = 512 };

static long pairs;

static __attribute__((noinline)) void *make_small(size_t size)
{
    return malloc(16 + size % 100);
}

static __attribute__((noinline)) void *make_large(size_t size)
{
    return malloc(500 + size % 3000);
}

static void *work(void *argument)
{
    void *kept[KEPT] = {0};
    size_t random = (size_t)argument;
    for (long i = 0; i < pairs; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t place = random >> 40 & (KEPT - 1);
        free(kept[place]);
        kept[place] = random >> 63 ? make_small(random >> 20) : make_large(random >> 20);
    }
    for (size_t i = 0; i < KEPT; i++)
        free(kept[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    pairs = argc > 1 ? atol(argv[1]) : 1000000;
    pthread_t other;
    if (pthread_create(&other, NULL, work, (void *)1) != 0)
        return 1;
    work((void *)2);
    pthread_join(other, NULL);
    printf("%ld\n", 2 * pairs);
    return 0;
}
