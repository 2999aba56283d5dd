/* A fixed amount of work and little memory: target_work PASSES reads a page that often. What sampling makes it take longer is
 * what sampling costs. With a second argument it prints how many nanoseconds of CPU time the process has had in the end. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS = 512, LINE = 8 };

int main(int argc, char **argv)
{
    static volatile uint64_t page[WORDS];
    uint64_t sum = 0;
    for (long round = argc > 1 ? atol(argv[1]) : 0; round > 0; round--)
        for (unsigned i = 0; i < WORDS; i += LINE)
            sum += page[i];
    if (argc > 2) {
        struct timespec cpu;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
        printf("%lld\n", cpu.tv_sec * 1000000000ll + cpu.tv_nsec);
    }
    return sum != 0;
}
