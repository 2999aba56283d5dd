/* agent/agent.h - what every part of the agent shares: the region, this thread's state, and the way into its ring.
 *
 * The agent lives inside someone else's program. Its rules: it never allocates with malloc, takes no lock on a common
 * path, keeps no descriptor open below the program's feet, changes neither errno nor signal masks nor floating-point
 * state that the program could see, and when anything is doubtful it does less. Handlers of the agent may run at any
 * instruction; `inside` shows them that this thread was already in the agent, and then they leave at once. */
#pragma once

#include "wire/ring.h"

#include <stdbool.h>
#include <stdint.h>

#define AGENT_EXPORT __attribute__((visibility("default")))

struct stack_table; /* agent/unwind/stack.h */
struct agent_thread;

enum { AGENT_CUSTOM_WORDS = 145 };

/* What the sampler keeps of a thread; only agent/sampling/sampler.c, agent/sampling/tick.c and agent/sampling/CPU touch it. */
struct sampler_thread {
    void *timer;           /* kernel's number of the fall-back timer, when `has_timer` */
    bool has_timer, ready; /* ready: ticks may arrive */
    volatile bool bursting;
    volatile bool stop;  /* the burst is to end at the next access */
    uint32_t remaining;  /* accesses of the burst still to come */
    uint32_t skip;       /* accesses to let pass before the first one is kept */
    uint32_t nearer;     /* fewer of them by this power of two: bursts ended before they had passed */
    uint32_t steps;      /* instructions stepped in this burst */
    uint32_t seen, kept; /* accesses met and kept in this burst */
    uint32_t stopped_at; /* sampling/CPU: the instruction that ended the burst, as wire_stop_count wants it; 0: none */
    uint64_t began;      /* wire_counter() at the burst's start */
    uint32_t context_switches;                    /* tick_context_switches() then */
    uint64_t period_ns;                           /* mean spacing in force */
    uint64_t random;                              /* xorshift state */
    uint64_t user_seen;                           /* ns of user CPU time, when the spacing of ticks was looked at */
    uint64_t spacing_ns;                          /* of ticks as they come */
    uint64_t tick_ns;                             /* spacing of the perf event's ticks, or of the timer's */
    void *tick_page;                              /* the perf event's mapping, which keeps it alive, or NULL */
    int tick_number;                              /* its signals', see tick_event(); it stays behind the event */
    void *step_stack;                             /* sampling/CPU: where bursts run, or NULL */
    void (*calls_out)(struct agent_thread *self); /* sampling/CPU: see agent_calls_out */
    uint64_t hidden;   /* mask.c: signals the program believes blocked and the kernel does not; bits as the kernel's */
    uint64_t shown;    /* mask.c: the kernel's mask when they were hidden: they are while it blocks these */
    uint64_t guard_sp; /* sampling/CPU: stack pointer to go back to when guarded work faults; 0: nothing is guarded */
    uint32_t idle;     /* ticks in a row that came while the recorder rested */
    uint32_t ticks;    /* since the spacing was looked at */
    bool refused;      /* no tick could be had; it is counted */
    uint8_t late;      /* looks in a row that found ticks far apart */
    bool by_switches;  /* has the timer only because the thread switches context often */
    uint64_t switches_seen, cpu_seen; /* context switches and ns of CPU time, when they were last looked at */
    uint64_t long_blocked;            /* long_burst.c: signals that the program has blocked; bits as the kernel's */
};

struct agent_thread {
    struct wire_producer producer; /* .ring is NULL until the thread has claimed one */
    uint32_t pid, tid;
    uint32_t made_by;         /* self.c: the tid of the thread that has this block */
    volatile uint32_t inside; /* > 0: agent code runs on this thread; counts nesting */
    bool started, ended;      /* the thread's start was recorded; its end was */
    bool ring_lost;           /* thread_ring.c: the recorder gave the ring to another */
    bool stack_asked;         /* thread.c: the kernel was asked for the stack's place */
    bool loading;             /* hook_dl.c: what it finds loaded, nobody can have used yet */
    bool asked_ticks;         /* mask.c: the program itself has last asked for ticks' signals to be blocked */
    uint8_t stack_young;      /* stack.c: chains that the child of a fork walks before it keeps any */
    uint64_t stack_low, stack_high;
    uint64_t block; /* heap.c: bytes of the block whose chain is asked for, where it may be an array's; or 0 */
    struct stack_table *stacks; /* chains this thread has sent; mapped lazily */
    uint64_t wake_at;           /* thread_ring.c: head at which to see whether the recorder should be woken */
    uint64_t quick;             /* thread_ring.h: head up to which a record needs no look at anything; 0: nowhere */
    uint32_t stack_base;        /* stack.c: numbers of `stacks` up to this one are the parent's */
    uint32_t
        hook_left; /* hook_record.h: calls of hooks until one is timed. All above fills two cache lines: each hook needs it */
    uint32_t hook_stride;       /* hook_record.c: calls that that one stands for; 0: none is due yet */
    uint64_t rare_time;         /* hook_record.c: of rare work that is not in the account yet */
    uint32_t claim_skip;        /* thread_ring.c: reservations to refuse before a ring is asked for again */
    uint32_t claim_misses;      /* thread_ring.c: times in a row that no ring was free */
    uint64_t hook_began;        /* hook_record.h: when the hook began that is being timed; 0: none is */
    uint64_t stuck_at;          /* thread_ring.c: where the ring's tail stood too long, + 1; else 0 */
    uint32_t destructor_passes; /* thread.c: passes of key destructors so far */
    struct sampler_thread sampler;
    uint64_t custom[AGENT_CUSTOM_WORDS]; /* custom_calls.c: unfinished calls of functions that the user named */
};

