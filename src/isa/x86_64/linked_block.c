/* isa/x86_64/linked_block.c - translation of whole basic blocks. Runs in bursts: general registers only, no calls out. */
#include "isa/linked.h"
#include "isa/x86_64/frame.h"
#include "isa/x86_64/guard.h"
#include "isa/x86_64/linked_code.h"

enum { ALWAYS = 16 /* behind the sixteen conditions of a jump */ };

struct instruction {
    struct decoded decoded;
    struct outline outline;
    uint8_t at;
};

/* A block that is being made. */
struct making {
    struct linked *linked;
    struct linked_block *block;
    struct emitter out;
    uint8_t bytes[LINKED_SOURCE + DECODE_MAX_BYTES];
    size_t readable;
    struct instruction instructions[LINKED_INSTRUCTIONS];
    unsigned count, number; /* of instructions; of the block */
    bool free_flags;        /* nobody reads them before they are overwritten */
    uint32_t full_from;     /* where the jump is that leaves because the log is full or enough was counted; 0: none */
    unsigned passes;        /* a loop's iterations in the block */
    struct {
        uint32_t link;
    } early[LINKED_UNROLLED];
};

/* A jump whose target is filled in later; returns where. */
static uint32_t put_open_jump(struct making *making, unsigned condition)
{
    struct emitter *out = &making->out;
    if (condition < ALWAYS) {
        put(out, 0x0f);
        put(out, 0x80 | condition);
    } else {
        put(out, 0xe9);
    }
    uint32_t link = (uint32_t)(out->at + out->count - (uint64_t)making->linked->code);
    put_number(out, 0, 4);
    return link;
}

void linked_link(struct linked *linked, uint32_t link, uint64_t to)
{
    *(volatile int32_t *)(void *)(linked->writable + link) = (int32_t)(to - ((uint64_t)linked->code + link + 4));
}

/* Where a jump goes while the block behind it is not known: out, with where it is to be linked. */
static void put_stub(struct making *making, uint32_t link, uint64_t pc)
{
    struct linked *linked = making->linked;
    struct emitter *out = &making->out;
    linked_link(linked, link, out->at + out->count);
    put_words(out, &linked->pc, pc);
    put_word(out, &linked->exit_link, link);
    put_jump(out, linked->leave);
}

static void put_exit(struct making *making, uint64_t pc)
{
    put_stub(making, put_open_jump(making, ALWAYS), pc);
}

static void put_restore(struct making *making)
{
    put_load(&making->out, making->block->x, &making->linked->state.save_x);
    put_load(&making->out, making->block->y, &making->linked->state.save_y);
}

static void put_keep(struct making *making)
{
    put_store(&making->out, making->block->x, &making->linked->state.save_x);
    put_store(&making->out, making->block->y, &making->linked->state.save_y);
}

/* An indirect branch to where x points. Looked up by its lowest bits without a change of flags: jrcxz is the only branch that needs
 * none. x, y are saved. */
static void put_indirect(struct making *making)
{
    struct linked *linked = making->linked;
    struct emitter *out = &making->out;
    unsigned x = making->block->x, y = making->block->y;
    put_store(out, x, &linked->pc);
    put_store(out, DECODE_RCX, &linked->state.save_cx);
    put_load(out, DECODE_RCX, &linked->pc);
    put(out, 0x48); /* not rcx */
    put(out, 0xf7);
    put(out, 0xd1);
    put(out, 0x40 | (y >> 3) << 2 | x >> 3); /* movzx y, x's lowest 16 bits */
    put(out, 0x0f);
    put(out, 0xb7);
    put(out, 0xc0 | (y & 7) << 3 | (x & 7));
    put_relative(out, OP_LEA, x, linked->indirect);
    put_sum(out, y, DECODE_NONE, y, 8, 0);
    put_sum(out, x, x, y, 2, 0);
    put_at(out, OP_LOAD, y, x, 0);
    put_sum(out, DECODE_RCX, DECODE_RCX, y, 1, 1); /* 0 where they are the same */
    put(out, 0xe3);
    put(out, 0);
    uint32_t from = out->count;
    put_load(out, DECODE_RCX, &linked->state.save_cx);
    put_restore(making);
    put_word(out, &linked->exit_link, 0);
    put_word(out, &linked->exit_block, UINT32_MAX);
    put_jump(out, linked->leave);
    out->to[from - 1] = (uint8_t)(out->count - from);
    put_at(out, OP_LOAD, y, x, 8);
    put_store(out, y, &linked->state.target);
    put_load(out, DECODE_RCX, &linked->state.save_cx);
    put_restore(making);
    put_jump_through(out, &linked->state.target);
}

