/* Two threads go over halves of one large array, again and again, reading and writing all of it: sweep MIB PASSES. Says
 * how long the passes took and how much CPU time, without the array's first touch, and a sum that must not change. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

struct half {
    double *cells;
    size_t count;
    int rounds;
    double sum;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void *run(void *argument)
{
    struct half *half = argument;
    for (int round = 0; round < half->rounds; round++)
        for (size_t i = 1; i < half->count; i++) {
            half->cells[i] = half->cells[i] * 0.5 + half->cells[i - 1] * 0.25 + 1;
            half->sum += half->cells[i];
        }
    return NULL;
}

int main(int argc, char **argv)
{
    size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 1024;
    int rounds = argc > 2 ? atoi(argv[2]) : 3;
    size_t cells = (mib << 20) / sizeof(double);
    double *array = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (array == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < cells; i += 512)
        array[i] = (double)i;
    struct half halves[2] = {{array, cells / 2, rounds, 0}, {array + cells / 2, cells / 2, rounds, 0}};
    pthread_t other;
    double began = seconds(), cpu = cpu_seconds();
    if (pthread_create(&other, NULL, run, &halves[1]))
        return 1;
    run(&halves[0]);
    pthread_join(other, NULL);
    printf("%.4f %.4f %.6g\n", seconds() - began, cpu_seconds() - cpu, halves[0].sum + halves[1].sum);
    return 0;
}
