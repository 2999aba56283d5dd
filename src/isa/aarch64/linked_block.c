/* isa/aarch64/linked_block.c - translation of whole basic blocks. Runs in bursts: no calls out. */
#include "isa/aarch64/access.h"
#include "isa/aarch64/linked_code.h"
#include "isa/linked.h"

#include <stddef.h>

enum {
    S = LINKED_STATE_REGISTER,
    ALL_REGISTERS = 0x7fffffff & ~(1 << S),
    PAIR_MOST = 16, /* instructions from an exclusive load to its store */
    WORD_AUTIASP = 0xd50323bf,
    WORD_AUTIBSP = 0xd50323ff,
    WORD_RETAB = 0xd65f0fff,
    LINK = 30,
};

#define STATE(member)  ((uint32_t)offsetof(struct linked, state.member))
#define MEMBER(member) ((uint32_t)offsetof(struct linked, member))
_Static_assert(MEMBER(exit_link) == MEMBER(pc) + 8 && MEMBER(pc) <= 504, "stored as a pair");
_Static_assert(STATE(save_y) == STATE(save_x) + 8, "stored as a pair");

/* A block that is being made. */
struct making {
    struct linked *linked;
    struct linked_block *block;
    struct words out;
    struct linked_instruction instructions[LINKED_INSTRUCTIONS];
    unsigned count, number; /* of instructions; of the block */
    bool logs;              /* x and y are the log's while it runs */
    uint32_t full_from;     /* the branch that leaves because the log is full or enough was counted; 0: none */
    unsigned passes;        /* a loop's iterations in the block */
    uint32_t early[LINKED_UNROLLED], outs[PAIR_MOST];
    uint64_t out_targets[PAIR_MOST];
    unsigned out_count;
};

void linked_link(struct linked *linked, uint32_t link, uint64_t to)
{
    uint64_t from = (uint64_t)linked->code + link;
    *(volatile uint32_t *)(void *)(linked->writable + link) = jump_word(from, to);
    __builtin___clear_cache((char *)from, (char *)from + 4);
}

/* Out, with where the program goes on and what is to be linked to that; nothing is, where `link` is 0. */
static void put_leave(struct making *making, uint64_t pc, uint32_t link, uint32_t block)
{
    struct words *out = &making->out;
    put_two(out, STORE_TWO, 16, 17, S, STATE(x[16]));
    if (block) {
        put_constant(out, 17, block);
        put_one(out, STORE, 17, S, MEMBER(exit_block));
    }
    put_constant(out, 16, pc);
    put_constant(out, 17, link);
    put_two(out, STORE_TWO, 16, 17, S, MEMBER(pc));
    put_jump(out, making->linked->leave);
}

/* To another block: at first out, by a jump to right behind it. */
static void put_exit(struct making *making, uint64_t pc)
{
    struct words *out = &making->out;
    uint32_t link = (uint32_t)(out->at + out->count * 4ul - (uint64_t)making->linked->code);
    put_jump(out, out->at + out->count * 4ul + 4);
    put_leave(making, pc, link, 0);
}

static void put_keep(struct making *making)
{
    const struct linked_block *block = making->block;
    if (making->logs)
        put_two(&making->out, STORE_TWO, block->x, block->y, S, STATE(save_x));
    if (block->own.z != LINKED_NO_REGISTER) {
        put_one(&making->out, STORE, block->own.z, S, STATE(save_z));
        put_one(&making->out, LOAD, block->own.z, S, STATE(x[S]));
    }
}

static void put_restore(struct making *making)
{
    const struct linked_block *block = making->block;
    if (block->own.z != LINKED_NO_REGISTER) {
        put_one(&making->out, STORE, block->own.z, S, STATE(x[S]));
        put_one(&making->out, LOAD, block->own.z, S, STATE(save_z));
    }
    if (making->logs)
        put_two(&making->out, LOAD_TWO, block->x, block->y, S, STATE(save_x));
}

static unsigned renamed(const struct making *making, unsigned reg)
{
    return reg == S ? making->block->own.z : reg;
}

