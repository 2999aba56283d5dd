/* isa/aarch64/relocate.c - one instruction gives way to a branch, so nothing can lead into the middle of it.
 *
 * A landing pad (BTI, PACIASP) stays where it is: the hook comes behind it. x16 and x17 are free at a function's entry,
 * since veneers of the linker may use them there. */
#include "isa/relocate.h"

#include <string.h>

enum {
    WORD_NOP = 0xd503201f,
    WORD_PACIASP = 0xd503233f,
    WORD_PACIBSP = 0xd503237f,
    WORD_AUT_OF_PAC = 0x80, /* PACIASP ^ AUTIASP, likewise for key B */
    WORD_BR_X16 = 0xd61f0200,
    BRANCH_RANGE = 128 << 20,
};

struct building {
    struct relocate_result *result;
    uint64_t thunk;
    uint32_t words; /* written so far */
    uint64_t literals[4];
    uint32_t literal_user[4], literal_count; /* which word loads it */
};

static int64_t sign_extend(uint64_t value, unsigned width)
{
    return (int64_t)(value << (64 - width)) >> (64 - width);
}

static void put(struct building *building, uint32_t word)
{
    memcpy(building->result->thunk + building->words++ * 4, &word, 4);
}

/* LDR register, literal: the literal's place is filled in at the end. */
static void put_load(struct building *building, unsigned reg, uint64_t value)
{
    building->literals[building->literal_count] = value;
    building->literal_user[building->literal_count++] = building->words;
    put(building, 0x58000000 | reg);
}

static bool branch_word(uint64_t from, uint64_t to, uint32_t *word)
{
    int64_t distance = (int64_t)(to - from);
    if (distance < -(int64_t)BRANCH_RANGE || distance >= BRANCH_RANGE || (distance & 3))
        return false;
    *word = 0x14000000 | ((uint32_t)((uint64_t)distance >> 2) & 0x03ffffff);
    return true;
}

static bool put_branch(struct building *building, uint64_t to)
{
    uint32_t word;
    if (!branch_word(building->thunk + building->words * 4, to, &word))
        return false;
    put(building, word);
    return true;
}

/* A conditional branch: to the second word behind it, which goes on to the target. */
static bool move_conditional(struct building *building, uint32_t word, uint64_t target, uint64_t next)
{
    bool test_bit = (word & 0x7e000000) == 0x36000000;
    uint32_t field = test_bit ? 0x0007ffe0 : 0x00ffffe0;
    put(building, (word & ~field) | 2 << 5);
    return put_branch(building, next) && put_branch(building, target);
}

static bool move_literal_load(struct building *building, uint32_t word, uint64_t from)
{
    uint64_t target = from + (uint64_t)sign_extend(word >> 5 & 0x7ffff, 19) * 4;
    unsigned size = word >> 30, reg = word & 31;
    bool vector = word & 1 << 26;
    if (!vector && size == 3) { /* PRFM: a hint */
        put(building, WORD_NOP);
        return true;
    }
    if (vector && size == 3)
        return false;
    static const uint32_t integer[] = {0xb9400000, 0xf9400000, 0xb9800000}; /* LDR W, LDR X, LDRSW */
    static const uint32_t floating[] = {0xbd400000, 0xfd400000, 0x3dc00000};
    put_load(building, 17, target);
    put(building, (vector ? floating : integer)[size] | 17 << 5 | reg);
    return true;
}

/* The instruction `word`, which ran at `from`, in its new place. */
static bool move(struct building *building, uint32_t word, uint64_t from)
{
    uint64_t next = from + 4;
    if ((word & 0x7c000000) == 0x14000000) { /* B, BL */
        if (word >> 31)
            put_load(building, 30, next);
        return put_branch(building, from + (uint64_t)sign_extend(word & 0x03ffffff, 26) * 4);
    }
    if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) /* B.cond, CBZ, CBNZ */
        return move_conditional(building, word, from + (uint64_t)sign_extend(word >> 5 & 0x7ffff, 19) * 4, next);
    if ((word & 0x7e000000) == 0x36000000) /* TBZ, TBNZ */
        return move_conditional(building, word, from + (uint64_t)sign_extend(word >> 5 & 0x3fff, 14) * 4, next);
    if ((word & 0x1f000000) == 0x10000000) { /* ADR, ADRP */
        uint64_t distance = (uint64_t)sign_extend((uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);
        put_load(building, word & 31, word >> 31 ? (from & ~(uint64_t)0xfff) + (distance << 12) : from + distance);
        return put_branch(building, next);
    }
    if ((word & 0x3b000000) == 0x18000000) /* LDR, literal */
        return move_literal_load(building, word, from) && put_branch(building, next);
    if ((word & 0xfffffc1f) == 0xd63f0000 || (word & 0xfffff800) == 0xd63f0800 || (word & 0xfffff800) == 0xd73f0800)
        return false; /* BLR and its signed forms: the address they leave would be ours */
    put(building, word);
    return put_branch(building, next);
}

static void put_literals(struct building *building)
{
    if (building->words & 1)
        put(building, WORD_NOP);
    for (uint32_t i = 0; i < building->literal_count; i++) {
        uint32_t user = building->literal_user[i], load;
        memcpy(&load, building->result->thunk + user * 4, 4);
        load |= (building->words - user) << 5;
        memcpy(building->result->thunk + user * 4, &load, 4);
        memcpy(building->result->thunk + building->words * 4, &building->literals[i], 8);
        building->words += 2;
    }
}

static bool is_landing_pad(uint32_t word)
{
    return (word & 0xffffff3f) == 0xd503241f || word == WORD_PACIASP || word == WORD_PACIBSP; /* BTI, any form */
}

bool relocate_aarch64(const struct relocate_job *job, struct relocate_result *result, enum wire_custom_refusal *why)
{
    struct building building = {.result = result, .thunk = job->thunk};
    *result = (struct relocate_result){.patch_size = 4, .one_step = true};
    *why = CUSTOM_TOO_SHORT;
    uint32_t first, word, branch;
    if (job->size < 4)
        return false;
    memcpy(&first, job->code, 4);
    if (is_landing_pad(first))
        result->patch_offset = 4;
    if (job->size < result->patch_offset + 4)
        return false;
    bool is_signed = first == WORD_PACIASP || first == WORD_PACIBSP;
    memcpy(&word, job->code + result->patch_offset, 4);
    uint64_t from = job->at + result->patch_offset;
    *why = CUSTOM_NO_ROOM;
    if (!branch_word(from, job->thunk, &branch))
        return false;
    if (is_signed)
        put(&building, first ^ WORD_AUT_OF_PAC);
    put_load(&building, 17, job->hook);
    put_load(&building, 16, job->entered);
    put(&building, WORD_BR_X16);
    result->resume = building.words * 4;
    if (is_signed)
        put(&building, first);
    *why = CUSTOM_NOT_MOVABLE;
    if (!move(&building, word, from))
        return false;
    put_literals(&building);
    result->thunk_size = building.words * 4;
    memcpy(result->patch, &branch, 4);
    return true;
}
