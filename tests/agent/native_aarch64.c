#include "native_aarch64.h"

#include "agent/agent.h"
#include "agent/sampling/step.h"
#include "isa/linked.h"

#include <asm/hwcap.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CODE_BYTES = 65536, WORD_BRK = 0xd4200000 };
#define BRANCH_REACH (256ul << 20)

static uint32_t *code;
static struct machine *volatile current; /* seen by the handlers only */
static ucontext_t home;
static volatile int ended_by;
struct linked *volatile native_running;

static struct fpsimd_context *vectors_of(const ucontext_t *context)
{
    uint8_t *at = ((struct sigcontext *)&context->uc_mcontext)->__reserved;
    for (struct _aarch64_ctx *head; (head = (struct _aarch64_ctx *)at)->magic; at += head->size)
        if (head->magic == FPSIMD_MAGIC)
            return (struct fpsimd_context *)at;
    abort();
}

/* The kernel takes V registers from their own record, QEMU's user emulation from that of SVE. */
static void fill_scalable(const struct machine *machine, struct sve_context *record)
{
    if (record->head.magic != SVE_MAGIC || record->head.size <= sizeof(*record))
        return;
    for (unsigned z = 0; z < 32; z++)
        memcpy((char *)record + SVE_SIG_ZREG_OFFSET(record->vl / 16, z), &machine->v[z], 16);
}

static void fill(const struct machine *machine, ucontext_t *context)
{
    struct sigcontext *to = (struct sigcontext *)&context->uc_mcontext;
    struct fpsimd_context *vectors = vectors_of(context);
    memcpy(to->regs, machine->x, sizeof(machine->x));
    to->sp = machine->sp;
    to->pc = machine->pc;
    to->pstate = (to->pstate & 0x0fffffffu) | (machine->pstate & 0xf0000000u);
    memcpy(vectors->vregs, machine->v, sizeof(machine->v));
    vectors->fpsr = machine->fpsr;
    vectors->fpcr = machine->fpcr;
    fill_scalable(machine, (struct sve_context *)((char *)vectors + vectors->head.size));
}

void machine_to_context(const struct machine *machine, ucontext_t *context)
{
    memset(context, 0, sizeof(*context));
    struct fpsimd_context *vectors = (struct fpsimd_context *)((struct sigcontext *)&context->uc_mcontext)->__reserved;
    vectors->head.magic = FPSIMD_MAGIC;
    vectors->head.size = sizeof(*vectors);
    if (getauxval(AT_HWCAP) & HWCAP_SVE) { /* none are live */
        struct sve_context *record = (struct sve_context *)(vectors + 1);
        record->head = (struct _aarch64_ctx){.magic = SVE_MAGIC, .size = sizeof(*record)};
        record->vl = (uint16_t)prctl(PR_SVE_GET_VL);
    }
    fill(machine, context);
}

void machine_from_context(struct machine *machine, const ucontext_t *context)
{
    const struct sigcontext *from = (const struct sigcontext *)&context->uc_mcontext;
    const struct fpsimd_context *vectors = vectors_of(context);
    memcpy(machine->x, from->regs, sizeof(machine->x));
    machine->sp = from->sp;
    machine->pc = from->pc;
    machine->pstate = from->pstate & 0xf0000000u;
    memcpy(machine->v, vectors->vregs, sizeof(machine->v));
    machine->fpsr = vectors->fpsr;
    machine->fpcr = vectors->fpcr;
}

static void on_begin(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    memcpy(&home, context, sizeof(home));
    fill(current, context);
}

static void on_end(int signal, siginfo_t *info, void *context)
{
    if (!current) {
        if ((native_running && linked_fault(native_running, context)) || step_fault(&agent_self, context, signal))
            return;
        fprintf(stderr, "signal %d at %p, address %p, outside any run\n", signal,
                (void *)((ucontext_t *)context)->uc_mcontext.pc, info->si_addr);
        _exit(1);
    }
    machine_from_context(current, context);
    ended_by = signal;
    memcpy(context, &home, sizeof(home));
}

void native_start(void)
{
    if (!code) { /* with nothing as far as a branch can reach */
        char *space = mmap(NULL, 2 * BRANCH_REACH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        code = (uint32_t *)(space + BRANCH_REACH);
        if (space == MAP_FAILED)
            abort();
    }
    mprotect(code, CODE_BYTES, PROT_READ | PROT_WRITE);
    for (unsigned i = 0; i < CODE_BYTES / 4; i++)
        code[i] = WORD_BRK;
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    sigaltstack(&alternate, NULL);
    struct sigaction action = {.sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP};
    for (unsigned i = 0; i < 4; i++)
        sigaction(signals[i], &action, NULL);
    action.sa_sigaction = on_begin;
    sigaction(SIGUSR1, &action, NULL);
}

uint64_t native_code(void)
{
    return (uint64_t)(code + CODE_BYTES / 8);
}

uint64_t native_put(const uint32_t *words, unsigned count)
{
    uint32_t *at = (uint32_t *)native_code();
    mprotect(code, CODE_BYTES, PROT_READ | PROT_WRITE);
    for (unsigned i = 0; i < count; i++)
        at[i] = words[i];
    at[count] = WORD_BRK;
    mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC); /* what is run must not write there */
    __builtin___clear_cache((char *)at, (char *)(at + count + 1));
    return (uint64_t)at;
}

