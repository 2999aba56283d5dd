/* reuse.c - address reuse: two generations of objects live at the same address, one after the other; one is hot.
 * Truth: objects of site `cold` get 10% of the accesses, those of site `hot` 90%, though every address belonged to
 * both. The program says so itself and ends with status 99 when the allocator gave different addresses. */
#include "example.h"

/* One piece of code for both: phases weigh what they take, and a loop may take half as long again by its place alone. */
static __attribute__((noinline)) long use(volatile long *block, size_t count, long passes)
{
    long total = 0;
    for (long pass = 0; pass < passes; pass++) {
        for (size_t i = 0; i < count; i++)
            total += block[i];
    }
    return total;
}

int main(int argc, char **argv)
{
    size_t count = (size_t)example_option(argc, argv, "count", 8192);
    long rounds = example_option(argc, argv, "rounds", 100);
    long passes = example_work(argc, argv, "passes", 320);
    long total = 0;
    uintptr_t first = 0;
    for (long round = 0; round < rounds; round++) {
        long *cold = malloc(count * sizeof *cold); /* site: cold */
        example_need(cold, "malloc");
        memset(cold, 0, count * sizeof *cold);
        if (first == 0)
            first = (uintptr_t)cold;
        example_need((uintptr_t)cold == first, "getting the same address again");
        total += use(cold, count, passes);
        free(cold);
        long *hot = malloc(count * sizeof *hot); /* site: hot */
        example_need((uintptr_t)hot == first, "getting the same address again");
        memset(hot, 1, count * sizeof *hot);
        total += use(hot, count, 9 * passes);
        free(hot);
    }
    printf("total %ld\n", total);
    if (example_flag(argc, argv, "truth")) {
        unsigned long each = count * (size_t)rounds;
        example_truth("cold", "reuse", each * (size_t)passes, 0);
        example_truth("hot", "reuse", each * (size_t)passes * 9, 0);
    }
    return 0;
}
