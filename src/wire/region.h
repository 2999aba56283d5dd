/* wire/region.h - the shared memory between the agent in the target and the recorder beside it.
 *
 * The recorder makes one memfd per session: a header page, the functions the user named,
 * then `ring_count` ring headers, then the rings' bytes. The
 * agent finds it through the environment, NUMALENS_REGION=PID:FD:NONCE:FILTERS (four decimal numbers), by opening
 * /proc/PID/fd/FD, or where that leads nowhere (another PID namespace, no /proc) over an abstract socket (struct
 * wire_hello): no descriptor stays open in the target. Both sides distrust it: the recorder checks every record it reads.
 *
 * A ring has one producer, the thread that claimed it, and one consumer, the recorder. Indices count bytes and only
 * grow. A record never wraps: when it does not fit before the end, a WIRE_PAD fills the rest. */
#pragma once

#include "wire/custom.h"
#include "wire/event.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_MAGIC       0x314c4e554d414c4eu
#define WIRE_VERSION     3u
#define WIRE_ENVIRONMENT "NUMALENS_REGION"
#define WIRE_PAGE        4096u

enum { WIRE_ASSIGN_NODES = 64, WIRE_ASSIGN_WORDS = 16 };

/* Instructions before which bursts ended: how many are counted by themselves. The last place is for all others. */
enum { WIRE_STOPS = 32 };
#define WIRE_STOP_OTHERS UINT32_MAX

enum wire_flag {
    WIRE_SAMPLE_LOADS = 1,
    WIRE_SAMPLE_STORES = 2,
    WIRE_MEASURE_LATENCY = 4,
    WIRE_TRACK_HEAP = 8,
    WIRE_FOLLOW_CHILDREN = 16,
    WIRE_TICK_TIMER_ONLY = 32, /* do not try perf_event_open for the tick */
    WIRE_COUNTER_IS_CPU = 64,  /* record times are wire_counter(), else CLOCK_MONOTONIC_RAW ns */
    WIRE_JOINED = 128, /* the recorder is in this very process (agent/join.h): threads are sampled when asked to be,
                                  and their ticks end by themselves when it rests for long */
    WIRE_LONG_BURSTS = 1024,    /* now and then a long one beside the ordinary ones (agent/sampling/long_burst.h) */
    WIRE_SHARE_USERFAULT = 256, /* agents make a userfaultfd and pass it to the recorder (agent/process/userfault.h) */
};

/* How that userfaultfd is made: for the kernel to lift protections by itself (WP_ASYNC, Linux 6.7). */
#define WIRE_UFFD_FLAGS    (02000000 /* O_CLOEXEC */ | 1 /* UFFD_USER_MODE_ONLY */)
#define WIRE_UFFD_FEATURES ((uint64_t)1 << 15 /* UFFD_FEATURE_WP_ASYNC */)
#define WIRE_OFFER_NONE    UINT32_MAX

struct wire_config { /* written by the recorder before the target starts, then read only */
    uint32_t flags;
    uint32_t burst;             /* accesses per burst */
    uint64_t tick_ns;           /* mean CPU time between bursts of a thread */
    uint32_t latency_threshold; /* ns: samples below it are not sent (they count as accesses of the burst) */
    uint32_t budget_ppm;        /* of a thread's CPU time that sampling may cost, in millionths */
    uint32_t max_frames;        /* of a call chain, at most WIRE_MAX_FRAMES */
    uint32_t ticks_per_us;      /* of wire_counter(), for converting latencies; 0 when not CPU counter */
    uint32_t
        assign_nodes; /* new threads (and forked processes) are assigned to so many sets of CPUs in turn; 0: nowhere */
    uint64_t assign_cpus[WIRE_ASSIGN_NODES][WIRE_ASSIGN_WORDS];
    uint32_t filters;       /* system call filters on the recorder */
    uint32_t signal_ns;     /* what a tick costs on this machine, interrupt and way back included; 0: not known */
    uint32_t custom_count;  /* functions named by the user: struct wire_custom, right behind struct wire_region */
    uint64_t pid_namespace; /* the recorder's, as the kernel numbers them (/proc/self/ns/pid); 0: not known */
};

enum wire_ring_state {
    WIRE_RING_FREE,
    WIRE_RING_CLAIMED, /* a thread writes */
    WIRE_RING_CLOSED,  /* the thread has ended: drain, then free */
};

/* Written by the owning thread (and its signal handlers) only; the recorder reads them at any time. */
struct wire_counters {
    _Atomic uint64_t lost[LOSS_CAUSES];
    _Atomic uint64_t ticks;      /* tick signals that arrived */
    _Atomic uint64_t bursts;     /* ticks that led to a burst */
    _Atomic uint64_t steps;      /* instructions stepped */
    _Atomic uint64_t accesses;   /* memory accesses seen in bursts, sent or not */
    _Atomic uint64_t handler_ns; /* time spent in sampling handlers */
    /* What hooks of the heap and of mappings take, in the units of record times: some calls are timed, and stand for all. What
     * is rare and dear (a thread's start, a file's name) is timed each time. */
    _Atomic uint64_t hook_calls, hook_timed, hook_time, hook_rare_time;
};

struct wire_ring {
    alignas(64) _Atomic uint32_t state;
    uint32_t pid, tid;                 /* as the recorder counts them, unless ... */
    uint32_t local_tid;                /* ... not 0: the thread's number in its own PID namespace is all it knows */
    _Atomic uint32_t image;            /* which program image of pid: region->images at its start */
    alignas(64) _Atomic uint64_t head; /* producer */
    _Atomic uint32_t waiting;          /* producer waits on tail_word */
    alignas(64) _Atomic uint64_t tail; /* consumer */
    _Atomic uint32_t tail_word;        /* futex: changes whenever tail does and someone waits */
    alignas(64) struct wire_counters counters;
};

