#include "isa/direction.h"

#include <stdbool.h>
#include <string.h>

static enum direction load_if(bool load)
{
    return load ? DIRECTION_READ : DIRECTION_WRITE;
}

/* Exclusive and ordered accesses, compare and swap. */
static enum direction ordered(uint32_t code)
{
    bool pair = code & 1u << 21, second = code & 1u << 23;
    if (pair && (second || !(code & 1u << 31)))
        return DIRECTION_WRITE; /* CAS, CASP */
    return load_if(code & 1u << 22);
}

/* One register: immediate and register offsets, atomics, authenticated loads, prefetches. */
static enum direction single(uint32_t code)
{
    bool vector = code & 1u << 26;
    unsigned way = code >> 22 & 3;
    if ((code & 0x3b200c00) == 0x38200000) /* atomics; LDAPR among them only reads */
        return load_if((code & 0x3fe0fc00) == 0x38a0c000);
    if ((code & 0xff200400) == 0xf8200400)
        return DIRECTION_READ; /* LDRAA, LDRAB */
    if (vector)
        return load_if(way & 1);
    if (way == 2 && code >> 30 == 3)
        return DIRECTION_UNKNOWN; /* PRFM: does not fault */
    return load_if(way != 0);
}

static enum direction scalable(uint32_t code)
{
    unsigned group = code >> 29;
    return group < 4 ? DIRECTION_UNKNOWN : load_if(group != 7);
}

enum direction direction_aarch64(const uint8_t *bytes, size_t available)
{
    uint32_t code;
    if (available < sizeof code)
        return DIRECTION_UNKNOWN;
    memcpy(&code, bytes, sizeof code);
    if ((code & 0xffffffe0) == 0xd50b7420)
        return DIRECTION_WRITE; /* DC ZVA */
    if ((code & 0x1e000000) == 0x04000000)
        return scalable(code);
    if ((code & 0x0a000000) != 0x08000000)
        return DIRECTION_UNKNOWN;
    if ((code & 0xbe000000) == 0x0c000000)
        return load_if(code & 1u << 22); /* vector structures */
    if ((code & 0x3f000000) == 0x08000000)
        return ordered(code);
    if ((code & 0x3f200c00) == 0x19000000)
        return load_if(code >> 22 & 3); /* LDAPUR, STLUR */
    if ((code & 0x3fe00c00) == 0x19c00400)
        return DIRECTION_WRITE; /* SET; the copying ones have two places */
    if ((code & 0x3b000000) == 0x18000000)
        return DIRECTION_READ; /* literals */
    if ((code & 0x3a000000) == 0x28000000)
        return load_if(code & 1u << 22); /* pairs */
    if ((code & 0x3a000000) == 0x38000000)
        return single(code);
    return DIRECTION_UNKNOWN;
}
