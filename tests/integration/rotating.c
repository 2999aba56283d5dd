/* A service for tests of record --rotate: a thread sweeps over two arrays until a letter on stdin says otherwise.
 * w: answered when the thread has worked a while. s: the thread leaves `early` alone from now on. f: `early` is freed, and `late` takes its place. End of file: it
 * prints what it did and ends with status 7. The answers go to the file of the first argument, or to stdout. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NUMBERS = 1 << 17, STATUS = 7, WORK_MS = 250 };

static long *table, *early, *late;
static _Atomic int wanted, seen, stop;

static long sweep(long *numbers)
{
    long sum = 0;
    for (size_t i = 0; i < NUMBERS; i += 8) {
        sum += numbers[i];
        numbers[i] = sum;
    }
    return sum;
}

static void *work(void *unused)
{
    (void)unused;
    for (unsigned turn = 0; !atomic_load(&stop); turn++) {
        int phase = atomic_load(&wanted);
        sweep(table);
        if (phase == 0)
            sweep(early);
        else if (phase == 2)
            sweep(late);
        if (turn % 64 == 0) {
            void *small = malloc(100);
            memset(small, 1, 100);
            free(small);
        }
        atomic_store(&seen, phase);
    }
    return NULL;
}

/* Until the thread has used so much more CPU time: samples come by that, however busy the machine is. */
static void wait_for_work(clockid_t clock)
{
    struct timespec first, now;
    clock_gettime(clock, &first);
    do {
        usleep(1000);
        clock_gettime(clock, &now);
    } while ((now.tv_sec - first.tv_sec) * 1000 + (now.tv_nsec - first.tv_nsec) / 1000000 < WORK_MS);
}

static void change(int phase)
{
    atomic_store(&wanted, phase);
    while (atomic_load(&seen) != phase)
        usleep(1000);
}

int main(int argc, char **argv)
{
    FILE *out = argc > 1 ? fopen(argv[1], "w") : stdout;
    pthread_t worker;
    clockid_t clock;
    char letter;
    table = malloc(NUMBERS * sizeof *table); /* site: table */
    early = malloc(NUMBERS * sizeof *early); /* site: early */
    memset(table, 0, NUMBERS * sizeof *table);
    memset(early, 0, NUMBERS * sizeof *early);
    pthread_create(&worker, NULL, work, NULL);
    pthread_getcpuclockid(worker, &clock);
    while (read(0, &letter, 1) == 1) {
        if (letter == 'w') {
            wait_for_work(clock);
        } else if (letter == 's') {
            change(1);
        } else if (letter == 'f') {
            free(early);
            late = malloc(NUMBERS * sizeof *late); /* site: late */
            memset(late, 0, NUMBERS * sizeof *late);
            change(2);
        }
        fprintf(out, "%c\n", letter);
        fflush(out);
    }
    atomic_store(&stop, 1);
    pthread_join(worker, NULL);
    free(table);
    fprintf(out, "done\n");
    if (out != stdout)
        fclose(out);
    return STATUS;
}
