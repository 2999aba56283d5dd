/* Kernels of floating-point code: x87, MMX, SSE, rounding modes. */
#include "identical.h"

#include <fenv.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <x86intrin.h>

uint64_t kernel_x87(uint64_t s)
{
    long double x = 1 + (s & 1023) / 1024.0L, sum = 0, a[64];
    for (int i = 0; i < 64; i++) {
        a[i] = x = x * 1.0000001L + 1 / (x + i);
        sum += sqrtl(x) - sinl(x) * cosl(sum);
    }
    for (int i = 0; i < 500; i++) {
        a[i & 63] = fmodl(a[(i * 7) & 63] * 3.7L, 5.0L) + atan2l(sum, 2);
        sum += a[i & 63];
        __asm__ volatile("fld1; fldpi; fyl2x; fstp %%st(0)" ::: "st");
    }
    uint64_t h = 0;
    for (int i = 0; i < 64; i++)
        h = mix_bytes(h, &a[i], 10);
    return mix_bytes(h, &sum, 10);
}

uint64_t kernel_double(uint64_t s)
{
    double a[300], h = 0;
    uint64_t r = 0;
    for (int i = 0; i < 300; i++)
        a[i] = (double)(next_random(&s) >> 12) / 1e9;
    for (int k = 0; k < 6; k++)
        for (int i = 1; i < 299; i++) {
            a[i] = (a[i - 1] + a[i] * 2 + a[i + 1]) / 4 + sin(a[i]) * exp(-a[i] / 1e6) + log1p(a[i]) + pow(a[i], 0.3);
            h += a[i];
            a[i] = floor(a[i]) + fabs(a[i] - 3);
        }
    r = mix_bytes(r, a, sizeof a);
    return mix_bytes(r, &h, 8);
}

uint64_t kernel_rounding(uint64_t s)
{
    uint64_t h = 0;
    double x = 1.0 + (double)(s & 0xfff) / 3;
    const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 400; i++) {
        fesetround(modes[i & 3]);
        volatile double y = x / 3.0, z = sqrt(y) * 1.1;
        volatile float f = (float)z;
        volatile long double l = (long double)z / 7;
        h = mix_bytes(h, (void *)&y, 8);
        h = mix_bytes(h, (void *)&f, 4);
        h = mix_bytes(h, (void *)&l, 10);
        x = z + i;
        feclearexcept(FE_ALL_EXCEPT);
        volatile double w = x / 3;
        (void)w;
        h = mix(h, (uint64_t)fetestexcept(FE_INEXACT | FE_OVERFLOW | FE_INVALID));
        unsigned mx = _mm_getcsr();
        h = mix(h, mx);
    }
    fesetround(FE_TONEAREST);
    return h;
}

static double fpow(double x, int n)
{
    double r = 1;
    while (n--)
        r *= x;
    return r;
}
static uint64_t sum_up(int n, ...)
{
    va_list l;
    va_start(l, n);
    double d = 0;
    for (int i = 0; i < n; i++)
        d += va_arg(l, double) * fpow(1.01, i);
    va_end(l);
    uint64_t r;
    memcpy(&r, &d, 8);
    return r;
}
uint64_t kernel_varargs(uint64_t s)
{
    uint64_t h = 0;
    for (int i = 0; i < 500; i++)
        h = mix(h, sum_up(6, (double)(s & 255), 1.5, i * 2.0, 3.3, (double)i, 9.0));
    return h;
}

uint64_t kernel_sse(uint64_t s)
{
    __m128i x = _mm_set_epi64x((long)s, (long)~s), y = _mm_set1_epi32(77);
    uint64_t o[2];
    static __thread __m128i t[16];
    for (int i = 0; i < 16; i++)
        t[i] = _mm_set_epi64x((long)next_random(&s), (long)next_random(&s));
    for (int i = 0; i < 3000; i++) {
        x = _mm_add_epi32(x, _mm_shuffle_epi32(y, 0x1b));
        y = _mm_xor_si128(_mm_slli_epi64(x, 7), t[i & 15]);
        t[(i * 5) & 15] = _mm_unpacklo_epi8(x, y);
        x = _mm_sub_epi16(x, t[(i * 3) & 15]);
        if (_mm_movemask_epi8(x) & 1)
            y = _mm_add_epi8(y, x);
    }
    _mm_storeu_si128((__m128i *)o, _mm_xor_si128(x, y));
    return mix(o[0], o[1]) ^ mix_bytes(0, t, sizeof t);
}

uint64_t kernel_mmx(uint64_t s)
{
    __m64 m = _mm_cvtsi64_m64((long)s), n = _mm_set1_pi16(3);
    uint64_t h = 0;
    for (int i = 0; i < 500; i++) {
        m = _mm_add_pi16(_mm_mullo_pi16(m, n), _mm_cvtsi64_m64((long)next_random(&s)));
        n = _mm_xor_si64(n, _mm_srli_si64(m, 5));
        h = mix(h, (uint64_t)_mm_cvtm64_si64(m));
    }
    _mm_empty();
    long double l = 1.5L;
    l *= (double)(h & 7);
    return mix(h, (uint64_t)l);
}