/* Gathers, and sums that lea cannot make, run by themselves. */
static bool can_log(const struct decoded *decoded)
{
    for (unsigned i = 0; i < decoded->operand_count; i++) {
        const struct decode_operand *operand = &decoded->operands[i];
        if (operand->elements || operand->low_byte || operand->disp != (int32_t)operand->disp)
            return false;
    }
    return true;
}

/* A restartable sequence begins with a store to the thread's area, and then the kernel must see the thread at its own addresses. Here
 * only what goes by fs is seen; the caller looks for the others. */
static bool begins_sequence(const struct linked *linked, const struct decoded *decoded)
{
    for (unsigned i = 0; i < decoded->operand_count; i++) {
        const struct decode_operand *operand = &decoded->operands[i];
        if (!(operand->flags & SAMPLE_WRITE) || operand->segment != DECODE_FS)
            continue;
        bool fixed = operand->base == DECODE_NONE && operand->index == DECODE_NONE;
        if ((!linked->has_sequence || !fixed) && operand->size == 8)
            return true;
        if (linked->has_sequence && fixed && operand->disp + operand->size > linked->sequence_at &&
            operand->disp < linked->sequence_at + RSEQ_BYTES)
            return true;
    }
    return false;
}

static void decode_next(struct making *making, struct instruction *next, unsigned at)
{
    next->at = (uint8_t)at;
    next->outline = (struct outline){.kind = OUTLINE_STOP};
    if (decode_instruction(making->bytes + at, making->readable - at, &next->decoded))
        outline_of(&next->decoded, making->block->pc + at, &next->outline);
    else
        next->decoded = (struct decoded){.length = 0};
    if (!can_log(&next->decoded) || begins_sequence(making->linked, &next->decoded))
        next->outline.kind = OUTLINE_STOP;
}

/* Of r8 to r15. */
static bool has_two_free(unsigned used)
{
    unsigned free = 0xff00 & ~used;
    return free & (free - 1);
}

/* Finds how far the block goes, and two registers that it does not use. */
static void decode_block(struct making *making)
{
    struct linked_block *block = making->block;
    unsigned at = 0, used = 0;
    while (making->count < LINKED_INSTRUCTIONS && at < LINKED_SOURCE) {
        struct instruction *next = &making->instructions[making->count];
        decode_next(making, next, at);
        bool alone = next->outline.kind == OUTLINE_STOP || next->outline.kind == OUTLINE_REPEAT;
        if (alone && making->count > 0)
            break;
        unsigned now = used | linked_registers(&next->decoded, making->bytes + at);
        if (making->count > 0 &&
            (block->accesses + next->decoded.operand_count > LINKED_ACCESSES || !has_two_free(now)))
            break;
        used = now;
        at += next->decoded.length;
        making->count++;
        block->own.last = next->outline;
        if (alone) {
            block->kind = next->outline.kind == OUTLINE_STOP ? LINKED_STOPS : LINKED_REPEATS;
            break;
        }
        block->accesses = (uint8_t)(block->accesses + next->decoded.operand_count);
        if (next->outline.kind == OUTLINE_BRANCH)
            break;
    }
    block->next = block->pc + at;
    unsigned free = 0xff00 & ~used;
    block->x = (uint8_t)__builtin_ctz(free);
    block->y = (uint8_t)__builtin_ctz(free & (free - 1));
}

static void add_sites(struct making *making, const struct instruction *instruction)
{
    struct linked *linked = making->linked;
    for (unsigned i = 0; i < instruction->decoded.operand_count; i++) {
        const struct decode_operand *operand = &instruction->decoded.operands[i];
        struct linked_site *site = &linked->sites[linked->site_count++];
        site->size = operand->size;
        site->flags = operand->flags;
        site->segment = making->block->kind == LINKED_REPEATS ? operand->base : operand->segment;
        site->source = instruction->at;
    }
}

