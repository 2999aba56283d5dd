/* agent/place/place_hooks.h - memory and threads where a plan wants them (wire/place.h), before they are first used.
 *
 * Beside assign.h the only part of the agent that changes a program on purpose. It works with and without a recorder. It makes no
 * thread of its own: where the kernel refuses memory policies, the calling thread goes to the wanted node's CPUs, touches the memory
 * there and comes back. What cannot be placed is counted with its reason, and the program goes on as without a plan. */
#pragma once

#include "agent/region/attach.h"
#include "agent/unwind/unwind.h"
#include "wire/place.h"

#include <stddef.h>
#include <sys/types.h>

/* Blocks of placed sites are in this range and nowhere else. Both are set once, by the constructor; 0: there are none. */
extern uint64_t place_area_start AGENT_OWN, place_area_size AGENT_OWN;

/* What the plan has entries of. Set once, likewise. */
struct place_wants {
    bool any, sites, files, threads, huge; /* threads: or their stacks */
};
extern struct place_wants place_wants AGENT_OWN;

/* For the constructor: finds the plan, if there is one, and places static objects. */
void place_begin(void);

/* Something may have been loaded or unloaded. */
void place_loaded(void);

/* Something will be, and place_loaded cannot be called then: the next call of the malloc family looks. */
void place_forget_calls(void);

/* A block for a call of the malloc family with these registers of its caller; NULL when no entry is about it, or none can be had. */
void *place_alloc(size_t size, size_t align, bool zeroed, const struct unwind_regs *caller);
void place_free(void *block);
size_t place_size(const void *block);

static inline bool place_owns(const void *block)
{
    return __builtin_expect((uint64_t)block - place_area_start < place_area_size, 0);
}

/* What is known of a return address: itself << 16 | entry, or PLACE_NOTHING. Any thread writes any of them. */
enum { PLACE_CALLS = 4096, PLACE_NOTHING = 0xffff };
extern _Atomic uint64_t place_calls[PLACE_CALLS] AGENT_OWN;

static inline _Atomic uint64_t *place_call(uint64_t pc)
{
    return &place_calls[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
}

/* All return addresses that an entry could be about are from the one on, in a range of that size; 0: there are none. Changed where
 * something is loaded; in between everything is in the range. */
extern _Atomic uint64_t place_sites_start AGENT_OWN, place_sites_size AGENT_OWN;

/* Whether a hook of the malloc family has nothing to do for this caller: nothing is recorded, and no entry is about it. */
static inline bool place_passes(uint64_t pc)
{
    uint64_t size = atomic_load_explicit(&place_sites_size, memory_order_relaxed);
    return attach_is_off &&
           (__builtin_expect(pc - atomic_load_explicit(&place_sites_start, memory_order_relaxed) >= size, 1) ||
            atomic_load_explicit(place_call(pc), memory_order_relaxed) == (pc << 16 | PLACE_NOTHING));
}

/* In a hook of the malloc family: that block, or NULL. */
#define PLACED(size, align, zeroed)                                                                                    \
    (__builtin_expect(place_wants.sites, 0) ? ({                                                                       \
        struct unwind_regs placed_regs_ = UNWIND_CALLER_REGS();                                                        \
        place_alloc(size, align, zeroed, &placed_regs_);                                                               \
    })                                                                                                                 \
                                            : NULL)

/* New mappings: of the program's own mmap, and of shmat with the segment's number. */
void place_mapped(void *addr, size_t size, int prot, int flags, int fd, off_t offset, const struct unwind_regs *caller);
void place_segment(void *addr, size_t size, int id, bool read_only, const struct unwind_regs *caller);

/* The place of a new thread that will run `routine`, taken where it is created: so they are in order of creation. The thread goes there
 * as its first act, unless the program has given it CPUs. */
struct place_thread {
    uint32_t place; /* 0: none */
    uint64_t cpus;  /* of its creator, as one number; 0: not known */
};
struct place_thread place_thread_next(void *(*routine)(void *));
void place_thread_go(struct place_thread thread);

/* Before an exec: the calling thread's CPUs are what they would be without the plan, which the new program has an agent for or not; and
 * what they were before when it fails, or in who starts another. */
struct place_held {
    bool any;
    uint64_t cpus[PLACE_WORDS];
};
struct place_held place_exec_begin(void);
void place_exec_failed(const struct place_held *held);

/* In a new thread that will run `routine`, then: its stack. */
void place_stack(void *(*routine)(void *));

/* Where an entry asks for huge pages: what there is of them, for who reports it. Before the process ends or becomes another program; and
 * before memory goes. */
void place_huge_look(void);
void place_huge_going(const void *addr, size_t size);

/* In a fork's child: to its own node, where the plan keeps processes together. */
void place_forked(void);
