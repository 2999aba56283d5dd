/* isa/aarch64/integer.c - integer instructions, carried out in C on the register image. */
#include "isa/aarch64/cpu.h"
#include "isa/aarch64/slots.h"

static uint64_t rotate(uint64_t value, unsigned by, unsigned width)
{
    by &= width - 1;
    if (by == 0)
        return value;
    uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
    value &= mask;
    return (value >> by | value << (width - by)) & mask;
}

static void set_flags(struct cpu *cpu, uint64_t flags)
{
    *cpu->pstate = (*cpu->pstate & ~(uint64_t)(FLAG_N | FLAG_Z | FLAG_C | FLAG_V)) | flags;
}

static uint64_t add_with_carry(struct cpu *cpu, uint64_t a, uint64_t b, unsigned carry, bool wide, bool flags)
{
    uint64_t sum = a + b + carry;
    if (flags) {
        bool overflow, out;
        if (wide) {
            out = carry ? sum <= a : sum < a;
            overflow = (~(a ^ b) & (a ^ sum)) >> 63;
        } else {
            uint32_t a32 = (uint32_t)a, b32 = (uint32_t)b, s32 = (uint32_t)sum;
            out = ((uint64_t)a32 + b32 + carry) >> 32;
            overflow = (~(a32 ^ b32) & (a32 ^ s32)) >> 31;
        }
        uint64_t result = wide ? sum : (uint32_t)sum;
        set_flags(cpu, (result >> (wide ? 63 : 31) ? FLAG_N : 0) | (result == 0 ? FLAG_Z : 0) | (out ? FLAG_C : 0) |
                           (overflow ? FLAG_V : 0));
    }
    return sum;
}

static void set_logical_flags(struct cpu *cpu, uint64_t result, bool wide)
{
    if (!wide)
        result = (uint32_t)result;
    set_flags(cpu, (result >> (wide ? 63 : 31) ? FLAG_N : 0) | (result == 0 ? FLAG_Z : 0));
}

static uint64_t shift(uint64_t value, unsigned type, unsigned amount, bool wide)
{
    unsigned width = wide ? 64 : 32;
    if (!wide)
        value = (uint32_t)value;
    switch (type) {
    case 0:
        return value << amount;
    case 1:
        return value >> amount;
    case 2:
        return wide ? (uint64_t)((int64_t)value >> amount) : (uint64_t)(uint32_t)((int32_t)value >> amount);
    default:
        return rotate(value, amount, width);
    }
}

/* The architecture's DecodeBitMasks: false for a reserved encoding. */
static bool decode_masks(unsigned n, unsigned imms, unsigned immr, bool immediate, bool wide, uint64_t *wmask,
                         uint64_t *tmask)
{
    unsigned pattern = n << 6 | (~imms & 0x3f);
    if (pattern == 0)
        return false;
    unsigned len = 31 - (unsigned)__builtin_clz(pattern);
    if (len < 1 || (n && !wide))
        return false;
    unsigned levels = (1u << len) - 1, esize = 1u << len;
    if (immediate && (imms & levels) == levels)
        return false;
    unsigned s = imms & levels, r = immr & levels, d = (s - r) & levels;
    uint64_t welem = s == 63 ? ~0ull : (1ull << (s + 1)) - 1;
    uint64_t telem = d == 63 ? ~0ull : (1ull << (d + 1)) - 1;
    welem = rotate(welem, r, esize);
    for (unsigned at = esize; at < 64; at *= 2) {
        welem |= welem << at;
        telem |= telem << at;
    }
    *wmask = welem;
    *tmask = telem;
    return true;
}

static enum outcome bitfield(struct cpu *cpu, uint32_t word, bool wide)
{
    unsigned opc = bits(word, 29, 2), n = bits(word, 22, 1), immr = bits(word, 16, 6), imms = bits(word, 10, 6);
    unsigned rn = bits(word, 5, 5), rd = bits(word, 0, 5);
    uint64_t wmask, tmask;
    if (opc == 3 || n != wide || (!wide && (immr > 31 || imms > 31)) ||
        !decode_masks(n, imms, immr, false, wide, &wmask, &tmask))
        return OUTCOME_UNKNOWN;
    uint64_t source = read_zero(cpu, rn);
    uint64_t bottom = rotate(wide ? source : (uint32_t)source, immr, wide ? 64 : 32) & wmask;
    uint64_t result;
    if (opc == 1) { /* BFM */
        uint64_t old = read_zero(cpu, rd);
        result = (old & ~tmask) | (((old & ~wmask) | bottom) & tmask);
    } else if (opc == 2) {
        result = bottom & tmask;
    } else {
        uint64_t top = source >> imms & 1 ? ~0ull : 0;
        result = (top & ~tmask) | (bottom & tmask);
    }
    write_zero(cpu, rd, result, wide);
    return OUTCOME_NEXT;
}

