/* Kernels of integer code: flags, branches, calls, strings, atomics. */
#include "identical.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

uint64_t kernel_hash(uint64_t s)
{
    uint64_t t[256], h = s;
    for (int i = 0; i < 256; i++)
        t[i] = next_random(&s);
    for (int i = 0; i < 20000; i++) {
        h = mix(h, t[(h >> 3) & 255] + i);
        t[h & 255] ^= __builtin_bswap64(h) >> (h & 31);
        if (h % 7 == 3)
            h += __builtin_popcountll(t[h & 63]);
        if (h & 1)
            h = (h >> 5) | (h << 59);
        h += (uint64_t)((unsigned __int128)h * t[5] >> 64);
        h ^= h / ((t[i & 255] & 1023) + 1);
        h += (int32_t)h / (int)((h >> 40 & 15) + 3);
    }
    return h;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(uint32_t *)a, y = *(uint32_t *)b;
    return x < y ? -1 : x > y;
}
uint64_t kernel_qsort(uint64_t s)
{
    static __thread uint32_t a[3000];
    for (int i = 0; i < 3000; i++)
        a[i] = (uint32_t)next_random(&s);
    qsort(a, 3000, 4, compare);
    for (int i = 1; i < 3000; i++)
        if (a[i - 1] > a[i])
            return 0xbad;
    uint32_t *f = bsearch(&a[777], a, 3000, 4, compare);
    return mix_bytes(f ? *f : 1, a, sizeof a);
}

uint64_t kernel_string(uint64_t s)
{
    static __thread char a[4096], b[4096];
    uint64_t h = 0;
    memset(b, 0, sizeof b);
    for (int i = 0; i < 4096; i++)
        a[i] = (char)(next_random(&s) % 255 + 1);
    for (int k = 0; k < 40; k++) {
        size_t n = next_random(&s) % 1500 + 1, o = next_random(&s) % 500, p = next_random(&s) % 500;
        void *d = b + p, *f = a + o;
        size_t c = n;
        __asm__ volatile("rep movsb" : "+D"(d), "+S"(f), "+c"(c)::"memory");
        d = b + p + 100;
        c = n / 16;
        __asm__ volatile("rep stosq" : "+D"(d), "+c"(c) : "a"(next_random(&s)) : "memory");
        d = b + 2000 + n;
        f = a + 2000 + n;
        c = n;
        __asm__ volatile("std; rep movsb; cld" : "+D"(d), "+S"(f), "+c"(c)::"memory");
        f = a;
        d = b;
        c = 4096;
        unsigned char z;
        __asm__ volatile("repe cmpsb; setb %3" : "+D"(d), "+S"(f), "+c"(c), "=q"(z)::"memory", "cc");
        h = mix(h, c + z);
        d = a + o;
        c = n;
        __asm__ volatile("repne scasb; sete %2"
                         : "+D"(d), "+c"(c), "=q"(z)
                         : "a"((int)next_random(&s))
                         : "memory", "cc");
        h = mix(h, c * 2 + z);
        uint64_t sum = 0;
        f = a + o;
        c = n / 8;
        for (size_t i = 0; i < c; i++) {
            uint64_t v;
            __asm__ volatile("lodsq" : "=a"(v), "+S"(f)::"memory");
            sum = sum * 3 + v;
        }
        h = mix(h, sum);
    }
    return mix_bytes(h, b, 4096);
}

static uint64_t op1(uint64_t a)
{
    return a * 3 + 1;
}
static uint64_t op2(uint64_t a)
{
    return a ^ a >> 7;
}
static uint64_t op3(uint64_t a)
{
    return (a << 13) - a;
}
static uint64_t op4(uint64_t a)
{
    return __builtin_bswap64(a) + 5;
}
static uint64_t (*volatile table[4])(uint64_t) = {op1, op2, op3, op4};
uint64_t kernel_indirect(uint64_t s)
{
    uint64_t h = s;
    for (int i = 0; i < 8000; i++) {
        h = table[h >> 5 & 3](h);
        switch (h % 11) {
        case 0:
            h += 3;
            break;
        case 1:
            h ^= 77;
            break;
        case 2:
            h *= 5;
            break;
        case 3:
            h -= i;
            break;
        case 4:
            h = ~h;
            break;
        case 5:
            h += h >> 9;
            break;
        case 6:
            h ^= h << 3;
            break;
        case 7:
            h += 1000;
            break;
        case 8:
            h--;
            break;
        default:
            h = h / 3;
        }
    }
    return h;
}

__attribute__((noinline)) static uint64_t fib(unsigned n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__attribute__((noinline)) static uint64_t ack(uint64_t m, uint64_t n)
{
    return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1));
}
static uint64_t deep(unsigned n, uint64_t h)
{
    volatile char pad[200];
    pad[n % 200] = (char)h;
    return n == 0 ? h : deep(n - 1, mix(h, n)) + (uint64_t)pad[n % 200];
}
uint64_t kernel_recursion(uint64_t s)
{
    return fib(17 + (s & 3)) * 31 + ack(2, 20 + (s & 7)) + deep(300, s);
}

static uint64_t jump(sigjmp_buf *b, unsigned n, uint64_t h)
{
    volatile char pad[100];
    pad[0] = (char)h;
    if (n == 0)
        siglongjmp(*b, (int)(h & 0xffff) | 1);
    return jump(b, n - 1, h * 3) + (uint64_t)pad[0];
}
uint64_t kernel_longjmp(uint64_t s)
{
    volatile uint64_t h = s;
    for (volatile int i = 0; i < 200; i++) {
        sigjmp_buf b;
        int r = sigsetjmp(b, 0);
        if (r)
            h = mix(h, (uint64_t)r);
        else
            jump(&b, (unsigned)(h & 15), h);
    }
    return h;
}

