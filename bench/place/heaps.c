/* heaps.c - what a heap for one placed site costs: numalens's own under `numalens apply`, or with -DMIMALLOC an arena of mimalloc's, in a
 * range of its own, as a placing library would have it: a heap belongs to a thread there.
 *
 *     heaps pairs N      nanoseconds of CPU time of a pair of malloc and free, of 64 blocks alive
 *     heaps handed N     likewise, each block allocated by one thread and freed by another
 *     heaps live N       resident bytes for each byte of N blocks alive, of 16 to 1,039 bytes, most of them small
 *     heaps later N      likewise, after three quarters were freed at random and blocks twice as large took their place */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef MIMALLOC
#include <mimalloc.h>

static mi_arena_id_t arena;
static _Thread_local mi_heap_t *heap;

static void begin(void)
{
    size_t size = (size_t)1 << 32;
    char *range = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    range = (char *)(((uintptr_t)range + (64 << 20) - 1) & ~(uintptr_t)((64 << 20) - 1));
    if (!mi_manage_os_memory_ex(range, size, true, false, true, -1, true, &arena))
        exit(2);
}

static __attribute__((noinline)) void *block_new(size_t size)
{
    if (!heap)
        heap = mi_heap_new_in_arena(arena);
    return mi_heap_malloc(heap, size);
}

static void block_free(void *block)
{
    mi_free(block);
}
#else
static void begin(void)
{
}

static __attribute__((noinline)) void *block_new(size_t size)
{
    void *block = malloc(size);
    __asm__ volatile("" : "+r"(block));
    return block;
}

static void block_free(void *block)
{
    free(block);
}
#endif

enum { KEPT = 64, HANDED = 1024 };

static uint64_t state = 88172645463325252u;

static size_t some_size(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    size_t most = (size_t)16 << state % 7;
    return 16 + (state >> 20) % most;
}

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double resident(void)
{
    long pages = 0, unused;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &unused, &pages) != 2)
        exit(2);
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void pairs(long count)
{
    void *kept[KEPT] = {0};
    double began = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (long i = 0; i < count; i++) {
        block_free(kept[i % KEPT]);
        kept[i % KEPT] = block_new(16 + (size_t)(i % 13) * 24);
    }
    printf("%.3f\n", (now_ns(CLOCK_PROCESS_CPUTIME_ID) - began) / (double)count);
}

static pthread_barrier_t turn;
static void *handed[HANDED];

static void *free_them(void *count)
{
    for (long i = 0; i < *(long *)count; i += HANDED) {
        pthread_barrier_wait(&turn);
        for (unsigned k = 0; k < HANDED; k++)
            block_free(handed[k]);
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

static void hand_over(long count)
{
    pthread_t other;
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&other, NULL, free_them, &count);
    double began = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (long i = 0; i < count; i += HANDED) {
        for (unsigned k = 0; k < HANDED; k++)
            handed[k] = block_new(16 + (size_t)(k % 13) * 24);
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
    }
    pthread_join(other, NULL);
    printf("%.3f\n", (now_ns(CLOCK_PROCESS_CPUTIME_ID) - began) / (double)count);
}

static void live(size_t count, int later)
{
    size_t map = count * (sizeof(char *) + sizeof(size_t)), asked = 0;
    char **blocks = mmap(NULL, map, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    size_t *sizes = (size_t *)(blocks + count);
    double before = resident();
    for (int pass = 0; pass <= later; pass++) {
        for (size_t i = 0; i < count; i++) {
            if (pass && (state = state * 6364136223846793005u + 1) >> 62 == 0)
                continue;
            if (blocks[i])
                block_free(blocks[i]);
            asked -= sizes[i];
            blocks[i] = NULL;
            sizes[i] = 0;
        }
        for (size_t i = 0; i < count; i++) {
            if (blocks[i])
                continue;
            sizes[i] = some_size() << pass;
            asked += sizes[i];
            blocks[i] = block_new(sizes[i]);
            memset(blocks[i], 1, sizes[i]);
        }
    }
    printf("%.3f\n", (resident() - before) / (double)asked);
}

int main(int argc, char **argv)
{
    long count = argc > 2 ? atol(argv[2]) : 0;
    if (count < 1)
        return 2;
    begin();
    if (strcmp(argv[1], "pairs") == 0)
        pairs(count);
    else if (strcmp(argv[1], "handed") == 0)
        hand_over(count);
    else
        live((size_t)count, strcmp(argv[1], "later") == 0);
    return 0;
}
