/* agent/arch/x86_64/frame.h - registers out of a signal frame, as the decoder wants them. */
#ifndef NUMALENS_AGENT_ARCH_X86_64_FRAME_H
#define NUMALENS_AGENT_ARCH_X86_64_FRAME_H

#include "agent/arch/x86_64/decode.h"

#include <ucontext.h>

/* Fills `registers` from the context. `vectors` is what registers->vectors will point to; nothing is copied, so both
 * are good as long as the frame is. */
void frame_registers(const ucontext_t *context, struct decode_registers *registers, struct decode_vectors *vectors);

#endif
