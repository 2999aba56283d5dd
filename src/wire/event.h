/* wire/event.h - what happened in a target: the one shape that sources produce, the trace keeps and flows are built of.
 *
 * Pointers in an event belong to whoever made it and are good until that maker is asked for the next one. Times are
 * CLOCK_MONOTONIC_RAW nanoseconds. Addresses are the target's virtual ones, without tag bits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    EVENT_PROCESS_START = 1, /* a program image begins: first exec, exec of a child, or fork */
    EVENT_PROCESS_EXIT,
    EVENT_THREAD_START,
    EVENT_THREAD_NAME,
    EVENT_THREAD_EXIT,
    EVENT_MODULE_LOAD, /* a binary or library got mapped */
    EVENT_MODULE_UNLOAD,
    EVENT_MAP, /* mmap, mremap's new place, brk growth */
    EVENT_UNMAP,
    EVENT_STACK, /* defines a call chain; comes before the first event that names it */
    EVENT_FREE,  /* before EVENT_ALLOC: an address is released before it is given again, also at the same time */
    EVENT_ALLOC,
    EVENT_SAMPLE,
    EVENT_TOUCH,        /* a page fault: first touch of a page */
    EVENT_HOME,         /* a page and its home node */
    EVENT_LOSS,         /* `count` things were lost since the last such event, for `cause` */
    EVENT_POOL,         /* a pool, or one of the objects that a function named by the user gave, begins or ends */
    EVENT_POOL_ALLOC,   /* such a function gave an object: `alloc`, with the pool it is from */
    EVENT_PAGE,         /* a page was used during an interval, by one thread where that is known (else tid is 0) */
    EVENT_FRAME,        /* a page and its frame of physical memory */
    EVENT_BARRIER,      /* a thread has waited at a barrier */
    EVENT_REUSE,        /* accesses of a long burst, by the time since their lines were last used */
    EVENT_LONG_BURST,   /* what else is known of it; comes behind them */
    EVENT_RUNTIME_CODE, /* a name for code that no file has: a JIT has made it, or an interpreter runs it */
    EVENT_KINDS
};

/* Which function an allocation or release came through: ALLOC_MALLOC and so on, with its name. New ones at the end. */
#define ALLOC_FN_LIST(FN)                                                                                              \
    FN(MALLOC, "malloc")                                                                                               \
    FN(CALLOC, "calloc")                                                                                               \
    FN(REALLOC, "realloc")                                                                                             \
    FN(REALLOCARRAY, "reallocarray")                                                                                   \
    FN(ALIGNED_ALLOC, "aligned_alloc")                                                                                 \
    FN(POSIX_MEMALIGN, "posix_memalign")                                                                               \
    FN(MEMALIGN, "memalign")                                                                                           \
    FN(VALLOC, "valloc")                                                                                               \
    FN(PVALLOC, "pvalloc")                                                                                             \
    FN(NEW, "new")                                                                                                     \
    FN(NEW_ARRAY, "new[]")                                                                                             \
    FN(FREE, "free")                                                                                                   \
    FN(DELETE, "delete")                                                                                               \
    FN(DELETE_ARRAY, "delete[]")                                                                                       \
    FN(CUSTOM, "custom") /* a function the user named */

enum alloc_fn {
#define ALLOC_FN(NAME, name) ALLOC_##NAME,
    ALLOC_FN_LIST(ALLOC_FN)
#undef ALLOC_FN
        ALLOC_FNS,
    ALLOC_CUSTOM_FIRST = 64, /* in events: the first of the functions the user named; the session has their names */
};

enum map_kind {
    MAP_KIND_ANONYMOUS,
    MAP_KIND_FILE,
    MAP_KIND_SHARED,
    MAP_KIND_BRK,
    MAP_KIND_STACK,
    MAP_KIND_OTHER,
    MAP_KIND_THREAD_LOCAL, /* a thread's own block of a module's thread-local variables; offset: where the module starts */
};

