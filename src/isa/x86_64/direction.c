#include "isa/direction.h"

#include "isa/x86_64/decode.h"
#include "wire/event.h"

static enum direction of_operand(const struct decode_operand *operand)
{
    return operand->flags & SAMPLE_WRITE ? DIRECTION_WRITE : DIRECTION_READ;
}

enum direction direction_x86_64(const uint8_t *bytes, size_t available)
{
    struct decoded decoded;
    if (!decode_instruction(bytes, available, &decoded) || decoded.operand_count == 0)
        return DIRECTION_UNKNOWN;
    enum direction first = of_operand(&decoded.operands[0]);
    for (unsigned i = 1; i < decoded.operand_count; i++)
        if (of_operand(&decoded.operands[i]) != first)
            return DIRECTION_EITHER;
    return first;
}

static uint64_t distance(uint64_t one, uint64_t other)
{
    return one > other ? one - other : other - one;
}

/* The operand that is addressed by a register near `addr` is the one that faulted; when that cannot be seen, the other
 * one is, whose address has other parts. */
enum direction direction_pick(const uint8_t *bytes, size_t available, const struct direction_registers *registers,
                              uint64_t addr)
{
    enum { NEAR = 256 }; /* a string instruction moves up to so much at once; a push's place is close to rsp */
    struct decoded decoded;
    const struct decode_operand *nearest = NULL, *other = NULL;
    uint64_t min_away = UINT64_MAX;
    if (!decode_instruction(bytes, available, &decoded))
        return DIRECTION_UNKNOWN;
    for (unsigned i = 0; i < decoded.operand_count; i++) {
        const struct decode_operand *operand = &decoded.operands[i];
        uint64_t base = operand->base == DECODE_RSI   ? registers->source
                        : operand->base == DECODE_RDI ? registers->destination
                        : operand->base == DECODE_RSP ? registers->stack
                                                      : 0;
        bool known = base && operand->index == DECODE_NONE;
        uint64_t away = known ? distance(base + (uint64_t)operand->disp, addr) : UINT64_MAX;
        if (known && away < min_away) {
            min_away = away;
            nearest = operand;
        }
        if (!known)
            other = operand;
    }
    if (nearest && (min_away <= NEAR || !other))
        return of_operand(nearest);
    return other ? of_operand(other) : DIRECTION_UNKNOWN;
}
