/* Prefixes, operands and vector instructions. Runs in signal handlers: no calls out, no state. */
#include "isa/x86_64/decode_form.h"

uint8_t form_byte(struct form *form)
{
    if (form->at >= form->available) {
        form->short_of_bytes = true;
        return 0;
    }
    return form->bytes[form->at++];
}

uint64_t form_number(struct form *form, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)form_byte(form) << (8 * i);
    return value;
}

unsigned form_size(const struct form *form, unsigned size_code)
{
    switch (size_code) {
    case SIZE_1:
        return 1;
    case SIZE_2:
        return 2;
    case SIZE_4:
        return 4;
    case SIZE_8:
        return 8;
    case SIZE_10:
        return 10;
    case SIZE_16:
        return 16;
    case SIZE_32:
        return 32;
    case SIZE_V:
        return form->w ? 8 : form->operand16 ? 2 : 4;
    case SIZE_Y:
        return form->w ? 8 : 4;
    case SIZE_VECTOR:
        return form->vector_bytes;
    case SIZE_HALF:
        return form->vector_bytes / 2;
    case SIZE_QUARTER:
        return form->vector_bytes / 4;
    case SIZE_EIGHTH:
        return form->vector_bytes / 8;
    case SIZE_HALF_OR_V:
        return form->encoding == DECODE_EVEX && form->w ? form->vector_bytes : form->vector_bytes / 2;
    case SIZE_DUP:
        return form->vector_bytes == 16 ? 8 : form->vector_bytes;
    case SIZE_KNP:
        return form->w ? 8 : 2;
    case SIZE_K66:
        return form->w ? 4 : 1;
    default:
        return 0;
    }
}

void form_modrm(struct form *form, unsigned disp8_scale)
{
    form->modrm_at = form->at;
    form->modrm = form_byte(form);
    unsigned mod = form->modrm >> 6;
    form->reg = form->modrm >> 3 & 7;
    form->rm = form->modrm & 7;
    form->is_memory = mod != 3;
    if (!form->is_memory)
        return;
    struct decode_operand *memory = &form->memory;
    *memory = (struct decode_operand){.base = form->rm | form->b,
                                      .index = DECODE_NONE,
                                      .scale = 1,
                                      .segment = form->segment,
                                      .address32 = form->address32};
    bool wide = mod == 2;
    if (form->rm == 4) {
        uint8_t sib = form_byte(form);
        memory->scale = (uint8_t)(1 << (sib >> 6));
        memory->index = (sib >> 3 & 7) | form->x;
        memory->base = (sib & 7) | form->b;
        if ((sib & 7) == 5 && mod == 0) {
            memory->base = DECODE_NONE;
            wide = true;
        }
    } else if (form->rm == 5 && mod == 0) {
        memory->base = DECODE_RIP;
        form->rip_at = form->at;
        wide = true;
    }
    if (wide)
        memory->disp = (int32_t)form_number(form, 4);
    else if (mod == 1)
        memory->disp = (int64_t)(int8_t)form_byte(form) * disp8_scale;
}

void form_use_memory(const struct form *form, struct decoded *decoded, unsigned size, unsigned flags)
{
    if (!form->is_memory || flags == 0)
        return;
    struct decode_operand *operand = &decoded->operands[decoded->operand_count++];
    *operand = form->memory;
    operand->size = (uint16_t)size;
    operand->flags = (uint8_t)flags;
    if (operand->index == DECODE_RSP && operand->elements == 0) {
        operand->index = DECODE_NONE; /* the encoding's way of saying that there is none */
        operand->scale = 1;
    }
}

