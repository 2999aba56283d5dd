/* agent/custom/aarch64/custom_arch.h - see agent/custom/custom_arch.h. */
#pragma once

enum { CUSTOM_REACH = 120 << 20 }; /* a branch goes 128 MiB */

#define custom_arch_relocate relocate_aarch64

static inline bool custom_arch_shadow_stack(void)
{
    enum { GET_STATUS = 74, ENABLED = 1 }; /* PR_GET_SHADOW_STACK_STATUS */
    uint64_t status = 0;
    return sys_call(SYS_prctl, GET_STATUS, &status, 0, 0, 0) == 0 && (status & ENABLED);
}

static inline void custom_arch_prepare(void)
{
}

static inline void custom_arch_arguments(struct custom_call *call)
{
    (void)call; /* eight come in registers */
}
