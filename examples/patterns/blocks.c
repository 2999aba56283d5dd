/* blocks.c - a grid in small blocks, scattered over the threads: each thread works on its own blocks only, as in codes that
 * cut space into cells.
 *
 * bad: the main thread fills the whole grid. To someone who looks at few places, neighbours seem to be of all threads; but no
 * block is used by two.
 * good: each worker fills its own blocks. */
#include "team.h"

enum { BLOCKS = 512, BLOCK = 16384 / sizeof(long), CHUNK = 64 };

static long *grid;

static size_t owner_of(size_t block)
{
    return (block * 5 + block / 8) % team.size + 1;
}

static long compute(size_t number)
{
    size_t own[BLOCKS], count = 0;
    long total = 0, rounds = team.rounds;
    for (size_t block = 0; block < BLOCKS; block++) {
        if (owner_of(block) != number)
            continue;
        own[count++] = block;
        if (team_mode("good"))
            team_fill(grid + block * BLOCK, BLOCK);
    }
    uint64_t seed = number;
    for (long round = 0; count && round < rounds; round += CHUNK)
        total += team_use(grid + own[team_random(&seed) % count] * BLOCK, BLOCK, CHUNK, seed);
    return total;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 60000000);
    grid = aligned_alloc(PAGE, (size_t)BLOCKS * BLOCK * sizeof *grid); /* site: grid */
    example_need(grid, "aligned_alloc");
    if (team_mode("bad"))
        team_fill(grid, (size_t)BLOCKS * BLOCK);
    team_run(compute);
    free(grid);
    return 0;
}