void form_use_implicit(const struct form *form, struct decoded *decoded, unsigned base, int disp, unsigned size,
                       unsigned flags)
{
    /* The stack is addressed with all 64 bits and without the segments that a prefix names. */
    bool stack = base == DECODE_RSP || base == DECODE_RBP;
    decoded->operands[decoded->operand_count++] = (struct decode_operand){
        .base = (uint8_t)base,
        .index = DECODE_NONE,
        .scale = 1,
        .segment = stack ? DECODE_FLAT : form->segment,
        .address32 = !stack && form->address32,
        .disp = disp,
        .size = (uint16_t)size,
        .flags = (uint8_t)flags,
    };
}

/* Gathers and scatters: ModRM has read the index as a general register's number; here it becomes a vector's. */
static bool use_vector_index(struct form *form, uint8_t opcode, unsigned size)
{
    struct decode_operand *memory = &form->memory;
    if (!form->is_memory || form->rm != 4)
        return false;
    bool evex = form->encoding == DECODE_EVEX;
    if (evex)
        memory->index |= form->vector_extra & 16;
    memory->index_bytes = opcode & 1 ? 8 : 4;
    /* As many as the wider of index and element leaves room for. */
    unsigned widest = size > memory->index_bytes ? size : memory->index_bytes;
    memory->elements = (uint8_t)(form->vector_bytes / widest);
    memory->mask = evex ? form->mask : form->vector_extra;
    memory->mask_is_k = evex;
    return !evex || form->mask != 0; /* EVEX without a mask is no instruction */
}

static bool has_immediate(unsigned map, uint8_t opcode)
{
    return map == 3 ||
           (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6)));
}

static bool decode_vector(struct form *form, unsigned map, uint8_t opcode, struct decoded *decoded)
{
    form->vector = true;
    const uint16_t(*table)[4] = map == 1 ? vector_0f : map == 2 ? vector_38 : vector_3a;
    uint16_t entry = table[opcode][form->mandatory];
    bool evex = form->encoding == DECODE_EVEX;
    if (map == 2 && opcode == 0x2d && evex && form->mandatory == PREFIX_66)
        entry = OP_VALID | OP_READ | OP_EVEX | SIZE_Y; /* vscalefss; VEX has vmaskmovpd here */
    if (!(entry & OP_VALID) || !(entry & (OP_LEGACY << form->encoding)))
        return false;
    if (map == 1 && opcode == 0x77)
        return true;
    unsigned size = form_size(form, entry & SIZE_MASK);
    unsigned element = form->w ? 8 : 4;
    unsigned scale = 1;
    if (evex)
        scale = form->broadcast && (entry & OP_BROADCAST) ? element
                : entry & OP_ELEMENT8                     ? element
                : entry & OP_ELEMENT1                     ? (form->w ? 2 : 1)
                                                          : size;
    form_modrm(form, scale);
    if (has_immediate(map, opcode))
        form_byte(form);
    if (form->is_memory) {
        bool shift_group = map == 1 && opcode >= 0x71 && opcode <= 0x73;
        if ((entry & OP_REGISTER) || (shift_group && !evex))
            return false;
        if (form->broadcast) {
            if (!(entry & OP_BROADCAST))
                return false;
            size = element;
        }
    }
    bool indexed = map == 2 && ((opcode >= 0x90 && opcode <= 0x93) || (opcode >= 0xa0 && opcode <= 0xa3));
    if (indexed && !use_vector_index(form, opcode, size))
        return false;
    form_use_memory(form, decoded, size, (entry & OP_READ ? SAMPLE_READ : 0u) | (entry & OP_WRITE ? SAMPLE_WRITE : 0u));
    return true;
}

/* Scalar instructions that exist with a mandatory prefix: movbe, crc32, BMI, mask registers. */
static bool decode_by_prefix(struct form *form, uint16_t entry, struct decoded *decoded)
{
    if (!(entry & OP_MODRM))
        return true;
    form_modrm(form, 1);
    if (form->is_memory && (entry & OP_REGISTER))
        return false;
    form_use_memory(form, decoded, form_size(form, entry & SIZE_MASK),
                    (entry & OP_READ ? SAMPLE_READ : 0u) | (entry & OP_WRITE ? SAMPLE_WRITE : 0u));
    return true;
}

