/* calls.c - a thread that is in system calls most of the time: behind each it reads one array once, then another 39 times. A tick
 * that came in a call must not count as one behind it: `behind` has one access in forty. */
#include "example.h"

#include <sys/random.h>

enum { CALLS = 160000, WORDS = 256, ROUNDS = 39, RANDOM_BYTES = 1 << 12 };

static volatile uint64_t behind[WORDS], beside[WORDS];

__attribute__((noinline)) static void read_all(const volatile uint64_t *words)
{
    for (int i = 0; i < WORDS; i++)
        (void)words[i];
}

int main(int argc, char **argv)
{
    static char bytes[RANDOM_BYTES];
    unsigned long calls = (unsigned long)example_work(argc, argv, "calls", CALLS);
    for (unsigned long i = 0; i < calls; i++) {
        example_need(getrandom(bytes, sizeof bytes, 0) > 0, "getrandom");
        read_all(behind);
        for (int round = 0; round < ROUNDS; round++)
            read_all(beside);
    }
    if (example_flag(argc, argv, "truth")) {
        example_truth("behind", "main", calls * WORDS, 0);
        example_truth("beside", "main", calls * WORDS * ROUNDS, 0);
    }
    return 0;
}
