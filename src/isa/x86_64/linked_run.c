/* isa/x86_64/linked_run.c - the loop of a long burst. Runs in bursts: general registers only, no calls out. */
#include "isa/x86_64/frame.h"
#include "isa/x86_64/guard.h"
#include "isa/x86_64/linked.h"

static uint64_t address_of(const struct linked *linked, const struct linked_block *block)
{
    const struct decode_operand *operand = &block->through;
    uint64_t address = (uint64_t)operand->disp;
    if (operand->base == DECODE_RIP)
        address += block->next;
    else if (operand->base != DECODE_NONE)
        address += linked->general[operand->base];
    if (operand->index != DECODE_NONE)
        address += linked->general[operand->index] * operand->scale;
    if (operand->address32)
        address = (uint32_t)address;
    return address + linked_base(linked, operand->segment);
}

/* What translated code leaves to the engine; false: it would fault, and nothing was changed. */
static bool branch_by_hand(struct linked *linked, const struct linked_block *block)
{
    uint64_t *counter = &linked->general[DECODE_RCX], *sp = &linked->general[DECODE_RSP], target = block->last.target;
    bool zero = linked->flags & FLAG_ZERO, taken = true;
    switch (block->last.branch) {
    case BRANCH_JUMP_MEMORY:
        if (!guard_load(address_of(linked, block), &target))
            return false;
        break;
    case BRANCH_CALL_MEMORY:
        if (!guard_load(address_of(linked, block), &target) || !guard_store(*sp - 8, block->next))
            return false;
        *sp -= 8;
        break;
    case BRANCH_LOOP:
        taken = --*counter != 0;
        break;
    case BRANCH_LOOP_EQUAL:
        taken = --*counter != 0 && zero;
        break;
    case BRANCH_LOOP_UNEQUAL:
        taken = --*counter != 0 && !zero;
        break;
    case BRANCH_COUNTER_ZERO:
        taken = *counter == 0;
        break;
    default:
        return false;
    }
    linked->rip = taken ? target : block->next;
    return true;
}

static bool hand_over(struct linked *linked)
{
    bool more = linked->log == (uint64_t)linked->log_begin ||
                linked->consume(linked, linked->log_begin, (const uint64_t *)linked->log);
    linked->log = (uint64_t)linked->log_begin;
    return more;
}

static void enter(struct linked *linked, const struct linked_block *block)
{
    linked->exit_link = 0;
    linked->exit_block = UINT32_MAX;
    linked->running = true;
    ((void (*)(uint64_t))linked->enter)((uint64_t)linked->code + block->code);
    linked->running = false;
}

/* A string instruction in one go, then its lines. */
static bool run_repeat(struct linked *linked, const struct linked_block *block)
{
    uint64_t count = linked->general[DECODE_RCX], from[DECODE_MAX_OPERANDS] = {0, 0};
    if (count && linked->flags & FLAG_DIRECTION)
        return false;
    for (unsigned i = 0; i < block->operands; i++)
        from[i] = linked->general[linked->sites[block->first_site + i].segment];
    enter(linked, block);
    if (linked->faulted)
        return false;
    linked->rip = block->next;
    uint64_t bytes = (count - linked->general[DECODE_RCX]) * block->repeat_bytes;
    for (unsigned i = 0; i < block->operands && bytes; i++)
        for (uint64_t line = from[i] / CACHE_LINE; line <= (from[i] + bytes - 1) / CACHE_LINE; line++) {
            if (linked->mode == LINKED_COUNTS) {
                linked->left--;
                continue;
            }
            if (linked->log >= linked->log_limit && !hand_over(linked))
                linked->must_stop = true;
            uint64_t *record = (uint64_t *)linked->log;
            record[0] = LINKED_BLOCKS | (uint64_t)(block->first_site + i) << 32;
            record[1] = (uint64_t)(block - linked->blocks);
            record[2] = line * CACHE_LINE;
            linked->log += 3 * sizeof *record;
        }
    return true;
}

/* Links what was just left to the block, or lets indirect branches find it. */
static bool connect(struct linked *linked, const struct linked_block *block, uint32_t link)
{
    uint64_t code = (uint64_t)linked->code + block->code;
    if (link) {
        linked_link(linked, link, code);
        return true;
    }
    unsigned slot = block->pc & (LINKED_INDIRECT - 1);
    if (linked->indirect[slot].pc == 1) {
        if (linked->slot_count == LINKED_BLOCKS)
            return false;
        linked->slots[linked->slot_count++] = (uint16_t)slot;
    }
    linked->indirect[slot].pc = block->pc;
    linked->indirect[slot].code = code;
    return false;
}

