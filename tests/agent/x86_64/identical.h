/* identical.h - kernels with a known result: each returns a hash of all it computed, a function of its seed alone. */
#ifndef NUMALENS_TESTS_IDENTICAL_H
#define NUMALENS_TESTS_IDENTICAL_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static inline uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

uint64_t kernel_hash(uint64_t seed);
uint64_t kernel_qsort(uint64_t seed);
uint64_t kernel_string(uint64_t seed);
uint64_t kernel_indirect(uint64_t seed);
uint64_t kernel_recursion(uint64_t seed);
uint64_t kernel_longjmp(uint64_t seed);
uint64_t kernel_atomic(uint64_t seed);
uint64_t kernel_flags(uint64_t seed);
uint64_t kernel_lists(uint64_t seed);
uint64_t kernel_libc(uint64_t seed);
uint64_t kernel_printf(uint64_t seed);
uint64_t kernel_malloc(uint64_t seed);
uint64_t kernel_regex(uint64_t seed);
uint64_t kernel_x87(uint64_t seed);
uint64_t kernel_double(uint64_t seed);
uint64_t kernel_rounding(uint64_t seed);
uint64_t kernel_varargs(uint64_t seed);
uint64_t kernel_sse(uint64_t seed);
uint64_t kernel_mmx(uint64_t seed);
uint64_t kernel_avx512(uint64_t seed);
uint64_t kernel_gather(uint64_t seed);
uint64_t kernel_saxpy(uint64_t seed);
uint64_t kernel_mask(uint64_t seed);
uint64_t kernel_matmul(uint64_t seed);

#endif
