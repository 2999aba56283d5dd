/* agent/unwind/stack_chains.c - see agent/unwind/stack_chains.h. Runs in handlers. */
#include "agent/unwind/stack_chains.h"
#include "base/sys.h"

static struct stack_chain *free_place(struct stack_chain *items, uint32_t capacity, uint64_t hash)
{
    struct stack_chain *bucket = &items[hash >> 32 & (capacity - STACK_CHAINS_BUCKET)];
    for (unsigned i = 0; i < STACK_CHAINS_BUCKET; i++)
        if (bucket[i].number == 0 || bucket[i].hash == hash) /* the latter: a parent's number for it */
            return &bucket[i];
    return NULL;
}

static bool grow(struct stack_chains *chains)
{
    uint32_t capacity = chains->capacity ? chains->capacity * 4 : STACK_CHAINS_FIRST;
    if (capacity > STACK_CHAINS_MOST)
        return false;
    struct stack_chain *items = sys_pages(capacity * sizeof *items);
    if (!items)
        return false;
    struct stack_chains old = *chains;
    chains->items = items;
    chains->capacity = capacity;
    for (uint32_t i = 0; i < old.capacity; i++) {
        if (old.items[i].number == 0)
            continue;
        struct stack_chain *place = free_place(items, capacity, old.items[i].hash);
        if (place)
            *place = old.items[i];
        else
            chains->count--;
    }
    stack_chains_free(&old);
    return true;
}

void stack_chains_put(struct stack_chains *chains, uint64_t hash, uint32_t number)
{
    struct stack_chain *place;
    /* At half full one bucket in fifty has run over. */
    if (chains->count * 2 >= chains->capacity)
        grow(chains);
    if (!chains->items)
        return;
    while (!(place = free_place(chains->items, chains->capacity, hash)) && grow(chains))
        ;
    if (place)
        chains->count++;
    else
        place = &chains->items[hash >> 32 & (chains->capacity - STACK_CHAINS_BUCKET)] +
                chains->replacements++ % STACK_CHAINS_BUCKET;
    *place = (struct stack_chain){.hash = hash, .number = number};
}

void stack_chains_free(struct stack_chains *chains)
{
    if (chains->items)
        sys_unmap(chains->items, chains->capacity * sizeof *chains->items);
    *chains = (struct stack_chains){0};
}
