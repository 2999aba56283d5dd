/* deep.c - an allocation and its use, both at the bottom of twelve calls, in code without frame pointers.
 * Truth: `block` gets all accesses; its site's chain is level_12 < level_11 < ... < level_1 < main, and so is that of the
 * function reading it. Each level keeps something on its stack, so that no two frames are alike. */
#include "example.h"

static volatile long *block;
static long rounds;

/* Does the work at the bottom; `weight` comes through all levels. */
static __attribute__((noinline)) long bottom(long weight)
{
    size_t count = 65536;
    block = malloc(count * sizeof *block); /* site: block */
    example_need(block, "malloc");
    memset((void *)block, 0, count * sizeof *block);
    volatile long *mine = block;
    long total = 0;
    for (long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++)
            total += mine[i];
    }
    free((void *)block);
    return total + weight;
}

#define LEVEL(number, below, room)                                                                                     \
    static __attribute__((noinline)) long level_##number(long weight)                                                  \
    {                                                                                                                  \
        volatile char kept[room];                                                                                      \
        kept[(size_t)weight % sizeof kept] = (char)weight;                                                             \
        long result = below(weight + 1);                                                                               \
        return result + kept[(size_t)weight % sizeof kept];                                                            \
    }

LEVEL(12, bottom, 16)
LEVEL(11, level_12, 40)
LEVEL(10, level_11, 600)
LEVEL(9, level_10, 24)
LEVEL(8, level_9, 4000)
LEVEL(7, level_8, 64)
LEVEL(6, level_7, 16)
LEVEL(5, level_6, 200)
LEVEL(4, level_5, 32)
LEVEL(3, level_4, 16)
LEVEL(2, level_3, 1000)
LEVEL(1, level_2, 48)

int main(int argc, char **argv)
{
    rounds = example_work(argc, argv, "rounds", 35000);
    printf("total %ld\n", level_1(0));
    if (example_flag(argc, argv, "truth"))
        example_truth("block", "deep", 65536UL * (size_t)rounds, 0);
    return 0;
}
