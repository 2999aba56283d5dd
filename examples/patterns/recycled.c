/* recycled.c - blocks that their users allocate themselves, on pages that the C library got back from another thread, as in
 * allocator stress tests.
 *
 * bad: the main thread has allocated, filled and freed as much before. All threads take their blocks from one arena, so they get
 * the pages that main touched. "Allocate it on the node that uses it" is what they do already.
 * good: nobody had the pages before. */
#include "team.h"

#include <malloc.h>

enum { BLOCK = 96 * 1024, BLOCKS = 16, CHUNK = 4096 };

static long compute(size_t number)
{
    long *blocks[BLOCKS], total = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        long *block = malloc(BLOCK); /* site: block */
        example_need(block, "malloc");
        team_fill(block, BLOCK / sizeof *block);
        blocks[i] = block;
    }
    uint64_t seed = number;
    for (long round = 0; round < team.rounds; round += CHUNK)
        total += team_use(blocks[team_random(&seed) % BLOCKS], BLOCK / sizeof **blocks, CHUNK, seed);
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return total;
}

static void use_before(void)
{
    char *before[TEAM_MAX * BLOCKS], *last;
    size_t count = team.size * BLOCKS;
    for (size_t i = 0; i < count; i++) {
        before[i] = malloc(BLOCK);
        example_need(before[i], "malloc");
        memset(before[i], 1, BLOCK);
    }
    last = malloc(64); /* keeps the break where it is */
    example_need(last, "malloc");
    for (size_t i = 0; i < count; i++)
        free(before[i]);
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 60000000);
    example_need(mallopt(M_ARENA_MAX, 1) && mallopt(M_MMAP_THRESHOLD, 1 << 20) && mallopt(M_TRIM_THRESHOLD, 1 << 30),
                 "mallopt");
    if (team_mode("bad"))
        use_before();
    team_run(compute);
    return 0;
}
