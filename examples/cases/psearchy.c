/* psearchy.c - an indexer of words in small: every thread has many small objects, which nobody else uses.
 * Truth: ps.table, ps.blocks and tmp are three types of object, each allocated, written and read by one thread. They
 * are mixed in the same pages, because all threads allocate one by one from one arena, as they did in the paper's C
 * library; so most of them are remote to their users, though none is shared. No node has more traffic than the others.
 * --local is the paper's change: each thread gets its memory from pages of its own, which it is the first to touch. */
#include "cases.h"

#include <malloc.h>
#include <sys/mman.h>

enum { THREADS = 7, FILES = 64, SLOTS = 40, POSTINGS = 60, WORDS = 28 };

struct bucket {
    unsigned word, count;
};

struct block {
    unsigned postings[POSTINGS];
};

struct file_index { /* what one thread knows of one file */
    struct bucket *table;
    struct block *blocks;
};

struct arena {
    char *next, *end;
};

static long rounds;
static bool local;
static pthread_barrier_t turn;
static unsigned long sums[THREADS];

/* From the thread's own pages with --local, else from where all allocate. */
static void *get_memory(struct arena *arena, size_t bytes)
{
    if (!local)
        return malloc(bytes);
    bytes = (bytes + 15) & ~(size_t)15;
    if (arena->next + bytes > arena->end) {
        size_t size = 1 << 20;
        arena->next = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* site: arena */
        if (arena->next == MAP_FAILED)
            return NULL;
        arena->end = arena->next + size;
    }
    char *memory = arena->next;
    arena->next += bytes;
    return memory;
}

__attribute__((noinline)) static void pass0(struct file_index ps, unsigned seed)
{
    for (unsigned i = 0; i < WORDS; i++) {
        unsigned word = 1 + (seed + i * 2654435761u) % 97;
        unsigned slot = word % SLOTS;
        while (ps.table[slot].word && ps.table[slot].word != word)
            slot = (slot + 1) % SLOTS;
        ps.table[slot].word = word;
        ps.table[slot].count++;
        ps.blocks->postings[i * 2] += word;
    }
}

__attribute__((noinline)) static unsigned long sort_words(struct file_index ps, struct bucket *tmp)
{
    unsigned count = 0;
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if (!ps.table[slot].word)
            continue;
        unsigned at = count++;
        for (; at > 0 && tmp[at - 1].word > ps.table[slot].word; at--)
            tmp[at] = tmp[at - 1];
        tmp[at] = ps.table[slot];
    }
    unsigned long sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += (unsigned long)tmp[i].word * tmp[i].count * (i + 1);
    return sum;
}

static void *index_files(void *argument)
{
    unsigned number = (unsigned)(size_t)argument;
    struct arena arena = {0};
    struct file_index files[FILES];
    struct bucket *sorted[FILES];
    for (unsigned i = 0; i < FILES; i++) {
        struct file_index ps;
        pthread_barrier_wait(&turn);                             /* every thread opens its ith file at the same time */
        ps.table = get_memory(&arena, sizeof *ps.table * SLOTS); /* site: ps.table */
        ps.blocks = get_memory(&arena, sizeof *ps.blocks);       /* site: ps.blocks */
        struct bucket *tmp = get_memory(&arena, sizeof *tmp * SLOTS); /* site: tmp */
        example_need(ps.table && ps.blocks && tmp, "malloc");
        memset(ps.table, 0, sizeof *ps.table * SLOTS);
        memset(ps.blocks, 0, sizeof *ps.blocks);
        files[i] = ps;
        sorted[i] = tmp;
    }
    unsigned long sum = 0;
    for (long round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < FILES; i++) {
            pass0(files[i], i * THREADS + number);
            sum += sort_words(files[i], sorted[i]);
        }
    }
    sums[number] = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = example_work(argc, argv, "rounds", 15000);
    local = example_flag(argc, argv, "local");
    mallopt(M_ARENA_MAX, 1);
    pthread_barrier_init(&turn, NULL, THREADS);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = example_thread(index_files, (void *)i);
    unsigned long sum = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += sums[i];
    }
    printf("%u files, sum %lu\n", FILES * THREADS, sum);
    return 0;
}
