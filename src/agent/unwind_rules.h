/* agent/unwind_rules.h - the rules of all code addresses seen so far, one look-up away.
 *
 * A table of 65,536 words for the whole process. Each word holds a packed rule and the part of its address that its
 * place does not tell, so it is read and replaced whole: no lock, no mixed entry, and a collision only costs a second
 * reading of .eh_frame. */
#ifndef NUMALENS_AGENT_UNWIND_RULES_H
#define NUMALENS_AGENT_UNWIND_RULES_H

#include "agent/unwind_arch.h"

#include <stdatomic.h>

enum { UNWIND_CACHE_BITS = 16 };

extern _Atomic uint64_t unwind_cache[1 << UNWIND_CACHE_BITS];

/* Reads the rule from .eh_frame and remembers it. Any thread, any handler. */
uint32_t unwind_rule_read(uint64_t lookup);

/* The full rule behind a packed one of kind UNWIND_PACKED_INDEX. */
const struct unwind_rule *unwind_rule_indexed(uint32_t packed);

/* Forgets everything (code is gone). */
void unwind_rules_clear(void);

/* The folded address is one-to-one with (place, address >> 16): a word found under it is of this very address. */
static inline uint32_t unwind_cache_place(uint64_t key)
{
    return (uint32_t)(key ^ key >> 16 ^ key >> 27) & ((1u << UNWIND_CACHE_BITS) - 1);
}

/* The packed rule of the instruction at `lookup` (of a call, for a return address: any byte of it). */
static inline uint32_t unwind_rule_of(uint64_t lookup)
{
    uint64_t key = lookup >> UNWIND_CODE_SHIFT;
    uint64_t word = atomic_load_explicit(&unwind_cache[unwind_cache_place(key)], memory_order_relaxed);
    if (__builtin_expect(word >> 32 == key >> UNWIND_CACHE_BITS && word != 0, 1))
        return (uint32_t)word;
    return unwind_rule_read(lookup);
}

#endif