static uint32_t renamed_word(const struct making *making, const struct linked_instruction *instruction)
{
    static const uint8_t places[] = {0, 5, 10, 16};
    uint32_t word = instruction->word;
    for (unsigned i = 0; i < 4; i++)
        if (instruction->fields >> i & 1 && (word >> places[i] & 31) == S)
            word = (word & ~(31u << places[i])) | (uint32_t)making->block->own.z << places[i];
    return word;
}

static bool fits(unsigned used)
{
    unsigned wanted = used >> S & 1 ? 3 : 2;
    return (unsigned)__builtin_popcount(ALL_REGISTERS & ~used) >= wanted;
}

static unsigned take(unsigned *free)
{
    unsigned reg = (unsigned)__builtin_ctz(*free);
    *free &= *free - 1;
    return reg;
}

/* The instructions from an exclusive load to its store: those between use registers only, or leave. Returns their number, or 0 when
 * it is not so. */
static unsigned decode_pair(const struct making *making, uint64_t pc, struct linked_instruction *pair)
{
    uint64_t word;
    for (unsigned i = 1; i < PAIR_MOST; i++) {
        if (access_load4(pc + 4 * i, &word) != 0)
            return 0;
        linked_decode((uint32_t)word, pc + 4 * i, making->linked->state.scalable_bytes, &pair[i]);
        if (pair[i].op == LINKED_EXCLUSIVE_STORE) {
            for (unsigned j = 1; j < i; j++)
                if (pair[j].op == LINKED_OUT && pair[j].target - pc - 1 < 4 * i)
                    return 0;
            return i + 1;
        }
        if (pair[i].op == LINKED_CONDITION)
            pair[i].op = LINKED_OUT;
        else if (pair[i].op != LINKED_COPY || pair[i].size)
            return 0;
    }
    return 0;
}

/* What is to be carried out together from here on: one instruction, or an exclusive load and its store with all between. */
static unsigned decode_next(const struct making *making, struct linked_instruction *next, uint64_t pc)
{
    uint64_t word;
    if (access_load4(pc, &word) != 0)
        return 0;
    linked_decode((uint32_t)word, pc, making->linked->state.scalable_bytes, next);
    unsigned together = 1;
    if (next->op == LINKED_EXCLUSIVE_LOAD)
        together = decode_pair(making, pc, next);
    if (!together || next->op == LINKED_EXCLUSIVE_STORE) {
        *next = (struct linked_instruction){.word = (uint32_t)word, .op = LINKED_STOP};
        together = 1;
    }
    return together;
}

/* Finds how far the block goes, and registers that it does not use; false: nothing can be read. */
static bool decode_block(struct making *making)
{
    struct linked_block *block = making->block;
    struct linked_instruction next[PAIR_MOST];
    unsigned used = 0;
    for (bool last = false; !last && making->count < LINKED_INSTRUCTIONS;) {
        unsigned together = decode_next(making, next, block->pc + 4ul * making->count), now = used,
                 accesses = block->accesses;
        if (!together && making->count == 0)
            return false;
        for (unsigned i = 0; i < together; i++) {
            now |= next[i].used;
            accesses += next[i].size != 0;
        }
        bool stop = !together || next[0].op == LINKED_STOP || !fits(now);
        if (making->count > 0 && (stop || accesses > LINKED_ACCESSES || making->count + together > LINKED_INSTRUCTIONS))
            break;
        used = now;
        block->accesses = (uint8_t)accesses;
        for (unsigned i = 0; i < together; i++)
            making->instructions[making->count++] = next[i];
        if (stop)
            block->kind = LINKED_STOPS;
        last = stop || together > 1 || (next[0].op >= LINKED_JUMP && next[0].op <= LINKED_RETURN_SIGNED);
    }
    block->next = block->pc + 4ul * making->count;
    if (block->kind == LINKED_STOPS)
        return true;
    unsigned free = ALL_REGISTERS & ~used;
    block->x = (uint8_t)take(&free);
    block->y = (uint8_t)take(&free);
    block->own.z = used >> S & 1 ? (uint8_t)take(&free) : (uint8_t)LINKED_NO_REGISTER;
    return true;
}

