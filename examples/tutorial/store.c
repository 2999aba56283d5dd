/* store.c - a key-value store in memory, for docs/tutorial.md: main loads the table, then each worker answers the requests
 * for its own shard.
 * Truth: main touches every page of `table` first, so all of it is on main's node; with four nodes and a worker on each,
 * three quarters of the accesses to it are remote. first-touch.patch corrects it: each worker loads its shard. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 4, SHARD = 1 << 21, REQUESTS = 30000000 };

struct entry {
    uint64_t key, value;
};

static struct entry *table;

static uint64_t mix(uint64_t number)
{
    number = (number ^ number >> 33) * 0xff51afd7ed558ccdu;
    return number ^ number >> 29;
}

/* A shard has every key below SHARD once, at a place that follows from it. */
static void load(long shard)
{
    for (uint64_t key = 0; key < SHARD; key++) {
        struct entry *entry = &table[shard * SHARD + (long)(mix(key) % SHARD)];
        entry->key = key;
        entry->value = key * key;
    }
}

static uint64_t answer(long shard, uint64_t request)
{
    struct entry *entry = &table[shard * SHARD + (long)(mix(request) % SHARD)];
    return entry->key ^ entry->value;
}

static void *work(void *argument)
{
    long shard = (long)argument;
    uint64_t sum = 0, request = (uint64_t)shard;
    for (long i = 0; i < REQUESTS; i++) {
        request = request * 6364136223846793005u + 1442695040888963407u;
        sum += answer(shard, request >> 20);
    }
    return (void *)sum;
}

int main(void)
{
    table = calloc(WORKERS * (size_t)SHARD, sizeof *table);
    if (!table)
        return 1;
    for (long shard = 0; shard < WORKERS; shard++)
        load(shard);
    pthread_t workers[WORKERS];
    for (long i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, (void *)i);
    uint64_t sum = 0;
    for (long i = 0; i < WORKERS; i++) {
        void *part;
        pthread_join(workers[i], &part);
        sum += (uint64_t)part;
    }
    printf("%ld requests answered, sum %016lx\n", (long)WORKERS * REQUESTS, sum);
    free(table);
    return 0;
}
