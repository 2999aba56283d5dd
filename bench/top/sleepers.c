/* sleepers.c - a server's threads: two compute, the others work for some microseconds every two seconds. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 1 << 20, BUSY = 2, ROUND = 20000 };

static volatile long *data;

static void *work(void *argument)
{
    long number = (long)argument, sum = 0;
    for (;;) {
        for (long i = 0; i < ROUND; i++)
            sum += data[(i * 7 + number * 1000) % WORDS];
        if (number >= BUSY)
            nanosleep(&(struct timespec){2, 0}, NULL);
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 1000;
    data = calloc(WORDS, sizeof *data);
    for (long i = 0; i < threads; i++) {
        pthread_t thread;
        if (!data || pthread_create(&thread, NULL, work, (void *)i) != 0)
            return 1;
    }
    pause();
    return 0;
}
