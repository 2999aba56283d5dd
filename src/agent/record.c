#include "agent/record.h"

#include <string.h>

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
