/* isa/aarch64/linked_decode.c - see linked.h. What the processor does not have raises SIGILL in its copy, and is left to the
 * program. */
#include "isa/aarch64/linked.h"
#include "isa/aarch64/cpu.h"
#include "isa/aarch64/transfer.h"

enum { RD = 1, RN = 2, RA = 4, RM = 8, LINK = 1u << 30 };

static bool immediate(uint32_t word, uint64_t pc, struct linked_instruction *out)
{
    switch (bits(word, 23, 3)) {
    case 0:
    case 1: { /* ADR, ADRP */
        uint64_t distance = (uint64_t)sign_extend((uint64_t)bits(word, 5, 19) << 2 | bits(word, 29, 2), 21);
        out->op = LINKED_CONSTANT;
        out->target = word >> 31 ? (pc & ~(uint64_t)0xfff) + (distance << 12) : pc + distance;
        out->fields = RD;
        return true;
    }
    case 5: /* MOVZ and kin */
        out->fields = RD;
        return true;
    case 2: /* ADD, SUB */
    case 4: /* AND and kin */
    case 6: /* bit fields */
        out->fields = RD | RN;
        return true;
    case 7: /* EXTR */
        out->fields = RD | RN | RM;
        return true;
    default: /* tags of memory */
        return false;
    }
}

static bool registers(uint32_t word, struct linked_instruction *out)
{
    out->fields = RD | RN | RM;
    if (!(word >> 28 & 1))
        return true;
    switch (bits(word, 21, 4)) {
    case 0: /* ADC, SBC; others of this group take fewer */
        return bits(word, 10, 6) == 0;
    case 2: /* CCMP, CCMN */
        out->fields = word >> 11 & 1 ? RN : RN | RM;
        return true;
    case 4: /* CSEL and kin */
        return true;
    case 6: /* two sources, or one */
        if (word >> 30 & 1)
            out->fields = RD | RN;
        return true;
    case 8 ... 15:
        out->fields = RD | RN | RA | RM;
        return true;
    default:
        return false;
    }
}

static bool hint(unsigned number, struct linked_instruction *out)
{
    if (hint_is_nothing(number))
        return true;
    switch (number) {
    case 8: /* PACIA1716 and kin */
    case 10:
    case 12:
    case 14:
        out->used = 3u << 16;
        return true;
    case 7: /* XPACLRI; PACIAZ, PACIASP and kin */
    case 24 ... 31:
        out->used = LINK;
        return true;
    default:
        return false;
    }
}

static bool zero_block(struct linked_instruction *out)
{
    uint64_t dczid;
    __asm__("mrs %0, dczid_el0" : "=r"(dczid));
    out->fields = RD;
    out->mode = LINKED_BY_BLOCK;
    out->size = (uint16_t)(4u << (dczid & 15));
    out->flags = SAMPLE_WRITE;
    return !(dczid & 16);
}

static bool system_group(uint32_t word, struct linked_instruction *out)
{
    if ((word & 0xfffff01f) == 0xd503201f)
        return hint(bits(word, 5, 7), out);
    if ((word & 0xfffff01f) == 0xd503301f) { /* CLREX, DSB, DMB, ISB */
        unsigned opcode = bits(word, 5, 3);
        return opcode == 2 || (opcode >= 4 && opcode <= 6);
    }
    out->fields = RD;
    switch (word & 0xffffffe0) {
    case 0xd50b7420:
        return zero_block(out);
    case 0xd53bd040: /* MRS of tpidr_el0 */
    case 0xd53be040: /* cntvct_el0 */
    case 0xd53be000: /* cntfrq_el0 */
    case 0xd53b00e0: /* dczid_el0 */
    case 0xd53b0020: /* ctr_el0 */
    case 0xd53b4200: /* nzcv, fpcr, fpsr; MSR of them */
    case 0xd53b4400:
    case 0xd53b4420:
    case 0xd51b4200:
    case 0xd51b4400:
    case 0xd51b4420:
        return true;
    default:
        return false;
    }
}