int native_run(struct machine *machine, uint32_t word)
{
    if (word)
        machine->pc = native_put(&word, 1);
    current = machine;
    raise(SIGUSR1);
    current = NULL;
    return ended_by;
}

uint8_t *arena, pristine[ARENA_BYTES];

static uint64_t state = 0x123456789abcdef;

uint64_t random64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1d;
}

/* Values that matter: addresses in the arena, small offsets, extremes, anything. */
static uint64_t random_value(bool addresses)
{
    switch (random64() % (addresses ? 8 : 4)) {
    case 0:
        return random64() % 3 - 1;
    case 1:
        return random64();
    case 2:
        return (random64() % 64 - 32);
    case 3:
        return 1ull << random64() % 64;
    default:
        return (uint64_t)arena + ARENA_BYTES / 4 + random64() % (ARENA_BYTES / 2) / 16 * 16 +
               (random64() % 4 ? 0 : random64() % 16);
    }
}

void random_machine(struct machine *machine, bool addresses)
{
    memset(machine, 0, sizeof(*machine));
    for (int i = 0; i < 31; i++)
        machine->x[i] = random_value(addresses);
    machine->sp = (uint64_t)arena + ARENA_BYTES / 2 + random64() % 1024 * 16;
    machine->pstate = (random64() & 0xf) << 28;
    for (int i = 0; i < 32; i++) {
        uint64_t *lanes = (uint64_t *)&machine->v[i];
        bool real = random64() & 1; /* floating-point numbers of ordinary size make more paths meet */
        for (int lane = 0; lane < 2; lane++) {
            double number = (double)(int64_t)random64() / (double)(1ull << random64() % 64);
            lanes[lane] = random_value(false);
            if (real)
                memcpy(&lanes[lane], &number, 8);
        }
    }
    machine->fpsr = random64() & 1 ? 0 : 0x0800001f & (uint32_t)random64();
    machine->fpcr = random64() & 3 ? 0 : (uint32_t)random64() & 0x03c00000;
}

bool arena_start(void)
{
    /* room without access on both sides: what misses the arena faults */
    char *space = mmap(NULL, ARENA_BYTES + (16 << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    arena = (uint8_t *)space + (8 << 20);
    if (space == MAP_FAILED || mprotect(arena, ARENA_BYTES, PROT_READ | PROT_WRITE) != 0)
        return false;
    for (unsigned i = 0; i < ARENA_BYTES; i++)
        pristine[i] = (uint8_t)random64();
    memcpy(arena, pristine, ARENA_BYTES);
    return true;
}

bool machines_equal(const struct machine *a, const struct machine *b)
{
    return !memcmp(a->x, b->x, sizeof(a->x)) && a->sp == b->sp && a->pc == b->pc && a->pstate == b->pstate &&
           !memcmp(a->v, b->v, sizeof(a->v)) && a->fpsr == b->fpsr;
}

void print_difference(const struct machine *before, const struct machine *native, const struct machine *stepped)
{
    for (int i = 0; i < 31; i++)
        if (native->x[i] != stepped->x[i])
            printf("# x%d was %lx, native %lx, stepped %lx\n", i, before->x[i], native->x[i], stepped->x[i]);
    for (int i = 0; i < 32; i++)
        if (native->v[i] != stepped->v[i])
            printf("# v%d native %016lx%016lx, stepped %016lx%016lx\n", i, (uint64_t)(native->v[i] >> 64),
                   (uint64_t)native->v[i], (uint64_t)(stepped->v[i] >> 64), (uint64_t)stepped->v[i]);
    printf("# sp %lx %lx pc %lx %lx pstate %lx %lx fpsr %x %x fpcr %x\n", native->sp, stepped->sp, native->pc,
           stepped->pc, native->pstate, stepped->pstate, native->fpsr, stepped->fpsr, before->fpcr);
}

struct linked *native_linked(void)
{
    void *reserved = mmap(NULL, linked_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct linked *linked = reserved == MAP_FAILED ? NULL : linked_make(reserved);
    if (linked)
        return linked;
    uint8_t *all = mmap(NULL, LINKED_CODE + linked_state_bytes(), PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return all == MAP_FAILED ? NULL : linked_prepare(all, all, all + LINKED_CODE);
}
