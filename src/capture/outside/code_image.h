/* capture/outside/code_image.h - what a file says of the way from a frame of its code to the caller: its .eh_frame, copied out of it. The file is the sampled
 * program's, and may be anything. */
#pragma once

#include "isa/unwind/unwind_rule.h"

struct code_image;

/* Of an open file, as far as it takes at most so many bytes; NULL: it says nothing. */
struct code_image *code_image_read(int file, uint64_t most);
uint64_t code_image_bytes(const struct code_image *image);
void code_image_free(struct code_image *image);

/* The rule of the code that is mapped from the file's byte at `offset`. UNWIND_NONE where it has none. */
struct unwind_rule code_image_rule(const struct code_image *image, uint64_t offset);
