/* isa/aarch64/linked_sve.c - SVE in long bursts: instructions of registers, loads and stores of elements that are one behind the
 * other. Gathers, scatters, prefetches and what has to do with first faults end a burst. */
#include "isa/aarch64/cpu.h"
#include "isa/aarch64/linked.h"

#include <stddef.h>

enum { RN = 2, RM = 8 };

bool linked_is_scalable(uint32_t word)
{
    return bits(word, 25, 4) == 2;
}

/* Which general registers it has is not distinguished: its fields may be some. */
static bool process(uint32_t word, struct linked_instruction *out)
{
    if ((word & 0xffbef000) == 0x2518f000 || (word & 0xfffbf000) == 0x25289000) /* RDFFR, WRFFR, SETFFR */
        return false;
    out->used = 1u << bits(word, 0, 5) | 1u << bits(word, 5, 5) | 1u << bits(word, 16, 5);
    return !(out->used >> LINKED_STATE_REGISTER & 1);
}

static bool by_offset(uint32_t word, struct linked_instruction *out, unsigned size, int32_t offset)
{
    out->fields = RN;
    out->base = (uint8_t)bits(word, 5, 5);
    out->size = (uint16_t)size;
    out->offset = offset;
    return true;
}

static bool by_register(uint32_t word, struct linked_instruction *out, unsigned size, unsigned shift)
{
    out->fields = RN | RM;
    out->mode = LINKED_BY_REGISTER;
    out->base = (uint8_t)bits(word, 5, 5);
    out->index = (uint8_t)bits(word, 16, 5);
    out->extend = 3;
    out->shift = (uint8_t)shift;
    out->size = (uint16_t)size;
    return out->index != 31;
}

/* LDR, STR of a whole register or predicate. */
static bool whole(uint32_t word, unsigned bytes, struct linked_instruction *out)
{
    int32_t number = (int32_t)sign_extend(bits(word, 16, 6) << 3 | bits(word, 10, 3), 9);
    bool vector = word >> 14 & 1;
    if (word >> 13 & 1 || word >> 15 & 1 || (!vector && word >> 4 & 1))
        return false;
    out->predicate = 0;
    unsigned size = vector ? bytes : bytes / 8;
    return by_offset(word, out, size, number * (int32_t)size);
}

/* By the field of loads, log2 of an element's bytes in memory and in the register. */
static const uint8_t in_memory[16] = {0, 0, 0, 0, 2, 1, 1, 1, 1, 1, 2, 2, 0, 0, 0, 3};
static const uint8_t in_register[16] = {0, 1, 2, 3, 3, 1, 2, 3, 3, 2, 2, 3, 3, 2, 1, 3};

static bool load(uint32_t word, unsigned bytes, struct linked_instruction *out)
{
    unsigned type = bits(word, 21, 4), memory = in_memory[type], size = bytes >> (in_register[type] - memory);
    unsigned order = bits(word, 23, 2), count = bits(word, 21, 2) + 1;
    int32_t number = (int32_t)sign_extend(bits(word, 16, 4), 4);
    bool fixed = !(word >> 20 & 1);
    switch (bits(word, 13, 3)) {
    case 0: /* LD1RQ, LD1RO */
        return count <= 2 && by_register(word, out, 16 * count, order);
    case 1:
        return count <= 2 && fixed && by_offset(word, out, 16 * count, number * 16 * (int32_t)count);
    case 2: /* LD1 */
        return by_register(word, out, size, memory);
    case 5:
        return fixed && by_offset(word, out, size, number * (int32_t)size);
    case 6: /* LDNT1, LD2 to LD4 */
        return by_register(word, out, count * bytes, order);
    case 7:
        return fixed && by_offset(word, out, count * bytes, number * (int32_t)(count * bytes));
    default: /* LDFF1 */
        return false;
    }
}

static bool store(uint32_t word, unsigned bytes, struct linked_instruction *out)
{
    unsigned memory = bits(word, 23, 2), in_one = bits(word, 21, 2), count = in_one + 1;
    int32_t number = (int32_t)sign_extend(bits(word, 16, 4), 4);
    if (bits(word, 22, 3) == 6 && !(word >> 15 & 1) && !(word >> 13 & 1))
        return whole(word, bytes, out);
    unsigned size = in_one >= memory ? bytes >> (in_one - memory) : 0;
    switch (bits(word, 13, 3)) {
    case 2: /* ST1 */
        return size && by_register(word, out, size, memory);
    case 3: /* STNT1, ST2 to ST4 */
        return by_register(word, out, count * bytes, memory);
    case 7:
        if (word >> 20 & 1)
            return by_offset(word, out, count * bytes, number * (int32_t)(count * bytes));
        return size && by_offset(word, out, size, number * (int32_t)size);
    default: /* scatters */
        return false;
    }
}

bool linked_decode_scalable(uint32_t word, unsigned bytes, struct linked_instruction *out)
{
    if (!(word >> 31))
        return process(word, out);
    out->predicate = (uint8_t)(bits(word, 10, 3) + 1);
    out->flags = bits(word, 29, 3) == 7 ? SAMPLE_WRITE : SAMPLE_READ;
    switch (bits(word, 29, 3)) {
    case 4:
        if ((word & 0xffc00000) == 0x85800000)
            return whole(word, bytes, out);
        if ((word & 0xfe408000) == 0x84408000) { /* LD1R */
            unsigned size = 1u << in_memory[bits(word, 23, 2) << 2 | bits(word, 13, 2)];
            return by_offset(word, out, size, (int32_t)(bits(word, 16, 6) * size));
        }
        return false;
    case 5:
        return load(word, bytes, out);
    case 7:
        return store(word, bytes, out);
    default:
        return false;
    }
}

bool linked_open_scalable(struct cpu *cpu)
{
    struct sigcontext *frame = (struct sigcontext *)&cpu->context->uc_mcontext;
    uint8_t *at = frame->__reserved, *found = NULL;
    struct _aarch64_ctx *head = (struct _aarch64_ctx *)at;
    for (; head->magic; head = (struct _aarch64_ctx *)(at += head->size)) /* cpu_view() has been through it */
        if (head->magic == SVE_MAGIC)
            found = at;
    struct sve_context *record = (struct sve_context *)found;
    if (!record || !record->vl || record->vl % SVE_VQ_BYTES)
        return false;
    unsigned size = SVE_SIG_CONTEXT_SIZE(record->vl / SVE_VQ_BYTES);
    uint8_t *behind = found + record->head.size, *end = at + sizeof(*head);
    size_t more = size - record->head.size;
    if (record->head.size >= size || more > (size_t)(frame->__reserved + sizeof(frame->__reserved) - end))
        return false;
    for (uint8_t *byte = end; byte > behind; byte--)
        byte[more - 1] = byte[-1];
    for (uint8_t *byte = behind; byte < found + size; byte++)
        *byte = 0;
    record->head.size = size;
    cpu->scalable = found + SVE_SIG_ZREGS_OFFSET;
    cpu->scalable_bytes = record->vl;
    for (unsigned z = 0; z < 32; z++)
        for (unsigned byte = 0; byte < 16; byte++)
            cpu->scalable[z * cpu->scalable_bytes + byte] = ((uint8_t *)&cpu->vectors->vregs[z])[byte];
    return true;
}