static void add_place(struct making *making, const struct instruction *instruction, unsigned accesses)
{
    struct linked_place *place = &making->linked->places[making->linked->place_count++];
    bool saved = instruction->outline.kind == OUTLINE_COPY && instruction->decoded.rip_at;
    place->code = making->block->code + making->out.count;
    place->source = instruction->at;
    place->accesses = (uint8_t)accesses;
    place->scratch = saved ? instruction->outline.scratch : LINKED_NO_REGISTER;
    making->block->places++;
}

/* A string instruction, whole; linked_run.c logs its lines. */
static void make_repeat(struct making *making)
{
    struct linked_block *block = making->block;
    const struct instruction *only = &making->instructions[0];
    block->own.operands = only->decoded.operand_count;
    block->own.repeat_bytes = (uint8_t)only->decoded.operands[0].size;
    add_sites(making, only);
    add_place(making, only, 0);
    block->own.body = block->own.end = block->code;
    put_bytes(&making->out, making->bytes, only->decoded.length);
    put_word(&making->out, &making->linked->exit_link, 0);
    put_word(&making->out, &making->linked->exit_block, making->number);
    put_jump(&making->out, making->linked->leave);
}

/* Takes its record's room in the log, or leaves when that is full. Without flags: rcx = the highest byte of log - limit, which is 0
 * once the limit is reached. */
static void begin_log(struct making *making)
{
    struct linked *linked = making->linked;
    struct linked_block *block = making->block;
    struct emitter *out = &making->out;
    put_keep(making);
    block->own.body = block->code + out->count;
    put_load(out, block->x, &linked->log);
    if (making->free_flags) {
        put_relative(out, 0x3b, block->x, &linked->log_limit);
        put(out, 0x0f); /* jae */
        put(out, 0x83);
        put_number(out, 0, 4);
        making->full_from = out->count;
    } else {
        put_store(out, DECODE_RCX, &linked->state.save_cx);
        put_load(out, block->y, &linked->state.log_minus);
        put_sum(out, block->y, block->y, block->x, 1, 0);
        put_store(out, block->y, &linked->state.target);
        put_load_top(out, &linked->state.target);
        put(out, 0xe3); /* jrcxz to the jump */
        put(out, 2);
        put(out, 0xeb);
        put(out, 5);
        put(out, 0xe9);
        put_number(out, 0, 4);
        making->full_from = out->count;
        put_load(out, DECODE_RCX, &linked->state.save_cx);
    }
    put_at(out, 0xc7, 0, block->x, 0); /* mov qword [x], number */
    put_number(out, making->number, 4);
    put_at(out, OP_LEA, block->y, block->x, 8 * block->accesses + 8);
    put_store(out, block->y, &linked->log);
}

static void begin_count(struct making *making)
{
    struct linked *linked = making->linked;
    struct linked_block *block = making->block;
    struct emitter *out = &making->out;
    bool loop = block->own.last.kind == OUTLINE_BRANCH && block->own.last.branch == BRANCH_CONDITION &&
                block->own.last.target == block->pc && making->count <= LINKED_UNROLLED_INSTRUCTIONS;
    making->passes = loop ? LINKED_UNROLLED : 1;
    uint32_t accesses = block->accesses * making->passes;
    if (making->free_flags) {
        put(out, 0x48); /* sub qword [remaining], accesses; js */
        put(out, 0x81);
        put(out, 0x2d);
        put_distance(out, &linked->remaining, 4);
        put_number(out, accesses, 4);
        put(out, 0x0f);
        put(out, 0x88);
        put_number(out, 0, 4);
        making->full_from = out->count;
    } else {
        put_store(out, block->x, &linked->state.save_x);
        put_store(out, DECODE_RCX, &linked->state.save_cx);
        put_load(out, block->x, &linked->remaining);
        put_at(out, OP_LEA, block->x, block->x, -(int32_t)accesses);
        put_store(out, block->x, &linked->remaining);
        put_load_top(out, &linked->remaining);
        put(out, 0xe3); /* jrcxz on */
        put(out, 5);
        put(out, 0xe9);
        put_number(out, 0, 4);
        making->full_from = out->count;
        put_load(out, block->x, &linked->state.save_x);
        put_load(out, DECODE_RCX, &linked->state.save_cx);
    }
    block->own.body = block->own.end = block->code + out->count;
}

