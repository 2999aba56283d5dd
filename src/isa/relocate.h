/* isa/relocate.h - hooks at a function's entry: what to write there, and the code that takes its place.
 *
 * Pure: bytes in, bytes out; both processors' halves build and are tested on any machine. A *thunk* passes control to
 * the agent and, behind that, holds the instructions that the hook displaced, made fit to run in their new place; then
 * it goes on behind them. Whatever cannot be moved with certainty is refused. */
#pragma once

#include "wire/custom.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RELOCATE_THUNK = 192, RELOCATE_PATCH = 8 };

struct relocate_job {
    const uint8_t *code; /* the function's bytes */
    size_t size;         /* how many there are */
    uint64_t at;         /* where it runs */
    uint64_t thunk;      /* where its thunk will be; a multiple of 16 */
    uint64_t hook;       /* what the thunk hands to the agent ... */
    uint64_t entered;    /* ... and where it enters it */
};

struct relocate_result {
    uint8_t thunk[RELOCATE_THUNK];
    uint32_t thunk_size;
    uint32_t resume; /* offset in the thunk: where the function begins now */
    uint8_t patch[RELOCATE_PATCH];
    uint32_t patch_offset, patch_size; /* in the function */
    bool one_step;                     /* other threads may run meanwhile: they see the old code or the new */
};

/* False with the reason in `*why` when the function has to be left alone. */
bool relocate_aarch64(const struct relocate_job *job, struct relocate_result *result, enum wire_custom_refusal *why);
bool relocate_x86_64(const struct relocate_job *job, struct relocate_result *result, enum wire_custom_refusal *why);
