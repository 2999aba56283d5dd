/* A fixed amount of work and little memory: target_work ROUNDS reads a page that often. What sampling makes it take longer is
 * what sampling costs. */
#include <stdint.h>
#include <stdlib.h>

enum { WORDS = 512, LINE = 8 };

int main(int argc, char **argv)
{
    static volatile uint64_t page[WORDS];
    uint64_t sum = 0;
    for (long round = argc > 1 ? atol(argv[1]) : 0; round > 0; round--)
        for (unsigned i = 0; i < WORDS; i += LINE)
            sum += page[i];
    return sum != 0;
}