static void log_accesses(struct making *making, const struct instruction *instruction, unsigned accesses)
{
    unsigned x = making->block->x, y = making->block->y;
    uint64_t next = making->block->pc + instruction->at + instruction->decoded.length;
    for (unsigned i = 0; i < instruction->decoded.operand_count; i++) {
        const struct decode_operand *operand = &instruction->decoded.operands[i];
        if (operand->base == DECODE_RIP)
            put_constant(&making->out, y, next + (uint64_t)operand->disp);
        else
            put_memory(&making->out, OP_LEA, y, operand);
        put_at(&making->out, OP_STORE, y, x, (int32_t)(8 + 8 * (accesses + i)));
    }
}

static void put_hand_over(struct making *making, const struct instruction *last)
{
    struct linked *linked = making->linked;
    if (last->decoded.operand_count)
        making->block->own.through = last->decoded.operands[0];
    put_word(&making->out, &linked->exit_link, 0);
    put_word(&making->out, &linked->exit_block, making->number);
    put_jump(&making->out, linked->leave);
}

/* To where a register or memory says; x gets it. */
static void put_indirect_branch(struct making *making, const struct instruction *last)
{
    struct linked_block *block = making->block;
    struct emitter *out = &making->out;
    const struct decode_operand *operand = &last->decoded.operands[0];
    bool call = last->outline.branch == BRANCH_CALL_REGISTER || last->outline.branch == BRANCH_CALL_MEMORY,
         memory = last->outline.branch == BRANCH_JUMP_MEMORY || last->outline.branch == BRANCH_CALL_MEMORY;
    if (memory && operand->segment != DECODE_FLAT) {
        put_hand_over(making, last);
        return;
    }
    put_keep(making);
    if (making->linked->mode == LINKED_COUNTS || block->own.body == block->code)
        block->own.body = block->code + out->count;
    if (!memory) {
        put(out, 0x48 | block->x >> 3 | (last->outline.reg >> 3) << 2); /* mov x, reg */
        put(out, 0x89);
        put(out, 0xc0 | (block->x & 7) | (last->outline.reg & 7) << 3);
    } else if (operand->base == DECODE_RIP) {
        put_constant(out, block->x, block->next + (uint64_t)operand->disp);
        put_at(out, OP_LOAD, block->x, block->x, 0);
    } else {
        put_memory(out, OP_LOAD, block->x, operand);
    }
    if (call)
        put_push(out, block->next);
    block->own.end = block->code + out->count;
    if (call)
        put_at(out, OP_LEA, DECODE_RSP, DECODE_RSP, -8);
    put_indirect(making);
}

static void put_return(struct making *making, const struct instruction *last)
{
    struct linked_block *block = making->block;
    struct emitter *out = &making->out;
    put_keep(making);
    if (making->linked->mode == LINKED_COUNTS)
        block->own.body = block->code + out->count;
    put_at(out, OP_LOAD, block->x, DECODE_RSP, 0);
    block->own.end = block->code + out->count;
    put_at(out, OP_LEA, DECODE_RSP, DECODE_RSP, 8 + last->outline.pop);
    put_indirect(making);
}

static void put_branch(struct making *making, const struct instruction *last)
{
    struct emitter *out = &making->out;
    uint64_t next = making->block->next;
    switch (last->outline.branch) {
    case BRANCH_CONDITION: {
        uint32_t taken = put_open_jump(making, last->outline.condition), on = put_open_jump(making, ALWAYS);
        put_stub(making, taken, last->outline.target);
        put_stub(making, on, next);
        break;
    }
    case BRANCH_JUMP:
        put_exit(making, last->outline.target);
        break;
    case BRANCH_CALL:
        put_push(out, next);
        put_at(out, OP_LEA, DECODE_RSP, DECODE_RSP, -8);
        put_exit(making, last->outline.target);
        break;
    case BRANCH_JUMP_REGISTER:
    case BRANCH_CALL_REGISTER:
    case BRANCH_JUMP_MEMORY:
    case BRANCH_CALL_MEMORY:
        put_indirect_branch(making, last);
        break;
    case BRANCH_RETURN:
        put_return(making, last);
        break;
    default:
        put_hand_over(making, last);
        break;
    }
}

