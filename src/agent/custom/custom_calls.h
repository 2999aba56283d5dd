/* agent/custom/custom_calls.h - functions of the program that the user named: found, hooked at their entry, and what their calls do
 * reported to the recorder.
 *
 * A hooked function's first instruction is a jump into the agent (isa/relocate.h). Where its result matters, the
 * agent puts custom_return in the place of the return address. No argument moves. A callee-saved register points at
 * the entry that holds the true address and that register's own value: .eh_frame rules of custom_return say so, and
 * exceptions, cancellation and debuggers pass through. Nothing of this runs in a program for which no function was
 * named. */
#pragma once

#include "agent/agent.h"

/* A module was loaded: hooks what the user named in it. `fresh`: nobody can be running its code yet. Call with
 * inside > 0, one at a time, never from a handler. */
void custom_module_added(const char *path, uint64_t start, uint64_t end, uint64_t bias, bool fresh);

/* The module and its code were unloaded. */
void custom_module_unloaded(uint64_t start, uint64_t end);

/* The rest is between custom_calls.c, custom_hook.c and the processor's half, CPU/custom.S. */

struct custom_hook {                                                      /* `resume` first: custom.S */
    uint64_t resume;                                                      /* where the function goes on */
    uint64_t at;                                                          /* its entry; 0: not in use */
    uint8_t number;                                                       /* in the user's list */
    uint8_t role, size, count, out, when, pool, parent, pointer, is_text; /* as in struct wire_custom */
};

struct custom_call { /* filled by custom.S */
    uint64_t arguments[WIRE_CUSTOM_ARGUMENTS];
    uint64_t ra, fp;
    uint64_t cfa; /* the stack pointer when the function has returned */
};

struct custom_entry { /* `ra` and `saved` first: custom.S and its .eh_frame rules */
    uint64_t ra, saved;
    uint64_t cfa;
    const struct custom_hook *hook;
    struct custom_thread *owner;
    uint64_t size, pool, place; /* as the arguments say; place: of the out-argument */
    uint32_t walk;              /* the last walk that came by */
    bool doubtful;              /* a walk that should have come by did not */
};

/* The function is entered: returns the entry whose address is to be put in the place of the return address, or NULL. */
struct custom_entry *custom_enter(const struct custom_hook *hook, struct custom_call *call);

/* It returns `result`; the caller's frame pointer is `fp`. */
void custom_leave(struct custom_entry *entry, uint64_t result, uint64_t fp);

extern const char custom_entered[], custom_return[];

/* Sets what must be set before the first function is hooked; false when none may be. */
bool custom_start(void);