static enum linked_stop run(struct linked *linked)
{
    uint32_t link = 0;
    for (;;) {
        uint64_t pc = linked->rip;
        if (linked->must_stop)
            return LINKED_ASKED;
        if (pc >= VSYSCALL_PAGE || !linked->may_run(pc))
            return LINKED_ELSEWHERE;
        if (!linked_has_room(linked)) { /* the log names blocks: it goes first */
            if (!hand_over(linked))
                return LINKED_ENOUGH;
            linked_forget(linked);
            link = 0;
        }
        uint32_t before = linked->block_count;
        const struct linked_block *block = linked_block_at(linked, pc);
        if (!block)
            return LINKED_UNREADABLE;
        if (block->kind == LINKED_STOPS) {
            linked->stop_name = (uint32_t)block->last.target;
            linked->stop_next = block->unknown ? 0 : block->next;
            return LINKED_INSTRUCTION;
        }
        bool changed = linked->block_count != before;
        if (block->kind == LINKED_RUNS)
            changed |= connect(linked, block, link);
        link = 0;
        if (changed && !frame_is_emulated())
            guard_serialize();
        if (block->kind == LINKED_REPEATS) {
            if (!run_repeat(linked, block))
                return LINKED_FAULT;
            if (linked->mode == LINKED_COUNTS && linked->left < 0)
                return LINKED_ENOUGH;
            continue;
        }
        enter(linked, block);
        if (linked->faulted)
            return LINKED_FAULT;
        if (linked->exit_block == LINKED_BLOCKS) {
            if (linked->mode == LINKED_COUNTS || !hand_over(linked))
                return LINKED_ENOUGH;
        } else if (linked->exit_link) {
            link = (uint32_t)linked->exit_link;
        } else if (linked->exit_block != UINT32_MAX) {
            const struct linked_block *left = &linked->blocks[linked->exit_block];
            if (!branch_by_hand(linked, left)) {
                linked->rip = left->pc + linked->places[left->first_place + left->places - 1].source;
                return LINKED_FAULT;
            }
        }
    }
}

/* The block that has code at this offset: they are in the order of their numbers. */
static const struct linked_block *linked_holding(const struct linked *linked, uint32_t offset)
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

static const struct linked_place *linked_place_at(const struct linked *linked, const struct linked_block *block,
                                                  uint32_t offset)
{
    const struct linked_place *places = &linked->places[block->first_place];
    unsigned which = block->places ? block->places - 1u : 0;
    while (which > 0 && places[which].code > offset)
        which--;
    return &places[which];
}

/* The last x87 instruction ran in translated code; to the program it did so at its own place. */
static void fix_x87(const struct linked *linked, uint8_t *image)
{
    uint64_t *last = (uint64_t *)(void *)(image + FRAME_X87_LAST), offset = *last - (uint64_t)linked->code;
    if (offset >= LINKED_CODE)
        return;
    const struct linked_block *block = linked_holding(linked, (uint32_t)offset);
    *last = block ? block->pc + linked_place_at(linked, block, (uint32_t)offset)->source : 0;
}

bool linked_run(struct linked *linked, struct engine *engine, ucontext_t *context)
{
    greg_t *general = context->uc_mcontext.gregs;
    uint64_t flags = (uint64_t)general[REG_EFL];
    struct decode_registers registers;
    if (flags & (FLAG_TRAP | FLAG_ALIGNMENT) || !vectors_fit(engine, context))
        return false;
    frame_registers(context, &registers, &engine->vectors);
    for (unsigned i = 0; i < 16; i++)
        ((volatile uint64_t *)linked->general)[i] = registers.general[i];
    linked->rip = registers.rip;
    linked->fs_base = registers.fs_base;
    linked->gs_base = registers.gs_base;
    linked->flags = flags & FLAGS_PROGRAM;
    linked->faulted = linked->must_stop = false;
    linked->log = (uint64_t)linked->log_begin;
    vectors_load(engine);
    linked->stopped = run(linked);
    vectors_keep(engine);
    fix_x87(linked, engine->image);
    hand_over(linked);
    for (unsigned i = 0; i < 16; i++)
        general[frame_order[i]] = (greg_t)linked->general[i];
    general[REG_RIP] = (greg_t)linked->rip;
    general[REG_EFL] = (greg_t)((flags & ~(uint64_t)(FLAGS_PROGRAM | FLAG_RESUME)) | (linked->flags & FLAGS_PROGRAM));
    return true;
}

bool linked_fault(struct linked *linked, ucontext_t *context)
{
    greg_t *general = context->uc_mcontext.gregs;
    uint64_t offset = (uint64_t)general[REG_RIP] - (uint64_t)linked->code;
    if (!linked->running || offset >= LINKED_CODE)
        return false;
    const struct linked_block *block = linked_holding(linked, (uint32_t)offset);
    if (!block)
        return false;
    for (unsigned i = 0; i < 16; i++)
        ((volatile uint64_t *)linked->general)[i] = (uint64_t)general[frame_order[i]];
    linked->flags = (uint64_t)general[REG_EFL] & FLAGS_PROGRAM;
    if (offset >= block->body && offset < block->end) {
        linked->general[block->x] = linked->save_x;
        linked->general[block->y] = linked->save_y;
    }
    const struct linked_place *place = linked_place_at(linked, block, (uint32_t)offset);
    if (place->scratch != DECODE_NONE)
        linked->general[place->scratch] = linked->scratch;
    linked->rip = block->pc + place->source;
    linked->faulted = true;
    if (linked->mode == LINKED_LOGS && block->accesses) /* of its record, only so many accesses were made */
        ((uint64_t *)linked->log)[-(int)block->accesses - 1] |= (uint64_t)(place->accesses + 1) << 32;
    general[REG_RIP] = (greg_t)linked->leave_restored;
    general[REG_RSP] = (greg_t)linked->own_sp;
    general[REG_EFL] &= ~(greg_t)(FLAG_DIRECTION | FLAG_ALIGNMENT | FLAG_RESUME);
    return true;
}