struct wire_region {
    uint64_t magic;
    uint32_t version, header_bytes; /* header_bytes: sizeof(struct wire_region), to catch mixed builds */
    uint64_t nonce, region_bytes;
    uint32_t ring_count, ring_bytes; /* ring_bytes: a power of two */
    uint64_t rings_offset, data_offset;
    struct wire_config config;
    alignas(64) _Atomic uint32_t recording; /* 1 while the recorder reads; 0 stops every agent for good */
    _Atomic uint32_t wake_word;             /* futex the recorder sleeps on */
    _Atomic uint32_t recorder_sleeps;
    _Atomic uint32_t resting;      /* 1: ticks start no bursts for now */
    _Atomic uint64_t heartbeat_ns; /* CLOCK_MONOTONIC_RAW, renewed at least every 100 ms */
    _Atomic uint32_t images;       /* program images started so far */
    _Atomic uint32_t claim_hint;
    _Atomic uint64_t
        burst_ns; /* what a burst costs, smoothed over all threads; 0 before the first. Any thread writes it */
    _Atomic uint64_t long_ticked_ns, long_next_ns; /* CPU time by ticks, of all; and when in it a long burst is due */
    _Atomic uint64_t offer; /* process << 32 | descriptor + 1 (or WIRE_OFFER_NONE); the recorder sets it to 0 again */
    _Atomic uint32_t offer_word;        /* futex: changes whenever it does */
    _Atomic uint32_t assigned;          /* threads and processes that were assigned so far */
    _Atomic uint32_t explained;         /* programs whose agent gave up at their start, and counted the cause */
    _Atomic uint32_t tracing;           /* 1: a program called ptrace, so that others may be traced */
    _Atomic uint64_t stops[WIRE_STOPS]; /* bytes of the instruction << 32 | how often: wire_stop_count */
    /* A robust futex of the recorder's: the kernel sets FUTEX_OWNER_DIED here when the recorder is killed. Its list is in the
     * recorder's own memory (capture/agent/heartbeat.c): no pointer of anyone's is in this region. */
    _Atomic uint32_t recorder_tid;
    alignas(64) struct wire_counters shared; /* losses that no ring can hold (atomic adds) */
};

/* Counts a burst that ended before an instruction: `name` is the number of bytes << 24 and up to three of them, the first
 * one highest. In handlers, of any thread. */
static inline void wire_stop_count(struct wire_region *region, uint32_t name)
{
    for (unsigned i = 0; i < WIRE_STOPS; i++) {
        uint32_t key = i < WIRE_STOPS - 1 ? name : WIRE_STOP_OTHERS;
        uint64_t seen = atomic_load_explicit(&region->stops[i], memory_order_relaxed);
        if (seen == 0 && atomic_compare_exchange_strong(&region->stops[i], &seen, (uint64_t)key << 32 | 1))
            return;
        if (seen >> 32 == key) {
            atomic_fetch_add_explicit(&region->stops[i], 1, memory_order_relaxed);
            return;
        }
    }
}

static inline struct wire_custom *wire_custom_at(struct wire_region *region, uint32_t index)
{
    return (struct wire_custom *)(region + 1) + index;
}

static inline struct wire_ring *wire_ring_at(struct wire_region *region, uint32_t index)
{
    return (struct wire_ring *)((char *)region + region->rings_offset) + index;
}

static inline uint8_t *wire_ring_data(struct wire_region *region, uint32_t index)
{
    return (uint8_t *)region + region->data_offset + (size_t)index * region->ring_bytes;
}

/* An agent that cannot open the region's descriptor asks for it: connects to the abstract socket of this name
 * (SOCK_SEQPACKET), sends a hello, and gets an answer with the descriptor (SCM_RIGHTS). Who has the nonce can make both
 * numbers; they do not give it away, because names of sockets are there for everyone to read. */
struct wire_hello {
    uint64_t token; /* wire_token(nonce, WIRE_TOKEN_HELLO) */
};

struct wire_answer {
    uint32_t pid, parent; /* who asked, in the recorder's PID namespace; parent 0: not known */
};

enum { WIRE_TOKEN_NAME = 1, WIRE_TOKEN_HELLO = 2, WIRE_SOCKET_NAME = 32 };

static inline uint64_t wire_token(uint64_t nonce, uint64_t use)
{
    uint64_t value = nonce ^ use * 0x9e3779b97f4a7c15u;
    for (unsigned i = 0; i < 6; i++) {
        unsigned __int128 product = (unsigned __int128)(value ^ nonce >> i) * 0xda942042e4dd58b5u;
        value = (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    return value;
}

/* "NUL numalens- 16 hexadecimal digits"; returns how many bytes of `name` count. */
static inline unsigned wire_socket_name(char name[static WIRE_SOCKET_NAME], uint64_t nonce)
{
    static const char begin[] = "\0numalens-";
    uint64_t token = wire_token(nonce, WIRE_TOKEN_NAME);
    unsigned length = sizeof begin - 1;
    __builtin_memcpy(name, begin, length);
    for (unsigned i = 0; i < 16; i++, token <<= 4)
        name[length++] = "0123456789abcdef"[token >> 60];
    return length;
}

/* The processor's own counter: monotonic and the same on every CPU (the recorder checks that before it asks for it). */
static inline uint64_t wire_counter(void)
{
#if defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#elif defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#else
#error "wire_counter: this architecture is not supported"
#endif
}
