/* The one-byte map and the scalar part of the 0F map: groups, stack, strings, x87. */
#include "isa/x86_64/decode_form.h"

enum {
    READ = SAMPLE_READ,
    WRITE = SAMPLE_WRITE,
    BOTH = SAMPLE_READ | SAMPLE_WRITE,
    /* What xsave and its kin write depends on the processor's state; the part that is always there. */
    XSAVE_LEAST = 576,
};

/* Pushes and pops are 8 bytes wide whatever REX says, 2 with the prefix 66. */
static unsigned stack_size(const struct form *form)
{
    return form->operand16 && !form->w ? 2 : 8;
}

static void push(const struct form *form, struct decoded *decoded, unsigned size)
{
    form_use_implicit(form, decoded, DECODE_RSP, -(int)size, size, WRITE);
}

static void pop(const struct form *form, struct decoded *decoded, unsigned size)
{
    form_use_implicit(form, decoded, DECODE_RSP, 0, size, READ);
}

/* Near branches with the prefix 66 mean one thing to Intel and another to AMD. */
static bool is_odd_branch(const struct form *form)
{
    return form->operand16 && !form->w;
}

static bool decode_string(struct form *form, uint8_t opcode, unsigned size, struct decoded *decoded)
{
    struct form destination = *form;
    destination.segment = DECODE_FLAT; /* ES, which no prefix changes */
    switch (opcode & 0xfe) {
    case 0xa4: /* movs */
        form_use_implicit(form, decoded, DECODE_RSI, 0, size, READ);
        form_use_implicit(&destination, decoded, DECODE_RDI, 0, size, WRITE);
        break;
    case 0xa6: /* cmps */
        form_use_implicit(form, decoded, DECODE_RSI, 0, size, READ);
        form_use_implicit(&destination, decoded, DECODE_RDI, 0, size, READ);
        break;
    case 0xaa: /* stos */
        form_use_implicit(&destination, decoded, DECODE_RDI, 0, size, WRITE);
        break;
    case 0xac: /* lods */
        form_use_implicit(form, decoded, DECODE_RSI, 0, size, READ);
        break;
    default: /* scas */
        form_use_implicit(&destination, decoded, DECODE_RDI, 0, size, READ);
        break;
    }
    decoded->repeated = form->repeat != 0;
    decoded->counter_is_ecx = form->address32;
    return true;
}

static bool decode_x87(struct form *form, uint8_t opcode, struct decoded *decoded)
{
    /* Bytes read, or written when negative, by opcode D8-DF and ModRM's reg; 0: no such instruction. */
    static const int16_t bytes[8][8] = {
        {4, 4, 4, 4, 4, 4, 4, 4},       {4, 0, -4, -4, 28, 2, -28, -2},  {4, 4, 4, 4, 4, 4, 4, 4},
        {4, -4, -4, -4, 0, 10, 0, -10}, {8, 8, 8, 8, 8, 8, 8, 8},        {8, -8, -8, -8, 108, 0, -108, -2},
        {2, 2, 2, 2, 2, 2, 2, 2},       {2, -2, -2, -2, 10, 8, -10, -8},
    };
    if (!form->is_memory)
        return true;
    int size = bytes[opcode - 0xd8][form->reg];
    if (size == 0 || (form->operand16 && (size > 10 || size < -10)))
        return false;
    form_use_memory(form, decoded, (unsigned)(size < 0 ? -size : size), size < 0 ? WRITE : READ);
    return true;
}

