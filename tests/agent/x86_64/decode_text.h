/* One line of text for what the decoder makes of an instruction: "LENGTH ACCESS...", or "end" when it is refused.
 * An access is flags and size, then the address: "rw8[rax+rcx*8-16]", "w4[fs:-4]", "r32*8[rax+v1*4:4]" (a gather of
 * eight elements with 4-byte indices). */
#ifndef NUMALENS_TESTS_DECODE_TEXT_H
#define NUMALENS_TESTS_DECODE_TEXT_H

#include <stddef.h>
#include <stdint.h>

void decode_text(const uint8_t *bytes, size_t count, char *text, size_t size);

/* Reads hexadecimal digits up to the first other character; returns the number of bytes. */
size_t decode_hex(const char *hex, uint8_t *bytes, size_t size);

#endif
