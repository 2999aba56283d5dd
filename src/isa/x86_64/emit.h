/* isa/x86_64/emit.h - bytes of code, one behind the other. Runs in bursts: general registers only, no calls out.
 *
 * Code is within 2 GiB of the state it is made for, so registers are saved and loaded by addresses relative to rip: no
 * register is needed for that. */
#pragma once

#include "isa/x86_64/decode.h"
#include "isa/x86_64/outline.h"

struct emitter {
    uint8_t *to;
    uint64_t at; /* the address to[0] has when it runs */
    uint32_t count;
};

static inline void put(struct emitter *out, unsigned byte)
{
    out->to[out->count++] = (uint8_t)byte;
}

static inline void put_bytes(struct emitter *out, const uint8_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        put(out, bytes[i]);
}

static inline void put_number(struct emitter *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        put(out, value >> (8 * i) & 0xff);
}

/* From the end of the instruction, which has `behind` bytes more. */
static inline void put_distance(struct emitter *out, const void *to, unsigned behind)
{
    put_number(out, (uint64_t)to - (out->at + out->count + 4 + behind), 4);
}

/* opcode reg, [rip + ...] */
static inline void put_relative(struct emitter *out, unsigned opcode, unsigned reg, const void *memory)
{
    put(out, 0x48 | (reg >> 3) << 2);
    put(out, opcode);
    put(out, 5 | (reg & 7) << 3);
    put_distance(out, memory, 0);
}

static inline void put_store(struct emitter *out, unsigned reg, const void *to)
{
    put_relative(out, 0x89, reg, to);
}

static inline void put_load(struct emitter *out, unsigned reg, const void *from)
{
    put_relative(out, 0x8b, reg, from);
}

static inline void put_constant(struct emitter *out, unsigned reg, uint64_t value)
{
    put(out, 0x48 | reg >> 3); /* movabs */
    put(out, 0xb8 | (reg & 7));
    put_number(out, value, 8);
}

static inline void put_jump(struct emitter *out, uint64_t to)
{
    put(out, 0xe9);
    put_distance(out, (const void *)to, 0);
}

/* jmp *memory */
static inline void put_jump_through(struct emitter *out, const void *memory)
{
    put(out, 0xff);
    put(out, 0x25);
    put_distance(out, memory, 0);
}

/* Where code finds and leaves the program's registers and the engine's stack pointer. */
struct emit_state {
    uint64_t *general, *flags, *own_sp, *target;
};

/* emit.c. The way in, called as a function with the address of code: the engine's registers to its stack, the program's to
 * the processor. The way out, to jump to: back, and out by the return. Returns the address at which registers are the
 * engine's again but for those that a function keeps. */
void emit_enter(struct emitter *out, const struct emit_state *state);
uint64_t emit_way_out(struct emitter *out, const struct emit_state *state);

/* An instruction that runs elsewhere; `scratch` keeps the register that takes rip's place. */
void emit_copy(struct emitter *out, const struct decoded *decoded, const struct outline *outline, const uint8_t *bytes,
               uint64_t *scratch);
