/* isa/aarch64/linked_code.h - instructions that translated blocks are made of, besides the program's own; for linked_block.c. */
#pragma once

#include <stdint.h>

struct words {
    uint32_t *to;
    uint64_t at; /* the address to[0] has when it runs */
    uint32_t count;
};

static inline void put(struct words *out, uint32_t word)
{
    out->to[out->count++] = word;
}

enum { STORE = 0xf9000000, LOAD = 0xf9400000, STORE_TWO = 0xa9000000, LOAD_TWO = 0xa9400000 };

/* [base + offset]: a multiple of 8, up to 32760; of two registers, 504. */
static inline void put_one(struct words *out, uint32_t opcode, unsigned reg, unsigned base, uint32_t offset)
{
    put(out, opcode | offset / 8 << 10 | base << 5 | reg);
}

static inline void put_two(struct words *out, uint32_t opcode, unsigned first, unsigned second, unsigned base,
                           uint32_t offset)
{
    put(out, opcode | offset / 8 << 15 | second << 10 | base << 5 | first);
}

static inline void put_constant(struct words *out, unsigned reg, uint64_t value)
{
    uint32_t opcode = 0xd2800000; /* MOVZ, then MOVK */
    for (unsigned part = 0; part < 4; part++) {
        uint32_t bits = value >> (16 * part) & 0xffff;
        if (!bits && !(value == 0 && part == 0))
            continue;
        put(out, opcode | part << 21 | bits << 5 | reg);
        opcode = 0xf2800000;
    }
}

/* to = from + offset, either may be the stack pointer; up to 24 bits. */
static inline void put_sum(struct words *out, unsigned to, unsigned from, int32_t offset)
{
    uint32_t opcode = offset < 0 ? 0xd1000000 : 0x91000000, rest = (uint32_t)(offset < 0 ? -offset : offset);
    if (rest >> 12) {
        put(out, opcode | 1 << 22 | rest >> 12 << 10 | from << 5 | to);
        from = to;
        rest &= 0xfff;
        if (!rest)
            return;
    }
    put(out, opcode | rest << 10 | from << 5 | to);
}

static inline void put_sum_extended(struct words *out, unsigned to, unsigned base, unsigned index, unsigned extend,
                                    unsigned shift)
{
    put(out, 0x8b200000 | index << 16 | extend << 13 | shift << 10 | base << 5 | to);
}

static inline void put_difference(struct words *out, unsigned to, unsigned from, unsigned what)
{
    put(out, 0xcb000000 | what << 16 | from << 5 | to);
}

static inline void put_move(struct words *out, unsigned to, unsigned from)
{
    put(out, 0xaa0003e0 | from << 16 | to);
}

/* to = from, its lowest bits cleared. */
static inline void put_cleared(struct words *out, unsigned to, unsigned from, unsigned count)
{
    put(out, 0x92400000 | (64 - count) << 16 | (63 - count) << 10 | from << 5 | to);
}

static inline uint32_t jump_word(uint64_t from, uint64_t to)
{
    return 0x14000000 | ((uint32_t)((to - from) >> 2) & 0x03ffffff);
}

static inline void put_jump(struct words *out, uint64_t to)
{
    put(out, jump_word(out->at + out->count * 4ul, to));
}

enum { IF_POSITIVE = 0xb6f80000, IF_NEGATIVE = 0xb7f80000, IF_ZERO = 0xb4000000, IF_NOT_ZERO = 0xb5000000 };

/* A branch that is taken on a register, or a program's own, to a place that put_landing() marks. */
static inline uint32_t put_open(struct words *out, uint32_t word)
{
    put(out, word);
    return out->count - 1;
}

static inline void put_landing(struct words *out, uint32_t from)
{
    bool test_bit = (out->to[from] & 0x7e000000) == 0x36000000;
    uint32_t field = test_bit ? 0x0007ffe0 : 0x00ffffe0, distance = out->count - from;
    out->to[from] = (out->to[from] & ~field) | (distance << 5 & field);
}

/* The same with the opposite condition: B.cond has it in bit 0, CBZ and TBZ in bit 24. */
static inline uint32_t opposite(uint32_t word)
{
    return (word & 0xff000000) == 0x54000000 ? word ^ 1 : word ^ 1u << 24;
}
