/* wide_registers.c - an allocator of its own that touches no vector register, and callers that know it: all of them are
 * filled before each call and looked at after it, as wide as the processor has them.
 * Truth: prints "kept" with and without hooks. What the hook calls is made to use them: it stores a text's length.
 *     --alloc-fn wide_alloc:size=text */
#include "../example.h"

#define ROUNDS 1000

static char pool[64 * ROUNDS];
static size_t used;

/* Left alone by compilers: not inlined, not changed, general registers only. */
__attribute__((noinline, noclone, target("general-regs-only"))) char *wide_alloc(size_t size);
char *wide_alloc(size_t size)
{
    volatile char *block = pool + used; /* or the loop becomes a call of memset */
    used += size;
    for (size_t i = 0; i + 1 < size; i++)
        block[i] = 'x';
    return (char *)block;
}

static unsigned char before[32 * 64] __attribute__((aligned(64))), after[32 * 64] __attribute__((aligned(64)));
static unsigned long masks_before[8], masks_after[8];

#define EACH8(M, from) M(from##0) M(from##1) M(from##2) M(from##3) M(from##4) M(from##5) M(from##6) M(from##7)
#define FIRST16(M)     EACH8(M, ) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
#define LAST16(M)      M(16) M(17) M(18) M(19) M(20) M(21) M(22) M(23) M(24) M(25) M(26) M(27) M(28) M(29) M(30) M(31)
#define OTHERS         "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc"
#define CALL           "mov $64, %%edi\n call wide_alloc\n"

#define LOAD_ZMM(n)  "vmovdqa64 " #n "*64(%%rbx), %%zmm" #n "\n"
#define STORE_ZMM(n) "vmovdqa64 %%zmm" #n ", " #n "*64(%%r12)\n"
#define LOAD_YMM(n)  "vmovdqa " #n "*64(%%rbx), %%ymm" #n "\n"
#define STORE_YMM(n) "vmovdqa %%ymm" #n ", " #n "*64(%%r12)\n"
#define LOAD_K(n)    "kmovq " #n "*8(%%r13), %%k" #n "\n"
#define STORE_K(n)   "kmovq %%k" #n ", " #n "*8(%%r14)\n"

static void round_512(void)
{
    register void *from __asm__("rbx") = before, *to __asm__("r12") = after;
    register void *masks __asm__("r13") = masks_before, *masks_to __asm__("r14") = masks_after;
    __asm__ volatile("mov %%rsp, %%r15\n sub $128, %%rsp\n and $-64, %%rsp\n" FIRST16(LOAD_ZMM) LAST16(LOAD_ZMM)
                         EACH8(LOAD_K, ) CALL FIRST16(STORE_ZMM) LAST16(STORE_ZMM) EACH8(STORE_K, ) "mov %%r15, %%rsp\n"
                     :
                     : "r"(from), "r"(to), "r"(masks), "r"(masks_to)
                     : "r15", OTHERS);
}

static void round_256(void)
{
    register void *from __asm__("rbx") = before, *to __asm__("r12") = after;
    __asm__ volatile("mov %%rsp, %%r15\n sub $128, %%rsp\n and $-64, %%rsp\n" FIRST16(LOAD_YMM)
                         CALL FIRST16(STORE_YMM) "mov %%r15, %%rsp\n"
                     :
                     : "r"(from), "r"(to)
                     : "r15", OTHERS);
}

int main(void)
{
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    if (!wide && !__builtin_cpu_supports("avx2")) {
        printf("no AVX2\n");
        return 0;
    }
    int lost = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < sizeof before; i++)
            before[i] = (unsigned char)(i * 7 + i / 64 + (size_t)round);
        for (size_t i = 0; i < 8; i++)
            masks_before[i] = 0x123456789abcdeful * (i + 1) + (unsigned long)round;
        wide ? round_512() : round_256();
        for (size_t i = 0; i < 32; i++)
            lost += wide ? memcmp(before + i * 64, after + i * 64, 64) != 0
                         : i < 16 && memcmp(before + i * 64, after + i * 64, 32) != 0;
        lost += wide && memcmp(masks_before, masks_after, sizeof masks_before) != 0;
    }
    if (lost)
        printf("%d registers lost\n", lost);
    else
        printf("kept %s\n", wide ? "ZMM" : "YMM");
    return 0;
}