/* Why something was lost, skipped or could not be known. Each has a name for reports: loss_name(). */
enum loss_cause {
    LOSS_RING_FULL,       /* lifecycle events: the recorder did not keep up */
    LOSS_SAMPLE_FULL,     /* samples: likewise; a handler never waits */
    LOSS_NO_RING,         /* more live threads than rings */
    LOSS_PERF,            /* PERF_RECORD_LOST */
    LOSS_THROTTLED,       /* PERF_RECORD_THROTTLE */
    LOSS_TICK_MASKED,     /* ticks skipped: the thread blocked the signals sampling needs */
    LOSS_TICK_BUSY,       /* ticks skipped: the thread was inside the agent */
    LOSS_TICK_BUDGET,     /* ticks skipped to stay inside the overhead budget */
    LOSS_TICK_UNSTEPPED,  /* bursts that ended at once: an instruction that cannot be stepped */
    LOSS_TICK_NO_ACCESS,  /* bursts in which no memory access came up */
    LOSS_STACK_TABLE,     /* call chains not kept: table full */
    LOSS_HOME_UNKNOWN,    /* pages whose home the kernel would not report */
    LOSS_DISK,            /* events not written: disk full or write error */
    LOSS_MEMORY,          /* events not kept: the recorder's memory bound */
    LOSS_CHILD_UNTRACKED, /* child programs that could not be followed (static, setuid, other environment) */
    LOSS_HEAP_UNSEEN,     /* programs that bring their own malloc inside the executable: no hook sees its calls */
    LOSS_FN_MISSING,      /* functions the user named that no program has */
    LOSS_FN_REFUSED,      /* functions the user named that cannot be hooked without risk */
    LOSS_FN_NESTED,       /* calls of such functions that were not looked at: too many unfinished ones in a thread */
    LOSS_AUX_FULL,        /* stretches of hardware samples cut: their buffer was full */
    LOSS_COLLISION,       /* hardware samples that ran into one another (SPE) */
    LOSS_CHILD_PRELOAD,   /* children without an agent: LD_PRELOAD was emptied before they were started */
    LOSS_THREAD_ENDED,    /* events of a thread after its end was recorded: libc and other libraries clean up */
    LOSS_NO_KEY,          /* processes not recorded: none of libc's first 32 thread keys was free (agent/self.h) */
    LOSS_UNREACHABLE,     /* child programs that cannot reach the recorder: a network namespace of their own */
    LOSS_PAUSED,          /* spans in which the recorder did not run: count 0 at the span's start, 1 at its end */
    LOSS_RESTRICTED,      /* processes recorded no further: they filter their system calls (seccomp) */
    LOSS_NO_COUNTER,      /* processes recorded no further: they forbid the processor's counter (PR_SET_TSC) */
    LOSS_NO_TICK,         /* threads not sampled: they get neither a perf event nor a timer, or no executable memory */
    LOSS_SANITIZED,       /* programs started without the agent: built with a sanitizer (base/sanitizer.h) */
    LOSS_TRACED,          /* programs started without the agent: under a debugger, a tracer or valgrind */
    LOSS_CAUSES
};

enum sample_source { SOURCE_SOFT, SOURCE_PEBS, SOURCE_IBS, SOURCE_SPE, SOURCE_FAULTS };

enum sample_level {
    LEVEL_UNKNOWN,
    LEVEL_L1,
    LEVEL_LFB,
    LEVEL_L2,
    LEVEL_L3,
    LEVEL_RAM,
    LEVEL_REMOTE_CACHE,
    LEVEL_REMOTE_RAM,
    LEVEL_IO,
    LEVEL_UNCACHED
};

enum sample_flag {
    SAMPLE_WRITE = 1,
    SAMPLE_READ = 2, /* both for an atomic read-modify-write */
    SAMPLE_LOCKED = 4,
    SAMPLE_HITM = 8,
    SAMPLE_TLB_MISS = 16,
    SAMPLE_HAS_LATENCY = 32,
    SAMPLE_FIRST = 64,   /* first access of a burst */
    SAMPLE_JOINED = 128, /* of hardware: it waited for a line that an earlier access had asked for */
};

#define SAMPLE_PERIOD_MOST ((1u << 31) - 1)

