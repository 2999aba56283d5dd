/* migrate/page_map.c - pages are found by a hash, their accesses hang on them as short lists; a survey puts both in
 * order with one radix sort and one pass, so that a million pages cost some tens of milliseconds. */
#include "migrate/page_map.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_BITS = 45, PARTS = 64, NONE = -1, AHEAD = 16 }; /* 57-bit addresses, pages of at least 4 KiB */

#define PAGE_MASK (((uint64_t)1 << PAGE_BITS) - 1)

struct entry {
    uint32_t thread, node;
    uint32_t reads, writes, timed;
    int32_t next;
    uint64_t latency;
    uint64_t parts; /* a bit for each 64th of the page: on pages of 4 KiB a cache line */
};

struct slot {
    uint64_t key; /* process index and page number */
    int32_t first;
    uint32_t entries;
};

struct page_map {
    size_t most;
    unsigned shift;
    struct map64 index_of_pid, slot_of_key, threads;
    array_of(uint32_t) pids;
    array_of(struct slot) slots;
    array_of(struct entry) entries;
    array_of(struct nlens_policy_page) pages;
    array_of(struct nlens_policy_access) accesses;
    struct slot *sorted; /* room for the sort */
    size_t sorted_room;
    uint64_t samples, lost;
};

unsigned page_shift(void)
{
    return (unsigned)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
}

struct page_map *page_map_new(size_t most_pages)
{
    struct page_map *map = mem_zalloc(sizeof *map);
    map->most = most_pages < INT32_MAX / 4 ? most_pages : INT32_MAX / 4;
    map->shift = page_shift();
    return map;
}

void page_map_free(struct page_map *map)
{
    if (!map)
        return;
    map64_free(&map->index_of_pid);
    map64_free(&map->slot_of_key);
    map64_free(&map->threads);
    array_free(&map->pids);
    array_free(&map->slots);
    array_free(&map->entries);
    array_free(&map->pages);
    array_free(&map->accesses);
    free(map->sorted);
    free(map);
}

static uint64_t key_of(struct page_map *map, uint32_t pid, uint64_t addr)
{
    bool is_new;
    uint64_t *index = map64_insert(&map->index_of_pid, pid, &is_new);
    if (is_new) {
        *index = map->pids.count;
        array_push(&map->pids, pid);
    }
    return *index << PAGE_BITS | (addr >> map->shift & PAGE_MASK);
}

static struct slot *slot_of(struct page_map *map, uint64_t key)
{
    uint64_t *number = map64_find(&map->slot_of_key, key);
    if (number)
        return &map->slots.items[*number];
    if (map->slots.count >= map->most)
        return NULL;
    *map64_insert(&map->slot_of_key, key, NULL) = map->slots.count;
    array_push(&map->slots, (struct slot){.key = key, .first = NONE});
    return &map->slots.items[map->slots.count - 1];
}

static struct entry *entry_of(struct page_map *map, struct slot *slot, uint32_t thread, uint32_t node)
{
    for (int32_t i = slot->first; i != NONE; i = map->entries.items[i].next)
        if (map->entries.items[i].thread == thread && map->entries.items[i].node == node)
            return &map->entries.items[i];
    if (map->entries.count >= 4 * map->most)
        return NULL;
    array_push(&map->entries, (struct entry){.thread = thread, .node = node, .next = slot->first});
    slot->first = (int32_t)(map->entries.count - 1);
    slot->entries++;
    return &map->entries.items[slot->first];
}

void page_map_add(struct page_map *map, const struct page_access *access)
{
    map->samples++;
    map64_insert(&map->threads, (uint64_t)access->pid << 32 | access->thread, NULL);
    struct slot *slot = slot_of(map, key_of(map, access->pid, access->addr));
    struct entry *entry = slot ? entry_of(map, slot, access->thread, access->node) : NULL;
    if (!entry) {
        map->lost++;
        return;
    }
    entry->reads += !access->write;
    entry->writes += access->write;
    uint64_t within = access->addr & (((uint64_t)1 << map->shift) - 1);
    entry->parts |= (uint64_t)1 << (within * PARTS >> map->shift);
    if (access->timed) {
        entry->timed++;
        entry->latency += access->latency;
    }
}

ORDER_BY(by_pid, uint32_t, ORDER(*a, *b))

