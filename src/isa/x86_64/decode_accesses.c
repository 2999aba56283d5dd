/* From the form of an instruction and the registers to addresses. Runs in signal handlers. */
#include "isa/x86_64/decode.h"

/* Adds the segment's base; false when it is not known. */
static bool in_segment(const struct decode_operand *operand, const struct decode_registers *registers, uint64_t *addr)
{
    if (operand->address32)
        *addr = (uint32_t)*addr;
    if (operand->segment == DECODE_FS) {
        *addr += registers->fs_base;
        return registers->has_fs;
    }
    if (operand->segment == DECODE_GS) {
        *addr += registers->gs_base;
        return registers->has_gs;
    }
    return true;
}

static uint64_t base_value(const struct decoded *decoded, const struct decode_operand *operand,
                           const struct decode_registers *registers)
{
    uint64_t value = (uint64_t)operand->disp;
    if (operand->base == DECODE_RIP)
        value += registers->rip + decoded->length;
    else if (operand->base != DECODE_NONE)
        value += registers->general[operand->base];
    if (operand->low_byte)
        value += registers->general[DECODE_RAX] & 0xff;
    return value;
}

/* Copies `bytes` at `offset` of a vector register; they are within one of its pieces. */
static void vector_bytes(const struct decode_vectors *vectors, unsigned number, unsigned offset, unsigned bytes,
                         void *value)
{
    const uint8_t *piece;
    if (number >= 16)
        piece = vectors->zmm_16 ? vectors->zmm_16 + (number - 16) * 64 + offset : NULL;
    else if (offset < 16)
        piece = vectors->xmm ? vectors->xmm + number * 16 + offset : NULL;
    else if (offset < 32)
        piece = vectors->ymm_high ? vectors->ymm_high + number * 16 + (offset - 16) : NULL;
    else
        piece = vectors->zmm_high ? vectors->zmm_high + number * 32 + (offset - 32) : NULL;
    for (unsigned i = 0; i < bytes; i++) /* no calls out: see burst_args in meson.build */
        ((volatile uint8_t *)value)[i] = piece ? piece[i] : 0;
}

static bool is_masked_out(const struct decode_operand *operand, const struct decode_vectors *vectors, unsigned element)
{
    if (operand->mask_is_k) {
        uint64_t mask = 0;
        if (vectors->masks)
            mask = *(const uint64_t *)(const void *)(vectors->masks + operand->mask * 8);
        return !(mask >> element & 1);
    }
    uint8_t top;
    vector_bytes(vectors, operand->mask, element * operand->size + operand->size - 1, 1, &top);
    return !(top & 0x80);
}

static int gather_accesses(const struct decoded *decoded, const struct decode_operand *operand,
                           const struct decode_registers *registers, struct decode_access *accesses)
{
    int count = 0;
    if (!registers->vectors)
        return -1;
    for (unsigned i = 0; i < operand->elements; i++) {
        if (is_masked_out(operand, registers->vectors, i))
            continue;
        int64_t index;
        if (operand->index_bytes == 8) {
            vector_bytes(registers->vectors, operand->index, i * 8, 8, &index);
        } else {
            int32_t narrow;
            vector_bytes(registers->vectors, operand->index, i * 4, 4, &narrow);
            index = narrow;
        }
        uint64_t addr = base_value(decoded, operand, registers) + (uint64_t)index * operand->scale;
        if (!in_segment(operand, registers, &addr))
            return -1;
        accesses[count++] = (struct decode_access){.addr = addr, .size = operand->size, .flags = operand->flags};
    }
    return count;
}

int decode_accesses(const struct decoded *decoded, const struct decode_registers *registers,
                    struct decode_access *accesses)
{
    int count = 0;
    if (decoded->repeated) {
        uint64_t counter = registers->general[DECODE_RCX];
        if ((decoded->counter_is_ecx ? (uint32_t)counter : counter) == 0)
            return 0;
    }
    for (unsigned i = 0; i < decoded->operand_count; i++) {
        const struct decode_operand *operand = &decoded->operands[i];
        if (operand->elements)
            return gather_accesses(decoded, operand, registers, accesses);
        uint64_t addr = base_value(decoded, operand, registers);
        if (operand->index != DECODE_NONE)
            addr += registers->general[operand->index] * operand->scale;
        if (!in_segment(operand, registers, &addr))
            return -1;
        accesses[count++] = (struct decode_access){.addr = addr, .size = operand->size, .flags = operand->flags};
    }
    return count;
}