/* How it came to be known that a page was used. Each has a name for reports: page_mechanism_name(). */
enum page_mechanism {
    PAGE_FIRST_TOUCH, /* the fault that every page begins with */
    PAGE_NUMA_HINT,   /* the kernel's NUMA balancing made it fault again */
    PAGE_SOFT_DIRTY,  /* the kernel's mark of written pages: reports no thread */
    PAGE_UFFD_WP,     /* write protection through userfaultfd */
    PAGE_IMPORTED,    /* another program's recording says so */
    PAGE_MECHANISMS
};

struct event_process {
    uint32_t parent;
    bool forked; /* begins as a copy of `parent`: its objects, modules and stacks are the parent's */
    const char *exe, *command;
};

struct event_thread {
    const char *name;
    uint64_t stack_low, stack_high; /* 0 when not known */
    uint64_t entry;                 /* start routine, or 0 */
};

struct event_module {
    uint64_t bias;       /* run-time address minus address in the file */
    uint64_t start, end; /* all its segments are inside */
    const char *path;
    uint8_t build_id[20];
    uint8_t build_id_size;
};

struct event_map {
    uint64_t addr, size, offset;
    uint32_t stack;
    uint32_t prot, flags; /* as given to mmap */
    uint8_t map_kind;
    const char *path; /* "" when anonymous */
};

struct event_stack {
    uint32_t id;    /* per process (a fork knows its parent's); 0 is the empty chain */
    uint16_t depth; /* frames[0] is where it happened, the others are return addresses */
    uint16_t cut;   /* 1 when the chain goes on but was not followed */
    const uint64_t *frames;
};

struct event_alloc {
    uint64_t addr, size;
    uint32_t stack;
    uint16_t cpu;
    uint8_t fn;
    uint64_t pool; /* EVENT_POOL_ALLOC only: the pool's handle, 0 when there is none */
};

enum pool_change {
    POOL_CREATED,
    POOL_CLEARED,   /* its objects and child pools are freed */
    POOL_DESTROYED, /* and so is itself */
    POOL_FREED      /* one object; `handle` is its address */
};

struct event_pool {
    uint64_t handle, parent; /* parent: of a new pool, 0 when it has none */
    uint8_t change, fn;
};

struct event_free {
    uint64_t addr;
    uint16_t cpu;
    uint8_t fn;
};

struct event_sample {
    uint64_t addr;
    uint64_t physical; /* 0 when not known */
    uint64_t ordinal;  /* set by the trace reader: its number in file order */
    uint32_t latency;  /* ns for the soft source, else cycles; only with SAMPLE_HAS_LATENCY */
    uint32_t stack;
    uint32_t period; /* of hardware: events that it stands for, at most SAMPLE_PERIOD_MOST; 0 when not known */
    uint16_t cpu;
    uint16_t size; /* bytes accessed, 0 when not known */
    uint8_t source, level, flags;
};

struct event_touch {
    uint64_t addr, ip;
    uint16_t cpu;
    bool write;
};

struct event_home {
    uint64_t page, size; /* size: of the kernel's page, or of a huge one */
    int32_t node;        /* negative: -errno from the kernel */
};

/* Used from the event's time to `until`. Counts are of what was seen: a page may have been used more often. */
struct event_page {
    uint64_t page, size;    /* its address; size of the kernel's page, or of a huge one */
    uint64_t physical;      /* address of its frame, 0 when not known */
    uint64_t until;         /* end of the interval; the event's time is its start */
    uint64_t ip;            /* of one of the accesses, 0 when not known */
    uint32_t reads, writes; /* faults of each kind */
    uint64_t ordinal;       /* set by the trace reader: its number in file order */
    uint32_t unknown;       /* accesses whose direction the mechanism does not report */
    uint8_t mechanism;
    uint16_t cpu_words;   /* 0 when not known; a trace keeps at most 1024 */
    const uint64_t *cpus; /* mask of the CPUs that used it: CPU n is bit n % 64 of word n / 64 */
};

struct event_frame {
    uint64_t page, physical;
};

struct event_barrier {
    uint64_t waited; /* ns, up to the event's time */
};

