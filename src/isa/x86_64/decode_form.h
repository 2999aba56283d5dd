/* isa/x86_64/decode_form.h - the state of one decoding, shared by decode.c (prefixes, operands, vector
 * instructions) and decode_scalar.c (everything else). */
#pragma once

#include "isa/x86_64/decode.h"
#include "isa/x86_64/opcodes.h"
#include "wire/event.h"

enum mandatory { PREFIX_NONE, PREFIX_66, PREFIX_F3, PREFIX_F2 };

struct form {
    const uint8_t *bytes;
    uint8_t at, available;
    bool short_of_bytes;
    /* prefixes */
    bool operand16, address32, lock;
    uint8_t repeat; /* 0, 0xf2, 0xf3 */
    uint8_t segment;
    uint8_t encoding;
    uint8_t mandatory;
    bool w;
    uint8_t r, x, b;       /* 0 or 8: what they add to a register's number */
    uint8_t vector_extra;  /* VEX.vvvv, EVEX.V'vvvv */
    uint16_t vector_bytes; /* 16, 32, 64 */
    bool broadcast;        /* EVEX.b */
    uint8_t mask;          /* EVEX.aaa */
    /* ModRM */
    bool is_memory;
    uint8_t modrm, reg, rm;                              /* reg, rm: three bits */
    uint8_t rip_at;                                      /* where a displacement from rip is, or 0 */
    uint8_t modrm_at, prefix_at, opcode_at, map, opcode; /* see struct decoded */
    bool vector;
    int32_t immediate;
    struct decode_operand memory;
};

uint8_t form_byte(struct form *form);
uint64_t form_number(struct form *form, unsigned bytes);

/* Reads ModRM, SIB and displacement; a one-byte displacement counts `disp8_scale` bytes. */
void form_modrm(struct form *form, unsigned disp8_scale);

/* Bytes that an entry's SIZE_ stands for here. */
unsigned form_size(const struct form *form, unsigned size_code);

/* Adds the memory operand, if the instruction has one. */
void form_use_memory(const struct form *form, struct decoded *decoded, unsigned size, unsigned flags);

/* Adds an operand at base + disp that no ModRM names (stack, string). */
void form_use_implicit(const struct form *form, struct decoded *decoded, unsigned base, int disp, unsigned size,
                       unsigned flags);

/* A scalar instruction of the one-byte or the 0F map; the opcode has been read. False: refused. */
bool decode_scalar_1(struct form *form, uint8_t opcode, struct decoded *decoded);
bool decode_scalar_0f(struct form *form, uint8_t opcode, struct decoded *decoded);