static bool by_register(uint32_t word, struct linked_instruction *out)
{
    out->fields = RN;
    if ((word & 0xfffffc1f) == 0xd61f0000 || (word & 0xfffffc1f) == 0xd65f0000) { /* BR, RET */
        out->op = LINKED_REGISTER;
        return true;
    }
    if ((word & 0xfffffc1f) == 0xd63f0000) { /* BLR */
        out->op = LINKED_REGISTER_CALL;
        out->used = LINK;
        return true;
    }
    out->op = LINKED_RETURN_SIGNED;
    out->fields = 0;
    out->used = LINK;
    return word == 0xd65f0bff || word == 0xd65f0fff;
}

static bool branch(uint32_t word, uint64_t pc, struct linked_instruction *out)
{
    if ((word & 0x7c000000) == 0x14000000) { /* B, BL */
        out->op = word >> 31 ? LINKED_CALL : LINKED_JUMP;
        out->target = pc + (uint64_t)sign_extend(bits(word, 0, 26), 26) * 4;
        out->used = word >> 31 ? LINK : 0;
        return true;
    }
    bool test_bit = (word & 0x7e000000) == 0x36000000, compare = (word & 0x7e000000) == 0x34000000;
    if (test_bit || compare || (word & 0xff000000) == 0x54000000) {
        bool always = !test_bit && !compare && bits(word, 1, 3) == 7;
        out->op = always ? LINKED_JUMP : LINKED_CONDITION;
        out->fields = test_bit || compare ? RD : 0;
        out->target =
            pc + (uint64_t)(test_bit ? sign_extend(bits(word, 5, 14), 14) : sign_extend(bits(word, 5, 19), 19)) * 4;
        return true;
    }
    if ((word & 0xfe000000) == 0xd6000000)
        return by_register(word, out);
    return system_group(word, out);
}

static void set_access(struct linked_instruction *out, unsigned base, unsigned size, unsigned flags)
{
    out->base = (uint8_t)base;
    out->size = (uint16_t)size;
    out->flags = (uint8_t)flags;
}

static bool plain(uint32_t word, uint64_t pc, struct linked_instruction *out)
{
    struct transfer t;
    if (!transfer_decode(word, &t))
        return false;
    out->fields = (uint8_t)((t.vector || t.prefetch ? 0 : RD) | (t.literal ? 0 : RN) | (t.extend ? RM : 0) |
                            (t.count == 2 && !t.vector ? RA : 0));
    if (t.literal) {
        out->op = t.prefetch ? LINKED_SKIP : LINKED_LITERAL;
        out->target = pc + (uint64_t)t.offset;
        out->mode = LINKED_BY_TARGET;
    }
    if (t.prefetch)
        return true;
    set_access(out, t.rn, t.count << t.log2, t.load ? SAMPLE_READ : SAMPLE_WRITE);
    out->offset = t.post ? 0 : (int32_t)t.offset;
    if (t.extend) {
        out->mode = LINKED_BY_REGISTER;
        out->extend = (uint8_t)t.extend;
        out->shift = (uint8_t)t.shift;
        out->index = (uint8_t)t.rm;
    }
    return true;
}

