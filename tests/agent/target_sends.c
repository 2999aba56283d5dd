/* Accesses at random, of which a long burst has many rows, and then allocations: while those rows are sent, hooks write as well. Prints
 * how many blocks it got. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 1 << 22, ACCESSES = 400000, BLOCKS = 100000 };

int main(int argc, char **argv)
{
    static volatile char bytes[BYTES];
    uint64_t state = 1;
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    for (long round = 0; round < rounds; round++) {
        for (int i = 0; i < ACCESSES; i++) {
            state = state * 6364136223846793005u + 1;
            bytes[(state >> 33) % BYTES]++;
        }
        for (int i = 0; i < BLOCKS; i++) {
            volatile char *block = malloc(24);
            *block = 1;
            free((void *)block);
        }
    }
    printf("%ld\n", rounds * BLOCKS);
    return 0;
}
