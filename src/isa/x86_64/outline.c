/* See outline.h. Runs in bursts: no calls out. */
#include "isa/x86_64/outline.h"

static bool is_repeated_string(const struct decoded *decoded)
{
    return decoded->map == 0 && decoded->repeated;
}

/* Compares and scans look at ZF as well as at the counter. */
static bool is_compare(uint8_t opcode)
{
    return (opcode & 0xf6) == 0xa6; /* A6, A7 cmps; AE, AF scas */
}

/* A group of the one-byte map: by ModRM's reg. */
static bool is_indirect(const struct decoded *decoded, unsigned which)
{
    return decoded->opcode == 0xff && (decoded->modrm >> 3 & 7) == which;
}

static bool may_take_repeat(const struct decoded *decoded)
{
    switch (decoded->opcode) { /* F3 90 is pause, F3 C3 an old way to return, F2 before a branch was for bounds */
    case 0x70 ... 0x7f:
    case 0x90:
    case 0xc2:
    case 0xc3:
    case 0xe8:
    case 0xe9:
    case 0xeb:
        return true;
    case 0xff:
        return is_indirect(decoded, 2) || is_indirect(decoded, 4);
    default:
        return false; /* XACQUIRE, XRELEASE and what has no meaning yet */
    }
}

static bool stops_1(const struct decoded *decoded)
{
    unsigned reg = decoded->modrm >> 3 & 7;
    bool memory = decoded->modrm_at && decoded->modrm >> 6 != 3;
    switch (decoded->opcode) {
    case 0xd9:
    case 0xdd: /* fnstenv, fnsave: they store the address of the last x87 instruction */
        return memory && reg == 6;
    case 0xe0 ... 0xe3:
        return decoded->address32 || decoded->operand16;
    default:
        return decoded->repeat && !decoded->repeated && !may_take_repeat(decoded);
    }
}

static bool stops_0f(const struct decoded *decoded)
{
    unsigned reg = decoded->modrm >> 3 & 7;
    bool memory = decoded->modrm >> 6 != 3;
    if (decoded->encoding != DECODE_LEGACY)
        return false;
    switch (decoded->opcode) {
    case 0x01: /* only xgetbv and rdtscp: not xtest, nor the protection keys */
        return decoded->modrm != 0xd0 && decoded->modrm != 0xf9;
    case 0xa2: /* cpuid */
        return true;
    case 0xae: /* state as a whole: fxsave, xsave and their kin; ldmxcsr, stmxcsr, fences, flushes may run */
        return memory && !decoded->operand16 && (reg <= 1 || (reg >= 4 && reg <= 6));
    case 0xc7: /* xsavec; senduipi */
        return memory ? reg != 1 : decoded->repeat == 0xf3 && reg == 6;
    default:
        return false;
    }
}

static bool is_jump_if(const struct decoded *decoded)
{
    return decoded->encoding == DECODE_LEGACY && ((decoded->map == 0 && (decoded->opcode & 0xf0) == 0x70) ||
                                                  (decoded->map == 1 && (decoded->opcode & 0xf0) == 0x80));
}

static uint8_t branch_of(const struct decoded *decoded)
{
    bool memory = decoded->modrm >> 6 != 3;
    if (is_jump_if(decoded))
        return BRANCH_CONDITION;
    if (decoded->map != 0 || decoded->encoding != DECODE_LEGACY)
        return BRANCH_NONE;
    switch (decoded->opcode) {
    case 0xc2:
    case 0xc3:
        return BRANCH_RETURN;
    case 0xe0:
        return BRANCH_LOOP_UNEQUAL;
    case 0xe1:
        return BRANCH_LOOP_EQUAL;
    case 0xe2:
        return BRANCH_LOOP;
    case 0xe3:
        return BRANCH_COUNTER_ZERO;
    case 0xe8:
        return BRANCH_CALL;
    case 0xe9:
    case 0xeb:
        return BRANCH_JUMP;
    case 0xff:
        if (is_indirect(decoded, 2))
            return memory ? BRANCH_CALL_MEMORY : BRANCH_CALL_REGISTER;
        if (is_indirect(decoded, 4))
            return memory ? BRANCH_JUMP_MEMORY : BRANCH_JUMP_REGISTER;
        return BRANCH_NONE;
    default:
        return BRANCH_NONE;
    }
}

