/* isa/x86_64/opcodes.h - the tables behind decode.c: per opcode, how its memory operand is used.
 *
 * An entry is 0 when the opcode is refused. "Legacy" is an instruction without VEX or EVEX prefix. */
#pragma once

#include <stdint.h>

/* How many bytes: the low five bits of an entry. */
enum {
    SIZE_NONE, /* a memory operand that is not accessed */
    SIZE_1,
    SIZE_2,
    SIZE_4,
    SIZE_8,
    SIZE_10,
    SIZE_16,
    SIZE_32,
    SIZE_V,         /* operand size: 2, 4 or 8 */
    SIZE_Y,         /* 8 with W, else 4 */
    SIZE_VECTOR,    /* the vector's length */
    SIZE_HALF,      /* ... half of it */
    SIZE_QUARTER,   /* ... */
    SIZE_EIGHTH,    /* ... */
    SIZE_HALF_OR_V, /* EVEX with W: the vector's length; else half of it */
    SIZE_DUP,       /* movddup: 8 for xmm, else the vector's length */
    SIZE_KNP,       /* kmov without 66: 8 with W, else 2 */
    SIZE_K66,       /* kmov with 66: 4 with W, else 1 */
    SIZE_MASK = 31,
};

enum {
    OP_READ = 1 << 5,
    OP_WRITE = 1 << 6,
    OP_MODRM = 1 << 7,
    OP_VALID = 1 << 8,
    /* Tables of scalar instructions only. */
    OP_GROUP = 1 << 9, /* decode.c looks at ModRM's reg */
    OP_IMM_SHIFT = 10, /* enum imm */
    OP_IMM_MASK = 7 << OP_IMM_SHIFT,
    /* Tables of vector instructions only: OP_MODRM and an immediate go by opcode. */
    OP_LEGACY = 1 << 9,
    OP_VEX = 1 << 10,
    OP_EVEX = 1 << 11,
    OP_BROADCAST = 1 << 12, /* EVEX.b on memory: one element of 4 or 8 bytes */
    OP_ELEMENT8 = 1 << 13,  /* EVEX: disp8 counts elements of 4 or 8 bytes, whatever the size */
    OP_ELEMENT1 = 1 << 14,  /* ... elements of 1 or 2 bytes */
    OP_REGISTER = 1 << 15,  /* only with a register operand */
};

enum imm { IMM_NONE, IMM_1, IMM_2, IMM_Z, IMM_V, IMM_ADDRESS, IMM_2_1 };

/* Scalar instructions. opcode_38 is by mandatory prefix (none, 66, F3, F2), as are the vector tables. */
extern const uint16_t opcode_1[256];
extern const uint16_t opcode_0f[256];
extern const uint16_t opcode_38[256][4];

/* VEX only: mask registers and general registers; then vector instructions in all their encodings. */
extern const uint16_t opcode_vex_0f[256][4];
extern const uint16_t opcode_vex_38[256][4];
extern const uint16_t vector_0f[256][4];
extern const uint16_t vector_38[256][4];
extern const uint16_t vector_3a[256][4];
