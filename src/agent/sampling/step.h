/* agent/sampling/step.h - stepping: the part of the sampler that differs by processor (agent/sampling/CPU/step.c).
 *
 * The tick's handler carries the thread's next instructions out itself and leaves the thread behind them. On aarch64 it
 * does so on the register image in the signal frame; on x86-64 copies of the instructions run with the program's
 * registers (isa/x86_64/engine.h): where executable memory is forbidden, no thread is sampled.
 *
 * All keep one promise: an instruction that is not fully understood is never touched. The burst ends before it and
 * the program runs it by itself. Everything here runs in signal handlers. */
#pragma once

#include "agent/agent.h"

#include <signal.h>
#include <ucontext.h>

struct step_access {
    uint64_t addr;
    uint16_t size;
    uint8_t flags; /* SAMPLE_READ, SAMPLE_WRITE, SAMPLE_LOCKED */
};

/* Once per process, before the first tick, and for each thread, on that thread; none of them in handlers. False: this thread
 * cannot be stepped. */
void step_start(void);
bool step_thread_start(struct agent_thread *self);
void step_thread_stop(struct agent_thread *self);

/* After a fork, in the child: forgets what of the parent's the child does not have. */
void step_forget(struct agent_thread *self);

/* Calls work() where stepping cannot overwrite it: instructions carried out in the handler push to the program's stack,
 * on which the handler and its frame are. So this moves to the agent's own stack with a copy of the frame and goes back
 * to the program from there. Returns false when it cannot: then nothing was done. */
bool step_apart(struct agent_thread *self, siginfo_t *info, ucontext_t *context,
                void (*work)(struct agent_thread *self, ucontext_t *context));

/* Calls work(argument); false when it faulted, at whatever place, and was given up there: step_fault() then goes back
 * to self->sampler.guard_sp. For reading the program's stack, which need not be what it seems. Does not nest. */
bool step_guarded(struct agent_thread *self, void (*work)(void *argument), void *argument);

/* A burst at the interrupted context. Each access is reported through burst_access() before it happens; at the end the context is ready to
 * be returned to. */
void step_burst(struct agent_thread *self, ucontext_t *context);

/* A fault (SIGSEGV, SIGBUS, SIGILL, SIGFPE) came; when stepping or probing caused it, the context is corrected and true returned. */
bool step_fault(struct agent_thread *self, ucontext_t *context, int signal);

/* wire_counter() ticks that a fenced load of one byte at `addr` takes beyond the measuring itself, with the page's
 * translation already loaded; false when it cannot be read. Never faults. */
bool step_probe(uint64_t addr, uint32_t *ticks);

/* When `context` is at the first instruction of a handler for `signal`: the context that this handler was given. */
ucontext_t *step_entered(const ucontext_t *context, uint64_t handler, int signal);

/* After a SIGTRAP: moves the context back to the instruction that raised it; false when that was none of the kind (int3, brk). */
bool step_back_to_trap(ucontext_t *context);

/* Whether the thread is about to make a system call or has just come back from one: where a signal that came during it finds
 * the thread. Never faults. */
bool step_is_at_call(const ucontext_t *context);

/* The registers at which call chains of this context begin. */
struct unwind_regs;
void step_unwind_regs(const ucontext_t *context, struct unwind_regs *regs);

/* Whether the instruction at `pc`, which stores, writes past the caches. Never faults. */
bool step_is_nontemporal(uint64_t pc);

/* Long runs (long_burst.h; long_steps.c), of one thread at a time. Bytes of address space that they need; what is made in it, false when that is refused; after a fork, forgets it. */
size_t step_long_bytes(void);
bool step_long_make(void *reserved, bool (*may_run)(uint64_t pc)); /* may_run: whether code there may be stepped */
void step_long_forget(void);
bool step_has_long(const struct agent_thread *self);

struct reuse_times;
struct step_long {
    struct reuse_times *times;                  /* every access is noted there; NULL: they are only counted */
    bool (*goes_on)(struct agent_thread *self); /* then: asked every few thousand accesses; false ends the run */
    uint64_t most;                              /* else: so many, at most */
    bool fresh;                                 /* code may have changed since the last */
    uint64_t accesses;                          /* counted */
    uint32_t translated;                        /* blocks that were new */
    enum long_end end;
};

/* False: no run here; nothing was done. */
bool step_long_run(struct agent_thread *self, ucontext_t *context, struct step_long *run);

/* Where the thread comes to when it has carried out by itself what ended the run before; 0 when that is not known. */
uint64_t step_long_behind(void);

/* For step_fault(): a fault in a long run, whose context is corrected then. */
bool step_long_fault(ucontext_t *context);

/* In sampler.c: notes one access; false when the burst has enough. `context` holds the registers before the access. */
bool burst_access(struct agent_thread *self, const ucontext_t *context, const struct step_access *access);
