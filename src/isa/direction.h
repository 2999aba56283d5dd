/* isa/direction.h - whether the instruction that faulted at an address was reading or writing there. The kernel's
 * fault events give the instruction and the address, not the direction.
 *
 * Pure: bytes in, answer out; both processors' build on any machine. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum direction {
    DIRECTION_UNKNOWN, /* not understood, or no access at all */
    DIRECTION_READ,
    DIRECTION_WRITE,  /* also reading and writing at once: that faults as a write */
    DIRECTION_EITHER, /* reads here and writes there: see direction_pick */
};

/* Registers that distinguish the two on x86-64; elsewhere they are not asked for. */
struct direction_registers {
    uint64_t source, destination, stack; /* rsi, rdi, rsp */
};

enum { DIRECTION_BYTES = 16 }; /* as many bytes are enough for any instruction */

enum direction direction_aarch64(const uint8_t *bytes, size_t available);
enum direction direction_x86_64(const uint8_t *bytes, size_t available);

/* What a string instruction, or one that pushes what it reads, did at `addr`. */
enum direction direction_pick(const uint8_t *bytes, size_t available, const struct direction_registers *registers,
                              uint64_t addr);

static inline enum direction direction_here(const uint8_t *bytes, size_t available)
{
#if defined(__aarch64__)
    return direction_aarch64(bytes, available);
#elif defined(__x86_64__)
    return direction_x86_64(bytes, available);
#else
#error "direction_here: this architecture is not supported"
#endif
}
