#include "base/map64.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static uint64_t random_seed(const void *place)
{
    const void *random = (const void *)getauxval(AT_RANDOM); /* 16 bytes that the kernel gives each program */
    uint64_t seed = 0;
    if (random)
        memcpy(&seed, random, sizeof seed);
    return seed ^ (uintptr_t)place;
}

static size_t home_of(const struct map64 *map, uint64_t key)
{
    return map64_hash(key ^ map->seed) & (map->capacity - 1);
}

static uint64_t usable(uint64_t key)
{
    return key - (key == MAP64_EMPTY);
}

static size_t slot_of(const struct map64 *map, uint64_t key)
{
    size_t mask = map->capacity - 1;
    size_t slot = home_of(map, key);
    while (map->keys[slot] != MAP64_EMPTY && map->keys[slot] != key)
        slot = (slot + 1) & mask;
    return slot;
}

uint64_t *map64_find(const struct map64 *map, uint64_t key)
{
    if (map->count == 0)
        return NULL;
    key = usable(key);
    size_t slot = slot_of(map, key);
    return map->keys[slot] == key ? &map->values[slot] : NULL;
}

static void grow(struct map64 *map)
{
    struct map64 old = *map;
    size_t capacity = old.capacity ? old.capacity * 2 : 64;
    uint64_t *keys = mem_alloc(capacity * sizeof *keys), *values = mem_alloc(capacity * sizeof *values);
    *map = (struct map64){.keys = keys, .values = values, .count = old.count, .capacity = capacity, .seed = old.seed};
    if (!old.capacity)
        map->seed = random_seed(map->keys);
    memset(map->keys, 0xff, map->capacity * sizeof *map->keys);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.keys[i] == MAP64_EMPTY)
            continue;
        size_t slot = slot_of(map, old.keys[i]);
        map->keys[slot] = old.keys[i];
        map->values[slot] = old.values[i];
    }
    free(old.keys);
    free(old.values);
}

uint64_t *map64_insert(struct map64 *map, uint64_t key, bool *is_new)
{
    if ((map->count + 1) * 4 > map->capacity * 3)
        grow(map);
    key = usable(key);
    size_t slot = slot_of(map, key);
    bool missing = map->keys[slot] != key;
    if (missing) {
        map->keys[slot] = key;
        map->values[slot] = 0;
        map->count++;
    }
    if (is_new)
        *is_new = missing;
    return &map->values[slot];
}

bool map64_remove(struct map64 *map, uint64_t key)
{
    if (map->count == 0)
        return false;
    key = usable(key);
    size_t mask = map->capacity - 1;
    size_t hole = slot_of(map, key);
    if (map->keys[hole] != key)
        return false;
    /* Linear probing without tombstones: pull back every later key of the run whose own slot is at or before the hole. */
    for (size_t next = (hole + 1) & mask; map->keys[next] != MAP64_EMPTY; next = (next + 1) & mask) {
        size_t home = home_of(map, map->keys[next]);
        if (((next - home) & mask) < ((next - hole) & mask))
            continue;
        map->keys[hole] = map->keys[next];
        map->values[hole] = map->values[next];
        hole = next;
    }
    map->keys[hole] = MAP64_EMPTY;
    map->count--;
    return true;
}

void map64_clear(struct map64 *map)
{
    if (map->count)
        memset(map->keys, 0xff, map->capacity * sizeof *map->keys);
    map->count = 0;
}

void map64_free(struct map64 *map)
{
    free(map->keys);
    free(map->values);
    *map = (struct map64){0};
}
