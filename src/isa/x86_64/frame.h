/* isa/x86_64/frame.h - registers out of a signal frame, as the decoder wants them. */
#pragma once

#include "isa/x86_64/decode.h"

#include <ucontext.h>

/* Calls of old programs go there: it may be executed but not read. */
#define VSYSCALL_PAGE 0xffffffffff600000u

enum {
    RSEQ_BYTES = 32,    /* of libc's area for restartable sequences */
    FRAME_X87_LAST = 8, /* in the image of vector state: the address of the last x87 instruction */
};

/* Once, before any of the others. */
void frame_learn(void);

/* The indices of gregs[] in the order of encodings. */
extern const uint8_t frame_order[16] __attribute__((visibility("hidden")));

/* Whether QEMU's emulator carries this code out. */
bool frame_is_emulated(void);

/* Where protection keys are in a frame's image of vector state, or 0: there are none here. */
uint32_t frame_keys_offset(void);

/* Where libc's area for restartable sequences is; false: it has registered none. */
bool frame_rseq_area(uint64_t fs_base, uint64_t *area);

/* Finds vector registers in the image; false: it has none. */
bool frame_vectors(const uint8_t *image, struct decode_vectors *vectors);

/* Copies the context and its image to below `top`, as rt_sigreturn wants to find them; NULL: it cannot be done. */
ucontext_t *frame_copy(const ucontext_t *context, uint8_t *top);

/* Fills `registers` from the context. `vectors` is what registers->vectors will point to; nothing is copied, so both
 * are good as long as the frame is. */
void frame_registers(const ucontext_t *context, struct decode_registers *registers, struct decode_vectors *vectors);
