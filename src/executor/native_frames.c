/* executor/native_frames.c - see executor/native_frames.h. A stack is walked where the first step from an access leads elsewhere than from the one before:
 * whatever returns reads its address from the stack, so that the frames above are the same until then. Whatever is read may be anything: the stack
 * pointer only grows, and what does not fit ends the chain. */
#include "executor/native_frames.h"

#include "executor/pages.h"
#include "isa/unwind/unwind_arch.h"

enum {
    RULES = 4096,          /* kept from job to job */
    FRAME_MOST = 64 << 20, /* bytes */
};

struct frame {
    uint64_t address; /* in the instruction that is carried out: of a caller, its call */
    uint64_t pc;      /* what is noted of it */
    uint64_t sp, fp, lr;
    bool has_lr;
    bool interrupted; /* between two instructions of its own, not behind a call */
    bool low;         /* the stack pointer is somewhere above sp */
};

enum step { STEP_ON, STEP_END, STEP_CUT };

static struct {
    uint64_t address; /* 0: none */
    struct unwind_rule rule;
} rules[RULES];
static uint32_t rules_of;         /* their code, by its number */
static uint32_t asked;            /* in this job */
static uint64_t last_sp, last_fp; /* of the last access's caller */
static uint64_t last_pc;          /* likewise; 0: none */
static enum step last_step;
static uint8_t chain; /* of the last access */

static const struct unwind_rule not_asked = {.kind = EXECUTOR_NO_CODE};

static struct unwind_rule rule_of(struct executor_job *job, uint64_t address)
{
    unsigned i = (unsigned)(address * 0x9e3779b97f4a7c15u >> 32) % RULES;
    if (rules[i].address == address)
        return rules[i].rule;
    if (asked++ >= job->asks)
        return not_asked;
    executor_ask(job, address);
    rules[i].address = address;
    rules[i].rule = job->rule;
    return rules[i].rule;
}

static bool is_code(struct executor_job *job, uint64_t address)
{
    return rule_of(job, address).kind != EXECUTOR_NO_CODE;
}

static bool word(uint64_t at, uint64_t *value)
{
    if (at & 7 || !pages_have(at, sizeof *value))
        return false;
    *value = *(const volatile uint64_t *)at;
    return true;
}

static enum step arrive(struct frame *frame, uint64_t ra, uint64_t sp, uint64_t fp)
{
    *frame = (struct frame){.address = ra - 1, .pc = ra, .sp = sp, .fp = fp};
    return ra ? STEP_ON : STEP_END;
}

static enum step step_rule(struct frame *frame, const struct unwind_rule *rule)
{
    uint64_t fp = frame->fp, ra = frame->lr;
    uint64_t cfa = (rule->cfa == UNWIND_CFA_SP ? frame->sp : fp) + (uint64_t)(int64_t)rule->cfa_offset;
    if ((rule->cfa == UNWIND_CFA_SP && frame->low) || (rule->cfa == UNWIND_CFA_AT_FP && !word(cfa, &cfa)) || cfa & 7 ||
        cfa - frame->sp > FRAME_MOST)
        return STEP_CUT;
    if (rule->fp != UNWIND_SAME) {
        uint64_t slot = (rule->fp == UNWIND_AT_CFA ? cfa : fp) + (uint64_t)(int64_t)rule->fp_offset;
        /* Below the stack pointer it has been restored, though the table still names its place. */
        if (slot - frame->sp > FRAME_MOST ? !frame->interrupted : !word(slot, &fp))
            return STEP_CUT;
    }
    if (rule->ra == UNWIND_SAME ? !frame->has_lr
                                : cfa == frame->sp || !word(cfa + (uint64_t)(int64_t)rule->ra_offset, &ra))
        return STEP_CUT;
    return arrive(frame, rule->is_signed ? unwind_arch_strip(ra) : ra, cfa, fp);
}

/* Through a signal handler's frame to the code it interrupted. */
static enum step step_signal(struct frame *frame)
{
    struct unwind_signal_slots slots = unwind_arch_signal_slots();
    uint64_t base = frame->sp, sp, pc, fp, lr = 0;
    if (frame->low || !word(base + slots.sp, &sp) || !word(base + slots.pc, &pc) || !word(base + slots.fp, &fp) ||
        (slots.lr && !word(base + slots.lr, &lr)) || sp <= base || sp & 7 || pc == 0)
        return STEP_CUT;
    *frame = (struct frame){
        .address = pc, .pc = pc, .sp = sp, .fp = fp, .lr = lr, .has_lr = slots.lr != 0, .interrupted = true};
    return STEP_ON;
}

/* Code without rules, as Go's and that of a JIT: believed when it leads to behind a call in code. */
static enum step step_frame_pointer(struct executor_job *job, struct frame *frame)
{
    uint64_t fp = frame->fp, next, ra;
    if (fp - frame->sp > FRAME_MOST || !word(fp, &next) || !word(fp + 8, &ra))
        return STEP_CUT;
    ra = unwind_arch_strip(ra);
    if (ra < 8 || !is_code(job, ra - 1) || !pages_have(ra - 8, 8) || !unwind_arch_after_call(ra, ra - 8))
        return STEP_CUT;
    arrive(frame, ra, fp + 16, next);
    frame->low = !UNWIND_FP_GIVES_SP;
    return STEP_ON;
}

static enum step step(struct executor_job *job, struct frame *frame)
{
    struct unwind_rule rule = rule_of(job, frame->address);
    switch (rule.kind) {
    case UNWIND_FRAME:
        return step_rule(frame, &rule);
    case UNWIND_NONE:
        return step_frame_pointer(job, frame);
    case UNWIND_SIGNAL:
        return step_signal(frame);
    case UNWIND_END:
        return STEP_END;
    default:
        return STEP_CUT;
    }
}

void native_frames_begin(struct executor_job *job)
{
    if (job->code_number != rules_of)
        for (unsigned i = 0; i < RULES; i++)
            rules[i].address = 0;
    rules_of = job->code_number;
    job->native.count = 0;
    asked = chain = 0;
    last_pc = last_sp = last_fp = 0;
}

/* From the caller on. */
static uint8_t add_chain(struct executor_job *job, struct frame frame, enum step at)
{
    if (job->native.count >= EXECUTOR_CHAINS)
        return 0;
    struct executor_callers *to = &job->native.items[job->native.count];
    for (to->depth = 0; at == STEP_ON && to->depth < EXECUTOR_CALLERS && is_code(job, frame.address);
         at = step(job, &frame))
        to->frames[to->depth++] = frame.pc;
    to->cut = at != STEP_END;
    return (uint8_t)++job->native.count;
}

void native_frames_note(struct executor_job *job, uint32_t number, const struct native_at *at)
{
    struct frame frame = {.address = at->pc,
                          .pc = at->pc,
                          .sp = at->sp,
                          .fp = at->fp,
                          .lr = at->lr,
                          .has_lr = at->lr != 0,
                          .interrupted = true};
    job->native.of[number] = 0;
    if (!job->asks)
        return;
    enum step first = step(job, &frame);
    bool same = frame.pc == last_pc && frame.sp == last_sp && frame.fp == last_fp;
    if (!chain || first != last_step || (first == STEP_ON && !same))
        chain = add_chain(job, frame, first);
    last_step = first;
    last_pc = frame.pc;
    last_sp = frame.sp;
    last_fp = frame.fp;
    job->native.of[number] = chain;
}
