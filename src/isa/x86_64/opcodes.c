#include "isa/x86_64/opcodes.h"

/* Each line: opcode(s), then what a memory operand is used for. Columns of four: no mandatory prefix, 66, F3, F2.
 * An opcode that is not here is refused. Intel's SDM, volume 2, appendix A has the maps; chapter 2.7 the tuple types
 * from which EVEX's scaling of disp8 follows. */

/* ---- Scalar instructions ---- */

#define PLAIN        OP_VALID
#define IMM(kind)    (IMM_##kind << OP_IMM_SHIFT)
#define R(size)      (OP_VALID | OP_MODRM | OP_READ | SIZE_##size)
#define W(size)      (OP_VALID | OP_MODRM | OP_WRITE | SIZE_##size)
#define RW(size)     (OP_VALID | OP_MODRM | OP_READ | OP_WRITE | SIZE_##size)
#define NO_ACCESS    (OP_VALID | OP_MODRM | SIZE_NONE)
#define GROUP(size)  (OP_VALID | OP_MODRM | OP_GROUP | SIZE_##size)
#define IMPLICIT     (OP_VALID | OP_GROUP)
#define JUMP8        (OP_VALID | IMM(1))
#define JUMP32       (OP_VALID | OP_GROUP | IMM(Z))
#define STRING(size) (OP_VALID | OP_GROUP | SIZE_##size)

/* add, or, adc, sbb, and, sub, xor; cmp differs in that it writes nothing. */
#define ARITHMETIC(first, access)                                                                                      \
    [(first)] = access(1), [(first) + 1] = access(V), [(first) + 2] = R(1), [(first) + 3] = R(V),                      \
    [(first) + 4] = PLAIN | IMM(1), [(first) + 5] = PLAIN | IMM(Z)

const uint16_t opcode_1[256] = {
    ARITHMETIC(0x00, RW),
    ARITHMETIC(0x08, RW),
    ARITHMETIC(0x10, RW),
    ARITHMETIC(0x18, RW),
    ARITHMETIC(0x20, RW),
    ARITHMETIC(0x28, RW),
    ARITHMETIC(0x30, RW),
    ARITHMETIC(0x38, R),
    [0x50 ... 0x5f] = IMPLICIT, /* push, pop */
    [0x63] = GROUP(4),          /* movsxd */
    [0x68] = IMPLICIT | IMM(Z),
    [0x69] = R(V) | IMM(Z), /* imul */
    [0x6a] = IMPLICIT | IMM(1),
    [0x6b] = R(V) | IMM(1),
    [0x70 ... 0x7f] = JUMP8,
    [0x80] = GROUP(1) | IMM(1),
    [0x81] = GROUP(V) | IMM(Z),
    [0x83] = GROUP(V) | IMM(1),
    [0x84] = R(1), /* test */
    [0x85] = R(V),
    [0x86] = RW(1), /* xchg */
    [0x87] = RW(V),
    [0x88] = W(1), /* mov */
    [0x89] = W(V),
    [0x8a] = R(1),
    [0x8b] = R(V),
    [0x8c] = W(2),      /* mov from a segment register; to one is refused: SS holds traps back */
    [0x8d] = NO_ACCESS, /* lea */
    [0x8f] = GROUP(V),  /* pop */
    [0x90 ... 0x99] = PLAIN,
    [0x9b] = PLAIN,
    [0x9e ... 0x9f] = PLAIN,
    [0xa0] = OP_VALID | OP_GROUP | OP_READ | SIZE_1 | IMM(ADDRESS), /* mov from and to an address in the code */
    [0xa1] = OP_VALID | OP_GROUP | OP_READ | SIZE_V | IMM(ADDRESS),
    [0xa2] = OP_VALID | OP_GROUP | OP_WRITE | SIZE_1 | IMM(ADDRESS),
    [0xa3] = OP_VALID | OP_GROUP | OP_WRITE | SIZE_V | IMM(ADDRESS),
    [0xa4] = STRING(1), /* movs, cmps */
    [0xa5] = STRING(V),
    [0xa6] = STRING(1),
    [0xa7] = STRING(V),
    [0xa8] = PLAIN | IMM(1), /* test */
    [0xa9] = PLAIN | IMM(Z),
    [0xaa] = STRING(1), /* stos, lods, scas */
    [0xab] = STRING(V),
    [0xac] = STRING(1),
    [0xad] = STRING(V),
    [0xae] = STRING(1),
    [0xaf] = STRING(V),
    [0xb0 ... 0xb7] = PLAIN | IMM(1),
    [0xb8 ... 0xbf] = PLAIN | IMM(V),
    [0xc0] = RW(1) | IMM(1), /* shifts */
    [0xc1] = RW(V) | IMM(1),
    [0xc2] = IMPLICIT | IMM(2), /* ret */
    [0xc3] = IMPLICIT,
    [0xc6] = GROUP(1) | IMM(1), /* mov */
    [0xc7] = GROUP(V) | IMM(Z),
    [0xc8] = IMPLICIT | IMM(2_1), /* enter */
    [0xc9] = IMPLICIT,            /* leave */
    [0xd0] = RW(1),               /* shifts */
    [0xd1] = RW(V),
    [0xd2] = RW(1),
    [0xd3] = RW(V),
    [0xd7] = IMPLICIT,             /* xlat */
    [0xd8 ... 0xdf] = GROUP(NONE), /* x87 */
    [0xe0 ... 0xe3] = JUMP8,       /* loop, jrcxz */
    [0xe8] = IMPLICIT | IMM(Z),    /* call */
    [0xe9] = JUMP32,
    [0xeb] = JUMP8,
    [0xf5] = PLAIN,
    [0xf6] = GROUP(1), /* test, not, neg, mul, div; test's immediate is seen to by the group */
    [0xf7] = GROUP(V),
    [0xf8 ... 0xf9] = PLAIN,
    [0xfc ... 0xfd] = PLAIN,
    [0xfe] = GROUP(1), /* inc, dec */
    [0xff] = GROUP(V), /* inc, dec, call, jmp, push */
};

