/* isa/x86_64/linked_code.h - instructions that translated blocks are made of, besides the program's own; for linked_block.c. */
#pragma once

#include "isa/x86_64/emit.h"

/* op reg, [base + index * scale + disp], of which base and index may be DECODE_NONE. No flags change. */
static inline void put_memory(struct emitter *out, unsigned opcode, unsigned reg, const struct decode_operand *operand)
{
    unsigned base = operand->base, index = operand->index, scale = operand->scale;
    bool has_base = base != DECODE_NONE, has_index = index != DECODE_NONE;
    if (operand->address32)
        put(out, 0x67);
    put(out, 0x48 | (reg >> 3) << 2 | (has_index ? (index >> 3) << 1 : 0) | (has_base ? base >> 3 : 0));
    put(out, opcode);
    put(out, (has_base ? 0x80 : 0) | (reg & 7) << 3 | 4);
    put(out, (scale == 8   ? 3u
              : scale == 4 ? 2u
              : scale == 2 ? 1u
                           : 0u)
                     << 6 |
                 (has_index ? index & 7 : 4u) << 3 | (has_base ? base & 7 : 5u));
    put_number(out, (uint32_t)operand->disp, 4);
}

enum { OP_STORE = 0x89, OP_LOAD = 0x8b, OP_LEA = 0x8d };

static inline void put_at(struct emitter *out, unsigned opcode, unsigned reg, unsigned base, int32_t disp)
{
    struct decode_operand operand = {.base = (uint8_t)base, .index = DECODE_NONE, .scale = 1, .disp = disp};
    put_memory(out, opcode, reg, &operand);
}

static inline void put_sum(struct emitter *out, unsigned reg, unsigned base, unsigned index, unsigned scale,
                           int32_t disp)
{
    struct decode_operand operand = {
        .base = (uint8_t)base, .index = (uint8_t)index, .scale = (uint8_t)scale, .disp = disp};
    put_memory(out, OP_LEA, reg, &operand);
}

/* mov dword [rip + memory], value */
static inline void put_word(struct emitter *out, const void *memory, uint32_t value)
{
    put(out, 0xc7);
    put(out, 5);
    put_distance(out, memory, 4);
    put_number(out, value, 4);
}

static inline void put_words(struct emitter *out, const uint64_t *memory, uint64_t value)
{
    put_word(out, memory, (uint32_t)value);
    put_word(out, (const uint8_t *)memory + 4, (uint32_t)(value >> 32));
}

/* movzx rcx, byte [rip + memory's last] */
static inline void put_load_top(struct emitter *out, const void *memory)
{
    put(out, 0x48);
    put(out, 0x0f);
    put(out, 0xb6);
    put(out, 0x0d);
    put_distance(out, (const uint8_t *)memory + 7, 0);
}

/* mov dword [rsp - 8], and [rsp - 4]: the push may fault, so rsp changes behind it. */
static inline void put_push(struct emitter *out, uint64_t value)
{
    for (unsigned half = 0; half < 2; half++) {
        put(out, 0xc7);
        put(out, 0x44);
        put(out, 0x24);
        put(out, half ? 0xfc : 0xf8);
        put_number(out, value >> (32 * half) & 0xffffffff, 4);
    }
}
