#include "native_aarch64.h"

#include "agent/agent.h"
#include "agent/sampling/step.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CODE_BYTES = 65536, WORD_BRK = 0xd4200000 };
#define BRANCH_REACH (256ul << 20)

static uint32_t *code;
static struct machine *volatile current; /* seen by the handlers only */
static ucontext_t home;
static volatile int ended_by;

static struct fpsimd_context *vectors_of(const ucontext_t *context)
{
    uint8_t *at = ((struct sigcontext *)&context->uc_mcontext)->__reserved;
    for (struct _aarch64_ctx *head; (head = (struct _aarch64_ctx *)at)->magic; at += head->size)
        if (head->magic == FPSIMD_MAGIC)
            return (struct fpsimd_context *)at;
    abort();
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
}

void machine_to_context(const struct machine *machine, ucontext_t *context)
{
    memset(context, 0, sizeof(*context));
    struct fpsimd_context *vectors = (struct fpsimd_context *)((struct sigcontext *)&context->uc_mcontext)->__reserved;
    vectors->head.magic = FPSIMD_MAGIC;
    vectors->head.size = sizeof(*vectors);
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
        if (step_fault(&agent_self, context, signal))
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
        if (space == MAP_FAILED || mprotect(code, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
            abort();
    }
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

int native_run(struct machine *machine, uint32_t word)
{
    uint32_t *at = (uint32_t *)native_code();
    if (word) {
        *at = word;
        __builtin___clear_cache((char *)at, (char *)(at + 1));
        machine->pc = (uint64_t)at;
    }
    current = machine;
    raise(SIGUSR1);
    current = NULL;
    return ended_by;
}
