/* isa/aarch64/cpu.c - the view of a signal frame, and which group an instruction belongs to. Runs in signal handlers. */
#include "isa/aarch64/access.h"
#include "isa/aarch64/cpu.h"

#ifndef GCS_MAGIC
#define GCS_MAGIC 0x47435300
#endif

unsigned long cpu_features;

bool cpu_view(struct cpu *cpu, cpu_accessor *access, void *user, ucontext_t *context)
{
    struct sigcontext *frame = (struct sigcontext *)&context->uc_mcontext;
    *cpu = (struct cpu){.access = access,
                        .user = user,
                        .context = context,
                        .x = (uint64_t *)frame->regs,
                        .sp = (uint64_t *)&frame->sp,
                        .pc = (uint64_t *)&frame->pc,
                        .pstate = (uint64_t *)&frame->pstate};
    uint8_t *at = frame->__reserved, *end = at + sizeof(frame->__reserved);
    while (at + sizeof(struct _aarch64_ctx) <= end) {
        struct _aarch64_ctx *head = (struct _aarch64_ctx *)at;
        if (head->magic == 0)
            return true;
        if (head->size < sizeof(*head) || head->size > (size_t)(end - at))
            return false;
        if (head->magic == FPSIMD_MAGIC) {
            cpu->vectors = (struct fpsimd_context *)at;
        } else if (head->magic == SVE_MAGIC) {
            struct sve_context *sve = (struct sve_context *)at;
            if (sve->flags & SVE_SIG_FLAG_SM)
                return false;
            if (head->size >= SVE_SIG_CONTEXT_SIZE(sve_vq_from_vl(sve->vl))) {
                cpu->scalable = at + SVE_SIG_ZREGS_OFFSET;
                cpu->scalable_bytes = sve->vl;
            }
        } else if (head->magic == GCS_MAGIC || head->magic == EXTRA_MAGIC) {
            return false; /* calls would have to write the shadow stack; frames with more were not copied */
        }
        at += head->size;
    }
    return false;
}

void cpu_vector_written(struct cpu *cpu, unsigned number)
{
    /* sigreturn takes the low 128 bits from the FPSIMD record and the rest from the SVE record */
    for (uint32_t i = 16; i < cpu->scalable_bytes; i++)
        cpu->scalable[(size_t)number * cpu->scalable_bytes + i] = 0;
}

bool cpu_condition(const struct cpu *cpu, unsigned condition)
{
    uint64_t flags = *cpu->pstate;
    bool n = flags & FLAG_N, z = flags & FLAG_Z, c = flags & FLAG_C, v = flags & FLAG_V;
    bool holds;
    switch (condition >> 1) {
    case 0:
        holds = z;
        break;
    case 1:
        holds = c;
        break;
    case 2:
        holds = n;
        break;
    case 3:
        holds = v;
        break;
    case 4:
        holds = c && !z;
        break;
    case 5:
        holds = n == v;
        break;
    case 6:
        holds = n == v && !z;
        break;
    default:
        return true;
    }
    return condition & 1 ? !holds : holds;
}

enum outcome cpu_execute(struct cpu *cpu, uint32_t word)
{
    switch (bits(word, 25, 4)) { /* the architecture's op0 */
    case 8:
    case 9:
        return integer_immediate(cpu, word);
    case 10:
    case 11:
        return branch_or_system(cpu, word);
    case 4:
    case 6:
    case 12:
    case 14:
        return memory_access(cpu, word);
    case 5:
    case 13:
        return integer_register(cpu, word);
    case 7:
    case 15:
        return vector_process(cpu, word);
    }
    return OUTCOME_UNKNOWN;
}

enum outcome cpu_step(struct cpu *cpu)
{
    uint64_t pc = *cpu->pc, word;
    if (access_load4(pc, &word) != 0)
        return OUTCOME_FAULT;
    enum outcome outcome = cpu_execute(cpu, (uint32_t)word);
    if (outcome == OUTCOME_NEXT) {
        *cpu->pc = pc + 4;
        *cpu->pstate &= ~(uint64_t)PSTATE_BTYPE;
    }
    return outcome;
}
