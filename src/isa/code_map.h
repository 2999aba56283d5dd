/* isa/code_map.h - memory for code that is made here: shared and anonymous, mapped twice, so that no page is ever writable and
 * executable. (A memfd would do, but making it as large as it must be kills a program that runs under a small limit for file
 * sizes.) */
#pragma once

#include "base/sys.h"

/* Over what is there, which is the caller's: `code` bytes that run, the same to write to, and `rest` bytes. */
static inline bool code_map(uint8_t *base, size_t code, size_t rest)
{
    uint8_t *writable = base + code;
    long mapped = sys_call(SYS_mmap, writable, code + rest, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
    /* an old size of 0 maps the same shared pages once more */
    return mapped == (long)writable &&
           sys_call(SYS_mremap, writable, 0L, code, MREMAP_MAYMOVE | MREMAP_FIXED, base) == (long)base &&
           sys_call(SYS_mprotect, base, code, PROT_READ | PROT_EXEC) == 0;
}