const uint16_t opcode_0f[256] = {
    [0x01] = GROUP(NONE), /* xgetbv, rdtscp, rdpkru; the rest is for kernels */
    [0x0d] = NO_ACCESS,   /* prefetchw */
    [0x18] = NO_ACCESS,   /* prefetch */
    [0x19] = NO_ACCESS,
    [0x1c ... 0x1f] = NO_ACCESS, /* nop, endbr64, rdssp */
    [0x31] = PLAIN,              /* rdtsc */
    [0x40 ... 0x4f] = R(V),      /* cmov reads whether it moves or not */
    [0x80 ... 0x8f] = JUMP32,
    [0x90 ... 0x9f] = W(1), /* set */
    [0xa0] = IMPLICIT,      /* push fs */
    [0xa2] = PLAIN,         /* cpuid */
    [0xa3] = GROUP(V),      /* bt with a register: may reach far beyond its operand */
    [0xa4] = RW(V) | IMM(1),
    [0xa5] = RW(V),
    [0xa8] = IMPLICIT, /* push gs */
    [0xab] = GROUP(V), /* bts */
    [0xac] = RW(V) | IMM(1),
    [0xad] = RW(V),
    [0xae] = GROUP(NONE), /* fxsave, ldmxcsr, xsave, fences, flushes */
    [0xaf] = R(V),        /* imul */
    [0xb0] = RW(1),       /* cmpxchg writes whether it is equal or not */
    [0xb1] = RW(V),
    [0xb3] = GROUP(V), /* btr */
    [0xb6] = R(1),     /* movzx */
    [0xb7] = R(2),
    [0xb8] = GROUP(V),          /* popcnt */
    [0xba] = GROUP(V) | IMM(1), /* bt, bts, btr, btc with a number */
    [0xbb] = GROUP(V),          /* btc */
    [0xbc ... 0xbd] = R(V),     /* bsf, bsr, tzcnt, lzcnt */
    [0xbe] = R(1),              /* movsx */
    [0xbf] = R(2),
    [0xc0] = RW(1), /* xadd */
    [0xc1] = RW(V),
    [0xc3] = GROUP(Y),    /* movnti */
    [0xc7] = GROUP(NONE), /* cmpxchg16b, xsavec, rdrand */
    [0xc8 ... 0xcf] = PLAIN,
};