/* Exclusive, acquire and release, compare and swap. */
static bool ordered(uint32_t word, struct linked_instruction *out)
{
    unsigned size = 1u << bits(word, 30, 2), rn = bits(word, 5, 5), rs = bits(word, 16, 5), rt = bits(word, 0, 5);
    bool load = word >> 22 & 1, single = bits(word, 10, 5) == 31;
    out->fields = RD | RN;
    if (word >> 24 & 1) { /* LDAPUR, STLUR */
        unsigned opc = bits(word, 22, 2);
        set_access(out, rn, size, opc == 0 ? SAMPLE_WRITE : SAMPLE_READ);
        out->offset = (int32_t)sign_extend(bits(word, 12, 9), 9);
        return bits(word, 30, 2) + (opc >= 2) + (opc == 3) <= 3;
    }
    switch (bits(word, 23, 1) << 1 | bits(word, 21, 1)) {
    case 2: /* LDAR, STLR */
        set_access(out, rn, size, load ? SAMPLE_READ : SAMPLE_WRITE);
        return single && rs == 31;
    case 3: /* CAS */
        set_access(out, rn, size, SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED);
        out->fields |= RM;
        return single;
    case 1:
        if (!(word >> 31)) { /* CASP */
            set_access(out, rn, word >> 30 & 1 ? 16 : 8, SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED);
            out->fields |= RM;
            out->used = 1u << (rs | 1) | 1u << (rt | 1);
            bool moves = rs >> 1 == LINKED_STATE_REGISTER >> 1 || rt >> 1 == LINKED_STATE_REGISTER >> 1;
            return single && !(rs & 1) && !(rt & 1) && rs != 30 && rt != 30 && !moves;
        }
        out->fields |= RA; /* LDXP, STXP */
        size *= 2;
        break;
    default:
        break;
    }
    out->op = load ? LINKED_EXCLUSIVE_LOAD : LINKED_EXCLUSIVE_STORE;
    if (load)
        set_access(out, rn, size, SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED);
    else
        out->fields |= RM;
    return true;
}

static bool atomic(uint32_t word, struct linked_instruction *out)
{
    unsigned opcode = bits(word, 12, 4), size = 1u << bits(word, 30, 2), rn = bits(word, 5, 5);
    out->fields = RD | RN | RM;
    if (opcode == 12) { /* LDAPR */
        set_access(out, rn, size, SAMPLE_READ);
        return bits(word, 16, 5) == 31 && bits(word, 22, 2) == 2;
    }
    set_access(out, rn, size, SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED);
    return opcode <= 8;
}

static bool structure(uint32_t word, struct linked_instruction *out)
{
    unsigned count, bytes, rm = bits(word, 16, 5);
    bool post = word >> 23 & 1;
    if (!structure_shape(word, &count, &bytes) || (!post && rm != 0))
        return false;
    out->fields = post ? RN | RM : RN;
    set_access(out, bits(word, 5, 5), bytes, word >> 22 & 1 ? SAMPLE_READ : SAMPLE_WRITE);
    return true;
}

static bool memory(uint32_t word, uint64_t pc, struct linked_instruction *out)
{
    if ((word & 0xbe000000) == 0x0c000000)
        return structure(word, out);
    if ((word & 0x3f000000) == 0x08000000 || (word & 0x3f200c00) == 0x19000000)
        return ordered(word, out);
    if ((word & 0x3f200c00) == 0x38200000)
        return atomic(word, out);
    return plain(word, pc, out);
}

static bool vector(uint32_t word, struct linked_instruction *out)
{
    enum vector_general general = vector_general_register(word);
    out->fields = general == GENERAL_SOURCE ? RN : general == GENERAL_TARGET ? RD : 0;
    return true;
}

static bool decode(uint32_t word, uint64_t pc, unsigned scalable, struct linked_instruction *out)
{
    switch (bits(word, 25, 4)) { /* the architecture's op0 */
    case 8:
    case 9:
        return immediate(word, pc, out);
    case 10:
    case 11:
        return branch(word, pc, out);
    case 4:
    case 6:
    case 12:
    case 14:
        return memory(word, pc, out);
    case 5:
    case 13:
        return registers(word, out);
    case 7:
    case 15:
        return vector(word, out);
    case 2:
        return scalable && linked_decode_scalable(word, scalable, out);
    default: /* SME, what is not allocated */
        return false;
    }
}

void linked_decode(uint32_t word, uint64_t pc, unsigned scalable, struct linked_instruction *out)
{
    static const uint8_t places[] = {0, 5, 10, 16};
    *out = (struct linked_instruction){.word = word};
    if (!decode(word, pc, scalable, out)) {
        *out = (struct linked_instruction){.word = word, .op = LINKED_STOP};
        return;
    }
    for (unsigned i = 0; i < 4; i++)
        if (out->fields >> i & 1)
            out->used |= 1u << bits(word, places[i], 5);
    out->used &= ~(1u << 31); /* the zero register, or the stack pointer */
}
