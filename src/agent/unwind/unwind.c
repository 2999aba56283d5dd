/* agent/unwind/unwind.c - the walk up a stack. See agent/unwind/unwind.h.
 *
 * Hot and run in handlers: no locks, no allocation, no calls out of the agent. Reads of the stack stay between the
 * current stack pointer and `high`. The stack pointer only grows, so every walk ends. */
#include "agent/unwind/unwind.h"
#include "agent/unwind/unwind_modules.h"
#include "agent/unwind/unwind_rules.h"
#include "agent/unwind/unwind_walk.h"

enum {
    FROM_REGISTER = 1, /* the frame pointer is still the starting one */
    JIT_REACH = 64 << 20,
};

struct walk {
    uint64_t key; /* unwind_key() of the frame at hand */
    uint64_t sp, fp, lr;
    uint64_t low, high;  /* the starting stack pointer, the stack's end */
    uint64_t fp_from;    /* slot that fp was read from, or FROM_REGISTER */
    bool has_lr;         /* lr is good */
    bool is_interrupted; /* between two instructions of its own, not behind a call */
    struct unwind_notes *notes;
};

enum step { STEP_ON, STEP_END, STEP_CUT, STEP_SAME };

static inline bool readable(const struct walk *walk, uint64_t slot)
{
    return slot - walk->sp <= walk->high - walk->sp - 8;
}

static inline void note(struct walk *walk, uint64_t slot, uint64_t value)
{
    struct unwind_notes *notes = walk->notes;
    if (!notes)
        return;
    if (__builtin_expect(notes->count < UNWIND_NOTES, 1))
        notes->items[notes->count++] = (struct unwind_note){.offset = slot - walk->low, .value = value};
    else
        notes->count = UNWIND_NOTES + 1;
}

/* The frame pointer is about to matter. */
static inline void note_fp(struct walk *walk)
{
    if (!walk->notes)
        return;
    if (walk->fp_from == FROM_REGISTER)
        walk->notes->used |= UNWIND_USED_FP;
    else
        note(walk, walk->fp_from, walk->fp);
}

static inline uint64_t load(uint64_t address)
{
    return *(const volatile uint64_t *)address;
}

static inline uint64_t load_noted(struct walk *walk, uint64_t slot)
{
    uint64_t value = load(slot);
    note(walk, slot, value);
    return value;
}

static inline void load_fp(struct walk *walk, uint64_t slot)
{
    walk->fp = load(slot);
    walk->fp_from = slot;
}

/* In an epilogue, behind `pop %rbp`, tables still name the slot it was popped from, now below the stack pointer. The
 * register has the caller's value again, and the memory is free for others. */
static inline bool is_restored(const struct walk *walk, uint64_t slot)
{
    return walk->is_interrupted && slot < walk->sp;
}

/* Goes to the caller, whose stack pointer is `cfa`. */
static inline enum step arrive(struct walk *walk, uint64_t ra, uint64_t cfa)
{
    walk->key = ra;
    walk->sp = cfa;
    walk->has_lr = walk->is_interrupted = false;
    return ra == 0 ? STEP_END : STEP_ON;
}

static enum step return_to_lr(struct walk *walk, uint64_t cfa, bool is_signed)
{
    if (!walk->has_lr)
        return STEP_CUT;
    if (walk->notes)
        walk->notes->used |= UNWIND_USED_LR;
    return arrive(walk, is_signed ? unwind_arch_strip(walk->lr) : walk->lr, cfa);
}

/* The register that a packed rule counts from. */
static inline uint64_t packed_base(struct walk *walk, uint32_t packed)
{
    if (__builtin_expect(!unwind_packed_from_fp(packed), 1))
        return walk->sp;
    note_fp(walk);
    return walk->fp;
}