const uint16_t opcode_38[256][4] = {
    [0xf0] = {R(V), R(V), 0, R(1)}, /* movbe, crc32 */
    [0xf1] = {W(V), W(V), 0, R(V)},
    [0xf6] = {0, R(Y), R(Y), 0}, /* adcx, adox */
    [0xf9] = {W(Y), 0, 0, 0},    /* movdiri */
};

/* ---- Only with VEX ---- */

#define K (OP_VALID | OP_MODRM | OP_REGISTER)

const uint16_t opcode_vex_0f[256][4] = {
    [0x41 ... 0x42] = {K, K, 0, 0},                                                              /* kand and the like */
    [0x44 ... 0x47] = {K, K, 0, 0},  [0x4a ... 0x4b] = {K, K, 0, 0},  [0x77] = {PLAIN, 0, 0, 0}, /* vzeroupper */
    [0x90] = {R(KNP), R(K66), 0, 0}, [0x91] = {W(KNP), W(K66), 0, 0}, [0x92 ... 0x93] = {K, K, 0, K},
    [0x98 ... 0x99] = {K, K, 0, 0},
};

const uint16_t opcode_vex_38[256][4] = {
    [0xf2] = {R(Y), 0, 0, 0},       /* andn */
    [0xf3] = {R(Y), 0, 0, 0},       /* blsr, blsmsk, blsi */
    [0xf5] = {R(Y), 0, R(Y), R(Y)}, /* bzhi, pext, pdep */
    [0xf6] = {0, 0, 0, R(Y)},       /* mulx */
    [0xf7] = {R(Y), R(Y), R(Y), R(Y)},
};

#undef R
#undef W

/* ---- Vector instructions ---- */

#define ALL     (OP_LEGACY | OP_VEX | OP_EVEX)
#define LV      (OP_LEGACY | OP_VEX)
#define VE      (OP_VEX | OP_EVEX)
#define L       OP_LEGACY
#define V       OP_VEX
#define E       OP_EVEX
#define R(size) (OP_VALID | OP_READ | SIZE_##size)
#define W(size) (OP_VALID | OP_WRITE | SIZE_##size)
#define B       OP_BROADCAST
#define REG     (OP_VALID | OP_REGISTER)

#define PACKED (R(VECTOR) | ALL | B)
#define SINGLE (R(4) | ALL)
#define DOUBLE (R(8) | ALL)
#define ARITH                                                                                                          \
    {                                                                                                                  \
        PACKED, PACKED, SINGLE, DOUBLE                                                                                 \
    }
#define PS_PD                                                                                                          \
    {                                                                                                                  \
        PACKED, PACKED, 0, 0                                                                                           \
    }
#define MMX (R(8) | L)
#define INTEGER                                                                                                        \
    {                                                                                                                  \
        MMX, R(VECTOR) | ALL, 0, 0                                                                                     \
    }
#define INTEGER_B                                                                                                      \
    {                                                                                                                  \
        MMX, R(VECTOR) | ALL | B, 0, 0                                                                                 \
    }
#define INTEGER_LV                                                                                                     \
    {                                                                                                                  \
        MMX, R(VECTOR) | LV, 0, 0                                                                                      \
    }
#define COUNT                                                                                                          \
    {                                                                                                                  \
        MMX, R(16) | ALL, 0, 0                                                                                         \
    } /* shifts by a count: 16 bytes whatever the vector */

