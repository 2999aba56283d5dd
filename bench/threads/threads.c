/* threads.c - starts and joins threads that do nothing: prints the CPU and wall time that one takes, in microseconds.
 * The least of twenty parts: what else runs on the machine only adds to it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PARTS = 20 };

static void *run(void *argument)
{
    return argument;
}

static double now_us(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    int each = (argc > 1 ? atoi(argv[1]) : 4000) / PARTS;
    double cpu = 1e9, wall = 1e9;
    for (int part = 0; part < PARTS; part++) {
        double cpu_began = now_us(CLOCK_PROCESS_CPUTIME_ID), wall_began = now_us(CLOCK_MONOTONIC);
        for (int i = 0; i < each; i++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, run, NULL) != 0)
                return 1;
            pthread_join(thread, NULL);
        }
        double cpu_took = (now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_began) / each;
        double wall_took = (now_us(CLOCK_MONOTONIC) - wall_began) / each;
        cpu = cpu_took < cpu ? cpu_took : cpu;
        wall = wall_took < wall ? wall_took : wall;
    }
    printf("threads %.2f %.2f\n", cpu, wall);
    return 0;
}
