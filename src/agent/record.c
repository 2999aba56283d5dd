#include "agent/record.h"

#include <string.h>

void record_alloc(struct agent_thread *self, uint64_t addr, uint64_t size, enum alloc_fn fn, uint32_t stack)
{
    enum { WORDS = sizeof(struct wire_alloc) / 8 };
    struct wire_alloc *record = agent_reserve(self, WORDS, LOSS_RING_FULL, true);
    if (!record)
        return;
    record->head = (struct wire_head){.type = WIRE_ALLOC, .words = WORDS, .cpu = agent_cpu(), .value = stack};
    record->time = agent_time();
    record->addr = addr;
    record->size_fn = (size & (((uint64_t)1 << WIRE_FN_SHIFT) - 1)) | (uint64_t)fn << WIRE_FN_SHIFT;
    agent_commit(self, WORDS);
}

void record_free(struct agent_thread *self, uint64_t addr, enum alloc_fn fn)
{
    enum { WORDS = sizeof(struct wire_free) / 8 };
    struct wire_free *record = agent_reserve(self, WORDS, LOSS_RING_FULL, true);
    if (!record)
        return;
    record->head = (struct wire_head){.type = WIRE_FREE, .words = WORDS, .cpu = agent_cpu(), .value = fn};
    record->time = agent_time();
    record->addr = addr;
    agent_commit(self, WORDS);
}

void record_map(struct agent_thread *self, const struct record_map *map, uint32_t stack)
{
    size_t length = strnlen(map->path, WIRE_MAX_TEXT);
    uint32_t words = (uint32_t)(sizeof(struct wire_map) + length + 8) / 8;
    struct wire_map *record = agent_reserve(self, words, LOSS_RING_FULL, true);
    if (!record)
        return;
    record->head = (struct wire_head){.type = WIRE_MAP, .words = (uint8_t)words, .cpu = agent_cpu(), .value = stack};
    record->time = agent_time();
    record->addr = map->addr;
    record->size = map->size;
    record->offset = map->offset;
    record->prot = map->prot;
    record->flags = map->flags;
    record->map_kind = map->kind;
    memset((uint64_t *)record + words - 1, 0, 8);
    memcpy(record->path, map->path, length);
    agent_commit(self, words);
}

void record_unmap(struct agent_thread *self, uint64_t addr, uint64_t size)
{
    enum { WORDS = sizeof(struct wire_unmap) / 8 };
    struct wire_unmap *record = agent_reserve(self, WORDS, LOSS_RING_FULL, true);
    if (!record)
        return;
    record->head = (struct wire_head){.type = WIRE_UNMAP, .words = WORDS, .cpu = agent_cpu()};
    record->time = agent_time();
    record->addr = addr;
    record->size = size;
    agent_commit(self, WORDS);
}
