#include "capture/agent/signal_cost.h"

#include "base/clock.h"
#include "base/order.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SIGNALS = 51,
    WARM_UP = 4,
    TICKS = 15,
    FEWEST_TICKS = 8, /* of them show what one takes */
    PLAIN = 101,
    TICK_NS = 100000,  /* between two ticks at least, */
    TICK_SIGNALS = 10, /* and so many times what a signal takes: they must not overtake each other */
    PATIENCE = 8,      /* times as long as the ticks should take: where they come late, fewer must do */
    DEAREST =
        16, /* times what a signal takes: more was somebody else's time (a virtual machine's interrupt makes it 6) */
    STACK_BYTES = 1 << 18,
    DATA_BYTES = 1 << 21,  /* more than the cache next to a processor holds, */
    CHUNK_BYTES = 1 << 14, /* looked at piece by piece */
};

/* The child, which shares memory with us, writes its results here before it ends. */
struct measured {
    const volatile char *data;
    size_t at; /* in it */
    bool perf_tick;
    uint64_t signal_ns, tick_ns; /* 0: could not be tried */
};

/* In the child only. */
static volatile uint32_t signals_taken;

static void take(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    signals_taken++;
}

ORDER_BY(by_size, uint64_t, ORDER(*a, *b))

/* The median: other programs may make some of the times longer, never shorter. */
static uint64_t middle(uint64_t *taken, size_t count)
{
    qsort(taken, count, sizeof *taken, by_size);
    return count ? taken[count / 2] : 0;
}

/* As a program would that has more data than the caches hold: a signal then finds little of the kernel's code in them, and
 * takes twice as long as one after the other would. */
static void work(struct measured *measured, size_t bytes)
{
    for (size_t end = measured->at + bytes; measured->at < end; measured->at += CACHE_LINE)
        (void)measured->data[measured->at];
    measured->at %= DATA_BYTES;
}

static bool take_from_now_on(int number)
{
    struct sigaction action = {.sa_sigaction = take, .sa_flags = SA_SIGINFO};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return sigaction(number, &action, NULL) == 0 && sigprocmask(SIG_UNBLOCK, &set, NULL) == 0;
}

static uint64_t measure_signal(struct measured *measured)
{
    uint64_t taken[SIGNALS];
    int number = SIGRTMAX;
    /* Not raise(): libc's idea of the thread's number is the parent's. */
    long pid = syscall(SYS_getpid), tid = syscall(SYS_gettid);
    if (!take_from_now_on(number))
        return 0;
    for (int i = -WARM_UP; i < SIGNALS; i++) {
        work(measured, DATA_BYTES / 16);
        uint64_t began = clock_now_ns();
        syscall(SYS_tgkill, pid, tid, number);
        taken[i < 0 ? 0 : i] = clock_now_ns() - began;
    }
    return middle(taken, SIGNALS);
}

/* A loop looks at the clock; where a tick came between two looks, they are further apart by what it took. One that comes
 * right behind a look is noticed before the next: so the later distance counts too. */
static uint64_t measure_tick(struct measured *measured)
{
    uint64_t dear = measured->signal_ns * TICK_SIGNALS, period = dear > TICK_NS ? dear : TICK_NS;
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .sample_period = period,
                                   .remove_on_exec = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    uint64_t taken[TICKS], plain[PLAIN], noticed = 0;
    size_t ticks = 0, plains = 0;
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)syscall(SYS_gettid)};
    int fd = take_from_now_on(SIGURG) ? (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) : -1;
    if (fd < 0 || fcntl(fd, F_SETOWN_EX, &owner) != 0 || fcntl(fd, F_SETSIG, SIGURG) != 0 ||
        fcntl(fd, F_SETFL, O_ASYNC) != 0)
        return 0;
    uint32_t seen = signals_taken;
    uint64_t began = clock_now_ns();
    for (uint64_t last = began, now; ticks < TICKS && last - began < PATIENCE * TICKS * period; last = now) {
        work(measured, CHUNK_BYTES);
        now = clock_now_ns();
        bool came = signals_taken != seen;
        seen = signals_taken;
        if (noticed)
            taken[ticks++] = now - last > noticed ? now - last : noticed;
        else if (!came)
            plain[plains++ % PLAIN] = now - last;
        noticed = came && !noticed ? now - last : 0;
    }
    uint64_t tick = middle(taken, ticks), usual = middle(plain, plains < PLAIN ? plains : PLAIN);
    uint64_t cost = tick > usual && ticks >= FEWEST_TICKS ? tick - usual : 0, dearest = DEAREST * measured->signal_ns;
    return cost < dearest ? cost : dearest;
}

static int measure(void *argument)
{
    struct measured *measured = argument;
    measured->signal_ns = measure_signal(measured);
    if (measured->perf_tick)
        measured->tick_ns = measure_tick(measured);
    syscall(SYS_exit, 0); /* the event goes with it; nothing of libc's is to run */
    return 0;
}

uint32_t signal_cost_ns(bool perf_tick)
{
    static uint32_t known[2];
    struct measured measured = {.perf_tick = perf_tick};
    const size_t bytes = DATA_BYTES + STACK_BYTES;
    if (known[perf_tick])
        return known[perf_tick];
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    memset(memory, 1, DATA_BYTES); /* pages never written are all the same one */
    measured.data = memory;
    /* No handler of this process is to run in the child: its memory is ours. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int saved = errno, child = clone(measure, memory + bytes, CLONE_VM | CLONE_VFORK, &measured);
    if (child > 0)
        waitpid(child, NULL, __WCLONE);
    errno = saved;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(memory, bytes);
    uint64_t cost = measured.tick_ns > measured.signal_ns ? measured.tick_ns : measured.signal_ns;
    return known[perf_tick] = cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
}