/* All but the branch at its end; true when there is one. */
static bool put_straight(struct making *making, bool first_pass)
{
    unsigned accesses = 0;
    bool logs = making->linked->mode == LINKED_LOGS && making->block->accesses > 0;
    for (unsigned i = 0; i < making->count; i++) {
        const struct instruction *instruction = &making->instructions[i];
        if (logs)
            log_accesses(making, instruction, accesses);
        if (first_pass)
            add_sites(making, instruction);
        bool branch = instruction->outline.kind == OUTLINE_BRANCH;
        if (branch && logs) {
            put_restore(making);
            making->block->own.end = making->block->code + making->out.count;
        }
        add_place(making, instruction, accesses);
        accesses += instruction->decoded.operand_count;
        if (branch)
            return true;
        emit_copy(&making->out, &instruction->decoded, &instruction->outline, making->bytes + instruction->at,
                  &making->linked->state.scratch);
    }
    if (logs) {
        put_restore(making);
        making->block->own.end = making->block->code + making->out.count;
    }
    return false;
}

/* A loop that is left in the middle of what was counted: what was not done is taken back. */
static void put_early_exits(struct making *making)
{
    struct linked *linked = making->linked;
    struct linked_block *block = making->block;
    for (unsigned i = 0; i + 1 < making->passes; i++) {
        linked_link(linked, making->early[i].link, making->out.at + making->out.count);
        put_store(&making->out, block->x, &linked->state.save_x);
        put_load(&making->out, block->x, &linked->remaining);
        put_at(&making->out, OP_LEA, block->x, block->x, (int32_t)((making->passes - 1 - i) * block->accesses));
        put_store(&making->out, block->x, &linked->remaining);
        put_load(&making->out, block->x, &linked->state.save_x);
        put_exit(making, block->next);
    }
}

/* The log is full, or enough was counted: out, with all as it was at the block's begin. */
static void put_full(struct making *making)
{
    struct linked *linked = making->linked;
    struct emitter *out = &making->out;
    bool logs = linked->mode == LINKED_LOGS;
    uint32_t distance = out->count - making->full_from;
    for (unsigned i = 0; i < 4; i++)
        out->to[making->full_from - 4 + i] = (uint8_t)(distance >> (8 * i));
    if (logs || !making->free_flags)
        put_load(out, making->block->x, &linked->state.save_x);
    if (logs)
        put_load(out, making->block->y, &linked->state.save_y);
    if (!making->free_flags)
        put_load(out, DECODE_RCX, &linked->state.save_cx);
    put_words(out, &linked->pc, making->block->pc);
    put_word(out, &linked->exit_link, 0);
    put_word(out, &linked->exit_block, LINKED_BLOCKS);
    put_jump(out, linked->leave);
}

static void make_code(struct making *making)
{
    struct linked *linked = making->linked;
    struct linked_block *block = making->block;
    int flags = 0;
    for (unsigned i = 0; i < making->count && !flags; i++)
        flags = linked_flags(&making->instructions[i].decoded);
    making->free_flags = flags > 0;
    making->passes = 1;
    block->own.body = block->own.end = block->code;
    if (block->accesses > 0) {
        if (linked->mode == LINKED_LOGS)
            begin_log(making);
        else
            begin_count(making);
    }
    for (unsigned pass = 0; pass < making->passes; pass++) {
        const struct instruction *last = &making->instructions[making->count - 1];
        if (!put_straight(making, pass == 0))
            put_exit(making, block->next);
        else if (pass + 1 < making->passes)
            making->early[pass].link = put_open_jump(making, last->outline.condition ^ 1u);
        else
            put_branch(making, last);
    }
    put_early_exits(making);
    if (making->full_from)
        put_full(making);
}

bool linked_translate(struct linked *linked, struct linked_block *block)
{
    struct making making;
    making.readable = guard_copy(making.bytes, (const void *)block->pc, sizeof making.bytes);
    if (!making.readable)
        return false;
    making.linked = linked;
    making.block = block;
    making.out = (struct emitter){.to = linked->writable + block->code, .at = (uint64_t)linked->code + block->code};
    making.count = making.full_from = 0;
    making.number = linked->block_count;
    decode_block(&making);
    if (block->kind == LINKED_REPEATS)
        make_repeat(&making);
    else if (block->kind == LINKED_RUNS)
        make_code(&making);
    else
        block->own.stop_name = outline_name(making.bytes, making.readable);
    if (block->next == block->pc)
        block->next = 0; /* not decoded */
    linked->code_used = (linked->code_used + making.out.count + 15) & ~15u;
    return true;
}