/* The common case. */
static inline enum step step_packed(struct walk *walk, uint32_t packed)
{
    uint64_t base = packed_base(walk, packed);
    uint64_t cfa = base + unwind_packed_cfa(packed), slot = base + unwind_packed_ra(packed);
    if (__builtin_expect(!readable(walk, cfa - 8) || cfa & 7 || !readable(walk, slot), 0))
        return STEP_CUT;
    uint64_t ra = load_noted(walk, slot);
    if (unwind_packed_has_fp(packed)) {
        slot = base + unwind_packed_fp(packed);
        if (__builtin_expect(readable(walk, slot), 1))
            load_fp(walk, slot);
        else if (!is_restored(walk, slot))
            return STEP_CUT;
    }
    if (unwind_packed_signed(packed))
        ra = unwind_arch_strip(ra);
    return arrive(walk, ra, cfa);
}

/* A function that has not stored its return address. */
static enum step step_leaf(struct walk *walk, uint32_t packed)
{
    uint64_t cfa = packed_base(walk, packed) + unwind_packed_cfa(packed);
    if (cfa - walk->sp > walk->high - walk->sp || cfa & 7)
        return STEP_CUT;
    return return_to_lr(walk, cfa, unwind_packed_signed(packed));
}

/* A rule too rare for the packed form. */
static enum step step_rule(struct walk *walk, const struct unwind_rule *rule)
{
    uint64_t fp = walk->fp, cfa = (rule->cfa == UNWIND_CFA_SP ? walk->sp : fp) + (uint64_t)(int64_t)rule->cfa_offset;
    if (rule->cfa != UNWIND_CFA_SP || rule->fp == UNWIND_AT_FP)
        note_fp(walk);
    if (rule->cfa == UNWIND_CFA_AT_FP) {
        if (!readable(walk, cfa))
            return STEP_CUT;
        cfa = load_noted(walk, cfa);
    }
    if (cfa - walk->sp > walk->high - walk->sp || cfa & 7)
        return STEP_CUT;
    if (rule->fp != UNWIND_SAME) {
        uint64_t slot = (rule->fp == UNWIND_AT_CFA ? cfa : fp) + (uint64_t)(int64_t)rule->fp_offset;
        if (readable(walk, slot))
            load_fp(walk, slot);
        else if (!is_restored(walk, slot))
            return STEP_CUT;
    }
    if (rule->ra == UNWIND_SAME)
        return return_to_lr(walk, cfa, rule->is_signed);
    uint64_t slot = cfa + (uint64_t)(int64_t)rule->ra_offset;
    if (!readable(walk, slot) || cfa == walk->sp)
        return STEP_CUT;
    uint64_t ra = load_noted(walk, slot);
    return arrive(walk, rule->is_signed ? unwind_arch_strip(ra) : ra, cfa);
}

/* Through a signal handler's frame to the code it interrupted, when that is on the same stack. */
static enum step step_signal(struct walk *walk)
{
    struct unwind_signal_slots slots = unwind_arch_signal_slots();
    if (!readable(walk, walk->sp + slots.pc) || !readable(walk, walk->sp + slots.sp) ||
        !readable(walk, walk->sp + slots.fp) || !readable(walk, walk->sp + slots.lr))
        return STEP_CUT;
    uint64_t base = walk->sp;
    uint64_t sp = load_noted(walk, base + slots.sp), pc = load_noted(walk, base + slots.pc);
    if (sp <= base || !readable(walk, sp) || sp & 7 || pc == 0)
        return STEP_CUT;
    load_fp(walk, base + slots.fp);
    if (slots.lr)
        walk->lr = load_noted(walk, base + slots.lr);
    walk->has_lr = slots.lr != 0;
    walk->is_interrupted = true;
    walk->key = unwind_key(pc, false);
    walk->sp = sp;
    return STEP_ON;
}

static bool is_after_call(uint64_t address)
{
    const struct unwind_module *module = unwind_module_at(unwind_modules_get(), address);
    bool is = module && module->is_readable && unwind_module_is_loaded(module) &&
              unwind_arch_after_call(address, module->start);
    unwind_modules_put();
    return is;
}

