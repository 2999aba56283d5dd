/* agent/arch/x86_64/custom_arch.h - see agent/custom_arch.h. */
#ifndef NUMALENS_AGENT_ARCH_X86_64_CUSTOM_ARCH_H
#define NUMALENS_AGENT_ARCH_X86_64_CUSTOM_ARCH_H

enum { CUSTOM_REACH = 1 << 30 }; /* a jump goes 2 GiB, and so do addresses relative to the code */

#define custom_arch_relocate relocate_x86_64

extern uint8_t custom_has_avx; /* read by custom.S */

static inline bool custom_arch_shadow_stack(void)
{
    enum { STATUS = 0x5005, ENABLED = 1 }; /* ARCH_SHSTK_STATUS */
    uint64_t features = 0;
    return sys_call(SYS_arch_prctl, STATUS, &features) == 0 && (features & ENABLED);
}

static inline void custom_arch_prepare(void)
{
    custom_has_avx = __builtin_cpu_supports("avx") != 0;
}

/* Six come in registers, the others above the return address. */
static inline void custom_arch_arguments(struct custom_call *call)
{
    call->arguments[6] = ((const uint64_t *)call->cfa)[0];
    call->arguments[7] = ((const uint64_t *)call->cfa)[1];
}

#endif