uint64_t kernel_atomic(uint64_t s)
{
    _Atomic uint64_t a = s, b = 0;
    _Atomic uint32_t c = 0;
    _Atomic unsigned char d = 0;
    uint64_t h = s;
    uint64_t bits[8] = {0};
    unsigned __int128 w __attribute__((aligned(16))) = s;
    for (int i = 0; i < 4000; i++) {
        h = mix(h, atomic_fetch_add(&a, h));
        h = mix(h, atomic_exchange(&b, h));
        atomic_fetch_or(&c, (uint32_t)h & 0x11);
        h += atomic_fetch_and(&c, ~(uint32_t)h);
        uint64_t e = b;
        h += atomic_compare_exchange_strong(&b, &e, h + 1);
        d++;
        h += d;
        h += __sync_fetch_and_xor((uint32_t *)&c, 5);
        uint64_t lo = (uint64_t)w, hi = (uint64_t)(w >> 64);
        unsigned char ok;
        __asm__ volatile("lock cmpxchg16b %0; sete %1"
                         : "+m"(w), "=q"(ok), "+a"(lo), "+d"(hi)
                         : "b"(h), "c"(h >> 3)
                         : "cc");
        h += ok;
        __asm__ volatile("lock btsq %2, %0; setc %1" : "+m"(b), "=q"(ok) : "r"(h & 63) : "cc");
        h += ok;
        long bit = (long)(h % 512);
        __asm__ volatile("btcq %2, %0; setc %1" : "+m"(*(uint64_t(*)[8])bits), "=q"(ok) : "r"(bit) : "cc");
        h += ok;
    }
    return mix(h, a + b + c);
}

uint64_t kernel_flags(uint64_t s)
{ /* flags live across loads and stores, carry chains, high bytes, pushf, cmov, setcc, loop, jrcxz, bit instructions, enter-less frames */
    uint64_t h = s;
    uint64_t a[8], b[8];
    for (int i = 0; i < 8; i++)
        a[i] = next_random(&s), b[i] = next_random(&s);
    for (int i = 0; i < 1500; i++) {
        uint64_t f, c = 8, *p = a, *q = b, t;
        __asm__ volatile("clc\n1: mov (%1), %3\n adc (%2), %3\n mov %3, (%1)\n lea 8(%1), %1\n lea 8(%2), %2\n dec "
                         "%0\n jnz 1b\n setc %b3\n movzbl %b3, %k3"
                         : "+r"(c), "+r"(p), "+r"(q), "=&q"(t)::"memory", "cc");
        h = mix(h, t + a[i & 7]);
        __asm__ volatile("add %2, %0\n lea -128(%%rsp), %%rsp\n pushfq\n pop %1\n lea 128(%%rsp), %%rsp"
                         : "+r"(h), "=r"(f)
                         : "r"(t + i)
                         : "memory", "cc");
        h = mix(h, f & 0xcd5);
        uint32_t x = (uint32_t)h, y;
        __asm__ volatile("mov %k0, %%eax\n mov %%al, %%ah\n xchg %%al, %%dh\n add %%dh, %%ah\n mov %%ah, %%bl\n movzbl "
                         "%%ah, %%ecx\n mov %%ecx, %k1\n shl $3, %%eax\n rcl $2, %k1\n xor %%eax, %k1"
                         : "+r"(x), "=&r"(y)::"rax", "rbx", "rcx", "rdx", "cc");
        h = mix(h, y);
        uint64_t n = (h & 7) + 1, sum = 0;
        __asm__ volatile("1: add (%2,%0,8), %1\n loop 1b" : "+c"(n), "+r"(sum) : "r"((uint64_t)a - 8) : "memory", "cc");
        __asm__ volatile("mov %1, %%rcx\n jrcxz 1f\n add $7, %0\n1: lahf\n movzbl %%ah, %%eax\n add %%rax, %0"
                         : "+r"(sum)
                         : "r"(h & 1)
                         : "rcx", "rax", "cc");
        h = mix(h, sum);
        __asm__ volatile("lea -128(%%rsp), %%rsp\n push %0\n pushq $5\n pushw $7\n popw %w1\n pop %1\n pop %0\n push "
                         "(%2)\n pop 8(%2)\n lea 128(%%rsp), %%rsp"
                         : "+r"(h), "=&r"(t)
                         : "r"(b)
                         : "memory");
        h = mix(h, t + b[1]);
    }
    return h;
}

uint64_t kernel_lists(uint64_t s)
{
    struct node {
        struct node *l, *r;
        uint64_t v;
    } *pool = calloc(1500, sizeof *pool), *root = pool;
    uint64_t h = 0;
    root->v = next_random(&s);
    for (int i = 1; i < 1500; i++) {
        struct node *n = root;
        pool[i].v = next_random(&s);
        for (;;) {
            struct node **p = pool[i].v < n->v ? &n->l : &n->r;
            if (!*p) {
                *p = &pool[i];
                break;
            }
            n = *p;
            h += n->v & 1;
        }
    }
    struct node *stack[200];
    int sp = 0;
    struct node *n = root;
    while (n || sp) {
        while (n) {
            stack[sp++] = n;
            n = n->l;
        }
        n = stack[--sp];
        h = mix(h, n->v);
        n = n->r;
    }
    free(pool);
    return h;
}