const uint16_t vector_0f[256][4] = {
    [0x10] = {R(VECTOR) | ALL, R(VECTOR) | ALL, SINGLE, DOUBLE},
    [0x11] = {W(VECTOR) | ALL, W(VECTOR) | ALL, W(4) | ALL, W(8) | ALL},
    [0x12] = {R(8) | ALL, R(8) | ALL, R(VECTOR) | ALL, R(DUP) | ALL},
    [0x13] = {W(8) | ALL, W(8) | ALL, 0, 0},
    [0x14 ... 0x15] = PS_PD,
    [0x16] = {R(8) | ALL, R(8) | ALL, R(VECTOR) | ALL, 0},
    [0x17] = {W(8) | ALL, W(8) | ALL, 0, 0},
    [0x28] = {R(VECTOR) | ALL, R(VECTOR) | ALL, 0, 0},
    [0x29] = {W(VECTOR) | ALL, W(VECTOR) | ALL, 0, 0},
    [0x2a] = {R(8) | L, R(8) | L, R(Y) | ALL, R(Y) | ALL},
    [0x2b] = {W(VECTOR) | ALL, W(VECTOR) | ALL, 0, 0},
    [0x2c ... 0x2d] = {R(8) | L, R(16) | L, SINGLE, DOUBLE},
    [0x2e ... 0x2f] = {R(4) | ALL, R(8) | ALL, 0, 0},
    [0x50] = {REG | LV, REG | LV, 0, 0},
    [0x51] = ARITH,
    [0x52 ... 0x53] = {R(VECTOR) | LV, 0, R(4) | LV, 0},
    [0x54 ... 0x57] = PS_PD,
    [0x58 ... 0x59] = ARITH,
    [0x5a] = {R(HALF) | ALL | B, PACKED, SINGLE, DOUBLE},
    [0x5b] = {PACKED, PACKED, PACKED, 0},
    [0x5c ... 0x5f] = ARITH,
    [0x60 ... 0x61] = {R(4) | L, R(VECTOR) | ALL, 0, 0},
    [0x62] = {R(4) | L, R(VECTOR) | ALL | B, 0, 0},
    [0x63 ... 0x65] = INTEGER,
    [0x66] = INTEGER_B,
    [0x67 ... 0x69] = INTEGER,
    [0x6a ... 0x6b] = INTEGER_B,
    [0x6c ... 0x6d] = {0, R(VECTOR) | ALL | B, 0, 0},
    [0x6e] = {R(Y) | L, R(Y) | ALL, 0, 0},
    [0x6f] = {MMX, R(VECTOR) | ALL, R(VECTOR) | ALL, R(VECTOR) | E},
    [0x70] = {MMX, R(VECTOR) | ALL | B, R(VECTOR) | ALL, R(VECTOR) | ALL},
    [0x71] = {REG | L, R(VECTOR) | ALL, 0, 0}, /* with a register operand but for EVEX: decode.c checks that */
    [0x72] = {REG | L, R(VECTOR) | ALL | B, 0, 0},
    [0x73] = {REG | L, R(VECTOR) | ALL | B, 0, 0},
    [0x74 ... 0x75] = INTEGER,
    [0x76] = INTEGER_B,
    [0x77] = {REG | L, 0, 0, 0}, /* emms; it has no ModRM, which decode.c knows */
    [0x78 ... 0x79] = {R(VECTOR) | E | B, R(HALF_OR_V) | E | B, R(4) | E, R(8) | E},
    [0x7a] = {0, R(HALF_OR_V) | E | B, R(HALF_OR_V) | E | B, R(VECTOR) | E | B},
    [0x7b] = {0, R(HALF_OR_V) | E | B, R(Y) | E, R(Y) | E},
    [0x7c ... 0x7d] = {0, R(VECTOR) | LV, 0, R(VECTOR) | LV},
    [0x7e] = {W(Y) | L, W(Y) | ALL, R(8) | ALL, 0},
    [0x7f] = {W(8) | L, W(VECTOR) | ALL, W(VECTOR) | ALL, W(VECTOR) | E},
    [0xc2] = ARITH,
    [0xc4] = {R(2) | L, R(2) | ALL, 0, 0},
    [0xc5] = {REG | L, REG | ALL, 0, 0},
    [0xc6] = PS_PD,
    [0xd0] = {0, R(VECTOR) | LV, 0, R(VECTOR) | LV},
    [0xd1 ... 0xd3] = COUNT,
    [0xd4] = INTEGER_B,
    [0xd5] = INTEGER,
    [0xd6] = {0, W(8) | ALL, REG | L, REG | L},
    [0xd7] = {REG | L, REG | LV, 0, 0},
    [0xd8 ... 0xda] = INTEGER,
    [0xdb] = INTEGER_B,
    [0xdc ... 0xde] = INTEGER,
    [0xdf] = INTEGER_B,
    [0xe0] = INTEGER,
    [0xe1 ... 0xe2] = COUNT,
    [0xe3 ... 0xe5] = INTEGER,
    [0xe6] = {0, PACKED, R(HALF_OR_V) | ALL | B, PACKED},
    [0xe7] = {W(8) | L, W(VECTOR) | ALL, 0, 0},
    [0xe8 ... 0xea] = INTEGER,
    [0xeb] = INTEGER_B,
    [0xec ... 0xee] = INTEGER,
    [0xef] = INTEGER_B,
    [0xf0] = {0, 0, 0, R(VECTOR) | LV},
    [0xf1 ... 0xf3] = COUNT,
    [0xf4] = INTEGER_B,
    [0xf5 ... 0xf6] = INTEGER,
    [0xf8 ... 0xf9] = INTEGER,
    [0xfa ... 0xfb] = INTEGER_B,
    [0xfc ... 0xfd] = INTEGER,
    [0xfe] = INTEGER_B,
};

