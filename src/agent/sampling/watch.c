/* See watch.h. */
#include "agent/sampling/watch.h"

#include "agent/region/attach.h"
#include "agent/sampling/account.h"
#include "base/sys.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <sys/auxv.h>

enum {
    WATCHES =
        8, /* in a process, at a time: each takes 16 KiB of what a user may lock for perf events, 516 KiB as a rule */
    TOGETHER = 8,   /* both words are used by one visit of the line: as much later at most as one part in so many */
    TRAP_NS = 3000, /* that a breakpoint takes when it is met; measured in a virtual machine */
};

enum word { LAST, OTHER, WORDS };

static struct watch {
    _Atomic uint32_t owner;       /* tid of the thread that has it; 0: none */
    const uint8_t *pages[WORDS];  /* of each event: the kernel's page, then the one it writes to */
    uint64_t began_ns, age, addr; /* began_ns: CPU time of the thread; age: accesses since the line's last use then */
    uint32_t burst, ticks, next;  /* next: of the ticks, the one at which it is looked at again */
} watches[WATCHES];

static uint8_t *space;
static bool refused; /* once, it will be again */
static bool proved;  /* a breakpoint was met */

static size_t page_bytes(void)
{
    return getauxval(AT_PAGESZ);
}

enum { EVENT_BYTES = 2 * PAGE_LARGEST };

size_t watch_bytes(void)
{
    return (size_t)WATCHES * WORDS * EVENT_BYTES;
}

void watch_forget(uint8_t *reserved)
{
    space = reserved;
    refused = proved = false;
    for (unsigned i = 0; i < WATCHES; i++)
        atomic_store(&watches[i].owner, 0);
}

static struct watch *watch_of(uint32_t tid)
{
    for (unsigned i = 0; i < WATCHES; i++)
        if (atomic_load_explicit(&watches[i].owner, memory_order_relaxed) == tid)
            return &watches[i];
    return NULL;
}

