/* isa/x86_64/linked_uses.c - see linked.h. Pure. */
#include "isa/x86_64/linked.h"

static void use(unsigned *mask, unsigned reg)
{
    if (reg >= 8 && reg < 16)
        *mask |= 1u << reg;
}

/* The fourth bits of registers' numbers, as the prefix has them. */
struct high_bits {
    unsigned reg, index, base;
};

static struct high_bits high_bits_of(const struct decoded *decoded, const uint8_t *bytes)
{
    if (decoded->prefix_at == DECODE_NONE)
        return (struct high_bits){0, 0, 0};
    uint8_t first = bytes[decoded->prefix_at], second = bytes[decoded->prefix_at + 1];
    if (decoded->encoding == DECODE_LEGACY)
        return (struct high_bits){first >> 2 & 1, first >> 1 & 1, first & 1};
    if (first == 0xc5)
        return (struct high_bits){!(second >> 7), 0, 0};
    return (struct high_bits){!(second >> 7), !(second >> 6 & 1), !(second >> 5 & 1)};
}

unsigned linked_registers(const struct decoded *decoded, const uint8_t *bytes)
{
    struct high_bits high = high_bits_of(decoded, bytes);
    unsigned mask = 0, rm = decoded->modrm & 7;
    use(&mask, (decoded->modrm >> 3 & 7) | high.reg << 3);
    use(&mask, rm | high.base << 3);
    use(&mask, (decoded->opcode & 7u) | high.base << 3);
    if (decoded->encoding != DECODE_LEGACY)
        use(&mask, decoded->extra & 15u);
    if (decoded->modrm_at && decoded->modrm >> 6 != 3 && rm == 4) {
        uint8_t sib = bytes[decoded->modrm_at + 1];
        use(&mask, (sib & 7u) | high.base << 3);
        use(&mask, (sib >> 3 & 7u) | high.index << 3);
    }
    for (unsigned i = 0; i < decoded->operand_count; i++) {
        use(&mask, decoded->operands[i].base);
        if (!decoded->operands[i].elements)
            use(&mask, decoded->operands[i].index);
    }
    return mask;
}

static int flags_of_two_bytes(const struct decoded *decoded)
{
    unsigned opcode = decoded->opcode;
    if (opcode == 0x2e || opcode == 0x2f) /* ucomis, comis */
        return 1;
    if (decoded->encoding != DECODE_LEGACY)
        return 0;
    return (opcode & 0xf0) == 0x40 || (opcode & 0xf0) == 0x80 || (opcode & 0xf0) == 0x90 ? -1 : 0; /* cmov, j, set */
}

/* adc and sbb read; add, or, and, sub, xor, cmp do not. */
static int flags_of_arithmetic(unsigned which)
{
    return which == 2 || which == 3 ? -1 : 1;
}

int linked_flags(const struct decoded *decoded)
{
    unsigned opcode = decoded->opcode, reg = decoded->modrm >> 3 & 7;
    if (decoded->map == 1)
        return flags_of_two_bytes(decoded);
    if (decoded->map != 0) /* adcx, adox */
        return decoded->map == 2 && opcode == 0xf6 && decoded->encoding == DECODE_LEGACY ? -1 : 0;
    switch (opcode) {
    case 0x00 ... 0x3f:
        return (opcode & 7) > 5 ? 0 : flags_of_arithmetic(opcode >> 3);
    case 0x80:
    case 0x81:
    case 0x83:
        return flags_of_arithmetic(reg);
    case 0x84:
    case 0x85:
    case 0xa8:
    case 0xa9: /* test */
        return 1;
    case 0xf6:
    case 0xf7: /* test, neg; not changes none, the others leave some undefined */
        return reg <= 1 || reg == 3 ? 1 : 0;
    case 0x70 ... 0x7f:
    case 0x9c:
    case 0x9f:
    case 0xd8 ... 0xdf: /* fcmov */
    case 0xe0:
    case 0xe1:
    case 0xf5:
        return -1;
    case 0xc0:
    case 0xc1:
    case 0xd0 ... 0xd3: /* rcl, rcr read; by a count of 0 the others change none */
        return reg == 2 || reg == 3 ? -1 : 0;
    default:
        return 0;
    }
}
