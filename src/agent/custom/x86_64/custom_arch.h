/* agent/custom/x86_64/custom_arch.h - see agent/custom/custom_arch.h. */
#pragma once

enum { CUSTOM_REACH = 1 << 30 }; /* a jump goes 2 GiB, and so do addresses relative to the code */

#define custom_arch_relocate relocate_x86_64

#include <cpuid.h>

extern uint8_t custom_has_avx; /* both are read by custom.S */
extern uint32_t custom_wide;

static inline bool custom_arch_shadow_stack(void)
{
    enum { STATUS = 0x5005, ENABLED = 1 }; /* ARCH_SHSTK_STATUS */
    uint64_t features = 0;
    return sys_call(SYS_arch_prctl, STATUS, &features) == 0 && (features & ENABLED);
}

static inline void custom_arch_prepare(void)
{
    enum { XSAVE_ENABLED = 1 << 27, AVX = 1 << 28, SSE_AND_AVX = 0x6, AVX512 = 0xe0 };
    unsigned a, b, c = 0, d, enabled = 0, high;
    if (__get_cpuid(1, &a, &b, &c, &d) && c & XSAVE_ENABLED)
        __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    /* Not __builtin_cpu_supports(): it asks cpuid some 20 times as each process begins, which is slow in a virtual machine. */
    custom_has_avx = c & AVX && (enabled & SSE_AND_AVX) == SSE_AND_AVX;
    custom_wide = enabled & AVX512 ? enabled & (SSE_AND_AVX | AVX512) : 0;
}

/* Six come in registers, the others above the return address. */
static inline void custom_arch_arguments(struct custom_call *call)
{
    call->arguments[6] = ((const uint64_t *)call->cfa)[0];
    call->arguments[7] = ((const uint64_t *)call->cfa)[1];
}
