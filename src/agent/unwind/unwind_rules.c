/* agent/unwind/unwind_rules.c - see agent/unwind/unwind_rules.h. Runs in handlers. */
#include "agent/unwind/unwind_rules.h"
#include "agent/unwind/unwind.h"
#include "isa/unwind/unwind_cfi.h"
#include "agent/unwind/unwind_modules.h"

#include <string.h>

enum { SIDE_RULES = 4096 };

/* Any thread writes any word. */
_Atomic uint64_t unwind_cache[1 << UNWIND_CACHE_BITS];

/* Rules that do not fit into 32 bits: big frames, realigned stacks. Any thread appends; a rule never changes once its
 * `ready` is set, so it may be found by several and be there twice after a race. */
static struct {
    struct unwind_rule rule;
    _Atomic uint32_t ready;
} side[SIDE_RULES];
static _Atomic uint32_t side_count;

static uint32_t side_number(const struct unwind_rule *rule)
{
    uint32_t count = atomic_load(&side_count);
    for (uint32_t i = 0; i < count && i < SIDE_RULES; i++)
        if (atomic_load_explicit(&side[i].ready, memory_order_acquire) &&
            memcmp(&side[i].rule, rule, sizeof *rule) == 0)
            return i;
    if (count >= SIDE_RULES)
        return SIDE_RULES;
    uint32_t mine = atomic_fetch_add(&side_count, 1);
    if (mine >= SIDE_RULES)
        return SIDE_RULES;
    side[mine].rule = *rule;
    atomic_store_explicit(&side[mine].ready, 1, memory_order_release);
    return mine;
}

const struct unwind_rule *unwind_rule_indexed(uint32_t packed)
{
    /* Pairs with the release in unwind_rule_read(): the rule was whole before its number was in the cache. */
    atomic_thread_fence(memory_order_acquire);
    return &side[packed >> 2].rule;
}

static uint32_t pack(const struct unwind_rule *rule)
{
    if (rule->kind != UNWIND_FRAME)
        return UNWIND_PACKED_SPECIAL | (uint32_t)rule->kind << 2;
    uint32_t packed = unwind_arch_pack(rule);
    if (packed)
        return packed;
    uint32_t number = side_number(rule);
    return number < SIDE_RULES ? UNWIND_PACKED_INDEX | number << 2 : UNWIND_PACKED_SPECIAL | UNWIND_CUT << 2;
}

static struct unwind_rule read_rule(uint64_t lookup, bool *known)
{
    const struct unwind_module *module = unwind_module_at(unwind_modules_get(), lookup);
    struct unwind_rule rule = {.kind = UNWIND_NONE};
    if (module && !unwind_module_is_loaded(module))
        module = NULL;
    *known = module != NULL;
    if (module && module->is_readable)
        rule.kind = unwind_arch_known_code(lookup, module->start, module->end, module->is_vdso, &rule);
    if (module && rule.kind == UNWIND_NONE)
        rule = unwind_cfi_rule(module, lookup);
    unwind_modules_put();
    if (lookup + 1 == unwind_hook_return)
        rule = (struct unwind_rule){.kind = UNWIND_HOOK};
    return rule;
}

uint32_t unwind_rule_read(uint64_t key)
{
    uint32_t place = unwind_cache_place(key);
    uint64_t word = atomic_load_explicit(&unwind_cache[place ^ 1], memory_order_relaxed);
    if (word && word >> 32 == unwind_cache_tag(key))
        return (uint32_t)word;

    uint32_t generation = atomic_load(&unwind_generation);
    bool known;
    struct unwind_rule rule = read_rule(key - 1, &known);
    uint32_t packed = pack(&rule);
    if (!known || packed == 0)
        return packed;
    if (atomic_load(&unwind_cache[place]) && !atomic_load(&unwind_cache[place ^ 1]))
        place ^= 1;
    /* Either this sees that the modules have changed, or who changed them clears this word after it is written. */
    atomic_store(&unwind_cache[place], unwind_cache_tag(key) << 32 | packed);
    if (atomic_load(&unwind_generation) != generation)
        atomic_store(&unwind_cache[place], 0);
    return packed;
}

void unwind_rules_clear(void)
{
    for (uint32_t i = 0; i < 1u << UNWIND_CACHE_BITS; i++)
        if (atomic_load(&unwind_cache[i]))
            atomic_store(&unwind_cache[i], 0);
}