static bool in_module(uint64_t address)
{
    bool is = unwind_module_at(unwind_modules_get(), address) != NULL;
    unwind_modules_put();
    return is;
}

/* On aarch64 the two words may be anywhere in their frame, so the caller's stack pointer is not known, only that it is
 * above them. Where the caller needs it and keeps such words itself, they show it; else the walk ends with this frame. */
static void find_sp(struct walk *walk)
{
    uint32_t packed = unwind_rule_of(walk->key);
    if ((packed & UNWIND_PACKED_MASK) != UNWIND_PACKED_FRAME) {
        if (packed >> 2 != UNWIND_NONE)
            walk->sp = walk->high;
        return;
    }
    if (unwind_packed_from_fp(packed))
        return;
    note_fp(walk);
    uint64_t sp = walk->fp - unwind_packed_fp(packed);
    bool good = unwind_packed_has_fp(packed) && sp >= walk->sp && !(sp & 7) && readable(walk, sp) &&
                readable(walk, walk->fp + 8);
    if (good) {
        uint64_t ra = unwind_arch_strip(load_noted(walk, walk->fp + 8));
        good = ra == 0 || is_after_call(ra);
    }
    walk->sp = good ? sp : walk->high;
}

uint64_t unwind_hook_return;
uint64_t (*unwind_hook_find)(uint64_t cfa);

/* The address was the agent's: here is the true one of the same frame. It is not on the stack, so the walk depends
 * on more than can be noted. */
static enum step step_hook(struct walk *walk)
{
    if (walk->notes)
        walk->notes->count = UNWIND_NOTES + 1;
    uint64_t ra = unwind_hook_find(walk->sp);
    if (ra == 0)
        return STEP_CUT;
    walk->key = ra;
    return STEP_SAME;
}

static bool is_near(const struct walk *walk, uint64_t ra, uint64_t other)
{
    return ra - other + JIT_REACH < 2u * JIT_REACH && ra - walk->low >= walk->high - walk->low;
}

/* Code of a module without rules, as V8's builtins, called by code that was compiled at run time: nothing says what is a call there, so
 * the frame above must be right too. */
static bool is_in_chain(struct walk *walk, uint64_t fp, uint64_t ra)
{
    uint64_t above = load_noted(walk, fp);
    if (in_module(ra) || above & 7 || above <= fp || !readable(walk, above) || !readable(walk, above + 8))
        return false;
    uint64_t next = unwind_arch_strip(load_noted(walk, above + 8));
    return is_after_call(next) || (is_near(walk, ra, next) && !in_module(next));
}

/* Code of which nothing is known. Its frame pointer is believed when it points into the stack at a return address: one
 * behind a call in known code, or one in code that was compiled at run time: near the current address, or called by such. */
static enum step step_frame_pointer(struct walk *walk)
{
    note_fp(walk);
    uint64_t fp = walk->fp;
    if (fp & 7 || !readable(walk, fp) || !readable(walk, fp + 8))
        return STEP_CUT;
    uint64_t ra = unwind_arch_strip(load_noted(walk, fp + 8));
    if (ra == 0)
        return STEP_END;
    if (!is_after_call(ra) &&
        !(in_module(walk->key) ? is_in_chain(walk, fp, ra) : is_near(walk, ra, walk->key) && !in_module(ra)))
        return STEP_CUT;
    load_fp(walk, fp);
    arrive(walk, ra, fp + 16);
    if (!UNWIND_FP_GIVES_SP)
        find_sp(walk);
    return STEP_ON;
}