static void add_site(struct making *making, const struct linked_instruction *instruction, unsigned at)
{
    struct linked_site *site = &making->linked->sites[making->linked->site_count++];
    site->size = instruction->size;
    site->flags = instruction->flags;
    site->segment = 0;
    site->source = (uint8_t)(4 * at);
}

static void add_place(struct making *making, unsigned at, unsigned accesses, unsigned scratch)
{
    struct linked_place *place = &making->linked->places[making->linked->place_count++];
    place->code = making->block->code + 4 * making->out.count;
    place->source = (uint8_t)(4 * at);
    place->accesses = (uint8_t)accesses;
    place->scratch = (uint8_t)scratch;
    making->block->places++;
}

/* Takes its record's room in the log, or leaves when that is full. */
static void begin_log(struct making *making)
{
    const struct linked_block *block = making->block;
    struct words *out = &making->out;
    put_one(out, LOAD, block->x, S, MEMBER(log));
    put_one(out, LOAD, block->y, S, MEMBER(log_limit));
    put_difference(out, block->y, block->x, block->y);
    making->full_from = put_open(out, IF_POSITIVE | block->y);
    put_constant(out, block->y, making->number);
    put_one(out, STORE, block->y, block->x, 0);
    put_sum(out, block->y, block->x, 8 * block->accesses + 8);
    put_one(out, STORE, block->y, S, MEMBER(log));
}

static void begin_count(struct making *making)
{
    const struct linked_block *block = making->block;
    const struct linked_instruction *last = &making->instructions[making->count - 1];
    struct words *out = &making->out;
    bool loop = last->op == LINKED_CONDITION && last->target == block->pc && !(last->used >> S & 1) &&
                making->count <= LINKED_UNROLLED_INSTRUCTIONS;
    making->passes = loop ? LINKED_UNROLLED : 1;
    put_one(out, STORE, block->x, S, STATE(save_x));
    put_one(out, LOAD, block->x, S, MEMBER(remaining));
    put_sum(out, block->x, block->x, -(int32_t)(block->accesses * making->passes));
    put_one(out, STORE, block->x, S, MEMBER(remaining));
    making->full_from = put_open(out, IF_NEGATIVE | block->x);
    put_one(out, LOAD, block->x, S, STATE(save_x));
}

static void log_access(struct making *making, const struct linked_instruction *instruction, unsigned which)
{
    struct words *out = &making->out;
    unsigned y = making->block->y, base = renamed(making, instruction->base);
    uint32_t none = 0;
    if (instruction->predicate) { /* CNTP: 0 where it has no element */
        unsigned predicate = instruction->predicate - 1u;
        put(out, 0x25208000 | predicate << 10 | predicate << 5 | y);
        none = put_open(out, IF_ZERO | y);
    }
    switch (instruction->mode) {
    case LINKED_BY_TARGET:
        put_constant(out, y, instruction->target);
        break;
    case LINKED_BY_REGISTER:
        put_sum_extended(out, y, base, renamed(making, instruction->index), instruction->extend, instruction->shift);
        break;
    case LINKED_BY_BLOCK:
        put_cleared(out, y, renamed(making, instruction->word & 31), (unsigned)__builtin_ctz(instruction->size));
        break;
    default:
        put_sum(out, y, base, instruction->offset);
        break;
    }
    if (none)
        put_landing(out, none);
    put_one(out, STORE, y, making->block->x, 8 + 8 * which);
}

/* LDR of a literal: its address in y. */
static void put_literal(struct making *making, const struct linked_instruction *instruction)
{
    static const uint32_t integer[] = {0xb9400000, 0xf9400000, 0xb9800000}; /* LDR W, LDR X, LDRSW */
    static const uint32_t floating[] = {0xbd400000, 0xfd400000, 0x3dc00000};
    struct words *out = &making->out;
    uint32_t word = renamed_word(making, instruction);
    unsigned size = word >> 30, y = making->block->y;
    bool vector = word >> 26 & 1, saves = !making->logs;
    if (saves)
        put_one(out, STORE, y, S, STATE(save_y));
    put_constant(out, y, instruction->target);
    put(out, (vector ? floating : integer)[size] | y << 5 | (word & 31));
    if (saves)
        put_one(out, LOAD, y, S, STATE(save_y));
}