/* Most of the next two maps have the prefix 66 and no other meaning. */
#define ONLY66(entry)                                                                                                  \
    {                                                                                                                  \
        0, entry, 0, 0                                                                                                 \
    }
#define NARROW(size) W(size) | E /* vpmov: from a vector to a part of it */
#define WIDEN(size)                                                                                                    \
    {                                                                                                                  \
        0, R(size) | ALL, NARROW(size), 0                                                                              \
    }
#define SCALAR(which) ONLY66(R(Y) | which)
#define FULL(which)   ONLY66(R(VECTOR) | which)
#define GATHER        ONLY66(R(Y) | VE | OP_ELEMENT8)
#define FMA_PACKED    ONLY66(R(VECTOR) | VE | B)
#define FMA_SCALAR    SCALAR(VE)
#define BROADCAST(n)  ONLY66(R(n) | VE)

const uint16_t vector_38[256][4] = {
    [0x00] = INTEGER,
    [0x01 ... 0x03] = INTEGER_LV,
    [0x04] = INTEGER,
    [0x05 ... 0x0a] = INTEGER_LV,
    [0x0b] = INTEGER,
    [0x0c ... 0x0d] = FULL(VE | B),
    [0x0e ... 0x0f] = FULL(V),
    [0x10] = {0, R(VECTOR) | L | E, NARROW(HALF), 0},
    [0x11] = {0, R(VECTOR) | E, NARROW(QUARTER), 0},
    [0x12] = {0, R(VECTOR) | E, NARROW(EIGHTH), 0},
    [0x13] = {0, R(HALF) | VE, NARROW(HALF), 0},
    [0x14] = {0, R(VECTOR) | L | E | B, NARROW(QUARTER), 0},
    [0x15] = {0, R(VECTOR) | L | E | B, NARROW(HALF), 0},
    [0x16] = FULL(VE | B),
    [0x17] = FULL(LV),
    [0x18] = BROADCAST(4),
    [0x19] = BROADCAST(8),
    [0x1a] = BROADCAST(16),
    [0x1b] = ONLY66(R(32) | E),
    [0x1c ... 0x1d] = INTEGER,
    [0x1e] = INTEGER_B,
    [0x1f] = FULL(E | B),
    [0x20] = WIDEN(HALF),
    [0x21] = WIDEN(QUARTER),
    [0x22] = WIDEN(EIGHTH),
    [0x23] = WIDEN(HALF),
    [0x24] = WIDEN(QUARTER),
    [0x25] = WIDEN(HALF),
    [0x26] = {0, R(VECTOR) | E, R(VECTOR) | E, 0},
    [0x27] = {0, R(VECTOR) | E | B, R(VECTOR) | E | B, 0},
    [0x28 ... 0x29] = {0, R(VECTOR) | ALL | B, REG | E, 0},
    [0x2a] = {0, R(VECTOR) | ALL, REG | E, 0},
    [0x2b] = FULL(ALL | B),
    [0x2c] = FULL(VE | B), /* vmaskmovps; vscalefps */
    [0x2d] = FULL(V),      /* EVEX has a scalar here: decode.c */
    [0x2e ... 0x2f] = ONLY66(W(VECTOR) | V),
    [0x30] = WIDEN(HALF),
    [0x31] = WIDEN(QUARTER),
    [0x32] = WIDEN(EIGHTH),
    [0x33] = WIDEN(HALF),
    [0x34] = WIDEN(QUARTER),
    [0x35] = WIDEN(HALF),
    [0x36] = FULL(VE | B),
    [0x37] = FULL(ALL | B),
    [0x38] = {0, R(VECTOR) | ALL, REG | E, 0},
    [0x39] = {0, R(VECTOR) | ALL | B, REG | E, 0},
    [0x3a] = {0, R(VECTOR) | ALL, REG | E, 0},
    [0x3b] = FULL(ALL | B),
    [0x3c] = FULL(ALL),
    [0x3d] = FULL(ALL | B),
    [0x3e] = FULL(ALL),
    [0x3f ... 0x40] = FULL(ALL | B),
    [0x41] = ONLY66(R(16) | LV),
    [0x42] = FULL(E | B),
    [0x43] = SCALAR(E),
    [0x44] = FULL(E | B),
    [0x45 ... 0x47] = FULL(VE | B),
    [0x4c] = FULL(E | B),
    [0x4d] = SCALAR(E),
    [0x4e] = FULL(E | B),
    [0x4f] = SCALAR(E),
    [0x50 ... 0x51] = FULL(VE | B),
    [0x52] = {0, R(VECTOR) | VE | B, R(VECTOR) | E | B, 0},
    [0x53] = FULL(VE | B),
    [0x54] = FULL(E),
    [0x55] = FULL(E | B),
    [0x58] = BROADCAST(4),
    [0x59] = BROADCAST(8),
    [0x5a] = BROADCAST(16),
    [0x5b] = ONLY66(R(32) | E),
    [0x62] = ONLY66(R(VECTOR) | E | OP_ELEMENT1),
    [0x63] = ONLY66(W(VECTOR) | E | OP_ELEMENT1),
    [0x64 ... 0x65] = FULL(E | B),
    [0x66] = FULL(E),
    [0x70] = FULL(E),
    [0x71] = FULL(E | B),
    [0x72] = {0, R(VECTOR) | E, R(VECTOR) | E | B, 0},
    [0x73] = FULL(E | B),
    [0x75] = FULL(E),
    [0x76 ... 0x77] = FULL(E | B),
    [0x78] = BROADCAST(1),
    [0x79] = BROADCAST(2),
    [0x7a ... 0x7c] = ONLY66(REG | E),
    [0x7d] = FULL(E),
    [0x7e ... 0x7f] = FULL(E | B),
    [0x83] = FULL(E | B),
    [0x88 ... 0x89] = ONLY66(R(VECTOR) | E | OP_ELEMENT8),
    [0x8a ... 0x8b] = ONLY66(W(VECTOR) | E | OP_ELEMENT8),
    [0x8c] = FULL(V),
    [0x8d] = FULL(E),
    [0x8e] = ONLY66(W(VECTOR) | V),
    [0x8f] = FULL(E),
    [0x90 ... 0x93] = GATHER,
    [0x96 ... 0x98] = FMA_PACKED,
    [0x99] = FMA_SCALAR,
    [0x9a] = FMA_PACKED,
    [0x9b] = FMA_SCALAR,
    [0x9c] = FMA_PACKED,
    [0x9d] = FMA_SCALAR,
    [0x9e] = FMA_PACKED,
    [0x9f] = FMA_SCALAR,
    [0xa0 ... 0xa3] = ONLY66(W(Y) | E | OP_ELEMENT8), /* scatters */
    [0xa6 ... 0xa8] = FMA_PACKED,
    [0xa9] = FMA_SCALAR,
    [0xaa] = FMA_PACKED,
    [0xab] = FMA_SCALAR,
    [0xac] = FMA_PACKED,
    [0xad] = FMA_SCALAR,
    [0xae] = FMA_PACKED,
    [0xaf] = FMA_SCALAR,
    [0xb4 ... 0xb5] = FULL(VE | B),
    [0xb6 ... 0xb8] = FMA_PACKED,
    [0xb9] = FMA_SCALAR,
    [0xba] = FMA_PACKED,
    [0xbb] = FMA_SCALAR,
    [0xbc] = FMA_PACKED,
    [0xbd] = FMA_SCALAR,
    [0xbe] = FMA_PACKED,
    [0xbf] = FMA_SCALAR,
    [0xc4] = FULL(E | B),
    [0xc8 ... 0xcd] = {R(16) | L, 0, 0, 0}, /* sha */
    [0xcf] = FULL(ALL),
    [0xdb] = ONLY66(R(16) | LV),
    [0xdc ... 0xdf] = FULL(ALL),
};

