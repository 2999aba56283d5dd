/* Kernels of AVX-512 code, as compilers and intrinsics make it: built with -O3 for such a processor, run where there is one. */
#include "identical.h"

#include <immintrin.h>

uint64_t kernel_avx512(uint64_t s)
{
    static __thread uint64_t t[64] __attribute__((aligned(64)));
    for (int i = 0; i < 64; i++)
        t[i] = next_random(&s);
    __m512i r[24];
    for (int i = 0; i < 24; i++)
        r[i] = _mm512_set1_epi64((long)(s + i * 77));
    for (int k = 0; k < 400; k++)
        for (int i = 0; i < 24; i++) {
            __mmask8 m = (__mmask8)(k * 37 + i);
            r[i] = _mm512_mask_add_epi64(r[i], m, r[(i + 5) % 24], _mm512_load_si512(&t[(k & 7) * 8]));
            r[i] = _mm512_ternarylogic_epi64(r[i], r[(i + 1) % 24], _mm512_rol_epi64(r[(i + 3) % 24], 13), 0x96);
            if (k % 5 == 0)
                _mm512_mask_storeu_epi64(&t[(i & 7) * 7], (__mmask8)~m, r[i]);
        }
    uint64_t h = 0;
    for (int i = 0; i < 24; i++) {
        uint64_t o[8];
        _mm512_storeu_si512(o, r[i]);
        h ^= mix_bytes(7, o, 64) * (i + 1);
    }
    return h ^ mix_bytes(7, t, sizeof t);
}
uint64_t kernel_gather(uint64_t s)
{
    static __thread double a[1024];
    static __thread float f[1024];
    static __thread int64_t q[1024];
    for (int i = 0; i < 1024; i++)
        a[i] = (double)(next_random(&s) >> 30), f[i] = (float)(i * 3), q[i] = (int64_t)next_random(&s);
    __m512d acc = _mm512_setzero_pd();
    __m256d acc2 = _mm256_setzero_pd();
    __m512 fs = _mm512_setzero_ps();
    __m128i i4 = _mm_set_epi32(3, 99, 500, 7);
    __m512i idx = _mm512_set_epi64(1, 77, 300, 900, 5, 600, 1023, 0);
    for (int k = 0; k < 300; k++) {
        acc = _mm512_add_pd(acc, _mm512_i64gather_pd(idx, a, 8));
        acc = _mm512_mask_i64gather_pd(acc, (__mmask8)k, idx, a, 8);
        acc2 = _mm256_add_pd(acc2, _mm256_i32gather_pd(a, i4, 8));
        acc2 = _mm256_mask_i32gather_pd(
            acc2, a, i4, _mm256_castsi256_pd(_mm256_set_epi64x(k & 1 ? -1 : 0, -1, 0, k & 2 ? -1 : 0)), 8);
        __m512i di = _mm512_set1_epi32(k * 3 & 1023);
        di = _mm512_and_epi32(
            _mm512_add_epi32(di, _mm512_set_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 100, 200, 300, 400, 500, 600, 700)),
            _mm512_set1_epi32(1023));
        fs = _mm512_add_ps(fs, _mm512_i32gather_ps(di, f, 4));
        _mm512_i32scatter_epi32(f, di, _mm512_castps_si512(fs), 4);
        _mm512_mask_i64scatter_epi64(q, (__mmask8)(k * 5), idx, _mm512_add_epi64(idx, _mm512_set1_epi64(k)), 8);
        idx = _mm512_and_epi64(_mm512_add_epi64(_mm512_mullo_epi64(idx, _mm512_set1_epi64(5)), _mm512_set1_epi64(k)),
                               _mm512_set1_epi64(1023));
        i4 = _mm_and_si128(_mm_add_epi32(_mm_slli_epi32(i4, 1), _mm_set1_epi32(k)), _mm_set1_epi32(1023));
    }
    return mix_bytes(7, &acc, 64) ^ mix_bytes(7, &acc2, 32) * 3 ^ mix_bytes(7, &fs, 64) * 5 ^
           mix_bytes(7, f, sizeof f) * 7 ^ mix_bytes(7, q, sizeof q) * 11;
}
uint64_t kernel_saxpy(uint64_t s)
{
    static __thread float x[1200], y[1200];
    static __thread int32_t c[1200];
    for (int i = 0; i < 1200; i++)
        x[i] = (float)(next_random(&s) & 1023), y[i] = (float)(next_random(&s) & 2047), c[i] = 0;
    for (int k = 0; k < 12; k++) {
        int n = 1100 + k * 7;
        for (int i = 0; i < n; i++)
            y[i] += x[i] * 1.5f;
        for (int i = 0; i < n; i++)
            if (y[i] > 3000.f) {
                y[i] *= 0.25f;
                c[i]++;
            }
        for (int i = 0; i < n; i++)
            c[i] += (int)x[i] * k;
    }
    return mix_bytes(7, y, sizeof y) ^ mix_bytes(7, c, sizeof c);
}
uint64_t kernel_mask(uint64_t s)
{
    static __thread uint8_t a[2000];
    static __thread uint16_t b[2000];
    uint64_t h = 0;
    int n = 0;
    for (int i = 0; i < 2000; i++)
        a[i] = (uint8_t)next_random(&s), b[i] = 0;
    for (int k = 0; k < 10; k++) {
        for (int i = 0; i < 1990 - k; i++)
            if (a[i] > 100)
                b[i] += a[i + k];
        for (int i = 0; i < 2000; i++)
            n += a[i] == k;
        for (int i = 0; i + 64 <= 2000; i += 61) {
            __m512i v = _mm512_loadu_si512(a + i);
            __mmask64 m = _mm512_cmpgt_epu8_mask(v, _mm512_set1_epi8((char)(k * 20)));
            h += (uint64_t)m * 3;
            _mm512_mask_compressstoreu_epi8(a + i / 2, m & 0xff, v);
            h ^= _kortestz_mask64_u8(m, m);
        }
        _mm256_zeroupper();
    }
    return h ^ (uint64_t)n ^ mix_bytes(7, b, sizeof b) ^ mix_bytes(7, a, sizeof a);
}
uint64_t kernel_matmul(uint64_t s)
{
    enum { N = 40 };
    static __thread double a[N][N], b[N][N], c[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = (double)(next_random(&s) & 15), b[i][j] = (double)(next_random(&s) & 15), c[i][j] = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                c[i][j] += a[i][k] * b[k][j];
    return mix_bytes(7, c, sizeof c);
}
