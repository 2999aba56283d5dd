/* isa/aarch64/transfer.c - see transfer.h. Pure. */
#include "isa/aarch64/transfer.h"
#include "isa/aarch64/cpu.h"

/* Fills in size, direction and sign from the fields that all one-register forms share; false when there is no such
 * instruction. */
static bool decode_kind(uint32_t word, struct transfer *t)
{
    unsigned size = bits(word, 30, 2), opc = bits(word, 22, 2);
    t->vector = word >> 26 & 1;
    t->count = 1;
    t->rt = bits(word, 0, 5);
    t->rn = bits(word, 5, 5);
    t->log2 = size;
    if (t->vector) {
        if (opc & 2) {
            if (size != 0)
                return false;
            t->log2 = 4;
        }
        t->load = opc & 1;
        return true;
    }
    t->load = opc != 0;
    if (opc >= 2) {
        t->sign = opc == 2 ? 64 : 32;
        if (size == 3) {
            t->prefetch = opc == 2;
            return t->prefetch;
        }
        if (size == 2 && opc == 3)
            return false;
    }
    return true;
}

static bool one_register(uint32_t word, struct transfer *t)
{
    unsigned mode = bits(word, 10, 2);
    if (!decode_kind(word, t))
        return false;
    if (word >> 24 & 1) {
        t->offset = (int64_t)bits(word, 10, 12) << t->log2;
        return true;
    }
    if (word >> 21 & 1) { /* atomics, and loads whose address is signed, have other modes */
        t->extend = bits(word, 13, 3);
        t->rm = bits(word, 16, 5);
        t->shift = word >> 12 & 1 ? t->log2 : 0;
        return mode == 2 && t->extend & 2;
    }
    t->offset = sign_extend(bits(word, 12, 9), 9);
    t->post = mode == 1;
    t->write_back = mode & 1;
    return mode == 0 || (mode != 2 && !t->prefetch); /* LDTR and STTR check other permissions */
}

static bool two_registers(uint32_t word, struct transfer *t)
{
    unsigned opc = bits(word, 30, 2), mode = bits(word, 23, 2);
    t->vector = word >> 26 & 1;
    t->load = word >> 22 & 1;
    t->rt = bits(word, 0, 5);
    t->rt2 = bits(word, 10, 5);
    t->rn = bits(word, 5, 5);
    t->count = 2;
    t->post = mode == 1;
    t->write_back = mode & 1;
    t->log2 = t->vector ? 2 + opc : opc == 2 ? 3 : 2;
    if (opc == 3)
        return false;
    if (!t->vector && opc == 1) { /* LDPSW; as a store it is MTE's STGP */
        if (!t->load || mode == 0)
            return false;
        t->sign = 64;
    }
    t->offset = sign_extend(bits(word, 15, 7), 7) * (1 << t->log2);
    return true;
}

static bool literal(uint32_t word, struct transfer *t)
{
    unsigned opc = bits(word, 30, 2);
    t->vector = word >> 26 & 1;
    t->load = t->literal = true;
    t->rt = bits(word, 0, 5);
    t->count = 1;
    t->log2 = 2 + opc;
    t->offset = sign_extend(bits(word, 5, 19), 19) * 4;
    t->prefetch = opc == 3;
    if (!t->vector && opc == 2) {
        t->log2 = 2;
        t->sign = 64;
    }
    return !(t->vector && opc == 3);
}

static bool decode(uint32_t word, struct transfer *t)
{
    if ((word & 0x3b000000) == 0x18000000)
        return literal(word, t);
    if ((word & 0x3a000000) == 0x28000000)
        return two_registers(word, t);
    return (word & 0x3a000000) == 0x38000000 && one_register(word, t);
}

bool transfer_decode(uint32_t word, struct transfer *t)
{
    *t = (struct transfer){0};
    if (!decode(word, t))
        return false;
    if (t->write_back && !t->vector && t->rn != 31 && (t->rt == t->rn || (t->count == 2 && t->rt2 == t->rn)))
        return false;
    return !(t->count == 2 && t->load && t->rt == t->rt2);
}

bool structure_shape(uint32_t word, unsigned *registers, unsigned *bytes)
{
    unsigned size = bits(word, 10, 2), q = bits(word, 30, 1);
    if (!(word >> 24 & 1)) { /* multiple structures */
        static const uint8_t by_opcode[16] = {[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2};
        *registers = by_opcode[bits(word, 12, 4)];
        *bytes = *registers * (q ? 16 : 8);
        return *registers != 0 && !(word >> 21 & 1);
    }
    unsigned opcode = bits(word, 13, 3), scale = opcode >> 1, s = bits(word, 12, 1);
    *registers = ((opcode & 1) << 1 | bits(word, 21, 1)) + 1;
    if (scale == 3) {
        if (!(word >> 22 & 1) || s)
            return false;
        scale = size; /* one element to all lanes */
    } else if (scale == 1) {
        if (size & 1)
            return false;
    } else if (scale == 2) {
        if (size & 2 || (size & 1 && s))
            return false;
        scale = size & 1 ? 3 : 2;
    }
    *bytes = *registers << scale;
    return true;
}

enum vector_general vector_general_register(uint32_t word)
{
    /* DUP, INS, SMOV, UMOV */
    if ((word & 0x9fe08400) == 0x0e000400) {
        unsigned imm4 = bits(word, 11, 4);
        if (word >> 29 & 1)
            return GENERAL_NONE; /* INS (element) */
        if (imm4 == 1 || imm4 == 3)
            return GENERAL_SOURCE;
        return imm4 == 5 || imm4 == 7 ? GENERAL_TARGET : GENERAL_NONE;
    }
    /* conversions between floating point and integer or fixed point: bit 21 and bits 15:10 distinguish them */
    bool integer = (word & 0x7f20fc00) == 0x1e200000, fixed = (word & 0x7f200000) == 0x1e000000;
    if (integer || fixed) {
        unsigned opcode = bits(word, 16, 3);
        if (opcode == 2 || opcode == 3 || (integer && opcode == 7))
            return GENERAL_SOURCE;
        return GENERAL_TARGET;
    }
    return GENERAL_NONE;
}
