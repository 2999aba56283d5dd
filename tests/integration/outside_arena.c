/* outside_arena.c - blocks in the arena of a thread, behind one that was freed: reads the first of them three times as often as the second, until
 * its standard input ends. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS = 4096, GAP = 4 };

__attribute__((noinline)) static long sum(const volatile long *items,
                                          int times) /* one loop for both: its speed is the same */
{
    long all = 0;
    for (int pass = 0; pass < times; pass++)
        for (int i = 0; i < ITEMS; i++)
            all += items[i];
    return all;
}

static void *work(void *unused)
{
    volatile long result = 0;
    free(malloc(16)); /* the thread's own cache comes first */
    void *freed = malloc(GAP * ITEMS);
    long *often = calloc(ITEMS, sizeof *often), *seldom = calloc(ITEMS + ITEMS / 2, sizeof *seldom);
    free(freed);
    if (!often || !seldom)
        abort();
    printf("working\n");
    fflush(stdout);
    while (poll(&(struct pollfd){.fd = 0, .events = POLLIN}, 1, 0) == 0)
        for (int i = 0; i < 100; i++)
            result = result + sum(often, 3) + sum(seldom, 1);
    free(often);
    free(seldom);
    return unused;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