/* C6, C7, F6, F7, FE, FF, 80-83, 8F and 63: ModRM's reg says which instruction it is. */
static bool decode_group_1(struct form *form, uint8_t opcode, unsigned size, struct decoded *decoded)
{
    switch (opcode) {
    case 0x63: /* movsxd of 16 bits is read in two widths by different makers */
        if (form->operand16 && !form->w)
            return false;
        form_use_memory(form, decoded, 4, READ);
        return true;
    case 0x80:
    case 0x81:
    case 0x83:
        form_use_memory(form, decoded, size, form->reg == 7 ? READ : BOTH);
        return true;
    case 0x8f:
        if (form->reg != 0)
            return false;
        pop(form, decoded, stack_size(form));
        /* The address is computed after the stack pointer has moved. */
        if (form->is_memory && form->memory.base == DECODE_RSP)
            form->memory.disp += stack_size(form);
        form_use_memory(form, decoded, stack_size(form), WRITE);
        return true;
    case 0xc6:
    case 0xc7: /* reg 7 is xabort, xbegin */
        if (form->reg != 0)
            return false;
        form_use_memory(form, decoded, size, WRITE);
        return true;
    case 0xf6:
    case 0xf7:
        if (form->reg <= 1)
            form_number(form, size == 8 ? 4 : size);
        form_use_memory(form, decoded, size, form->reg == 2 || form->reg == 3 ? BOTH : READ);
        return true;
    case 0xfe:
        if (form->reg > 1)
            return false;
        form_use_memory(form, decoded, size, BOTH);
        return true;
    default:
        break;
    }
    switch (form->reg) { /* FF */
    case 0:
    case 1:
        form_use_memory(form, decoded, size, BOTH);
        return true;
    case 2: /* call */
        if (is_odd_branch(form))
            return false;
        form_use_memory(form, decoded, 8, READ);
        push(form, decoded, 8);
        return true;
    case 4: /* jmp */
        if (is_odd_branch(form))
            return false;
        form_use_memory(form, decoded, 8, READ);
        return true;
    case 6: /* push */
        form_use_memory(form, decoded, stack_size(form), READ);
        push(form, decoded, stack_size(form));
        return true;
    default: /* far calls and jumps */
        return false;
    }
}

/* Instructions without ModRM that access the stack, strings or an address in the code. */
static bool decode_implicit_1(struct form *form, uint8_t opcode, uint16_t entry, uint64_t immediate,
                              struct decoded *decoded)
{
    unsigned size = form_size(form, entry & SIZE_MASK);
    switch (opcode) {
    case 0x50 ... 0x57:
    case 0x68:
    case 0x6a:
        push(form, decoded, stack_size(form));
        return true;
    case 0x58 ... 0x5f:
        pop(form, decoded, stack_size(form));
        return true;
    case 0xa0 ... 0xa3:
        form_use_implicit(form, decoded, DECODE_NONE, 0, size, entry & OP_READ ? READ : WRITE);
        decoded->operands[0].disp = (int64_t)immediate;
        return true;
    case 0xa4 ... 0xa7:
    case 0xaa ... 0xaf:
        return decode_string(form, opcode, size, decoded);
    case 0xc2:
    case 0xc3:
        pop(form, decoded, 8);
        return !is_odd_branch(form);
    case 0xc8: /* enter; nested ones copy frames */
        push(form, decoded, 8);
        return immediate >> 16 == 0 && !form->operand16;
    case 0xc9: /* leave */
        form_use_implicit(form, decoded, DECODE_RBP, 0, 8, READ);
        return !form->operand16;
    case 0xd7: /* xlat */
        form_use_implicit(form, decoded, DECODE_RBX, 0, 1, READ);
        decoded->operands[0].low_byte = true;
        return true;
    case 0xe8:
        push(form, decoded, 8);
        return !is_odd_branch(form);
    case 0xe9:
        return !is_odd_branch(form);
    default:
        return false;
    }
}

static unsigned immediate_bytes(const struct form *form, uint16_t entry)
{
    switch ((entry & OP_IMM_MASK) >> OP_IMM_SHIFT) {
    case IMM_1:
        return 1;
    case IMM_2:
        return 2;
    case IMM_Z:
        return form->operand16 && !form->w ? 2 : 4;
    case IMM_V:
        return form_size(form, SIZE_V);
    case IMM_ADDRESS:
        return form->address32 ? 4 : 8;
    case IMM_2_1:
        return 3;
    default:
        return 0;
    }
}

static unsigned flags_of(uint16_t entry)
{
    return (entry & OP_READ ? READ : 0) | (entry & OP_WRITE ? WRITE : 0);
}

