/* latency.c - dependent random reads beside sequential ones.
 * Truth: `chain` and `row` are read equally often; a read of `chain` waits for memory, one of `row` rarely does. */
#include "example.h"

int main(int argc, char **argv)
{
    size_t count = (size_t)1 << example_option(argc, argv, "bits", 24);
    long steps = example_work(argc, argv, "steps", 12000000);
    size_t row_count = 65536;
    volatile size_t *chain = malloc(count * sizeof *chain); /* site: chain */
    volatile long *row = malloc(row_count * sizeof *row);   /* site: row */
    example_need(chain && row, "malloc");
    /* i -> a*i + c modulo a power of two, with a % 4 == 1 and c odd, visits every place once before it returns. */
    for (size_t i = 0; i < count; i++)
        chain[i] = (i * 0x5851f42d4c957f2dUL + 0x14057b7ef767814fUL) & (count - 1);
    for (size_t i = 0; i < row_count; i++)
        row[i] = (long)i;
    size_t place = 0;
    long total = 0;
    for (long step = 0; step < steps; step++) {
        place = chain[place];
        total += row[(size_t)step & (row_count - 1)];
    }
    printf("place %zu total %ld\n", place, total);
    if (example_flag(argc, argv, "truth")) {
        example_truth("chain", "latency", (size_t)steps, count);
        example_truth("row", "latency", (size_t)steps, row_count);
    }
    free((void *)chain);
    free((void *)row);
    return 0;
}