static enum outcome move_wide(struct cpu *cpu, uint32_t word, bool wide)
{
    unsigned opc = bits(word, 29, 2), at = bits(word, 21, 2) * 16, rd = bits(word, 0, 5);
    uint64_t value = (uint64_t)bits(word, 5, 16) << at;
    if (opc == 1 || (!wide && at > 16))
        return OUTCOME_UNKNOWN;
    if (opc == 0)
        value = ~value;
    else if (opc == 3)
        value |= read_zero(cpu, rd) & ~(0xffffull << at);
    write_zero(cpu, rd, value, wide);
    return OUTCOME_NEXT;
}

enum outcome integer_immediate(struct cpu *cpu, uint32_t word)
{
    bool wide = word >> 31;
    unsigned rd = bits(word, 0, 5), rn = bits(word, 5, 5);
    switch (bits(word, 23, 3)) {
    case 0:
    case 1: { /* ADR, ADRP */
        int64_t offset = sign_extend((uint64_t)bits(word, 5, 19) << 2 | bits(word, 29, 2), 21);
        uint64_t base = *cpu->pc;
        if (wide) {
            base &= ~0xfffull;
            offset = (int64_t)((uint64_t)offset << 12);
        }
        write_zero(cpu, rd, base + (uint64_t)offset, true);
        return OUTCOME_NEXT;
    }
    case 2: { /* ADD, SUB (immediate) */
        uint64_t immediate = bits(word, 10, 12) << (word >> 22 & 1 ? 12 : 0);
        bool subtract = word >> 30 & 1, flags = word >> 29 & 1;
        uint64_t result =
            add_with_carry(cpu, read_sp(cpu, rn), subtract ? ~immediate : immediate, subtract, wide, flags);
        if (flags)
            write_zero(cpu, rd, result, wide);
        else
            write_sp(cpu, rd, result, wide);
        return OUTCOME_NEXT;
    }
    case 4: { /* AND, ORR, EOR, ANDS (immediate) */
        uint64_t wmask, tmask;
        if (!decode_masks(bits(word, 22, 1), bits(word, 10, 6), bits(word, 16, 6), true, wide, &wmask, &tmask))
            return OUTCOME_UNKNOWN;
        uint64_t a = read_zero(cpu, rn);
        unsigned opc = bits(word, 29, 2);
        uint64_t result = opc == 1 ? a | wmask : opc == 2 ? a ^ wmask : a & wmask;
        if (opc == 3) {
            set_logical_flags(cpu, result, wide);
            write_zero(cpu, rd, result, wide);
        } else {
            write_sp(cpu, rd, result, wide);
        }
        return OUTCOME_NEXT;
    }
    case 5:
        return move_wide(cpu, word, wide);
    case 6:
        return bitfield(cpu, word, wide);
    case 7: { /* EXTR */
        unsigned lsb = bits(word, 10, 6), width = wide ? 64 : 32;
        if (bits(word, 29, 2) != 0 || word >> 21 & 1 || bits(word, 22, 1) != wide || lsb >= width)
            return OUTCOME_UNKNOWN;
        uint64_t high = read_zero(cpu, rn), low = read_zero(cpu, bits(word, 16, 5));
        if (!wide)
            low = (uint32_t)low;
        write_zero(cpu, rd, lsb == 0 ? low : low >> lsb | high << (width - lsb), wide);
        return OUTCOME_NEXT;
    }
    }
    return OUTCOME_UNKNOWN; /* MTE's ADDG, SUBG; the minimum and maximum of later versions */
}

static enum outcome logical_shifted(struct cpu *cpu, uint32_t word, bool wide)
{
    unsigned amount = bits(word, 10, 6), opc = bits(word, 29, 2), rd = bits(word, 0, 5);
    if (!wide && amount > 31)
        return OUTCOME_UNKNOWN;
    uint64_t a = read_zero(cpu, bits(word, 5, 5));
    uint64_t b = shift(read_zero(cpu, bits(word, 16, 5)), bits(word, 22, 2), amount, wide);
    if (word >> 21 & 1)
        b = ~b;
    uint64_t result = opc == 1 ? a | b : opc == 2 ? a ^ b : a & b;
    if (opc == 3)
        set_logical_flags(cpu, result, wide);
    write_zero(cpu, rd, result, wide);
    return OUTCOME_NEXT;
}