const uint16_t vector_3a[256][4] = {
    [0x00 ... 0x01] = FULL(VE | B),
    [0x02] = FULL(V),
    [0x03] = FULL(E | B),
    [0x04 ... 0x05] = FULL(VE | B),
    [0x06] = FULL(V),
    [0x08 ... 0x09] = FULL(ALL | B),
    [0x0a] = ONLY66(R(4) | ALL),
    [0x0b] = ONLY66(R(8) | ALL),
    [0x0c ... 0x0e] = FULL(LV),
    [0x0f] = INTEGER,
    [0x14] = ONLY66(W(1) | ALL),
    [0x15] = ONLY66(W(2) | ALL),
    [0x16] = ONLY66(W(Y) | ALL),
    [0x17] = ONLY66(W(4) | ALL),
    [0x18] = ONLY66(R(16) | VE),
    [0x19] = ONLY66(W(16) | VE),
    [0x1a] = ONLY66(R(32) | E),
    [0x1b] = ONLY66(W(32) | E),
    [0x1d] = ONLY66(W(HALF) | VE),
    [0x1e ... 0x1f] = FULL(E | B),
    [0x20] = ONLY66(R(1) | ALL),
    [0x21] = ONLY66(R(4) | ALL),
    [0x22] = ONLY66(R(Y) | ALL),
    [0x23] = FULL(E | B),
    [0x25 ... 0x26] = FULL(E | B),
    [0x27] = SCALAR(E),
    [0x30 ... 0x33] = ONLY66(REG | V), /* kshift */
    [0x38] = ONLY66(R(16) | VE),
    [0x39] = ONLY66(W(16) | VE),
    [0x3a] = ONLY66(R(32) | E),
    [0x3b] = ONLY66(W(32) | E),
    [0x3e ... 0x3f] = FULL(E),
    [0x40] = FULL(LV),
    [0x41] = ONLY66(R(16) | LV),
    [0x42] = FULL(ALL),
    [0x43] = FULL(E | B),
    [0x44] = FULL(ALL),
    [0x46] = FULL(V),
    [0x4a ... 0x4c] = FULL(V),
    [0x50] = FULL(E | B),
    [0x51] = SCALAR(E),
    [0x54] = FULL(E | B),
    [0x55] = SCALAR(E),
    [0x56] = FULL(E | B),
    [0x57] = SCALAR(E),
    [0x60 ... 0x63] = ONLY66(R(16) | LV),
    [0x66] = FULL(E | B),
    [0x67] = SCALAR(E),
    [0x70] = FULL(E),
    [0x71] = FULL(E | B),
    [0x72] = FULL(E),
    [0x73] = FULL(E | B),
    [0xcc] = {R(16) | L, 0, 0, 0}, /* sha1rnds4 */
    [0xce ... 0xcf] = FULL(ALL | B),
    [0xdf] = ONLY66(R(16) | LV),
    [0xf0] = {0, 0, 0, R(Y) | V}, /* rorx */
};
