/* far_costs.c - four workers for whom far memory is dear, on a machine whose memory is all alike.
 *
 * An emulator answers from every node equally fast. So each worker asks the kernel where its pages are, and works on
 * for a while after each access to a page of another node: run time depends on placement, as it does on a real machine.
 *
 * own: main fills an array on its node; each worker uses a part of its own. Where it runs elsewhere, data is remote.
 * shared: likewise, but all workers use and write all of it.
 * near: each worker fills its part before it uses it, so nothing is ever far. */
#include "../../../examples/example.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { WORKERS = 4, PAGES = 256, PART = PAGES / WORKERS, PAGE = 4096, WORDS = PAGE / sizeof(long), MORE = 10 };

static long *data;
static const char *mode;
static long rounds;

static unsigned node_here(void)
{
    unsigned cpu, node = 0;
    example_need(syscall(SYS_getcpu, &cpu, &node, NULL) == 0, "getcpu");
    return node;
}

static void find_homes(unsigned first, unsigned count, unsigned char *homes)
{
    void *pages[PAGES];
    int nodes[PAGES];
    for (unsigned i = 0; i < count; i++)
        pages[i] = data + (first + i) * WORDS;
    example_need(syscall(SYS_move_pages, 0, count, pages, NULL, nodes, 0) == 0, "move_pages");
    for (unsigned i = 0; i < count; i++)
        homes[first + i] = (unsigned char)nodes[i];
}

static void *work(void *argument)
{
    unsigned number = (unsigned)(size_t)argument, first = number * PART, count = PART;
    volatile long *array = data;
    uint64_t state = number + 1;
    unsigned char homes[PAGES]; /* its own: only `data` is ever far */
    if (strcmp(mode, "near") == 0)
        memset(data + first * WORDS, 0, PART * PAGE);
    if (strcmp(mode, "shared") == 0) {
        first = 0;
        count = PAGES;
    }
    find_homes(first, count, homes);
    for (long round = 0; round < rounds;) {
        unsigned node = node_here();
        for (unsigned i = 0; i < 64; i++, round++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            unsigned page = first + (unsigned)(state >> 40) % count;
            size_t at = page * WORDS + (state >> 33) % WORDS;
            array[at] = array[at] + 1;
            for (unsigned more = homes[page] == node ? 0 : MORE; more; more--)
                __asm__ volatile("");
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t handles[WORKERS];
    mode = argc > 1 ? argv[1] : "";
    example_need(strcmp(mode, "own") == 0 || strcmp(mode, "shared") == 0 || strcmp(mode, "near") == 0,
                 "own, shared or near:");
    rounds = example_option(argc, argv, "rounds", 150000);
    data = aligned_alloc(PAGE, PAGES * PAGE); /* site: data */
    example_need(data != NULL, "aligned_alloc");
    if (strcmp(mode, "near") != 0)
        memset(data, 0, PAGES * PAGE);
    for (size_t i = 0; i < WORKERS; i++)
        handles[i] = example_thread(work, (void *)i);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(handles[i], NULL);
    free(data);
    printf("done\n");
    return 0;
}
