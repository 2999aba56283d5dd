/* ratio.c - two heap arrays, read 3:1 by one thread.
 * Truth: `often` gets 75% of all accesses, `seldom` 25%; all are reads but for one pass of writes at the start. */
#include "example.h"

int main(int argc, char **argv)
{
    size_t count = (size_t)example_option(argc, argv, "count", 65536);
    long rounds = example_work(argc, argv, "rounds", 20000);
    volatile long *often = malloc(3 * count * sizeof *often); /* site: often */
    volatile long *seldom = malloc(count * sizeof *seldom);   /* site: seldom */
    example_need(often && seldom, "malloc");
    for (size_t i = 0; i < count; i++) {
        often[3 * i] = often[3 * i + 1] = often[3 * i + 2] = (long)i;
        seldom[i] = 1;
    }
    long total = 0;
    for (long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++)
            total += often[3 * i] + often[3 * i + 1] + often[3 * i + 2] + seldom[i];
    }
    printf("total %ld\n", total);
    if (example_flag(argc, argv, "truth")) {
        example_truth("often", "ratio", 3 * count * (size_t)rounds, 3 * count);
        example_truth("seldom", "ratio", count * (size_t)rounds, count);
    }
    free((void *)often);
    free((void *)seldom);
    return 0;
}
