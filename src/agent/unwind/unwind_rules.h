/* agent/unwind/unwind_rules.h - the rules of all code addresses seen so far, one look-up away.
 *
 * A table of 65,536 words for the whole process. Each word holds a packed rule and the part of its address that its
 * place does not show, so it is read and replaced whole: no lock, no mixed entry. An address has two places, side by
 * side; when both are taken by others, one of them is replaced and costs another reading of .eh_frame later. */
#pragma once

#include "isa/unwind/unwind_arch.h"

#include <stdatomic.h>

enum { UNWIND_CACHE_BITS = 16 };

extern _Atomic uint64_t unwind_cache[1 << UNWIND_CACHE_BITS];

/* What a rule is found by: the address behind an instruction. For a return address that is itself: the rule is that of
 * the call before it. */
static inline uint64_t unwind_key(uint64_t pc, bool pc_is_return)
{
    return pc_is_return ? pc : pc + (1 << UNWIND_CODE_SHIFT);
}

/* Looks in the second place, then reads the rule from .eh_frame and remembers it. Any thread, any handler. */
uint32_t unwind_rule_read(uint64_t key);

/* The full rule behind a packed one of kind UNWIND_PACKED_INDEX. */
const struct unwind_rule *unwind_rule_indexed(uint32_t packed);

/* Forgets everything: code was unloaded. */
void unwind_rules_clear(void);

static inline uint32_t unwind_cache_place(uint64_t key)
{
    return key >> UNWIND_CODE_SHIFT & ((1u << UNWIND_CACHE_BITS) - 1);
}

/* With the place, which may be the other one of the pair, this gives the whole key again (up to 47 bits on x86-64). */
static inline uint64_t unwind_cache_tag(uint64_t key)
{
    key >>= UNWIND_CODE_SHIFT;
    return key >> UNWIND_CACHE_BITS << 1 | (key & 1);
}

/* The packed rule. An empty word is UNWIND_NONE; that such a one could be found under a tag of 0 does no harm. */
static inline uint32_t unwind_rule_of(uint64_t key)
{
    uint64_t word = atomic_load_explicit(&unwind_cache[unwind_cache_place(key)], memory_order_relaxed);
    if (__builtin_expect(word >> 32 == unwind_cache_tag(key), 1))
        return (uint32_t)word;
    return unwind_rule_read(key);
}
