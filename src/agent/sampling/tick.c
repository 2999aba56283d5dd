/* agent/sampling/tick.c - see tick.h. tick_rearm, tick_stop and tick_is run in handlers. */
#include "agent/sampling/tick.h"
#include "base/sys.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>

enum {
    TICK_TRAP_PERF = 6,    /* TRAP_PERF, newer than some libc's headers */
    TICK_PERF_ASYNC = 1,   /* TRAP_PERF_FLAG_ASYNC */
    TICK_THREAD_ID = 4,    /* SIGEV_THREAD_ID */
    TICK_SHORTEST = 20000, /* ns: below, a thread would do nothing but take signals */
};

/* Marks our ticks in siginfo: its address is known to nobody else. */
static const char tick_mark;

/* The kernel's siginfo of a perf event, whose fields libc headers name late or not at all. */
struct perf_siginfo {
    int signo, error, code, pad;
    uint64_t addr;
    uint64_t data;
    uint32_t type, flags;
};

static size_t page_bytes(void)
{
    return getauxval(AT_PAGESZ);
}

bool tick_kernel_defers(void)
{
    struct utsname name;
    if (sys_call(SYS_uname, &name) != 0)
        return false;
    unsigned version[2] = {0};
    const char *at = name.release;
    for (unsigned i = 0; i < 2; i++, at += *at == '.')
        for (; *at >= '0' && *at <= '9'; at++)
            version[i] = version[i] * 10 + (unsigned)(*at - '0');
    unsigned major = version[0], minor = version[1];
    return major > 5 || (major == 5 && minor >= 19);
}

static bool start_perf(struct agent_thread *self, uint64_t tick_ns)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = tick_ns,
        .sigtrap = 1,
        .remove_on_exec = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .sig_data = (uint64_t)&tick_mark,
    };
    int fd = (int)sys_call(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return false;
    long page = sys_call(SYS_mmap, NULL, page_bytes(), PROT_READ, MAP_SHARED, fd, 0L);
    sys_close(fd); /* the mapping keeps the event */
    if (page < 0 && page > -4096)
        return false;
    self->sampler.tick_page = (void *)page;
    self->sampler.tick_ns = self->sampler.spacing_ns = tick_ns;
    return true;
}

static bool set_timer(int timer, uint64_t ns)
{
    struct itimerspec next = {.it_value = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)}};
    return sys_call(SYS_timer_settime, timer, 0, &next, NULL) == 0;
}

static bool start_timer(struct agent_thread *self, uint64_t tick_ns, int timer_signal)
{
    struct sigevent event;
    memset(&event, 0, sizeof(event));
    event.sigev_notify = TICK_THREAD_ID;
    event.sigev_signo = timer_signal;
    event.sigev_value.sival_ptr = (void *)&tick_mark;
    event._sigev_un._tid = (pid_t)sys_call(SYS_gettid);
    int timer = 0;
    if (sys_call(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0)
        return false;
    uint64_t first = 1 + self->sampler.random % tick_ns; /* so that of short threads, too, some have one */
    if (!set_timer(timer, first)) {
        sys_call(SYS_timer_delete, timer);
        return false;
    }
    self->sampler.timer = (void *)(intptr_t)timer;
    self->sampler.has_timer = true;
    self->sampler.tick_ns = self->sampler.spacing_ns = tick_ns;
    return true;
}

bool tick_start(struct agent_thread *self, uint64_t tick_ns, bool timer_only, int timer_signal)
{
    if (tick_ns < 2 * TICK_SHORTEST)
        tick_ns = 2 * TICK_SHORTEST;
    if (!timer_only && tick_kernel_defers()) {
        /* half as often again as wanted, a little different in every thread; the caller lets one in three pass */
        uint64_t shorter = tick_ns * 2 / 3;
        if (start_perf(self, shorter - shorter / 8 + self->sampler.random % (shorter / 4 + 1)))
            return true;
    }
    return start_timer(self, tick_ns, timer_signal);
}

void tick_stop(struct agent_thread *self)
{
    if (self->sampler.tick_page) {
        sys_unmap(self->sampler.tick_page, page_bytes());
        self->sampler.tick_page = NULL;
    }
    if (self->sampler.has_timer) {
        self->sampler.has_timer = false;
        sys_call(SYS_timer_delete, (int)(intptr_t)self->sampler.timer);
    }
}

void tick_forget(struct agent_thread *self)
{
    self->sampler.tick_page = NULL;
    self->sampler.has_timer = false;
}

bool tick_rearm(struct agent_thread *self, uint64_t ns)
{
    return !self->sampler.has_timer || set_timer((int)(intptr_t)self->sampler.timer, ns);
}

uint32_t tick_context_switches(const struct agent_thread *self)
{
    /* The kernel renews the page when it starts the event with its thread, not at ticks. */
    const volatile struct perf_event_mmap_page *page = self->sampler.tick_page;
    return page ? page->lock : 0;
}

bool tick_is_perf(int signal, const siginfo_t *info, const void *mark)
{
    return signal == SIGTRAP && info->si_code == TICK_TRAP_PERF &&
           ((const struct perf_siginfo *)info)->data == (uint64_t)mark;
}

bool tick_is(int signal, const siginfo_t *info)
{
    if (info->si_code == SI_TIMER)
        return signal >= SIGRTMIN && info->si_value.sival_ptr == &tick_mark;
    return tick_is_perf(signal, info, &tick_mark);
}

bool tick_is_late(int signal, const siginfo_t *info)
{
    return signal == SIGTRAP && ((const struct perf_siginfo *)info)->flags & TICK_PERF_ASYNC;
}
