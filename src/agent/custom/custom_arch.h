/* agent/custom/custom_arch.h - picks the processor's half of agent/custom/custom_calls.h. Each half defines:
 *
 *   CUSTOM_REACH                 how far from a function its thunk may be
 *   custom_arch_relocate()       that processor's function of isa/relocate.h
 *   custom_arch_shadow_stack()   whether the processor checks return addresses in this thread
 *   custom_arch_prepare()        once, before the first function is hooked
 *   custom_arch_arguments()      fills in the arguments that are on the stack */
#pragma once

#include "agent/custom/custom_calls.h"
#include "isa/relocate.h"
#include "base/sys.h"

#if defined(__aarch64__)
#include "agent/custom/aarch64/custom_arch.h"
#elif defined(__x86_64__)
#include "agent/custom/x86_64/custom_arch.h"
#else
#error "custom: this architecture is not supported"
#endif
