/* accesses.c - threads that read random places of one array, each another number of times (Lorenzo et al., section 4.1).
 *     --threads=2 --rounds=4000000
 * Thread t of T reads (1 + t / T) times as often as thread 0; --truth says how often. Every read depends on the one before
 * and the array fits into the nearest cache, so that time and accesses are the same measure. */
#include "../../examples/example.h"

enum { COUNT = 2048, MOST_THREADS = 64 };

static volatile size_t *array;

struct reader {
    long number, reads;
};

static void *run(void *argument)
{
    struct reader *reader = argument;
    char name[16];
    snprintf(name, sizeof name, "thread_%ld", reader->number);
    pthread_setname_np(pthread_self(), name);
    size_t place = (size_t)reader->number, zero = 0;
    for (long i = 0; i < reader->reads; i++) {
        place = place * 6364136223846793005u + 1442695040888963407u;
        zero = array[(place >> 40) % COUNT + zero];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = example_option(argc, argv, "threads", 2), rounds = example_option(argc, argv, "rounds", 4000000);
    struct reader readers[MOST_THREADS];
    pthread_t handles[MOST_THREADS];
    example_need(threads >= 1 && threads <= MOST_THREADS, "--threads");
    array = calloc(COUNT, sizeof *array); /* site: array */
    example_need(array != NULL, "calloc");
    for (long i = 0; i < threads; i++) {
        readers[i] = (struct reader){i, rounds + rounds * i / threads};
        handles[i] = example_thread(run, &readers[i]);
    }
    for (long i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    for (long i = 0; i < threads && example_flag(argc, argv, "truth"); i++) {
        char name[16];
        snprintf(name, sizeof name, "thread_%ld", i);
        example_truth("array", name, (unsigned long)readers[i].reads, 0);
    }
    return 0;
}