static __attribute__((noinline)) enum step step_special(struct walk *walk, uint32_t packed)
{
    if (packed >> 2 == UNWIND_END && (packed & UNWIND_PACKED_MASK) == UNWIND_PACKED_SPECIAL)
        return STEP_END;
    if (walk->high - walk->sp < 8) /* nothing above: no frame but the outermost may be here */
        return STEP_CUT;
    if ((packed & UNWIND_PACKED_MASK) == UNWIND_PACKED_FRAME)
        return step_leaf(walk, packed);
    if ((packed & UNWIND_PACKED_MASK) == UNWIND_PACKED_INDEX)
        return step_rule(walk, unwind_rule_indexed(packed));
    switch (packed >> 2) {
    case UNWIND_NONE:
        return step_frame_pointer(walk);
    case UNWIND_SIGNAL:
        return step_signal(walk);
    case UNWIND_HOOK:
        return step_hook(walk);
    default:
        return STEP_CUT;
    }
}

static inline bool is_common(const struct walk *walk, uint32_t packed)
{
    return (packed & UNWIND_PACKED_MASK) == UNWIND_PACKED_FRAME && !unwind_packed_in_lr(packed) &&
           walk->high - walk->sp >= 8;
}

/* No stack to read: at most the link register shows one more. */
static unsigned walk_without_stack(const struct unwind_regs *regs, bool pc_is_return, uint64_t *frames, unsigned max)
{
    uint32_t packed = unwind_rule_of(unwind_key(regs->pc, pc_is_return));
    if (max < 2 || pc_is_return || regs->lr == 0 || (packed & UNWIND_PACKED_MASK) != UNWIND_PACKED_FRAME ||
        !unwind_packed_in_lr(packed))
        return 1;
    frames[1] = unwind_packed_signed(packed) ? unwind_arch_strip(regs->lr) : regs->lr;
    return 2;
}

static inline __attribute__((always_inline)) unsigned walk_up(const struct unwind_regs *regs, uint64_t high,
                                                              bool pc_is_return, uint64_t *frames, unsigned max,
                                                              bool *cut, struct unwind_notes *notes)
{
    frames[0] = regs->pc;
    *cut = true;
    if (notes) {
        notes->count = notes->used = 0;
    }
    if (regs->sp & 7 || high < 8 || regs->sp > high - 8) {
        if (notes)
            notes->used = UNWIND_USED_LR;
        return walk_without_stack(regs, pc_is_return, frames, max);
    }
    struct walk now = {.key = unwind_key(regs->pc, pc_is_return),
                       .sp = regs->sp,
                       .fp = regs->fp,
                       .lr = regs->lr,
                       .low = regs->sp,
                       .high = high,
                       .fp_from = FROM_REGISTER,
                       .has_lr = !pc_is_return && regs->lr != 0,
                       .is_interrupted = !pc_is_return,
                       .notes = notes};
    for (unsigned count = 1;;) {
        uint32_t packed = unwind_rule_of(now.key);
        enum step step;
        if (__builtin_expect(is_common(&now, packed), 1)) {
            step = step_packed(&now, packed);
        } else {
            /* By a copy, so that the compiler keeps `now` in registers. */
            struct walk copy = now;
            step = step_special(&copy, packed);
            now = copy;
        }
        if (step != STEP_ON) {
            if (step == STEP_SAME) {
                frames[count - 1] = now.key;
                continue;
            }
            *cut = step == STEP_CUT;
            return count;
        }
        if (count == max)
            return count;
        frames[count++] = now.key;
    }
}

unsigned unwind_walk(const struct unwind_regs *regs, uint64_t stack_high, bool pc_is_return, uint64_t *frames,
                     unsigned max, bool *cut)
{
    return walk_up(regs, stack_high, pc_is_return, frames, max, cut, NULL);
}

unsigned unwind_walk_noting(const struct unwind_regs *regs, uint64_t stack_high, bool pc_is_return, uint64_t *frames,
                            unsigned max, bool *cut, struct unwind_notes *notes)
{
    return walk_up(regs, stack_high, pc_is_return, frames, max, cut, notes);
}

int unwind_modules_changed(void)
{
    bool removed;
    int code = unwind_modules_build(&removed);
    if (removed)
        unwind_rules_clear();
    return code < 0 ? code : 0;
}