static uint64_t cpu_ns(void)
{
    struct timespec now = {0};
    sys_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint8_t *space_of(const struct watch *watch, unsigned word)
{
    return space + ((size_t)(watch - watches) * WORDS + word) * EVENT_BYTES;
}

/* The mapping keeps the event, as it does ticks. It counts once, and then it is off. */
static const uint8_t *set(uint64_t addr, uint8_t *at)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_BREAKPOINT,
        .size = sizeof attr,
        .bp_type = HW_BREAKPOINT_RW,
        .bp_addr = addr,
        .bp_len = sizeof(uint64_t),
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ,
        .read_format = PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = 1,
        .remove_on_exec = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int fd = (int)sys_call(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return NULL;
    long page = sys_call(SYS_mmap, at, 2 * page_bytes(), PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0L);
    bool on = !sys_failed(page) && sys_call(SYS_ioctl, fd, PERF_EVENT_IOC_REFRESH, 1) == 0;
    sys_close(fd);
    return on ? at : NULL;
}

static void clear(struct watch *watch)
{
    for (unsigned word = 0; word < WORDS; word++) {
        uint8_t *at = space_of(watch, word);
        sys_call(SYS_mmap, at, (size_t)EVENT_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                 -1, 0L);
        sys_call(SYS_madvise, at, (size_t)EVENT_BYTES, MADV_DONTFORK);
    }
    atomic_store(&watch->owner, 0);
}

/* What the kernel writes: struct perf_event_header, the instruction's address, the count, the time that the thread ran. */
struct met {
    uint64_t header, pc, value, ns;
};

static bool is_met(const uint8_t *pages, struct met *met)
{
    const volatile struct perf_event_mmap_page *page = (const volatile struct perf_event_mmap_page *)pages;
    if (page->data_head < sizeof *met)
        return false;
    atomic_thread_fence(memory_order_acquire);
    *met = *(const struct met *)(pages + page_bytes());
    return true;
}

/* Where a virtual machine gives breakpoints that are never met, every line would seem to be used no more. */
static bool is_proved(uint8_t *at)
{
    static volatile uint64_t word;
    struct met met;
    if (!proved && set((uint64_t)(uintptr_t)&word, at)) {
        word++;
        proved = is_met(at, &met);
    }
    return proved;
}

/* Any of those that are followed, each as likely as the others. */
static const struct reuse_line *choose(struct agent_thread *self, const struct reuse_times *times)
{
    for (unsigned tries = 0; tries < REUSE_LINE_TABLE; tries++) {
        const struct reuse_line *line = &times->lines[account_random(self) % REUSE_LINE_TABLE];
        if (line->line)
            return line;
    }
    return NULL;
}

bool watch_may(void)
{
    return space && !refused;
}

void watch_start(struct agent_thread *self, const struct reuse_times *times, uint32_t burst)
{
    if (!watch_may() || !times->line_count || !self->tid || attach_is_restricted() || watch_of(self->tid))
        return;
    const struct reuse_line *line = choose(self, times);
    struct watch *watch = line ? watch_of(0) : NULL;
    uint32_t nobody = 0;
    if (!watch || !atomic_compare_exchange_strong(&watch->owner, &nobody, self->tid))
        return;
    unsigned words = CACHE_LINE / sizeof(uint64_t);
    uint64_t first = (line->line - 1) * CACHE_LINE;
    unsigned other = (line->word + 1 + (unsigned)(account_random(self) % (words - 1))) % words;
    watch->addr = first + line->word * sizeof(uint64_t);
    watch->age = times->now - line->last;
    watch->burst = burst;
    watch->ticks = 0;
    watch->next = 1;
    bool may = is_proved(space_of(watch, LAST));
    watch->pages[LAST] = may ? set(watch->addr, space_of(watch, LAST)) : NULL;
    watch->pages[OTHER] = watch->pages[LAST] ? set(first + other * sizeof(uint64_t), space_of(watch, OTHER)) : NULL;
    watch->began_ns = cpu_ns();
    if (watch->pages[OTHER])
        return;
    refused = true;
    clear(watch);
}

static void fill(struct event_reuse *row, const struct watch *watch, uint64_t pc, uint64_t ns, unsigned flags)
{
    *row = (struct event_reuse){.pc = pc,
                                .addr = watch->addr,
                                .count = watch->age,
                                .burst = watch->burst,
                                .bin = (uint16_t)reuse_bin(ns),
                                .flags = (uint8_t)(REUSE_WATCHED | flags)};
}

bool watch_look(struct agent_thread *self, struct event_reuse *row)
{
    struct watch *watch = space && self->tid ? watch_of(self->tid) : NULL;
    if (!watch || attach_is_restricted())
        return false;
    struct met met[WORDS];
    bool last = is_met(watch->pages[LAST], &met[LAST]), other = is_met(watch->pages[OTHER], &met[OTHER]);
    if (last || other) {
        enum word first = last && (!other || met[LAST].ns <= met[OTHER].ns) ? LAST : OTHER;
        uint64_t ns = met[first].ns, apart = last && other ? met[!first].ns - ns : UINT64_MAX;
        bool both = apart <= ns / TOGETHER;
        fill(row, watch, met[first].pc, ns, both ? REUSE_LAST | REUSE_OTHER : first == LAST ? REUSE_LAST : REUSE_OTHER);
    } else {
        if (++watch->ticks < watch->next)
            return false;
        watch->next *= 2;
        fill(row, watch, 0, cpu_ns() - watch->began_ns, REUSE_AT_LEAST);
        if (reuse_bin_time(row->bin) < REUSE_WATCH_NS)
            return true;
    }
    uint64_t began_ns = cpu_ns();
    clear(watch);
    count(&account_of(self)->handler_ns, cpu_ns() - began_ns + (uint64_t)(last + other) * TRAP_NS);
    return true;
}

void watch_thread_stop(const struct agent_thread *self)
{
    struct watch *watch = space && self->tid ? watch_of(self->tid) : NULL;
    if (watch && !attach_is_restricted())
        clear(watch);
}