/* Globals that every hook reads, side by side in a section of their own: a server comes to a hook with cold caches, and each
 * further cache line costs it as much as the hook's instructions do. Beside `real` (agent/real.h), which hooks read too.
 * On the same page those that the child of a fork writes: each further page would cost it a fault, and a copy. */
#define AGENT_HOT __attribute__((section(".agent_hot")))
#define AGENT_OWN                                                                                                      \
    __attribute__((visibility("hidden"))) /* where such a one is declared: found without a look into a table */
#define AGENT_FORKED AGENT_HOT

/* Set once, before anything is recorded, and never unset; NULL means: do nothing but pass calls on. */
extern struct wire_region *agent_region AGENT_OWN;

/* Ticks of wire_counter() a microsecond where that is the time of records, else 0. Set with the region; while it is 0,
 * agent_time() asks the region what the time is. */
extern uint32_t agent_ticks_per_us AGENT_OWN;

/* Whether anything is to be recorded. The page is wiped by the kernel in every child of a fork, whichever way it was
 * made: so the child, whose thread still points at its parent's ring, finds zeroes and attaches again before it
 * records. Also zeroed when the recorder has ended; sampling handlers that find `live` 0 leave and stop their tick. */
union agent_switch {
    struct {
        volatile uint8_t live;    /* the region is there and the recorder reads */
        volatile uint8_t heap;    /* and allocations are wanted */
        volatile uint8_t modules; /* something may have been loaded or unloaded: see modules.h */
        uint8_t zero;
        volatile uint8_t touched; /* written only: a child that reads the page first has two faults, not one */
    };
    volatile uint32_t all; /* the first four */
    uint8_t page[65536];   /* the largest page of the processors we know */
};
extern union agent_switch agent_switch AGENT_OWN;
#define AGENT_SWITCH_ON                                                                                                \
    UINT32_C(0x0101) /* `all`, the first one in the lowest byte: live and heap, and nothing new is loaded */

/* From the thread pointer to the place of this thread's block, or 0: see agent/self.h. */
extern intptr_t agent_slot AGENT_OWN;

/* This thread's block; NULL when it has none yet, or none any more. Safe in handlers. */
static inline struct agent_thread *thread_self(void)
{
    intptr_t slot = agent_slot;
    return __builtin_expect(slot != 0, 1) ? *(struct agent_thread **)((char *)__builtin_thread_pointer() + slot) : NULL;
}

/* To be called before anything of libc that may use vector registers, wherever burst_access() can get: in a burst these
 * may hold the program's values (x86-64; system calls and what only looks at memory do no harm). */
static inline void agent_calls_out(struct agent_thread *self)
{
    if (self->sampler.calls_out)
        self->sampler.calls_out(self);
}

/* Room for a record in this thread's ring (claimed on first use), or NULL: then the loss is counted under `cause`.
 * Call with inside > 0. With `may_wait`, a full ring is waited for while the recorder lives (never from a handler). */
void *agent_reserve(struct agent_thread *self, uint32_t words, enum loss_cause cause, bool may_wait);
void agent_commit(struct agent_thread *self, uint32_t words);

/* The time for records: wire_counter() or the clock, as the config says. */
uint64_t agent_time(void);

/* The CPU this thread runs on, from the rseq area; no system call where glibc registered one. */
uint16_t agent_cpu(void);

/* The range of the agent's own code. Set by the constructor. */
extern uint64_t agent_text_start AGENT_OWN, agent_text_end AGENT_OWN;

/* Code that the agent has made: thunks of hooked functions. Grows, by one thread at a time; read by handlers. */
struct agent_range {
    uint64_t start, size;
};
enum { AGENT_THUNKS = 64 };
extern struct agent_range agent_thunks[AGENT_THUNKS];
extern _Atomic uint32_t agent_thunk_count;

/* Whether what runs at `pc` is the agent's: a burst that gets there ends. */
static inline bool agent_owns_code(uint64_t pc)
{
    bool owns = pc - agent_text_start < agent_text_end - agent_text_start;
    uint32_t count = atomic_load_explicit(&agent_thunk_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        owns |= pc - agent_thunks[i].start < agent_thunks[i].size;
    return owns;
}