bool decode_scalar_1(struct form *form, uint8_t opcode, struct decoded *decoded)
{
    uint16_t entry = opcode_1[opcode];
    if (!(entry & OP_VALID))
        return false;
    unsigned size = form_size(form, entry & SIZE_MASK);
    if (entry & OP_MODRM)
        form_modrm(form, 1);
    /* C6 and C7 with reg 7 have immediates of their own; they are refused before those matter. */
    unsigned bytes = immediate_bytes(form, entry);
    uint64_t immediate = form_number(form, bytes);
    form->immediate = bytes == 1 ? (int8_t)immediate : (int32_t)immediate;
    form->vector = opcode == 0x9b || (opcode >= 0xd8 && opcode <= 0xdf); /* x87 */
    if (opcode >= 0xd8 && opcode <= 0xdf)
        return decode_x87(form, opcode, decoded);
    if ((entry & OP_GROUP) && (entry & OP_MODRM))
        return decode_group_1(form, opcode, size, decoded);
    if (entry & OP_GROUP)
        return decode_implicit_1(form, opcode, entry, immediate, decoded);
    if (entry & OP_MODRM)
        form_use_memory(form, decoded, size, flags_of(entry));
    if ((opcode == 0x86 || opcode == 0x87) && form->is_memory)
        decoded->operands[0].flags |= SAMPLE_LOCKED; /* xchg locks without a prefix */
    return true;
}

/* 0F AE: state, fences, flushes. */
static bool decode_state(struct form *form, struct decoded *decoded)
{
    if (!form->is_memory) /* lfence, mfence, sfence; rdfsbase, rdgsbase */
        return form->repeat == 0 ? form->reg >= 5 && !form->operand16 : form->repeat == 0xf3 && form->reg <= 1;
    if (form->repeat != 0)
        return false;
    if (form->operand16) /* clwb, clflushopt */
        return form->reg >= 6;
    form->vector = form->reg < 7;
    switch (form->reg) {
    case 0:
    case 1: /* fxsave, fxrstor */
        form_use_memory(form, decoded, 512, form->reg == 0 ? WRITE : READ);
        return true;
    case 2:
    case 3: /* ldmxcsr, stmxcsr */
        form_use_memory(form, decoded, 4, form->reg == 2 ? READ : WRITE);
        return true;
    case 4:
    case 6: /* xsave, xsaveopt: they read the header of what they write */
        form_use_memory(form, decoded, XSAVE_LEAST, WRITE);
        return true;
    case 5: /* xrstor */
        form_use_memory(form, decoded, XSAVE_LEAST, READ);
        return true;
    default: /* clflush */
        return true;
    }
}

static bool decode_group_0f(struct form *form, uint8_t opcode, unsigned size, struct decoded *decoded)
{
    switch (opcode) {
    case 0x01: /* xgetbv, xtest, rdpkru, wrpkru, rdtscp */
        return form->modrm == 0xd0 || form->modrm == 0xd6 || form->modrm == 0xee || form->modrm == 0xef ||
               form->modrm == 0xf9;
    case 0xa0:
    case 0xa8: /* push fs, gs */
        push(form, decoded, stack_size(form));
        return true;
    case 0xa3:
    case 0xab:
    case 0xb3:
    case 0xbb:
        return !form->is_memory;
    case 0xae:
        return decode_state(form, decoded);
    case 0xb8:
        form_use_memory(form, decoded, size, READ);
        return form->repeat == 0xf3;
    case 0xba:
        form_use_memory(form, decoded, size, form->reg == 4 ? READ : BOTH);
        return form->reg >= 4;
    case 0xc3:
        form_use_memory(form, decoded, size, WRITE);
        return form->is_memory && form->repeat == 0 && !form->operand16;
    case 0xc7:
        if (!form->is_memory) /* rdrand, rdseed, rdpid */
            return form->reg >= 6;
        if (form->reg == 1) /* cmpxchg8b, cmpxchg16b */
            form_use_memory(form, decoded, form->w ? 16 : 8, BOTH);
        else if (form->reg == 4) /* xsavec */
            form_use_memory(form, decoded, XSAVE_LEAST, WRITE);
        else
            return false;
        return form->repeat == 0 && !form->operand16;
    default: /* jcc */
        return !is_odd_branch(form);
    }
}

bool decode_scalar_0f(struct form *form, uint8_t opcode, struct decoded *decoded)
{
    uint16_t entry = opcode_0f[opcode];
    unsigned size = form_size(form, entry & SIZE_MASK);
    if (entry & OP_MODRM)
        form_modrm(form, 1);
    form->immediate = (int32_t)form_number(form, immediate_bytes(form, entry));
    if (entry & OP_GROUP)
        return decode_group_0f(form, opcode, size, decoded);
    if (entry & OP_MODRM)
        form_use_memory(form, decoded, size, flags_of(entry));
    return true;
}
