/* team.c - threads that read two arrays three to one for so much CPU time each: team THREADS MILLISECONDS. Prints what each read. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS = 4096, THREADS_MOST = 256 };

static volatile uint64_t *often, *seldom;
static uint64_t reads[THREADS_MOST][2];
static double until;

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* One loop for both, so that an access takes the same in either. */
__attribute__((noinline)) static uint64_t read_all(volatile uint64_t *array)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < WORDS; i++)
        sum += array[i];
    return sum;
}

static void *work(void *number)
{
    uint64_t *own = reads[(uintptr_t)number];
    while (cpu_ms() < until)
        for (unsigned i = 0; i < 64; i++) {
            read_all(i % 4 ? often : seldom);
            own[i % 4 == 0] += WORDS;
        }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 2 ? (unsigned)atoi(argv[1]) : 1;
    pthread_t team[THREADS_MOST];
    until = argc > 2 ? atof(argv[2]) : 1000;
    often = calloc(WORDS, 8);
    seldom = calloc(WORDS, 8);
    for (uintptr_t i = 0; i < threads && i < THREADS_MOST; i++)
        pthread_create(&team[i], NULL, work, (void *)i);
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(team[i], NULL);
        printf("%u %llu %llu\n", i, (unsigned long long)reads[i][0], (unsigned long long)reads[i][1]);
    }
    return 0;
}
