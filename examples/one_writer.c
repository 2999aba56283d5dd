/* one_writer.c - an array written by one thread and read by all.
 * Truth: only `writer` writes `table`; `writer`, `reader 1` and `reader 2` read it equally often. Each iteration is a
 * pass of writes, then one pass of reads by each thread, so of all accesses 25% are writes. */
#include "example.h"

enum { READERS = 2 };

static volatile long *table;
static size_t count;
static long rounds;
static pthread_barrier_t turn;
static long totals[READERS + 1];

static void *run(void *argument)
{
    size_t number = (size_t)argument;
    char name[16];
    snprintf(name, sizeof name, number ? "reader %zu" : "writer", number);
    pthread_setname_np(pthread_self(), name);
    volatile long *mine = table;
    size_t size = count;
    long total = 0;
    for (long round = 0; round < rounds; round++) {
        if (number == 0) {
            for (size_t i = 0; i < size; i++)
                mine[i] = round;
        }
        pthread_barrier_wait(&turn);
        for (size_t i = 0; i < size; i++)
            total += mine[i];
        pthread_barrier_wait(&turn);
    }
    totals[number] = total;
    return NULL;
}

int main(int argc, char **argv)
{
    count = (size_t)example_option(argc, argv, "count", 1 << 20);
    rounds = example_work(argc, argv, "rounds", 900);
    table = malloc(count * sizeof *table); /* site: table */
    example_need(table, "malloc");
    pthread_barrier_init(&turn, NULL, READERS + 1);
    pthread_t threads[READERS + 1];
    for (size_t i = 0; i <= READERS; i++)
        threads[i] = example_thread(run, (void *)i);
    for (size_t i = 0; i <= READERS; i++)
        pthread_join(threads[i], NULL);
    printf("totals %ld %ld %ld\n", totals[0], totals[1], totals[2]);
    if (example_flag(argc, argv, "truth")) {
        unsigned long each = count * (size_t)rounds;
        example_truth("table", "writer", each, each);
        example_truth("table", "reader_1", each, 0);
        example_truth("table", "reader_2", each, 0);
    }
    free((void *)table);
    return 0;
}
