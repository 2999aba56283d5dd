/* isa/x86_64/decode.h - what one x86-64 instruction reads and writes in memory.
 *
 * Pure: bytes and registers in, accesses out; no state, no system call, builds on any machine. decode_instruction()
 * finds the form of an instruction, decode_accesses() puts the registers' values in. An instruction is either fully
 * understood (its length and every access it makes) or refused: a burst ends before a refused one. Refused as well are
 * instructions that show the trap flag to the program or must not be stepped: system calls, pushf, popf, iret, loads of
 * SS, transactions. lea, nop, prefetches and cache-line flushes access nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DECODE_MAX_BYTES = 15,
    DECODE_MAX_OPERANDS = 2,
    DECODE_MAX_ACCESSES = 16,
};

/* General registers by their number in encodings; then what may stand in a register's place. */
enum {
    DECODE_RAX,
    DECODE_RCX,
    DECODE_RDX,
    DECODE_RBX,
    DECODE_RSP,
    DECODE_RBP,
    DECODE_RSI,
    DECODE_RDI,
    DECODE_RIP = 16, /* the address of the next instruction */
    DECODE_NONE = 17,
};

enum decode_segment { DECODE_FLAT, DECODE_FS, DECODE_GS };

struct decode_operand {
    uint8_t base, index; /* index: a vector register when `elements` is not 0 */
    uint8_t scale;       /* 1, 2, 4, 8 */
    uint8_t segment;
    uint8_t flags; /* SAMPLE_READ, SAMPLE_WRITE, SAMPLE_LOCKED */
    uint16_t size; /* bytes; of each element when there are `elements`. Masked accesses: as if nothing was masked */
    int64_t disp;
    bool address32; /* the sum is cut to 32 bits before the segment's base is added */
    bool low_byte;  /* xlat: AL is added */
    /* Gathers and scatters. */
    uint8_t elements;    /* 0: an ordinary operand */
    uint8_t index_bytes; /* 4 or 8 */
    uint8_t mask;        /* a vector register (VEX, sign bits of elements) or a mask register */
    bool mask_is_k;
};

enum decode_encoding { DECODE_LEGACY, DECODE_VEX, DECODE_EVEX };

struct decoded {
    uint8_t length;
    uint8_t operand_count;
    uint8_t rip_at;      /* where in it a displacement from rip is (4 bytes); 0: it has none */
    uint8_t modrm_at;    /* where its ModRM is; 0: it has none */
    uint8_t prefix_at;   /* where its REX, VEX or EVEX prefix is; DECODE_NONE: it has none */
    uint8_t opcode_at;   /* legacy encodings: where the opcode begins; the bytes before are prefixes */
    uint8_t encoding;    /* enum decode_encoding */
    uint8_t map, opcode; /* map: 0, or 1, 2, 3 for 0F, 0F 38, 0F 3A */
    uint8_t modrm;
    uint8_t reg, rm; /* of ModRM, with their fourth bit */
    uint8_t extra;   /* VEX.vvvv, EVEX.V'vvvv: a register's number */
    uint8_t repeat;  /* 0, 0xf2, 0xf3 */
    bool w, operand16, address32, lock;
    bool vector;         /* uses x87, MMX, vector or mask registers, or their control words */
    bool repeated;       /* a rep prefix: accesses nothing when the counter is 0 */
    bool counter_is_ecx; /* ... and that is ECX, not RCX */
    int32_t rip_disp;    /* ... and what it is */
    int32_t immediate;   /* of branches: the distance; of ret: the bytes to pop */
    struct decode_operand operands[DECODE_MAX_OPERANDS];
};

/* Pieces of vector registers as they are in a signal frame; NULL where the processor holds zeros. */
struct decode_vectors {
    const uint8_t *xmm;      /* bytes 0-15 of registers 0-15, 16 bytes apart */
    const uint8_t *ymm_high; /* bytes 16-31 of registers 0-15, 16 bytes apart */
    const uint8_t *zmm_high; /* bytes 32-63 of registers 0-15, 32 bytes apart */
    const uint8_t *zmm_16;   /* registers 16-31 whole, 64 bytes apart */
    const uint8_t *masks;    /* k0-k7, 8 bytes apart */
};

struct decode_registers {
    uint64_t general[16];
    uint64_t rip; /* of the instruction itself */
    uint64_t fs_base, gs_base;
    bool has_fs, has_gs;                  /* the bases are known */
    const struct decode_vectors *vectors; /* NULL when not at hand */
};

struct decode_access {
    uint64_t addr;
    uint16_t size;
    uint8_t flags;
};

/* Decodes the instruction that begins at `bytes`, of which `available` may be read (15 are enough for any). False: it
 * must not be stepped. */
bool decode_instruction(const uint8_t *bytes, size_t available, struct decoded *decoded);

/* Fills `accesses` (room for DECODE_MAX_ACCESSES) with what the instruction would access now, in the order it does.
 * Returns their number, or -1 when it cannot be known (a segment's base or vector registers are not at hand). */
int decode_accesses(const struct decoded *decoded, const struct decode_registers *registers,
                    struct decode_access *accesses);
