/* base/map64.h - a hash map from 64-bit keys to 64-bit values. MAP64_EMPTY as a key is taken for the one before it: keys are addresses
 * and handles of other people's programs, and may be any number. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP64_EMPTY UINT64_MAX

struct map64 { /* zeroed = empty and ready */
    uint64_t *keys, *values;
    size_t count, capacity;
    uint64_t seed; /* another one in each map of each process: nobody can make keys that all want one place */
};

/* The value's place, or NULL. Valid until the next insertion or removal. */
uint64_t *map64_find(const struct map64 *map, uint64_t key);

/* The value's place, made (zero) when the key is new; `*is_new` may be NULL. */
uint64_t *map64_insert(struct map64 *map, uint64_t key, bool *is_new);

bool map64_remove(struct map64 *map, uint64_t key);
void map64_clear(struct map64 *map); /* keeps its memory, for as many entries again */
void map64_free(struct map64 *map);

static inline uint64_t map64_hash(uint64_t key)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

/* The first entry from `at` on, or the capacity. */
static inline size_t map64_next(const struct map64 *map, size_t at)
{
    while (at < map->capacity && map->keys[at] == MAP64_EMPTY)
        at++;
    return at;
}

/* Each entry, at keys[at] and values[at]. */
#define map64_each(map, at) for (size_t at = map64_next(map, 0); at < (map)->capacity; at = map64_next(map, at + 1))
