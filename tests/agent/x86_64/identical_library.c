/* Kernels that call libc, whose vector code is chosen by the processor. */
#include "identical.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t kernel_libc(uint64_t s)
{
    static __thread char a[8192], b[8192];
    uint64_t h = 0;
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    for (int k = 0; k < 60; k++) {
        size_t n = next_random(&s) % 3000 + 1, o = next_random(&s) % 1000, p = next_random(&s) % 1000;
        memset(a + o, (int)(next_random(&s) % 26) + 'a', n);
        memcpy(b + p, a + o, n);
        memmove(a + o + 3, a + o, n);
        a[o + n / 2] = 0, a[8191] = b[8191] = 0;
        h = mix(h, strlen(a + o)), h = mix(h, (uint64_t)(int64_t)memcmp(a + o, b + p, n) >> 63),
        h = mix(h, strnlen(b + p, 5000));
        char *q = strchr(b + p, 'q'), *r = memchr(a, 'x', 8000), *t = strstr(b + p, "zzz"), *u = strrchr(b + p, 'e');
        h = mix(h, q ? q - b : 1), h = mix(h, r ? r - a : 1), h = mix(h, t ? t - b : 1), h = mix(h, u ? u - b : 1),
        h = mix(h, strspn(b + p, "abc"));
        h = mix(h, strcmp(a + o, b + p) > 0);
    }
    return mix_bytes(mix_bytes(h, a, 8192), b, 8192);
}

uint64_t kernel_printf(uint64_t s)
{
    char a[512];
    uint64_t h = 0;
    for (int i = 0; i < 60; i++) {
        double d = (double)(int64_t)next_random(&s) / (double)(next_random(&s) | 1);
        long double l = d * 1.1L;
        int n = snprintf(a, sizeof a, "%d %s %.17g %a %Lf %lx %-20.5e|%*d %c %o", (int)s, "text", d, d, l, (long)s, d,
                         12, i, 'x', i);
        h = mix_bytes(h, a, (size_t)n);
        char *e;
        double back = strtod(a + 5, &e), d2;
        snprintf(a, sizeof a, "%.17g", d);
        d2 = strtod(a, NULL);
        if (d2 != d)
            return 0xbad0;
        h = mix(h, (uint64_t)(e - a));
        h = mix_bytes(h, &back, 8);
        h = mix(h, strtoull("123456789abcdef", NULL, 16) + strtoul(a, NULL, 10));
        int x;
        float y;
        if (sscanf("42 3.25 word", "%d %f %s", &x, &y, a) != 3)
            return 0xbad1;
        h = mix(h, (uint64_t)x + (uint64_t)(y * 4) + (unsigned char)a[0]);
    }
    return h;
}

uint64_t kernel_malloc(uint64_t s)
{
    void *p[64] = {0};
    size_t n[64] = {0};
    uint64_t h = 0;
    for (int i = 0; i < 1500; i++) {
        int k = next_random(&s) & 63;
        if (p[k]) {
            h = mix_bytes(h, p[k], n[k] < 64 ? n[k] : 64);
            free(p[k]);
        }
        n[k] = next_random(&s) % 700 + 1;
        p[k] = malloc(n[k]);
        memset(p[k], (int)k + i, n[k]);
        if ((i & 31) == 0) {
            p[k] = realloc(p[k], n[k] * 2);
        }
    }
    for (int i = 0; i < 64; i++)
        free(p[i]);
    return h;
}

uint64_t kernel_regex(uint64_t s)
{
    regex_t r;
    regmatch_t m[4];
    char a[200];
    uint64_t h = 0;
    if (regcomp(&r, "([a-f]+)([0-9]*)x?(y|z)+", REG_EXTENDED))
        return 1;
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 120; k++)
            a[k] = "abcdef0123xyz"[next_random(&s) % 13];
        a[120] = 0;
        if (!regexec(&r, a, 4, m, 0))
            for (int k = 0; k < 4; k++)
                h = mix(h, (uint64_t)m[k].rm_so * 1000 + (uint64_t)m[k].rm_eo);
    }
    regfree(&r);
    return h;
}
