/* isa/linked.c - the loop of a long burst, whatever the processor. Runs in bursts: no calls out. */
#include "isa/linked.h"

/* Where in the table the search for a block begins. */
static unsigned hash_of(uint64_t pc)
{
    return (unsigned)(pc * 0x9e3779b97f4a7c15u >> 40) & (LINKED_TABLE - 1);
}

static uint16_t *place_of(struct linked *linked, uint64_t pc)
{
    unsigned at = hash_of(pc);
    while (linked->table[at] && linked->blocks[linked->table[at] - 1].pc != pc)
        at = (at + 1) & (LINKED_TABLE - 1);
    return &linked->table[at];
}

void linked_forget(struct linked *linked)
{
    for (uint32_t i = 0; i < linked->block_count; i++) {
        /* its place, and those that it was found behind: all belong to blocks, so all are cleared in the end */
        unsigned at = hash_of(linked->blocks[i].pc);
        for (; ((volatile uint16_t *)linked->table)[at]; at = (at + 1) & (LINKED_TABLE - 1))
            ((volatile uint16_t *)linked->table)[at] = 0;
    }
    for (uint32_t i = 0; i < linked->slot_count; i++)
        *(volatile uint64_t *)&linked->indirect[linked->slots[i]].pc = linked_empty(linked->slots[i]);
    linked->block_count = linked->site_count = linked->place_count = linked->slot_count = 0;
    linked->code_used = LINKED_ENTRY;
}

static bool has_room(const struct linked *linked)
{
    return linked->block_count + 1 < LINKED_BLOCKS && linked->code_used + LINKED_BLOCK_MOST <= LINKED_CODE &&
           linked->site_count + LINKED_ACCESSES + 2 <= LINKED_SITES &&
           linked->place_count + LINKED_UNROLLED * LINKED_INSTRUCTIONS <= LINKED_PLACES;
}

/* The block at an address, or NULL when nothing can be read there. */
static const struct linked_block *find_block(struct linked *linked, uint64_t pc)
{
    uint16_t *known = place_of(linked, pc);
    if (*known)
        return &linked->blocks[*known - 1];
    struct linked_block *block = &linked->blocks[linked->block_count];
    for (unsigned i = 0; i < sizeof *block; i++)
        ((volatile uint8_t *)block)[i] = 0;
    block->pc = pc;
    block->code = linked->code_used;
    block->first_site = linked->site_count;
    block->first_place = linked->place_count;
    if (!linked_translate(linked, block))
        return NULL;
    linked->translated++;
    *known = (uint16_t)++linked->block_count;
    return block;
}

bool linked_hand_over(struct linked *linked)
{
    bool more = linked->log == (uint64_t)linked->log_begin ||
                linked->consume(linked, linked->log_begin, (const uint64_t *)linked->log);
    linked->log = (uint64_t)linked->log_begin;
    return more;
}

void linked_enter_block(struct linked *linked, const struct linked_block *block)
{
    linked->exit_link = 0;
    linked->exit_block = UINT32_MAX;
    linked->running = true;
    linked_call_code(linked, (uint64_t)linked->code + block->code);
    linked->running = false;
}

/* Links what was just left to the block, or lets indirect branches find it. True: code was written. */
static bool connect(struct linked *linked, const struct linked_block *block, uint32_t link)
{
    uint64_t code = (uint64_t)linked->code + block->code;
    if (link) {
        linked_link(linked, link, code);
        return true;
    }
    unsigned slot = block->pc / LINKED_ALIGNMENT & (LINKED_INDIRECT - 1);
    if (linked->indirect[slot].pc == linked_empty(slot)) {
        if (linked->slot_count == LINKED_BLOCKS)
            return false;
        linked->slots[linked->slot_count++] = (uint16_t)slot;
    }
    linked->indirect[slot].pc = block->pc;
    linked->indirect[slot].code = code;
    return false;
}

enum linked_stop linked_loop(struct linked *linked)
{
    uint32_t link = 0;
    linked->faulted = linked->must_stop = false;
    linked->log = (uint64_t)linked->log_begin;
    for (;;) {
        uint64_t pc = linked->pc;
        if (linked->must_stop)
            return LINKED_ASKED;
        if (linked->mode == LINKED_COUNTS && linked->remaining < 0)
            return LINKED_ENOUGH;
        if ((int64_t)pc < 0 || !linked->may_run(pc))
            return LINKED_ELSEWHERE;
        if (!has_room(linked)) { /* the log names blocks: it goes first */
            if (!linked_hand_over(linked))
                return LINKED_ENOUGH;
            linked_forget(linked);
            link = 0;
        }
        uint32_t before = linked->block_count;
        const struct linked_block *block = find_block(linked, pc);
        if (!block)
            return LINKED_UNREADABLE;
        if (block->kind == LINKED_STOPS) {
            linked->stop_name = block->own.stop_name;
            linked->stop_next = block->next;
            return LINKED_INSTRUCTION;
        }
        bool changed = linked->block_count != before;
        if (block->kind == LINKED_RUNS)
            changed |= connect(linked, block, link);
        if (changed)
            linked_settle(linked);
        if (!linked_carry_out(linked, block))
            return LINKED_FAULT;
        link = (uint32_t)linked->exit_link;
        if (linked->exit_block == LINKED_BLOCKS && (linked->mode == LINKED_COUNTS || !linked_hand_over(linked)))
            return LINKED_ENOUGH;
    }
}

/* The block that has code at this offset: they are in the order of their numbers. */
const struct linked_block *linked_holding(const struct linked *linked, uint32_t offset)
{
    uint32_t low = 0, high = linked->block_count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (linked->blocks[middle].code <= offset)
            low = middle;
        else
            high = middle;
    }
    return linked->block_count ? &linked->blocks[low] : NULL;
}

const struct linked_place *linked_place_at(const struct linked *linked, const struct linked_block *block,
                                           uint32_t offset)
{
    const struct linked_place *places = &linked->places[block->first_place];
    unsigned which = block->places ? block->places - 1u : 0;
    while (which > 0 && places[which].code > offset)
        which--;
    return &places[which];
}

void linked_end_at(struct linked *linked, const struct linked_block *block, const struct linked_place *place)
{
    linked->pc = block->pc + place->source;
    linked->faulted = true;
    if (linked->mode == LINKED_LOGS && block->accesses) /* of its record, only so many accesses were made */
        ((uint64_t *)linked->log)[-(int)block->accesses - 1] |= (uint64_t)(place->accesses + 1) << 32;
}