static enum outcome add_shifted(struct cpu *cpu, uint32_t word, bool wide)
{
    unsigned amount = bits(word, 10, 6), type = bits(word, 22, 2);
    if (type == 3 || (!wide && amount > 31))
        return OUTCOME_UNKNOWN;
    bool subtract = word >> 30 & 1;
    uint64_t b = shift(read_zero(cpu, bits(word, 16, 5)), type, amount, wide);
    uint64_t result =
        add_with_carry(cpu, read_zero(cpu, bits(word, 5, 5)), subtract ? ~b : b, subtract, wide, word >> 29 & 1);
    write_zero(cpu, bits(word, 0, 5), result, wide);
    return OUTCOME_NEXT;
}

static enum outcome add_extended(struct cpu *cpu, uint32_t word, bool wide)
{
    unsigned option = bits(word, 13, 3), amount = bits(word, 10, 3), rd = bits(word, 0, 5);
    if (amount > 4 || bits(word, 22, 2) != 0)
        return OUTCOME_UNKNOWN;
    bool subtract = word >> 30 & 1, flags = word >> 29 & 1;
    uint64_t b = read_zero(cpu, bits(word, 16, 5));
    unsigned width = 8u << (option & 3);
    if (width < 64)
        b = option & 4 ? (uint64_t)sign_extend(b, width) : b & ((1ull << width) - 1);
    b <<= amount;
    uint64_t result = add_with_carry(cpu, read_sp(cpu, bits(word, 5, 5)), subtract ? ~b : b, subtract, wide, flags);
    if (flags)
        write_zero(cpu, rd, result, wide);
    else
        write_sp(cpu, rd, result, wide);
    return OUTCOME_NEXT;
}

static enum outcome one_source(struct cpu *cpu, uint32_t word, bool wide)
{
    if (bits(word, 16, 5) != 0 || word >> 29 & 1)
        return OUTCOME_UNKNOWN; /* pointer authentication, later additions */
    uint64_t a = read_zero(cpu, bits(word, 5, 5));
    uint64_t result;
    switch (bits(word, 10, 6)) {
    case 0: { /* RBIT */
        result = __builtin_bswap64(a);
        result = (result >> 4 & 0x0f0f0f0f0f0f0f0f) | (result & 0x0f0f0f0f0f0f0f0f) << 4;
        result = (result >> 2 & 0x3333333333333333) | (result & 0x3333333333333333) << 2;
        result = (result >> 1 & 0x5555555555555555) | (result & 0x5555555555555555) << 1;
        if (!wide)
            result >>= 32;
        break;
    }
    case 1: /* REV16 */
        result = (a >> 8 & 0x00ff00ff00ff00ff) | (a & 0x00ff00ff00ff00ff) << 8;
        break;
    case 2: /* REV of 32 bits, REV32 of 64 */
        result = wide ? rotate(__builtin_bswap64(a), 32, 64) : __builtin_bswap32((uint32_t)a);
        break;
    case 3:
        if (!wide)
            return OUTCOME_UNKNOWN;
        result = __builtin_bswap64(a);
        break;
    case 4: /* CLZ */
        if (wide)
            result = a ? (unsigned)__builtin_clzll(a) : 64;
        else
            result = (uint32_t)a ? (unsigned)__builtin_clz((uint32_t)a) : 32;
        break;
    case 5: /* CLS */
        result = wide ? (unsigned)__builtin_clrsbll((int64_t)a) : (unsigned)__builtin_clrsb((int32_t)a);
        break;
    default:
        return OUTCOME_UNKNOWN;
    }
    write_zero(cpu, bits(word, 0, 5), result, wide);
    return OUTCOME_NEXT;
}

static enum outcome two_source(struct cpu *cpu, uint32_t word, bool wide)
{
    uint64_t a = read_zero(cpu, bits(word, 5, 5)), b = read_zero(cpu, bits(word, 16, 5));
    unsigned opcode = bits(word, 10, 6), rd = bits(word, 0, 5);
    uint64_t result;
    if (word >> 29 & 1)
        return OUTCOME_UNKNOWN; /* MTE */
    switch (opcode) {
    case 2: /* UDIV */
        if (!wide)
            result = (uint32_t)b ? (uint32_t)a / (uint32_t)b : 0;
        else
            result = b ? a / b : 0;
        break;
    case 3: /* SDIV: the quotient that does not fit wraps */
        if (!wide) {
            int32_t n = (int32_t)a, d = (int32_t)b;
            result = d == 0 ? 0 : d == -1 ? 0u - (uint32_t)n : (uint32_t)(n / d);
        } else {
            int64_t n = (int64_t)a, d = (int64_t)b;
            result = d == 0 ? 0 : d == -1 ? 0ull - (uint64_t)n : (uint64_t)(n / d);
        }
        break;
    case 8:
    case 9:
    case 10:
    case 11: /* LSLV, LSRV, ASRV, RORV */
        result = shift(a, opcode & 3, b & (wide ? 63 : 31), wide);
        break;
    default: {
        if (opcode < 16 || opcode > 23 || ((opcode & 3) == 3) != wide)
            return OUTCOME_UNKNOWN;
        struct slot_state state = {.x = {a, b}}; /* CRC32 */
        enum outcome outcome = slot_execute((word & ~0x1f03ffu) | 1u << 16, &state);
        if (outcome != OUTCOME_NEXT)
            return outcome;
        result = state.x[0];
    }
    }
    write_zero(cpu, rd, result, wide);
    return OUTCOME_NEXT;
}

