/* freqmine.c - mining of frequent item sets in small (LaProf's Table VI, Figures 9 and 10): main builds a tree of all
 * transactions, then each thread mines the items that are its own, by walking from every node of an item up to the root.
 * Truth: main allocates and fills `tree`, so its home node is main's; all threads read it, nobody writes it. Each
 * thread counts in a table of its own that it touches first. Items are of very different weight, and each thread has
 * some: item I is thread I modulo the number of threads'. Threads on main's node have no remote accesses to the tree,
 * the others nothing but: under distributed they are unevenly spread, under cluster there are none. */
#include "../example.h"

enum { MOST_THREADS = 64, ITEMS = 64, DEPTH = 12, ROOT = 0 };

struct node {
    uint32_t parent, next; /* next: of the same item; ROOT: none */
    uint32_t child, sibling;
    uint32_t count;
    uint16_t item;
};

static struct node *tree;
static uint32_t nodes = 1, heads[ITEMS];
static long transactions, rounds, threads;
static unsigned long found[MOST_THREADS];

static uint32_t child_with(uint32_t parent, uint16_t item)
{
    for (uint32_t child = tree[parent].child; child != ROOT; child = tree[child].sibling)
        if (tree[child].item == item)
            return child;
    uint32_t child = nodes++;
    tree[child] = (struct node){.parent = parent, .next = heads[item], .sibling = tree[parent].child, .item = item};
    tree[parent].child = heads[item] = child;
    return child;
}

/* Items of a transaction come in rising order; low ones are in nearly all of them. */
static void build(void)
{
    uint64_t state = 88172645463325252u;
    for (long i = 0; i < transactions; i++) {
        uint32_t at = ROOT;
        unsigned item = 0;
        for (unsigned depth = 0; depth < DEPTH && item < ITEMS; depth++) {
            at = child_with(at, (uint16_t)item);
            tree[at].count++;
            state = state * 6364136223846793005u + 1442695040888963407u;
            item += 1 + (unsigned)((state >> 33) % (2 + item / 4));
        }
    }
}

/* How often each other item stands above this one. */
static unsigned long mine(unsigned item, volatile uint32_t *counts)
{
    const volatile struct node *all = tree;
    unsigned long frequent = 0;
    for (unsigned i = 0; i < ITEMS; i++)
        counts[i] = 0;
    for (uint32_t node = heads[item]; node != ROOT; node = all[node].next)
        for (uint32_t up = all[node].parent; up != ROOT; up = all[up].parent)
            counts[all[up].item] += all[node].count;
    for (unsigned i = 0; i < ITEMS; i++)
        frequent += counts[i] > (unsigned long)transactions / 100;
    return frequent;
}

static void *work(void *argument)
{
    long number = (long)argument;
    uint32_t *counts = malloc(ITEMS * sizeof *counts); /* site: counts */
    example_need(counts, "malloc");
    for (long round = 0; round < rounds; round++)
        for (unsigned item = (unsigned)number; item < ITEMS; item += (unsigned)threads)
            found[number] += mine(item, counts);
    free(counts);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t handles[MOST_THREADS];
    transactions = example_option(argc, argv, "transactions", 40000);
    rounds = example_work(argc, argv, "rounds", 12);
    threads = example_option(argc, argv, "threads", 8);
    example_need(threads >= 1 && threads <= MOST_THREADS && transactions > 0, "--threads, --transactions");
    tree = malloc((size_t)(transactions * DEPTH + 1) * sizeof *tree); /* site: tree */
    example_need(tree, "malloc");
    tree[ROOT] = (struct node){0};
    build();
    for (long i = 0; i < threads; i++)
        handles[i] = example_thread(work, (void *)i);
    unsigned long total = 0;
    for (long i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
        total += found[i];
    }
    printf("%u nodes, %lu frequent pairs\n", nodes, total);
    return 0;
}