enum reuse_flag {
    REUSE_WRITE = 1,
    REUSE_AT_LEAST = 2, /* the time is from the burst's begin: when the line was used before is not known */
    REUSE_DIRTY =
        4, /* of a store: the longest time between uses of the line since the store before. Not an access more */
    REUSE_NONTEMPORAL = 8, /* past the caches: no line is read for it */
    REUSE_TIMED =
        16, /* no access of the program: at the end of the burst, `count` is the ns that a load of the line took */
    REUSE_WATCHED =
        32, /* a line that was used `count` accesses before the end of the burst, and `bin` ns of its thread's CPU time
               after it again, or with REUSE_AT_LEAST not yet; a later row of the same burst says more */
    REUSE_LAST = 64,   /* of such a line, by the word that was used last before, ... */
    REUSE_OTHER = 128, /* ... or by another that was chosen at random; both: by one visit */
};

enum { REUSE_WATCH_NS = 1000000000 }; /* of a thread's CPU time: longer no line is waited for */

/* Times in accesses, or in ns; eight bins an octave. */
enum { REUSE_BINS = 62 * 8 };

static inline unsigned reuse_bin(uint64_t time)
{
    if (time < 8)
        return (unsigned)time;
    unsigned octave = 63 - (unsigned)__builtin_clzll(time);
    return (octave - 2) * 8 + (unsigned)(time >> (octave - 3) & 7);
}

/* The first time of a bin. */
static inline uint64_t reuse_bin_time(unsigned bin)
{
    return bin < 8 ? bin : (8 + (uint64_t)bin % 8) << (bin / 8 - 1);
}

/* Accesses of one instruction in one page. */
struct event_reuse {
    uint64_t pc, addr; /* addr: of one of them */
    uint64_t count;    /* accesses that they stand for */
    uint32_t burst;    /* its number in this thread */
    uint16_t bin;
    uint8_t flags; /* enum reuse_flag */
};

enum long_end { LONG_ENOUGH, LONG_CALL, LONG_CUT, LONG_ENDS };

/* What was counted right behind what was looked at; or, where nothing was looked at, before the next one, or instead. */
struct event_long_burst {
    uint64_t accesses; /* that were looked at */
    uint64_t lost;     /* of those, what no row could be kept of */
    uint64_t counted,
        counted_ns;       /* accesses at nearly the program's own speed, and the CPU time they took; 0: not known */
    uint64_t process_ns;  /* CPU time of all threads so far */
    uint64_t took_ns;     /* CPU time of the burst, counting and all */
    uint32_t burst, rows; /* rows: events of its accesses */
    uint8_t end;          /* enum long_end */
};

#define RUNTIME_CODE_SCRIPT                                                                                            \
    (UINT64_C(1) << 62) /* from here on no processor has code: lines of an interpreted program */

/* Comes early, whatever its time is: `since` is when [addr, addr + size) began to be that. 0: as long as the image is known. What
 * came before at the same addresses is over then. */
struct event_runtime_code {
    uint64_t addr, size, since;
    uint32_t line;
    const char *name, *file; /* file: "" when not known */
};

struct event_loss {
    uint8_t cause;
    uint64_t count; /* 0: something was lost just now; how much is reported later */
};

struct event {
    uint64_t time;
    uint32_t pid, tid;
    uint8_t kind;
    union {
        struct event_process process;
        int32_t exit_status; /* as wait() gives it; -1 when not known */
        struct event_thread thread;
        struct event_module module;
        struct event_map map;
        struct event_stack stack;
        struct event_alloc alloc;
        struct event_free free;
        struct event_pool pool;
        struct event_sample sample;
        struct event_touch touch;
        struct event_home home;
        struct event_loss loss;
        struct event_page page;
        struct event_frame frame;
        struct event_barrier barrier;
        struct event_reuse reuse;
        struct event_long_burst long_burst;
        struct event_runtime_code code;
    };
};

/* Names for reports and JSON: "ring_full", "malloc", "ram". Never NULL. */
const char *loss_name(unsigned cause);
const char *loss_text(unsigned cause, uint64_t count); /* a phrase for people, to stand behind the count */
const char *alloc_fn_name(unsigned fn);
const char *sample_source_name(unsigned source);
const char *sample_level_name(unsigned level);
const char *page_mechanism_name(unsigned mechanism);
