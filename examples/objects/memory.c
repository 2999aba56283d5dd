/* memory.c - memory that malloc did not give: the break, an own map, malloc'd blocks inside both, the kernel's clock page.
 *     memory [--clock] [--rounds=N]
 * Truth: `own_map` (a map) gets 1/4 of the accesses and `block` (heap, in the same kind of memory) 1/4; what is behind
 * the break that the program moved itself gets 1/4 and is named [heap]; a block of a thread's arena gets 1/4 (`arena_block`).
 * With --clock all the program does is to ask for the time: the kernel's own page for it, [vvar], is read. */
#include "../example.h"
#include "walk.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 4096 };

static void *in_arena(void *argument)
{
    (void)argument;
    long *arena_block = malloc(ITEMS * sizeof *arena_block); /* site: arena_block */
    example_need(arena_block, "malloc");
    memset(arena_block, 1, ITEMS * sizeof *arena_block);
    return arena_block;
}

static long ask_for_time(long times)
{
    long total = 0;
    struct timespec now;
    for (long i = 0; i < times; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        total += now.tv_nsec & 1;
    }
    return total;
}

int main(int argc, char **argv)
{
    long rounds = example_work(argc, argv, "rounds", 20000);
    if (example_flag(argc, argv, "clock")) {
        printf("total %ld\n", ask_for_time(rounds * 500) & 0);
        return 0;
    }
    size_t size = ITEMS * sizeof(long);
    long *own_map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* site: own_map */
    long *block = malloc(size);                                                                   /* site: block */
    long *behind = sbrk((intptr_t)size);
    example_need(own_map != MAP_FAILED && block && behind != (void *)-1, "allocation");
    memset(own_map, 1, size);
    memset(block, 1, size);
    memset(behind, 1, size);
    void *arena_block;
    pthread_join(example_thread(in_arena, NULL), &arena_block);
    long total = 0;
    for (long round = 0; round < rounds; round++) /* one by one: what else the machine does meets all alike */
        total += walk(own_map, ITEMS, 2) + walk(block, ITEMS, 2) + walk(behind, ITEMS, 2) + walk(arena_block, ITEMS, 2);
    free(block);
    free(arena_block);
    printf("total %ld\n", total);
    return 0;
}
