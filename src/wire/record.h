/* wire/record.h - the records in a ring. Multiples of 8 bytes, native byte order: both sides are on one machine.
 *
 * Every record begins with struct wire_head. `words` is the whole record's size in 8-byte words; a text runs to the
 * record's end and is padded with NULs. The time of a record is its `time` field, in the unit that
 * WIRE_COUNTER_IS_CPU reports. Within a ring times never go back, except that a sample taken by a handler may be
 * older than the record that the handler interrupted. */
#pragma once

#include <stdint.h>

enum {
    WIRE_MAX_WORDS = 255,
    WIRE_MAX_FRAMES = 64,
    WIRE_MAX_TEXT = 1900,
    WIRE_FN_SHIFT = 56, /* in wire_alloc.size_fn */
};

enum wire_type {
    WIRE_PAD = 1, /* nothing, to the end of the ring's bytes; only the head is there */
    WIRE_PROCESS,
    WIRE_THREAD,
    WIRE_THREAD_NAME,
    WIRE_THREAD_EXIT,
    WIRE_MODULE,
    WIRE_MODULE_UNLOADED,
    WIRE_MAP,
    WIRE_UNMAP,
    WIRE_STACK,
    WIRE_ALLOC,
    WIRE_FREE,
    WIRE_SAMPLE,
    WIRE_WAITED,
    WIRE_POOL,
    WIRE_POOL_ALLOC,
    WIRE_BARRIER,
    WIRE_EVENT,
    WIRE_CODE,
    WIRE_TYPES
};

struct wire_head {
    uint8_t type;
    uint8_t words;
    uint16_t cpu;
    uint32_t value; /* see each type */
};

struct wire_process { /* value: parent pid */
    struct wire_head head;
    uint64_t time;
    uint64_t forked; /* 1: a fork's child, same image as its parent */
    uint64_t local;  /* its number in its own PID namespace, where that is another; else 0 */
    char texts[];    /* exe, NUL, command line with blanks, NUL */
};

struct wire_thread { /* value: tid */
    struct wire_head head;
    uint64_t time, stack_low, stack_high, entry;
    char name[16];
};

struct wire_thread_name { /* value: tid */
    struct wire_head head;
    uint64_t time;
    char name[16];
};

struct wire_thread_exit { /* value: tid */
    struct wire_head head;
    uint64_t time;
};

struct wire_module { /* value: build id's size; also WIRE_MODULE_GONE */
    struct wire_head head;
    uint64_t time, bias, start, end;
    uint8_t build_id[24];
    char path[];
};

struct wire_map { /* value: stack */
    struct wire_head head;
    uint64_t time, addr, size, offset;
    uint32_t prot, flags;
    uint64_t map_kind; /* enum map_kind */
    char path[];
};

struct wire_unmap { /* value: 0 */
    struct wire_head head;
    uint64_t time, addr, size;
};

struct wire_code { /* value: line */
    struct wire_head head;
    uint64_t time;
    uint64_t id;  /* its address is RUNTIME_CODE_SCRIPT + id * 16 */
    char texts[]; /* name, NUL, file, NUL */
};

struct wire_stack { /* value: id, per ring, counting up from 1; bit 31: the chain was cut */
    struct wire_head head;
    uint64_t frames[];
};

struct wire_alloc { /* value: stack */
    struct wire_head head;
    uint64_t time, addr;
    uint64_t size_fn; /* size | enum alloc_fn << WIRE_FN_SHIFT */
};

struct wire_free { /* value: enum alloc_fn */
    struct wire_head head;
    uint64_t time, addr;
};

struct wire_pool_alloc { /* value: stack */
    struct wire_head head;
    uint64_t time, addr;
    uint64_t size_fn; /* as in wire_alloc; functions from ALLOC_CUSTOM_FIRST on */
    uint64_t pool;
};

struct wire_pool { /* value: enum pool_change | function << 8 */
    struct wire_head head;
    uint64_t time, handle, parent;
};

struct wire_sample { /* value: stack */
    struct wire_head head;
    uint64_t time, addr;
    uint32_t latency; /* ns */
    uint16_t size;
    uint8_t flags; /* enum sample_flag */
    uint8_t pad;
};

struct wire_waited { /* value: pid of a child that ended */
    struct wire_head head;
    uint64_t time;
    uint64_t status; /* as wait() gives it */
};

struct wire_barrier { /* value: 0 */
    struct wire_head head;
    uint64_t time;  /* when the thread went on */
    uint64_t since; /* when it came */
};

struct wire_event { /* value: enum event_kind */
    struct wire_head head;
    uint64_t time;
    uint64_t body[]; /* the event's struct, of a kind whose row has ring_bytes (trace/event_rows.h) */
};
