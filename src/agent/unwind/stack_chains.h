/* agent/unwind/stack_chains.h - which chains a thread has sent: from a chain's 64-bit hash to its number.
 *
 * Begins small, grows with what it holds and then forgets: a chain that is not found is sent again under a new number.
 * One wrong match is to be expected in 2^64 / STACK_CHAINS_MOST chains. Owned by one thread; handlers may call it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { STACK_CHAINS_BUCKET = 8, STACK_CHAINS_FIRST = 2048, STACK_CHAINS_MOST = 131072 };

struct stack_chain {
    uint64_t hash;
    uint32_t number; /* 0: nothing here */
};

struct stack_chains { /* zeroed = empty and ready */
    struct stack_chain *items;
    uint32_t capacity, count;
    uint32_t replacements; /* counts replacements, to spread them */
};

/* The chain's number, or 0. */
static inline uint32_t stack_chains_find(const struct stack_chains *chains, uint64_t hash)
{
    if (!chains->items)
        return 0;
    const struct stack_chain *bucket = &chains->items[hash >> 32 & (chains->capacity - STACK_CHAINS_BUCKET)];
    for (unsigned i = 0; i < STACK_CHAINS_BUCKET; i++)
        if (bucket[i].hash == hash)
            return bucket[i].number;
    return 0;
}

/* Remembers a chain that was not found. Without memory it does not, and the chain will be sent again. */
void stack_chains_put(struct stack_chains *chains, uint64_t hash, uint32_t number);

void stack_chains_free(struct stack_chains *chains);
