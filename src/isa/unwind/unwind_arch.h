/* isa/unwind/unwind_arch.h - picks the processor's half of the unwinder. Each half defines:
 *
 *   UNWIND_REG_SP, UNWIND_REG_FP, UNWIND_REG_RA   DWARF register numbers
 *   UNWIND_REG_RA_IS_PC                           an expression that names that register means the code address
 *   UNWIND_FP_GIVES_SP                            a frame pointer's two words are the last of their frame
 *   UNWIND_CODE_SHIFT                             code addresses are multiples of 1 << this
 *   unwind_arch_pack()                            a rule in 32 bits, or 0 when it does not fit
 *   unwind_packed_*()                             its fields; places are byte offsets from the register of from_fp()
 *   unwind_arch_strip()                           a return address without its authentication code
 *   unwind_arch_signal_slots()                    where the kernel put the registers, seen from the stack pointer
 *   unwind_arch_known_code()                      the rule of code that has no .eh_frame but a known shape
 *   unwind_arch_after_call()                      whether a call instruction stands before an address */
#pragma once

#include "isa/unwind/unwind_rule.h"

/* Byte offsets from the stack pointer on which the signal trampoline runs. */
struct unwind_signal_slots {
    uint32_t pc, sp, fp, lr; /* lr: 0 when there is none */
};

#if defined(__aarch64__)
#include "isa/unwind/aarch64/unwind_arch.h"
#elif defined(__x86_64__)
#include "isa/unwind/x86_64/unwind_arch.h"
#else
#error "unwind: this architecture is not supported"
#endif