/* An instruction that does not end the block. */
static void put_instruction(struct making *making, const struct linked_instruction *instruction)
{
    struct words *out = &making->out;
    uint32_t word = renamed_word(making, instruction);
    switch (instruction->op) {
    case LINKED_SKIP:
        break;
    case LINKED_CONSTANT:
        if ((word & 31) != 31)
            put_constant(out, word & 31, instruction->target);
        break;
    case LINKED_LITERAL:
        put_literal(making, instruction);
        break;
    case LINKED_OUT:
        making->out_targets[making->out_count] = instruction->target;
        making->outs[making->out_count++] = put_open(out, word);
        break;
    default:
        put(out, word);
        break;
    }
}

/* To where a register says, by the way that linked_prepare_ways() makes: with that in x15, and x15 to x17 in the state. */
static void put_indirect(struct making *making, unsigned reg, bool call)
{
    struct words *out = &making->out;
    put_one(out, STORE, 15, S, STATE(x[15]));
    put_two(out, STORE_TWO, 16, 17, S, STATE(x[16]));
    if (reg == S)
        put_one(out, LOAD, 15, S, STATE(x[S]));
    else if (reg == 31) /* the zero register */
        put_constant(out, 15, 0);
    else
        put_move(out, 15, reg);
    if (call)
        put_constant(out, LINK, making->block->next);
    put_jump(out, making->linked->leave + LINKED_ENTRY / 2);
}

/* The last instruction, where it is a branch. Registers are the program's behind put_restore(). */
static void put_branch(struct making *making, const struct linked_instruction *last)
{
    struct words *out = &making->out;
    uint64_t next = making->block->next;
    unsigned rn = last->word >> 5 & 31;
    if (last->op == LINKED_CONDITION) {
        bool tests_z = last->used >> S & 1;
        if (!tests_z)
            put_restore(making);
        uint32_t taken = put_open(out, renamed_word(making, last));
        if (tests_z)
            put_restore(making);
        put_exit(making, next);
        put_landing(out, taken);
        if (tests_z)
            put_restore(making);
        put_exit(making, last->target);
        return;
    }
    put_restore(making);
    switch (last->op) {
    case LINKED_CALL:
        put_constant(out, LINK, next);
        put_exit(making, last->target);
        break;
    case LINKED_REGISTER:
    case LINKED_REGISTER_CALL:
        put_indirect(making, rn, last->op == LINKED_REGISTER_CALL);
        break;
    case LINKED_RETURN_SIGNED:
        put(out, last->word == WORD_RETAB ? WORD_AUTIBSP : WORD_AUTIASP);
        put_indirect(making, LINK, false);
        break;
    default:
        put_exit(making, last->target);
        break;
    }
}

static void put_pass(struct making *making, unsigned pass)
{
    unsigned accesses = 0;
    for (unsigned i = 0; i < making->count; i++) {
        const struct linked_instruction *instruction = &making->instructions[i];
        if (instruction->size && making->logs)
            log_access(making, instruction, accesses);
        if (instruction->size && pass == 0)
            add_site(making, instruction, i);
        add_place(making, i, accesses, instruction->op == LINKED_LITERAL ? making->block->y : LINKED_NO_REGISTER);
        accesses += instruction->size != 0;
        bool branch = instruction->op >= LINKED_JUMP && instruction->op <= LINKED_RETURN_SIGNED;
        if (branch && pass + 1 < making->passes)
            making->early[pass] = put_open(&making->out, opposite(renamed_word(making, instruction)));
        else if (branch)
            put_branch(making, instruction);
        else
            put_instruction(making, instruction);
        if (!branch && i + 1 == making->count) {
            put_restore(making);
            put_exit(making, making->block->next);
        }
    }
}

/* A loop that is left in the middle of what was counted: what was not done is taken back. */
static void put_early_exits(struct making *making)
{
    const struct linked_block *block = making->block;
    struct words *out = &making->out;
    for (unsigned i = 0; i + 1 < making->passes; i++) {
        put_landing(out, making->early[i]);
        put_restore(making);
        put_one(out, STORE, block->x, S, STATE(save_x));
        put_one(out, LOAD, block->x, S, MEMBER(remaining));
        put_sum(out, block->x, block->x, (int32_t)((making->passes - 1 - i) * block->accesses));
        put_one(out, STORE, block->x, S, MEMBER(remaining));
        put_one(out, LOAD, block->x, S, STATE(save_x));
        put_exit(making, block->next);
    }
}

