/* bench_unwind.c - what a call chain of 12 frames costs: by the thread's memo, by cached rules, and by libgcc. */
#include "agent/unwind/stack.h"
#include "agent/unwind/unwind_modules.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct wire_region *agent_region;
union agent_switch agent_switch;
static struct wire_region region;
static struct agent_thread self;
static uint64_t ring[WIRE_MAX_WORDS];

void *agent_reserve(struct agent_thread *thread, uint32_t words, enum loss_cause cause, bool may_wait)
{
    (void)thread, (void)words, (void)cause, (void)may_wait;
    return ring;
}

void agent_commit(struct agent_thread *thread, uint32_t words)
{
    (void)thread, (void)words;
}

/* CPU time: the machine may be busy with other things. */
static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

enum way { BY_NOTHING, BY_MEMO, BY_RULES, BY_RULES_NUMBERED, BY_LIBGCC, WAYS };
static const char *const names[WAYS] = {"nothing", "memo", "rules", "rules, numbered", "libgcc backtrace()"};
static enum way way;
static long rounds;
static unsigned depth;
static volatile uint64_t sink;

/* As a hook does it: the registers of whoever called. */
static __attribute__((noinline)) void hook(void)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    uint64_t frames[WIRE_MAX_FRAMES];
    bool cut;
    switch (way) {
    case BY_NOTHING:
        sink += regs.pc + regs.sp + regs.fp;
        break;
    case BY_MEMO:
        sink += stack_number(&self, &regs, true, true);
        break;
    case BY_RULES:
        depth = unwind_walk(&regs, self.stack_high, true, frames, WIRE_MAX_FRAMES, &cut);
        sink += frames[depth - 1];
        break;
    case BY_RULES_NUMBERED:
        atomic_fetch_add_explicit(&unwind_generation, 1, memory_order_relaxed); /* makes memos stale */
        sink += stack_number(&self, &regs, true, true);
        break;
    default:
        sink += (uint64_t)backtrace((void **)frames, WIRE_MAX_FRAMES);
    }
}

#define LEVEL(name, next, bytes)                                                                                       \
    static __attribute__((noinline, optimize("omit-frame-pointer"))) int name(int value)                               \
    {                                                                                                                  \
        volatile char room[bytes];                                                                                     \
        room[0] = (char)value;                                                                                         \
        return next(value + 1) + room[0];                                                                              \
    }

static __attribute__((noinline, optimize("omit-frame-pointer"))) int leaf(int value)
{
    for (long i = 0; i < rounds; i++)
        hook();
    return value;
}
LEVEL(level1, leaf, 16)
LEVEL(level2, level1, 100)
LEVEL(level3, level2, 24)
LEVEL(level4, level3, 48)
LEVEL(level5, level4, 200)
LEVEL(level6, level5, 8)
LEVEL(level7, level6, 64)

static double measure(enum way which, long count)
{
    way = which;
    rounds = 1000;
    level7(1);
    rounds = count;
    double best = 1e18;
    for (int i = 0; i < 5; i++) {
        double began = now_ns();
        level7(1);
        double each = (now_ns() - began) / (double)count;
        best = each < best ? each : best;
    }
    return best;
}

int main(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    self.stack_low = (uint64_t)low;
    self.stack_high = (uint64_t)low + size;
    agent_region = &region;
    unwind_modules_changed();
    double ns[WAYS];
    for (enum way i = 0; i < WAYS; i++)
        ns[i] = measure(i, i == BY_LIBGCC ? 20000 : 1000000);
    printf("chain of %u frames\n", depth);
    for (enum way i = 1; i < WAYS; i++) {
        double each = ns[i] - ns[BY_NOTHING]; /* without the call itself */
        printf("  %-20s %8.1f ns   %6.1f times as fast as libgcc\n", names[i], each, (ns[BY_LIBGCC] - ns[0]) / each);
    }
    return 0;
}