static bool decode_vex(struct form *form, uint8_t first, struct decoded *decoded)
{
    uint8_t p1 = form_byte(form);
    unsigned map = 1;
    form->encoding = DECODE_VEX;
    form->r = p1 & 0x80 ? 0 : 8;
    uint8_t last = p1;
    if (first == 0xc4) {
        map = p1 & 31;
        form->x = p1 & 0x40 ? 0 : 8;
        form->b = p1 & 0x20 ? 0 : 8;
        last = form_byte(form);
        form->w = last & 0x80;
    }
    form->vector_extra = ~last >> 3 & 15;
    form->vector_bytes = last & 4 ? 32 : 16;
    form->mandatory = last & 3;
    if (map < 1 || map > 3)
        return false;
    uint8_t opcode = form_byte(form);
    form->map = (uint8_t)map;
    form->opcode = opcode;
    if (map == 1 && opcode == 0xae) { /* vldmxcsr, vstmxcsr */
        form->vector = true;
        form_modrm(form, 1);
        if (!form->is_memory || (form->reg != 2 && form->reg != 3) || form->mandatory != PREFIX_NONE)
            return false;
        form_use_memory(form, decoded, 4, form->reg == 2 ? SAMPLE_READ : SAMPLE_WRITE);
        return true;
    }
    uint16_t entry = map == 1   ? opcode_vex_0f[opcode][form->mandatory]
                     : map == 2 ? opcode_vex_38[opcode][form->mandatory]
                                : 0;
    form->vector = map == 1; /* mask registers; those of map 2 are general */
    return entry ? decode_by_prefix(form, entry, decoded) : decode_vector(form, map, opcode, decoded);
}

static bool decode_evex(struct form *form, struct decoded *decoded)
{
    uint8_t p0 = form_byte(form), p1 = form_byte(form), p2 = form_byte(form);
    unsigned map = p0 & 7;
    /* Bits that are fixed today and mean more registers tomorrow. */
    if ((p0 & 8) || !(p1 & 4) || map < 1 || map > 3)
        return false;
    form->encoding = DECODE_EVEX;
    form->x = p0 & 0x40 ? 0 : 8;
    form->b = p0 & 0x20 ? 0 : 8;
    form->w = p1 & 0x80;
    form->vector_extra = (~p1 >> 3 & 15) | (p2 & 8 ? 0 : 16);
    form->mandatory = p1 & 3;
    form->broadcast = p2 & 16;
    form->mask = p2 & 7;
    unsigned length = p2 >> 5 & 3;
    uint8_t opcode = form_byte(form);
    form->map = (uint8_t)map;
    form->opcode = opcode;
    /* With a register operand, EVEX.b makes the length bits a rounding mode; the length then does not matter. */
    if (length == 3) {
        if (!form->broadcast)
            return false;
        length = 2;
    }
    form->vector_bytes = (uint16_t)(16 << length);
    return decode_vector(form, map, opcode, decoded);
}

static bool decode_two_bytes(struct form *form, struct decoded *decoded)
{
    uint8_t opcode = form_byte(form);
    form->map = 1;
    form->opcode = opcode;
    if (opcode != 0x38 && opcode != 0x3a)
        return opcode_0f[opcode] & OP_VALID ? decode_scalar_0f(form, opcode, decoded)
                                            : decode_vector(form, 1, opcode, decoded);
    unsigned map = opcode == 0x38 ? 2 : 3;
    opcode = form_byte(form);
    form->map = (uint8_t)map;
    form->opcode = opcode;
    if (map == 2 && opcode_38[opcode][form->mandatory])
        return decode_by_prefix(form, opcode_38[opcode][form->mandatory], decoded);
    return decode_vector(form, map, opcode, decoded);
}

