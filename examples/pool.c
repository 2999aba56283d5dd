/* pool.c - a program with an allocator of its own: nested pools in malloc'd blocks, with static functions that only the
 * symbol table knows. Truth: objects of site `table` get 40% of the accesses, `header` 30%, `body` 20%, `trailer` 10%.
 * A trailer is where a header was before its pool was cleared, and a body's pool ends with its parent's clearing; the
 * program ends with status 99 when it is not so. To malloc it is all the same: three blocks, allocated in `block_new`.
 * Record it with
 *     --pool-fn pool_create:create,parent=1 --pool-fn pool_open:create,out=1,ok=0,parent=2
 *     --pool-fn pool_alloc:alloc,pool=1,size=2 --pool-fn pool_zero:alloc,pool=1,size=2*3
 *     --pool-fn pool_clear:clear,pool=1 --pool-fn pool_destroy:destroy,pool=1 */
#include "example.h"

#define STATIC static __attribute__((noinline, noclone))

enum { BLOCK = 1 << 20 };

struct block {
    struct block *next;
    size_t used;
    char bytes[];
};

struct pool {
    struct pool *parent, *child, *sibling;
    struct block *block;
};

static struct block *unused; /* blocks are kept: malloc is asked for the first ones only */

STATIC struct block *block_new(void)
{
    struct block *block = unused;
    if (block)
        unused = block->next;
    else
        block = malloc(BLOCK); /* site: block */
    example_need(block, "malloc");
    block->used = 0;
    return block;
}

STATIC struct pool *pool_create(struct pool *parent)
{
    struct block *block = block_new();
    struct pool *pool = (struct pool *)block->bytes;
    *pool = (struct pool){.parent = parent, .block = block};
    block->used = sizeof *pool;
    if (parent) {
        pool->sibling = parent->child;
        parent->child = pool;
    }
    return pool;
}

/* The same with the pool in an argument. */
STATIC int pool_open(struct pool **pool, struct pool *parent)
{
    if (!parent)
        return -1;
    *pool = pool_create(parent);
    return 0;
}

STATIC void *pool_alloc(struct pool *pool, size_t size)
{
    size = (size + 63) / 64 * 64;
    if (pool->block->used + size > BLOCK - sizeof(struct block))
        return NULL;
    void *memory = pool->block->bytes + pool->block->used;
    pool->block->used += size;
    return memory;
}

/* Calls another one that is named: its callers are what matters. */
STATIC void *pool_zero(struct pool *pool, size_t count, size_t size)
{
    void *memory = pool_alloc(pool, count * size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

STATIC void pool_destroy(struct pool *pool);

STATIC void pool_clear(struct pool *pool)
{
    while (pool->child)
        pool_destroy(pool->child);
    pool->block->used = sizeof *pool;
}

STATIC void pool_destroy(struct pool *pool)
{
    pool_clear(pool);
    if (pool->parent) {
        struct pool **place = &pool->parent->child;
        while (*place != pool)
            place = &(*place)->sibling;
        *place = pool->sibling;
    }
    pool->block->next = unused;
    unused = pool->block;
}

/* One piece of code for all: phases weigh what they take, and a loop may take half as long again by its place alone. */
static __attribute__((noinline)) long use(volatile long *object, size_t count, long passes)
{
    long total = 0;
    for (long pass = 0; pass < passes; pass++) {
        for (size_t i = 0; i < count; i++)
            total += object[i];
    }
    return total;
}

int main(int argc, char **argv)
{
    size_t count = (size_t)example_option(argc, argv, "count", 8192);
    long rounds = example_option(argc, argv, "rounds", 100);
    long passes = example_work(argc, argv, "passes", 320);
    size_t size = count * sizeof(long);
    long total = 0;
    struct pool *root = pool_create(NULL), *request, *inner, *none;
    example_need(pool_open(&none, NULL) != 0, "failing to open a pool");
    long *table = pool_zero(root, count, sizeof *table); /* site: table */
    example_need(table, "pool_zero");
    for (long round = 0; round < rounds; round++) {
        request = pool_create(root);
        long *header = pool_alloc(request, size); /* site: header */
        example_need(header && pool_open(&inner, request) == 0, "pool_alloc");
        long *body = pool_zero(inner, count, sizeof *body); /* site: body */
        memset(header, 0, size);
        total += use(table, count, 4 * passes) + use(header, count, 3 * passes) + use(body, count, 2 * passes);
        pool_clear(request);
        long *trailer = pool_zero(request, count, sizeof *trailer); /* site: trailer */
        example_need(trailer == header, "getting the same address again");
        total += use(trailer, count, passes);
        pool_destroy(request);
    }
    printf("total %ld\n", total);
    if (example_flag(argc, argv, "truth")) {
        unsigned long each = count * (size_t)rounds * (size_t)passes;
        example_truth("table", "pool", 4 * each, 0);
        example_truth("header", "pool", 3 * each, 0);
        example_truth("body", "pool", 2 * each, 0);
        example_truth("trailer", "pool", each, 0);
    }
    return 0;
}
