/* tests/agent/slots_aarch64.h - isa/aarch64/slots.c, which tests look into: to empty the table between groups of instructions (no
 * program has that many words), and to give it memory under QEMU's user emulation, which maps none twice. */
#ifndef NUMALENS_TESTS_SLOTS_AARCH64_H
#define NUMALENS_TESTS_SLOTS_AARCH64_H

#include "isa/aarch64/slots.c"

static bool slots_start_anywhere(void)
{
    if (slots_start())
        return true;
    slots_writable =
        mmap(NULL, sizeof(*slots_writable), PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    slots_code = (uint64_t)slots_writable;
    return slots_writable != MAP_FAILED;
}

#endif