static void make_code(struct making *making)
{
    struct words *out = &making->out;
    const struct linked_block *block = making->block;
    making->logs = making->linked->mode == LINKED_LOGS && block->accesses > 0;
    making->passes = 1;
    put_keep(making);
    if (making->logs)
        begin_log(making);
    else if (block->accesses > 0)
        begin_count(making);
    for (unsigned pass = 0; pass < making->passes; pass++)
        put_pass(making, pass);
    put_early_exits(making);
    for (unsigned i = 0; i < making->out_count; i++) {
        put_landing(out, making->outs[i]);
        put_restore(making);
        put_exit(making, making->out_targets[i]);
    }
    if (making->full_from) {
        put_landing(out, making->full_from);
        if (!making->logs)
            put_one(out, LOAD, block->x, S, STATE(save_x));
        put_restore(making);
        put_leave(making, block->pc, 0, LINKED_BLOCKS);
    }
}

bool linked_translate(struct linked *linked, struct linked_block *block)
{
    struct making making;
    making.linked = linked;
    making.block = block;
    making.count = making.full_from = making.out_count = 0;
    making.number = linked->block_count;
    if (!decode_block(&making))
        return false;
    if (block->kind == LINKED_STOPS) {
        uint32_t word = making.instructions[0].word;
        block->own.stop_name = word;
        if ((word & 0xfe000000) == 0xd6000000)
            block->next = 0; /* a branch */
        return true;
    }
    /* before it: the entry for indirect branches, which come by x17 */
    uint8_t *to = linked->writable + block->code;
    uint64_t at = (uint64_t)linked->code + block->code;
    *(uint32_t *)(void *)to = LOAD | STATE(x[17]) / 8 << 10 | S << 5 | 17;
    block->code += 4;
    making.out = (struct words){.to = (uint32_t *)(void *)(to + 4), .at = at + 4};
    make_code(&making);
    uint32_t bytes = 4 + 4 * making.out.count;
    linked->code_used += bytes;
    __builtin___clear_cache((char *)at, (char *)at + bytes);
    return true;
}

/* At the begin of code, the way out; LINKED_ENTRY / 2 behind it that of indirect branches: looked up by address, or out. */
void linked_prepare_ways(struct linked *linked)
{
    struct words out = {.to = (uint32_t *)(void *)linked->writable, .at = (uint64_t)linked->code};
    linked->state.leave = (uint64_t)linked_leave;
    linked->state.indirect = (uint64_t)linked->indirect;
    linked->leave = out.at;
    put_one(&out, LOAD, 16, S, STATE(leave));
    put(&out, 0xd61f0200); /* br x16 */
    out.count = LINKED_ENTRY / 8;
    put(&out, 0xd3400000 | 2 << 16 | 17 << 10 | 15 << 5 | 16); /* ubfx x16, x15, #2, #16 */
    put_one(&out, LOAD, 17, S, STATE(indirect));
    put(&out, 0x8b000000 | 16 << 16 | 4 << 10 | 17 << 5 | 17); /* add x17, x17, x16, lsl #4 */
    put_two(&out, LOAD_TWO, 16, 17, 17, 0);
    put_difference(&out, 16, 16, 15);
    uint32_t other = put_open(&out, IF_NOT_ZERO | 16);
    put_one(&out, LOAD, 15, S, STATE(x[15]));
    put_one(&out, LOAD, 16, S, STATE(x[16]));
    put_sum(&out, 17, 17, -4);
    put(&out, 0xd61f0220); /* br x17 */
    put_landing(&out, other);
    put_two(&out, STORE_TWO, 15, 31, S, MEMBER(pc));
    put_one(&out, LOAD, 15, S, STATE(x[15]));
    put_jump(&out, linked->leave);
    __builtin___clear_cache((char *)linked->code, (char *)linked->code + LINKED_ENTRY);
}
