/* agent/sampling/long_steps.c - long runs by linked translation (isa/linked.h). Runs in bursts, but for what step.h says. */
#include "agent/sampling/reuse_times.h"
#include "agent/sampling/step.h"
#include "isa/linked.h"

#include <sys/syscall.h>

enum { SEQUENCE_AT = 8 /* in the area of restartable sequences: the address of the one that is announced */ };

static struct linked *linked;
static bool sequences; /* the program has restartable ones: their stores go through pointers, and are seen too late */

size_t step_long_bytes(void)
{
    return linked_bytes();
}

struct looking {
    struct agent_thread *self;
    const struct step_long *wanted;
};

/* Where the program announces a restartable sequence; 0: nowhere. */
static uint64_t sequence_place(const struct linked *run)
{
    return run->has_sequence ? (uint64_t)__builtin_thread_pointer() + (uint64_t)run->sequence_at + SEQUENCE_AT : 0;
}

static bool consume(struct linked *run, const uint64_t *from, const uint64_t *to)
{
    const struct looking *looking = run->user;
    struct reuse_times *times = looking->wanted->times;
    uint64_t announced_at = sequence_place(run);
    bool announced = false;
    while (from < to) {
        uint64_t head = *from++;
        uint32_t number = (uint32_t)head;
        if (number == LINKED_BLOCKS) {
            const struct linked_site *site = &run->sites[head >> 32];
            reuse_note(times, run->blocks[from[0]].pc, from[1], site->flags & SAMPLE_WRITE);
            from += 2;
            continue;
        }
        const struct linked_block *block = &run->blocks[number];
        const struct linked_site *sites = &run->sites[block->first_site];
        uint64_t made = head >> 32 ? (head >> 32) - 1 : block->accesses;
        for (uint64_t i = 0; i < made; i++) {
            uint64_t addr = linked_address(run, &sites[i], from[i]);
            if (!addr)
                continue;
            bool write = sites[i].flags & SAMPLE_WRITE;
            announced |= write && addr - announced_at < sizeof(uint64_t);
            reuse_note(times, block->pc + sites[i].source, addr, write);
        }
        from += block->accesses;
    }
    sequences |= announced;
    return !announced && looking->wanted->goes_on(looking->self);
}

bool step_long_make(void *reserved, bool (*may_run)(uint64_t pc))
{
    linked = linked_make(reserved);
    if (!linked)
        return false;
    linked->consume = consume;
    linked->may_run = may_run;
    return true;
}

void step_long_forget(void)
{
    linked = NULL;
    sequences = false;
}

bool step_has_long(const struct agent_thread *self)
{
    return self->sampler.step_stack != NULL;
}

/* A program that uses restartable sequences leaves the last one's address there. */
static bool has_sequences(void)
{
    uint64_t place = sequence_place(linked), pointer;
    return place && linked_read(place, &pointer) && pointer;
}

bool step_long_run(struct agent_thread *self, ucontext_t *context, struct step_long *run)
{
    struct looking looking = {self, run};
    enum linked_mode mode = run->times ? LINKED_LOGS : LINKED_COUNTS;
    linked->stopped = LINKED_UNREADABLE; /* nothing is known of where a burst ended that does not begin */
    sequences |= has_sequences();
    if (sequences)
        return false;
    if (run->fresh || mode != linked->mode)
        linked_forget(linked);
    linked->mode = mode;
    linked->user = &looking;
    linked->remaining = (int64_t)run->most;
    linked->translated = 0;
    if (!linked_run(linked, self->sampler.step_stack, context))
        return false;
    run->accesses = run->most - (uint64_t)linked->remaining;
    run->translated = (uint32_t)linked->translated;
    run->end = linked->stopped == LINKED_ENOUGH ? LONG_ENOUGH : LONG_CALL;
    return true;
}

bool step_long_fault(ucontext_t *context)
{
    return linked && linked_fault(linked, context);
}

uint64_t step_long_behind(void)
{
    uint64_t number;
    if (linked->stopped == LINKED_ELSEWHERE && agent_owns_code(linked->pc))
        return linked_return_address(linked); /* a function that was just called */
    if (linked->stopped != LINKED_INSTRUCTION)
        return 0;
    unsigned bytes = linked_call(linked, &number);
    if (!bytes)
        return linked->stop_next;
    switch (number) { /* those that do not come back */
    case SYS_exit:
    case SYS_exit_group:
    case SYS_execve:
    case SYS_execveat:
    case SYS_rt_sigreturn:
        return 0;
    default:
        return linked->pc + bytes;
    }
}