static enum outcome three_source(struct cpu *cpu, uint32_t word, bool wide)
{
    uint64_t a = read_zero(cpu, bits(word, 5, 5)), b = read_zero(cpu, bits(word, 16, 5));
    uint64_t c = read_zero(cpu, bits(word, 10, 5));
    bool subtract = word >> 15 & 1;
    uint64_t product;
    if (bits(word, 29, 2) != 0)
        return OUTCOME_UNKNOWN;
    switch (bits(word, 21, 3)) {
    case 0:
        product = a * b;
        break;
    case 1: /* SMADDL */
        product = (uint64_t)((int64_t)(int32_t)a * (int32_t)b);
        break;
    case 5: /* UMADDL */
        product = (uint64_t)(uint32_t)a * (uint32_t)b;
        break;
    case 2: /* SMULH */
        product = (uint64_t)(((__int128)(int64_t)a * (int64_t)b) >> 64);
        break;
    case 6: /* UMULH */
        product = (uint64_t)(((unsigned __int128)a * b) >> 64);
        break;
    default:
        return OUTCOME_UNKNOWN;
    }
    if (bits(word, 21, 3) != 0 && !wide)
        return OUTCOME_UNKNOWN;
    if ((bits(word, 21, 2)) == 2) {
        if (subtract)
            return OUTCOME_UNKNOWN;
        c = 0; /* the field is ignored: should be 31 */
    }
    write_zero(cpu, bits(word, 0, 5), subtract ? c - product : c + product, wide);
    return OUTCOME_NEXT;
}

static enum outcome conditional(struct cpu *cpu, uint32_t word, bool wide)
{
    unsigned rd = bits(word, 0, 5), rn = bits(word, 5, 5), rm = bits(word, 16, 5);
    bool holds = cpu_condition(cpu, bits(word, 12, 4));
    if (bits(word, 21, 4) == 4) { /* CSEL, CSINC, CSINV, CSNEG */
        if (word >> 29 & 1 || word >> 11 & 1)
            return OUTCOME_UNKNOWN;
        uint64_t result = read_zero(cpu, rn);
        if (!holds) {
            result = read_zero(cpu, rm);
            if (word >> 30 & 1)
                result = ~result;
            if (word >> 10 & 1)
                result++;
        }
        write_zero(cpu, rd, result, wide);
        return OUTCOME_NEXT;
    }
    if (!(word >> 29 & 1) || word >> 10 & 1 || word >> 4 & 1)
        return OUTCOME_UNKNOWN;
    if (!holds) { /* CCMN, CCMP */
        set_flags(cpu, (uint64_t)bits(word, 0, 4) << 28);
        return OUTCOME_NEXT;
    }
    uint64_t b = word >> 11 & 1 ? rm : read_zero(cpu, rm);
    bool subtract = word >> 30 & 1;
    add_with_carry(cpu, read_zero(cpu, rn), subtract ? ~b : b, subtract, wide, true);
    return OUTCOME_NEXT;
}

enum outcome integer_register(struct cpu *cpu, uint32_t word)
{
    bool wide = word >> 31;
    if (!(word >> 28 & 1)) {
        if (!(word >> 24 & 1))
            return logical_shifted(cpu, word, wide);
        return word >> 21 & 1 ? add_extended(cpu, word, wide) : add_shifted(cpu, word, wide);
    }
    if (word >> 24 & 1)
        return three_source(cpu, word, wide);
    switch (bits(word, 21, 4)) {
    case 0: { /* ADC, SBC */
        if (bits(word, 10, 6) != 0)
            return OUTCOME_UNKNOWN;
        uint64_t b = read_zero(cpu, bits(word, 16, 5));
        unsigned carry = *cpu->pstate & FLAG_C ? 1 : 0;
        uint64_t result =
            add_with_carry(cpu, read_zero(cpu, bits(word, 5, 5)), word >> 30 & 1 ? ~b : b, carry, wide, word >> 29 & 1);
        write_zero(cpu, bits(word, 0, 5), result, wide);
        return OUTCOME_NEXT;
    }
    case 2:
    case 4:
        return conditional(cpu, word, wide);
    case 6:
        return word >> 30 & 1 ? one_source(cpu, word, wide) : two_source(cpu, word, wide);
    }
    return OUTCOME_UNKNOWN;
}