/* Reads prefixes and returns the first byte that is none. */
static uint8_t read_prefixes(struct form *form)
{
    uint8_t rex = 0, byte;
    for (;; rex = (byte & 0xf0) == 0x40 ? byte : 0) { /* a REX counts only right before the opcode */
        byte = form_byte(form);
        if (form->short_of_bytes)
            return 0;
        if ((byte & 0xf0) == 0x40)
            continue;
        switch (byte) {
        case 0x66:
            form->operand16 = true;
            continue;
        case 0x67:
            form->address32 = true;
            continue;
        case 0xf0:
            form->lock = true;
            continue;
        case 0xf2:
        case 0xf3:
            form->repeat = byte;
            continue;
        case 0x64:
            form->segment = DECODE_FS;
            continue;
        case 0x65:
            form->segment = DECODE_GS;
            continue;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e: /* ES, CS, SS, DS: ignored, and they do not undo an FS or GS before them */
            continue;
        default:
            break;
        }
        break;
    }
    form->w = rex & 8;
    form->r = rex & 4 ? 8 : 0;
    form->x = rex & 2 ? 8 : 0;
    form->b = rex & 1 ? 8 : 0;
    form->mandatory = form->repeat == 0xf3   ? PREFIX_F3
                      : form->repeat == 0xf2 ? PREFIX_F2
                      : form->operand16      ? PREFIX_66
                                             : PREFIX_NONE;
    form->opcode_at = form->at - 1;
    form->prefix_at = rex ? form->at - 2 : DECODE_NONE;
    form->opcode = byte;
    bool extended = byte == 0xc4 || byte == 0xc5 || byte == 0x62;
    if (extended && (rex || form->mandatory != PREFIX_NONE || form->lock))
        form->short_of_bytes = true; /* no such instruction */
    if (extended)
        form->prefix_at = form->opcode_at;
    return byte;
}

static void form_report(const struct form *form, struct decoded *decoded)
{
    decoded->length = form->at;
    decoded->rip_at = form->rip_at;
    decoded->modrm_at = form->modrm_at;
    decoded->prefix_at = form->prefix_at;
    decoded->opcode_at = form->opcode_at;
    decoded->encoding = form->encoding;
    decoded->map = form->map;
    decoded->opcode = form->opcode;
    decoded->modrm = form->modrm;
    decoded->reg = form->reg | form->r;
    decoded->rm = form->rm | form->b;
    decoded->extra = form->vector_extra;
    decoded->repeat = form->repeat;
    decoded->w = form->w;
    decoded->operand16 = form->operand16;
    decoded->address32 = form->address32;
    decoded->lock = form->lock;
    decoded->vector = form->vector;
    decoded->immediate = form->immediate;
    decoded->rip_disp = form->rip_at ? (int32_t)form->memory.disp : 0;
}

bool decode_instruction(const uint8_t *bytes, size_t available, struct decoded *decoded)
{
    struct form form = {.bytes = bytes,
                        .available = available < DECODE_MAX_BYTES ? (uint8_t)available : DECODE_MAX_BYTES,
                        .vector_bytes = 16};
    *decoded = (struct decoded){0};
    uint8_t byte = read_prefixes(&form);
    bool known;
    if (form.short_of_bytes)
        return false;
    if (byte == 0xc4 || byte == 0xc5)
        known = decode_vex(&form, byte, decoded);
    else if (byte == 0x62)
        known = decode_evex(&form, decoded);
    else if (byte == 0x0f)
        known = decode_two_bytes(&form, decoded);
    else
        known = decode_scalar_1(&form, byte, decoded);
    if (!known || form.short_of_bytes)
        return false;
    form_report(&form, decoded);
    if (form.lock) {
        const unsigned both = SAMPLE_READ | SAMPLE_WRITE;
        if (decoded->operand_count == 0 || (decoded->operands[0].flags & both) != both)
            return false;
        decoded->operands[0].flags |= SAMPLE_LOCKED;
    }
    return true;
}
