/* static_array.c - static arrays: one local to the file in .bss, one global in .data, one inside a function.
 * Truth: `zeroed_table` gets 50% of the accesses, `filled_table` 25%, `inner_table` 25%, all of kind static. */
#include "example.h"

enum { COUNT = 1 << 15 };

static volatile long zeroed_table[2 * COUNT];
volatile long filled_table[COUNT] = {1, 2, 3};

static long run(long rounds)
{
    static volatile long inner_table[COUNT];
    long total = 0;
    for (long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            total += zeroed_table[2 * i] + zeroed_table[2 * i + 1] + filled_table[i];
            inner_table[i] = total;
        }
    }
    return total + inner_table[0];
}

int main(int argc, char **argv)
{
    long rounds = example_work(argc, argv, "rounds", 30000);
    printf("total %ld\n", run(rounds));
    if (example_flag(argc, argv, "truth")) {
        unsigned long each = (unsigned long)COUNT * (unsigned long)rounds;
        example_truth("zeroed_table", "static_array", 2 * each, 0);
        example_truth("filled_table", "static_array", each, 0);
        example_truth("inner_table", "static_array", 0, each);
    }
    return 0;
}