/* Numbers processes by their pids, so that the order of pages is the same in every interval. */
static void order_processes(struct page_map *map)
{
    if (map->pids.count < 2)
        return;
    uint32_t *rank = mem_alloc(map->pids.count * sizeof *rank), *former = mem_alloc(map->pids.count * sizeof *former);
    memcpy(former, map->pids.items, map->pids.count * sizeof *former);
    array_sort(&map->pids, by_pid);
    for (size_t i = 0; i < map->pids.count; i++)
        *map64_find(&map->index_of_pid, map->pids.items[i]) = i;
    for (size_t i = 0; i < map->pids.count; i++)
        rank[i] = (uint32_t)*map64_find(&map->index_of_pid, former[i]);
    map64_free(&map->slot_of_key);
    for (size_t i = 0; i < map->slots.count; i++) {
        uint64_t key = map->slots.items[i].key;
        map->slots.items[i].key = (uint64_t)rank[key >> PAGE_BITS] << PAGE_BITS | (key & PAGE_MASK);
    }
    free(rank);
    free(former);
}

/* Bytes of the keys that are all alike need no pass: mostly three or four of eight remain. */
static void sort_slots(struct page_map *map)
{
    size_t count = map->slots.count, (*places)[257] = mem_zalloc(8 * sizeof *places);
    for (size_t i = 0; i < count; i++)
        for (unsigned byte = 0; byte < 8; byte++)
            places[byte][(map->slots.items[i].key >> 8 * byte & 255) + 1]++;
    if (map->sorted_room < count) {
        map->sorted_room = map->slots.capacity;
        map->sorted = mem_resize(map->sorted, map->sorted_room * sizeof *map->sorted);
    }
    for (unsigned byte = 0; byte < 8; byte++) {
        bool alike = false;
        for (unsigned value = 0; value < 256; value++) {
            alike |= places[byte][value + 1] == count;
            places[byte][value + 1] += places[byte][value];
        }
        if (alike)
            continue;
        for (size_t i = 0; i < count; i++)
            map->sorted[places[byte][map->slots.items[i].key >> 8 * byte & 255]++] = map->slots.items[i];
        struct slot *other = map->slots.items;
        map->slots.items = map->sorted;
        map->sorted = other;
        size_t room = map->slots.capacity;
        map->slots.capacity = map->sorted_room;
        map->sorted_room = room;
    }
    free(places);
}

/* Lists are scattered: fetch those of the pages that come next. */
static void fetch_ahead(const struct page_map *map, size_t page)
{
    if (page + AHEAD < map->slots.count && map->slots.items[page + AHEAD].first != NONE)
        __builtin_prefetch(&map->entries.items[map->slots.items[page + AHEAD].first]);
    if (page + AHEAD / 2 >= map->slots.count || map->slots.items[page + AHEAD / 2].first == NONE)
        return;
    int32_t next = map->entries.items[map->slots.items[page + AHEAD / 2].first].next;
    if (next != NONE)
        __builtin_prefetch(&map->entries.items[next]);
}

void page_map_survey(struct page_map *map, struct nlens_policy_page **pages, size_t *page_count,
                     struct nlens_policy_access **accesses)
{
    order_processes(map);
    sort_slots(map);
    map64_free(&map->slot_of_key); /* slots have moved */
    map->pages.count = map->accesses.count = 0;
    array_reserve(&map->pages, map->slots.count);
    array_reserve(&map->accesses, map->entries.count);
    array_each (&map->slots, struct slot, slot) {
        fetch_ahead(map, (size_t)(slot - map->slots.items));
        struct nlens_policy_page page = {
            .address = (slot->key & PAGE_MASK) << map->shift,
            .bytes = (uint64_t)1 << map->shift,
            .pid = map->pids.items[slot->key >> PAGE_BITS],
            .home = NLENS_NOWHERE,
            .access_count = slot->entries,
            .accesses = map->accesses.items + map->accesses.count,
        };
        for (int32_t i = slot->first; i != NONE; i = map->entries.items[i].next) {
            const struct entry *entry = &map->entries.items[i];
            map->accesses.items[map->accesses.count++] = (struct nlens_policy_access){
                .thread = entry->thread,
                .node = entry->node,
                .reads = entry->reads,
                .writes = entry->writes,
                .timed = entry->timed,
                .lines = (uint32_t)__builtin_popcountll(entry->parts),
                .latency = entry->latency,
            };
        }
        map->pages.items[map->pages.count++] = page;
    }
    *pages = map->pages.items;
    *page_count = map->pages.count;
    *accesses = map->accesses.items;
}

void page_map_clear(struct page_map *map)
{
    map64_free(&map->index_of_pid);
    map64_free(&map->slot_of_key);
    map64_free(&map->threads);
    map->pids.count = map->slots.count = map->entries.count = 0;
    map->pages.count = map->accesses.count = 0;
    map->samples = map->lost = 0;
}

uint64_t page_map_samples(const struct page_map *map)
{
    return map->samples;
}

uint64_t page_map_lost(const struct page_map *map)
{
    return map->lost;
}

uint32_t page_map_threads(const struct page_map *map)
{
    return (uint32_t)map->threads.count;
}