/* A register below 8, and so without a prefix, that the instruction neither names nor uses without naming. Those with a
 * rip-relative operand name two more at most: by ModRM's reg (a vector register's number does no harm) and by VEX. */
static uint8_t free_register(const struct decoded *decoded)
{
    static const uint8_t candidates[] = {DECODE_RSI, DECODE_RDI, DECODE_RBX};
    bool has_extra = decoded->encoding != DECODE_LEGACY;
    for (unsigned i = 0; i < sizeof candidates; i++) {
        uint8_t candidate = candidates[i];
        /* without REX, the numbers of SI and DI name DH and BH in instructions on bytes */
        if (decoded->reg != candidate && !(has_extra && decoded->extra == candidate))
            return candidate == DECODE_RBX && !has_extra ? DECODE_NONE : candidate;
    }
    return DECODE_NONE;
}

static bool is_lea(const struct decoded *decoded)
{
    return decoded->map == 0 && decoded->encoding == DECODE_LEGACY && decoded->opcode == 0x8d;
}

void outline_of(const struct decoded *decoded, uint64_t pc, struct outline *outline)
{
    uint64_t next = pc + decoded->length;
    *outline = (struct outline){.kind = OUTLINE_STOP, .scratch = DECODE_NONE};
    if (decoded->encoding == DECODE_LEGACY && decoded->map == 0 ? stops_1(decoded)
                                                                : decoded->map == 1 && stops_0f(decoded))
        return;
    if (decoded->lock && decoded->repeat)
        return; /* XACQUIRE, XRELEASE */
    outline->branch = branch_of(decoded);
    if (outline->branch != BRANCH_NONE) {
        if (decoded->operand16 && !decoded->w)
            return; /* read in two ways by different makers */
        outline->kind = OUTLINE_BRANCH;
        outline->condition = decoded->opcode & 15;
        outline->reg = decoded->rm;
        outline->target = next + (uint64_t)(int64_t)decoded->immediate;
        outline->pop = decoded->opcode == 0xc2 ? (uint16_t)decoded->immediate : 0;
        return;
    }
    if (is_repeated_string(decoded)) {
        if (decoded->counter_is_ecx)
            return;
        outline->until_equal = is_compare(decoded->opcode) && decoded->repeat == 0xf2;
        outline->while_equal = is_compare(decoded->opcode) && decoded->repeat == 0xf3;
        outline->kind = OUTLINE_REPEAT;
        return;
    }
    if (decoded->rip_at) {
        if (decoded->address32)
            return;
        outline->target = next + (uint64_t)(int64_t)decoded->rip_disp;
        bool whole = is_lea(decoded) && decoded->w;
        outline->scratch = whole ? decoded->reg : free_register(decoded);
        if (outline->scratch == DECODE_NONE)
            return;
        outline->kind = whole ? OUTLINE_LEA : OUTLINE_COPY;
        return;
    }
    outline->kind = OUTLINE_COPY;
}

static bool is_prefix(uint8_t byte)
{
    switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x40 ... 0x4f:
    case 0x64 ... 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
        return true;
    default:
        return false;
    }
}

static uint32_t name_of(unsigned count, unsigned first, unsigned second, unsigned third)
{
    return count << 24 | first << 16 | second << 8 | third;
}

uint32_t outline_name(const uint8_t *bytes, size_t available)
{
    size_t at = 0;
    while (at + 1 < available && is_prefix(bytes[at]))
        at++;
    const uint8_t *from = bytes + at;
    size_t remaining = available - at;
    if (remaining == 0)
        return 0;
    /* The map is in the byte behind VEX or EVEX, the opcode one or two further on. */
    if (from[0] == 0xc4 && remaining > 3)
        return name_of(3, 0xc4, from[1] & 31, from[3]);
    if (from[0] == 0x62 && remaining > 4)
        return name_of(3, 0x62, from[1] & 7, from[4]);
    if (from[0] == 0xc5 && remaining > 2)
        return name_of(3, 0xc5, 1, from[2]);
    if (from[0] != 0x0f || remaining < 2)
        return name_of(1, from[0], 0, 0);
    bool longer = from[1] == 0x38 || from[1] == 0x3a || from[1] == 0x01; /* of 0F 01 ModRM says which it is */
    return longer && remaining > 2 ? name_of(3, 0x0f, from[1], from[2]) : name_of(2, 0x0f, from[1], 0);
}
