/* agent/sampling/tick.c - see tick.h. tick_rearm, tick_stop and tick_is run in handlers. */
#include "agent/sampling/tick.h"
#include "base/sys.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/auxv.h>

enum {
    TICK_THREAD_ID = 4,    /* SIGEV_THREAD_ID */
    TICK_SHORTEST = 20000, /* ns: below, a thread would do nothing but take signals */
};

/* Marks our ticks in siginfo: its address is known to nobody else. */
static const char tick_mark;

static size_t page_bytes(void)
{
    return getauxval(AT_PAGESZ);
}

void *tick_event(struct perf_event_attr *attr, void *at, int signal, int above, int *number)
{
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)sys_call(SYS_gettid)};
    attr->size = sizeof *attr;
    attr->remove_on_exec = 1;
    attr->exclude_kernel = 1;
    attr->exclude_hv = 1;
    int fd = (int)sys_call(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return NULL;
    long page = -1;
    int known =
        above ? (int)sys_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, above) : fd; /* by which number its signals come */
    if (known >= 0 && sys_call(SYS_fcntl, fd, F_SETOWN_EX, &owner) == 0 &&
        sys_call(SYS_fcntl, fd, F_SETSIG, signal) == 0) {
        *number = known + 1;
        page = sys_call(SYS_mmap, at, page_bytes(), PROT_READ, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0L);
    }
    if (!sys_failed(page) && sys_call(SYS_fcntl, known, F_SETFL, O_ASYNC) != 0) {
        sys_unmap((void *)page, page_bytes());
        page = -1;
    }
    if (known >= 0 && known != fd)
        sys_close(known);
    sys_close(fd); /* the mapping keeps the event */
    return sys_failed(page) ? NULL : (void *)page;
}

static bool start_perf(struct agent_thread *self, uint64_t tick_ns, int signal)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = tick_ns,
    };
    self->sampler.tick_page = tick_event(&attr, NULL, signal, 0, &self->sampler.tick_number);
    if (!self->sampler.tick_page)
        return false;
    self->sampler.tick_ns = self->sampler.spacing_ns = tick_ns;
    return true;
}

static bool set_timer(int timer, uint64_t ns)
{
    struct itimerspec next = {.it_value = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)}};
    return sys_call(SYS_timer_settime, timer, 0, &next, NULL) == 0;
}

static bool start_timer(struct agent_thread *self, uint64_t tick_ns, int signal)
{
    struct sigevent event;
    memset(&event, 0, sizeof(event));
    event.sigev_notify = TICK_THREAD_ID;
    event.sigev_signo = signal;
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

bool tick_start(struct agent_thread *self, uint64_t tick_ns, bool timer_only, int signal)
{
    if (tick_ns < 2 * TICK_SHORTEST)
        tick_ns = 2 * TICK_SHORTEST;
    if (!timer_only) {
        /* half as often again as wanted, a little different in every thread; the caller lets one in three pass */
        uint64_t shorter = tick_ns * 2 / 3;
        if (start_perf(self, shorter - shorter / 8 + self->sampler.random % (shorter / 4 + 1), signal))
            return true;
    }
    return start_timer(self, tick_ns, signal);
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
    self->sampler.tick_number = 0;
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

/* A fault's code may be POLL_IN's number too, and what is no descriptor then may be 0, as that of a tick is where stdin is closed. */
bool tick_is_event(const siginfo_t *info, int number)
{
    bool comes_so = info->si_signo == SIGURG || info->si_signo == SIGWINCH; /* signals_tick() */
    return comes_so && info->si_code == POLL_IN && number && info->si_fd == number - 1;
}

bool tick_is(const struct agent_thread *self, const siginfo_t *info)
{
    if (info->si_code == SI_TIMER)
        return info->si_value.sival_ptr == &tick_mark;
    return self && tick_is_event(info, self->sampler.tick_number);
}
