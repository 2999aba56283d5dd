/* isa/x86_64/linked_map.c - memory of long bursts: code that runs, the same to write to, state and log. See slots.c. */
#include "isa/x86_64/frame.h"
#include "isa/x86_64/linked.h"

enum { ENTRY_BYTES = 1024, LOG_BYTES = LINKED_LOG * 8 };

static size_t state_bytes(void)
{
    return (sizeof(struct linked) + PAGE_UNIT - 1) & ~(PAGE_UNIT - 1ul);
}

size_t linked_bytes(void)
{
    return 2 * (size_t)LINKED_CODE + state_bytes() + LOG_BYTES;
}

static void emit_ways(struct linked *linked)
{
    struct emit_state state = {linked->general, &linked->flags, &linked->own_sp, &linked->target};
    struct emitter out = {.to = linked->writable, .at = (uint64_t)linked->code};
    linked->enter = out.at;
    emit_enter(&out, &state);
    out.count = (out.count + 63) & ~63u;
    linked->leave = out.at + out.count;
    linked->leave_restored = emit_way_out(&out, &state);
    linked->code_used = ENTRY_BYTES;
}

struct linked *linked_make(void *reserved)
{
    uint8_t *base = reserved;
    if (!slots_map(base, LINKED_CODE, state_bytes() + LOG_BYTES))
        return NULL;
    struct linked *linked = (struct linked *)(base + 2 * (size_t)LINKED_CODE);
    linked->code = base;
    linked->writable = base + LINKED_CODE;
    linked->log_begin = (uint64_t *)((uint8_t *)linked + state_bytes());
    linked->log_end = linked->log_begin + LINKED_LOG;
    linked->log_limit = (uint64_t)(linked->log_end - LINKED_ACCESSES - 2);
    linked->log_minus = -linked->log_limit;
    uint64_t area = 0;
    linked->has_sequence = frame_rseq_area(0, &area);
    linked->sequence_at = (int64_t)area;
    for (unsigned i = 0; i < LINKED_INDIRECT; i++)
        *(volatile uint64_t *)&linked->indirect[i].pc = 1; /* no address: an empty place */
    emit_ways(linked);
    return linked;
}

void linked_forget(struct linked *linked)
{
    for (uint32_t i = 0; i < linked->block_count; i++) {
        /* its place, and those that it was found behind: all belong to blocks, so all are cleared in the end */
        unsigned at = linked_hash(linked->blocks[i].pc);
        for (; ((volatile uint16_t *)linked->table)[at]; at = (at + 1) & (LINKED_TABLE - 1))
            ((volatile uint16_t *)linked->table)[at] = 0;
    }
    for (uint32_t i = 0; i < linked->slot_count; i++)
        *(volatile uint64_t *)&linked->indirect[linked->slots[i]].pc = 1;
    linked->block_count = linked->site_count = linked->place_count = linked->slot_count = 0;
    linked->code_used = ENTRY_BYTES;
}
