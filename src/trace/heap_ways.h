/* trace/heap_ways.h - searches among eight, all at once: nobody can foretell where they end, so there are no branches.
 * Private to src/trace. */
#pragma once

#include <stdint.h>

#if defined __SSE2__
#include <emmintrin.h>
#elif defined __ARM_NEON
#include <arm_neon.h>
#endif

/* Each gives a bit for each of the eight that match, the lowest for the first. */

/* Those that are 0. */
static inline unsigned ways_empty(const uint32_t *ways);

/* Those whose upper half is the tag's. The tag's lower half is 0. */
static inline unsigned ways_tagged(const uint32_t *ways, uint32_t tag);

/* Those that are the number; `numbers` is aligned to 16 bytes. */
static inline unsigned ways_equal(const uint64_t *numbers, uint64_t number);

#if defined __SSE2__

static inline unsigned ways_mask(__m128i low, __m128i high)
{
    return (unsigned)(_mm_movemask_ps(_mm_castsi128_ps(low)) | _mm_movemask_ps(_mm_castsi128_ps(high)) << 4);
}

static inline unsigned ways_empty(const uint32_t *ways)
{
    const __m128i *from = (const __m128i *)ways, zero = _mm_setzero_si128();
    return ways_mask(_mm_cmpeq_epi32(_mm_load_si128(from), zero), _mm_cmpeq_epi32(_mm_load_si128(from + 1), zero));
}

static inline unsigned ways_tagged(const uint32_t *ways, uint32_t tag)
{
    const __m128i *from = (const __m128i *)ways, wanted = _mm_set1_epi32((int)(tag >> 16));
    return ways_mask(_mm_cmpeq_epi32(_mm_srli_epi32(_mm_load_si128(from), 16), wanted),
                     _mm_cmpeq_epi32(_mm_srli_epi32(_mm_load_si128(from + 1), 16), wanted));
}

static inline unsigned ways_equal(const uint64_t *numbers, uint64_t number)
{
    const __m128i *from = (const __m128i *)numbers, wanted = _mm_set1_epi64x((long long)number);
    unsigned mask = 0;
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        __m128i halves = _mm_cmpeq_epi32(_mm_load_si128(from + i), wanted);
        __m128i both = _mm_and_si128(halves, _mm_shuffle_epi32(halves, _MM_SHUFFLE(2, 3, 0, 1)));
        mask |= (unsigned)_mm_movemask_pd(_mm_castsi128_pd(both)) << (2 * i);
    }
    return mask;
}

#elif defined __ARM_NEON && defined __aarch64__

static inline unsigned ways_mask(uint32x4_t low, uint32x4_t high)
{
    static const uint32_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddvq_u32(vorrq_u32(vandq_u32(low, vld1q_u32(bits)), vandq_u32(high, vld1q_u32(bits + 4))));
}

static inline unsigned ways_empty(const uint32_t *ways)
{
    return ways_mask(vceqzq_u32(vld1q_u32(ways)), vceqzq_u32(vld1q_u32(ways + 4)));
}

static inline unsigned ways_tagged(const uint32_t *ways, uint32_t tag)
{
    uint32x4_t wanted = vdupq_n_u32(tag >> 16);
    return ways_mask(vceqq_u32(vshrq_n_u32(vld1q_u32(ways), 16), wanted),
                     vceqq_u32(vshrq_n_u32(vld1q_u32(ways + 4), 16), wanted));
}

static inline unsigned ways_equal(const uint64_t *numbers, uint64_t number)
{
    uint64x2_t wanted = vdupq_n_u64(number);
    uint32x4_t low = vcombine_u32(vmovn_u64(vceqq_u64(vld1q_u64(numbers), wanted)),
                                  vmovn_u64(vceqq_u64(vld1q_u64(numbers + 2), wanted)));
    uint32x4_t high = vcombine_u32(vmovn_u64(vceqq_u64(vld1q_u64(numbers + 4), wanted)),
                                   vmovn_u64(vceqq_u64(vld1q_u64(numbers + 6), wanted)));
    return ways_mask(low, high);
}

#else

static inline unsigned ways_empty(const uint32_t *ways)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < 8; i++)
        mask |= (unsigned)(ways[i] == 0) << i;
    return mask;
}

static inline unsigned ways_tagged(const uint32_t *ways, uint32_t tag)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < 8; i++)
        mask |= (unsigned)((ways[i] ^ tag) >> 16 == 0) << i;
    return mask;
}

static inline unsigned ways_equal(const uint64_t *numbers, uint64_t number)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < 8; i++)
        mask |= (unsigned)(numbers[i] == number) << i;
    return mask;
}

#endif
