/* flow/state.h - what a flow is made of; private to src/flow.
 *
 * A record is one object while it lives, and afterwards when it was sampled; an unsampled one is folded into its trail
 * and its place used again. A trail is a node in the tree of allocating call chains, innermost frame first: counters
 * are on the first few levels, so that a site can be drawn at whichever frame matters. */
#pragma once

#include "base/map64.h"
#include "base/strtab.h"
#include "flow/addrtree.h"
#include "flow/flow.h"
#include "flow/live/page_homes.h"
#include "flow/pool.h"
#include "flow/live/touches.h"

enum record_flag {
    RECORD_KIND = 7,      /* enum object_kind */
    RECORD_INHERITED = 8, /* no instance: a fork's copy of its parent's, or of a process that does not count */
    RECORD_REPLACED = 16, /* took the place of one that was not freed: a free at the same time means the old one */
    RECORD_LEFTOVER = 32, /* a map nobody in sight asked for: used only when nothing better is there */
    RECORD_ENDED = 64,
    RECORD_POOLED = 128, /* in a pool's list: its place is not used again before it is out of it */
};

struct record { /* 48 bytes: the budget of a live object */
    uint64_t addr, size, start;
    uint32_t trail; /* or FLOW_NONE */
    uint32_t thread, process;
    uint32_t tally; /* or FLOW_NONE: no samples */
    uint16_t cpu;
    uint8_t fn, flags;
    uint32_t pool_next; /* with RECORD_POOLED: the next of its pool, or FLOW_NONE */
};
_Static_assert(sizeof(struct record) == 48, "the budget of a live object");

struct tally {
    uint32_t samples, reads, writes, remote, home_known, latency_count;
    uint64_t latency_sum, end;
};

struct flow_totals tally_totals(const struct tally *tally); /* objects.c */

struct named { /* of records that have a name of their own */
    const char *name, *file, *module;
    const char *path; /* of the binary that it is part of, or NULL */
    uint32_t line;
    uint64_t offset; /* of a map in its file */
};

struct trail {
    uint32_t parent,
        counted; /* parent: the next inner frame, 0 is the root; counted: itself, or what is counted of its parents */
    uint64_t count, bytes, end; /* until live_trails_sum: of what ends here; then of outer frames too */
    uint64_t live, live_peak, live_bytes, peak_bytes;
    uint64_t start;
    uint32_t frame, depth;
    uint32_t stack; /* the first one seen, in flow.stacks */
    uint32_t site;  /* set by sites_draw on the node where the site is drawn */
    uint8_t fn, kind;
    bool seen; /* start, stack, fn and kind are set */
};

enum { TRAIL_COUNTED_DEPTH = 4, TRAIL_MAX_DEPTH = 16, LARGE_BLOCK = 64 << 10 };

struct frame { /* an address in a module: the same over forks and runs */
    uint64_t addr;
    uint32_t module;                 /* in flow.modules; 0: none */
    uint32_t first_name, name_count; /* logical frames in flow.names; name_count 0: not asked yet */
    uint32_t plain_name;             /* in flow.names, by the symbol table alone; FLOW_NONE: not asked yet */
};

struct module_info {
    const char *path, *name;
    bool wraps;                     /* it allocates on its callers' behalf (wrappers.h) */
    struct symbols_module *symbols; /* NULL for module 0 */
};

struct code_rows { /* what accesses memory, by function or by line; made when asked for */
    array_of(struct flow_function) items;
    uint32_t *of_stack; /* by stack; NULL: not made */
};

struct module_place {
    uint64_t start, end, bias;
    uint32_t module;
};

struct former_life {
    uint32_t before, further; /* threads, or processes; FLOW_NONE: none. `further` is `before` or one before that */
    uint32_t number;          /* of this life, from 0 */
};

struct module_list { /* sorted by start; shared by forks until one changes it */
    uint32_t refs, count, room;
    struct module_place places[];
};

struct runtime_code { /* what no file has; sorted by address and time */
    uint64_t addr, end, since;
    uint64_t reach; /* largest end up to this one */
    const char *name, *file;
    uint32_t line;
    uint32_t order; /* in which they came */
};

struct era { /* of a chain: from `since` on, some of its code has another name */
    uint64_t since;
    uint32_t stack;
};

struct stack {
    uint64_t first;   /* in flow.chain */
    uint64_t since;   /* code has the names of this time (live_code.c) */
    uint32_t id;      /* in the trace */
    uint32_t process; /* that used it first: its modules name the frames */
    uint32_t trail;   /* FLOW_NONE until it allocates */
    uint32_t frame;   /* of its innermost address, once it has samples */
    uint16_t depth;
    bool allocates; /* frames[0] is a return address too */
    uint32_t tally; /* of samples, or FLOW_NONE */
};

struct map_range { /* immutable: forks share them */
    uint64_t end;
    uint32_t record;
};

struct stack_range {
    uint64_t high;
    uint32_t thread, process;
    uint32_t record; /* FLOW_NONE until it is sampled */
};

struct local_block { /* a module's thread-local variables in one thread */
    uint64_t end;
    uint32_t thread, process, module;
};

enum { RECENT_FREES = 64, RECENT_STACKS = 64 };

struct process {
    struct flow_process row;
    uint32_t index, last_thread;
    bool implicit, ended;
    struct addrtree heap;     /* start -> record */
    struct addrtree pooled;   /* likewise, of functions that the user named: inside blocks and maps */
    struct addrtree maps;     /* start -> range */
    struct addrtree statics;  /* start -> record, those that were sampled */
    struct addrtree sections; /* likewise */
    struct addrtree stacks;   /* low end -> stack range */
    struct addrtree locals;   /* start -> block of thread-local variables */
    struct pool_table *pools; /* NULL until there is one; shared by forks until one changes it */
    struct module_list *modules;
    struct map64 stack_ids; /* trace's number -> flow.stacks */
    array_of(struct runtime_code) code;
    bool code_sorted, code_changes; /* changes: some of it takes the place of others */
    struct {
        uint32_t id, trail;
    } trails[RECENT_STACKS];      /* of stacks that allocated lately, by their number in the trace; id 0: none */
    const struct process *origin; /* parent or former image: knows the numbers this one began with */
    struct pages pages;
    struct touches touches;
    struct map64
        frames; /* page number -> address of its frame, the last that was reported, with its node + 1 in the lower bits */
    struct map64 waiting;           /* page -> first waiting sample + 1 */
    uint32_t first_page, last_page; /* of those that wait, in flow.waiting_pages, + 1; 0: none */
    struct map64 clones;            /* parent's record -> own copy */
    uint64_t last_fork;             /* records allocated up to then may be known to a child */
    uint32_t brk;                   /* record, or FLOW_NONE */
    struct {
        uint64_t addr, end;
    } recent[RECENT_FREES];
    uint32_t recent_at;
};

enum { HOME_ELSEWHERE = -2 }; /* not on the node it came from, but nobody says on which */

struct mark {        /* of a sample, by its ordinal */
    uint32_t object; /* record while building, then index; FLOW_NONE */
    int16_t from, home;
};

struct waiting { /* a sample whose page's home comes later in the trace */
    uint32_t ordinal, next;
    uint32_t thread, stack;
};

struct waiting_page { /* whose interval is not over yet */
    struct event event;
    struct process *process; /* NULL: it ended, and the page counted then */
    uint32_t record;         /* or FLOW_NONE: look again */
    uint32_t before, behind; /* the process's others, + 1; 0: none */
    uint32_t
        next_due; /* the next that ends then, + 1, the last one's is the first; of one that is unused the next unused */
    uint16_t cpu;
};

struct page_ended { /* of a waiting page without an object: the one that ended there meanwhile and had most of it */
    uint64_t page, size, bytes;
    uint32_t process, record; /* or FLOW_NONE */
};

struct page_order {
    uint64_t time;
    uint32_t ordinal;
};

enum reason { REASON_NO_MAP, REASON_FREED, REASON_METADATA, REASON_KERNEL, REASONS };

enum { LAST_THREADS = 64 };

enum { FLOW_LEVELS = 512 };

struct
    found { /* a block of the heap that an access was attributed to, with nothing in it of the kinds that go before */
    uint64_t layout; /* flow.layout then: it holds until that changes */
    const struct process *process;
    uint64_t start, end;
    uint32_t record;
};

struct flow {
    struct trace_reader *reader; /* NULL when fed by hand */
    struct symbols *symbols;
    const struct topology *topology;
    struct topology *own_topology;
    struct calibration *calibration; /* or NULL */
    uint8_t levels[FLOW_LEVELS];     /* enum sample_level by ns; what is longer is memory */
    struct strtab *texts;
    struct slab slab;            /* of every pool and tree */
    struct addrtree_nodes nodes; /* of every tree */
    uint64_t start, end;
    bool partial;      /* not all of the run is in sight: what came before is there from the start */
    bool has_touches;  /* page faults are recorded */
    bool lost_touches; /* and some of them were lost up to now */
    uint32_t only_pid; /* 0: all processes count */
    uint32_t only_tid; /* 0: all threads */
    struct flow_totals totals;
    uint64_t attributed;
    uint64_t losses[LOSS_CAUSES];
    uint64_t reasons[REASONS];
    const char *reason_names[REASONS];
    uint64_t reason_counts[REASONS];

    struct addrtree_spot spot; /* of the event being fed, in its process's heap: ahead.c */

    array_of(struct process *) processes;
    struct map64 process_of_pid;
    array_of(struct former_life) former_processes; /* of each process: who had its number before */
    struct process *last_process;                  /* the newest of its pid */
    array_of(struct flow_thread) threads;
    array_of(int16_t) thread_nodes;  /* simulated node of each; of a real machine the one it is mostly seen on */
    array_of(uint32_t) thread_votes; /* how much more often than on others */
    array_of(struct former_life) former_lives; /* of each thread: who had its number before */
    array_of(uint32_t) thread_sibling;         /* the thread of the same process before it, or FLOW_NONE */
    struct map64 thread_of_tid;                /* pid << 32 | tid */
    uint32_t next_ordinal;
    uint32_t last_threads[LAST_THREADS];   /* by tid: the newest that was asked for */
    struct found last_found[LAST_THREADS]; /* by tid: accesses of a burst mostly go to one block */
    uint64_t layout;                       /* counts events that change what is at which address */
    array_of(struct flow_barrier_wait) barrier_waits;
    array_of(struct flow_reuse) reuses;
    array_of(struct flow_long_burst) long_bursts;
    array_of(struct flow_gap) gaps;

    pool_of(struct record) records;
    uint32_t free_record; /* chain through `trail`, or FLOW_NONE */
    pool_of(struct tally) tallies;
    array_of(struct named) named;
    struct map64 named_of; /* record -> named */
    array_of(struct flow_touched) touched;
    struct map64 moved;                           /* sampled record -> pages that moved */
    struct map64 mapped_bytes;                    /* map record -> bytes still mapped */
    array_of(struct flow_arena_site) arena_sites; /* while the trace is read, of records and trails */
    struct map64 arena_note;                      /* map record, trail -> place in arena_sites */
    pool_of(struct map_range) ranges;
    pool_of(struct stack_range) stack_ranges;
    pool_of(struct local_block) local_blocks;

    array_of(struct mark) marks;
    array_of(uint32_t) order; /* ordinals in order of time */
    uint64_t page_base;       /* ordinals from here on are of accesses that pages stand for */
    bool pages_count;         /* pages make accesses: there are no samples */
    uint64_t pages, pages_no_thread;
    uint64_t pages_due; /* when the first of waiting_pages is over */
    array_of(struct waiting_page) waiting_pages;
    uint32_t unused_page, pages_waiting; /* in waiting_pages, + 1; how many are used */
    struct addrtree pages_until;         /* end of an interval -> the last that ends then, + 1 */
    array_of(struct page_ended) pages_ended;
    struct map64 page_ended_of; /* process and page, to the index in pages_ended */
    struct addrtree pages_open; /* likewise: those that no block has covered whole yet */
    array_of(struct page_order) page_order;
    pool_of(struct waiting) waiting;
    uint32_t free_waiting;

    array_of(const char *) custom; /* the functions that the user named */
    array_of(struct module_info) modules;
    struct strtab *module_keys, *frame_keys, *trail_keys;
    array_of(struct frame) frames;
    array_of(struct trail) trails;
    bool unchained; /* recorded from outside: no allocation has a chain */
    array_of(struct stack) stacks;
    array_of(uint64_t) chain;
    array_of(struct era) eras;
    struct map64 era_of; /* stack -> first of its later eras << 32 | how many */
    array_of(struct symbol_frame) names;

    /* made by flow_finish and after */
    array_of(uint32_t) objects; /* index -> record; the sampled ones first, in order of their start */
    uint32_t sampled_objects;
    struct flow_object **rows; /* chunks, made when asked for */
    array_of(struct flow_group) groups;
    array_of(struct flow_site) sites;
    struct code_rows functions, lines;
    struct flow_kept kept;
    array_of(struct flow_missing) missing;
    bool missing_made;
    uint32_t *oef, *oef_first; /* ordinals by object, in order of time */
    uint32_t *tef, *tef_first; /* likewise by thread */
    uint32_t *by_address;      /* sampled objects by process and address */
    uint64_t *reach;           /* largest end so far in that order */
};

/* live_process.c */
struct process *live_process_find(struct flow *flow, uint32_t pid, uint64_t time);
static inline struct process *live_process_of(struct flow *flow, uint32_t pid, uint64_t time)
{
    struct process *last = flow->last_process;
    return last && last->row.pid == pid ? last : live_process_find(flow, pid, time);
}
uint32_t live_thread_of(struct flow *flow, struct process *process, uint32_t tid, uint64_t time);
void live_process_start(struct flow *flow, const struct event *event);
void live_process_exit(struct flow *flow, const struct event *event);
void live_thread_start(struct flow *flow, const struct event *event);
void live_thread_name(struct flow *flow, const struct event *event);
void live_thread_exit(struct flow *flow, const struct event *event);
void live_thread_waited(struct flow *flow, struct process *process, const struct event *event);
uint32_t live_thread_at(const struct flow *flow, uint32_t pid, uint32_t tid, uint64_t time);
void live_process_free(struct process *process);

/* live_module.c */
void live_module_load(struct flow *flow, struct process *process, const struct event *event);
void live_module_unload(struct flow *flow, struct process *process, const struct event *event);
const struct module_place *live_module_at(const struct process *process, uint64_t addr);
void live_module_list_drop(struct module_list *list);
/* Ends the variables and sections that were named in [start, end). */
void live_names_forget(struct flow *flow, struct process *process, uint64_t start, uint64_t end, uint64_t time);

/* live_locals.c */
void live_locals_map(struct flow *flow, struct process *process, const struct event *event);
uint32_t live_locals_at(struct flow *flow, struct process *process, uint64_t addr);

/* live_stack.c */
void live_stack_define(struct flow *flow, struct process *process, const struct event_stack *event);
uint32_t live_stack_of(const struct process *process, uint32_t id); /* in flow.stacks, or FLOW_NONE */
uint32_t live_stack_trail(struct flow *flow, struct process *process, uint32_t stack, uint8_t fn, uint8_t kind,
                          uint64_t time,
                          uint64_t unlike); /* unlike: without a chain, what else distinguishes it; or 0 */
/* Of a malloc'd block, from the stack's number in the trace. */
uint32_t live_stack_trail_of_block(struct flow *flow, struct process *process, const struct event *event);
uint32_t live_frame_number(struct flow *flow, const struct process *process, uint64_t pc, uint64_t time);
void live_frame_names(struct flow *flow, uint32_t frame);      /* fills first_name and name_count */
void live_frame_plain_name(struct flow *flow, uint32_t frame); /* fills plain_name */

/* live_code.c */
void live_code_add(struct flow *flow, struct process *process, const struct event_runtime_code *event);
const struct runtime_code *live_code_at(const struct process *process, uint64_t pc, uint64_t time); /* or NULL */
uint32_t live_code_frame(struct flow *flow, const struct runtime_code *code);
/* live_stack_of() with its code as it was at `time`; and the number that finds this again. */
uint32_t live_stack_at(struct flow *flow, struct process *process, uint32_t id, uint64_t time);
uint32_t live_stack_number_at(const struct flow *flow, uint32_t thread, uint32_t id, uint64_t time);

/* live_record.c: objects allocated and freed */
/* always_inline: gcc drops calls of functions that only prefetch. */
static inline __attribute__((always_inline)) void live_record_prefetch(struct flow *flow, uint32_t index)
{
    struct record *record = pool_at(&flow->records, index);
    __builtin_prefetch(record, 1);
    __builtin_prefetch(&record->flags, 1); /* often in the next line */
}
static inline uint32_t live_record_place(struct flow *flow) /* for a new one; what is there means nothing */
{
    uint32_t index = flow->free_record;
    if (index == FLOW_NONE)
        return pool_add(&flow->records, &flow->slab);
    flow->free_record = pool_at(&flow->records, index)->trail;
    if (flow->free_record != FLOW_NONE)
        live_record_prefetch(flow, flow->free_record);
    return index;
}
uint32_t live_record_new(struct flow *flow, struct process *process, enum object_kind kind, uint64_t addr,
                         uint64_t size, uint64_t time);
void live_record_name(struct flow *flow, uint32_t record, const struct named *named);
void live_record_count(struct flow *flow, uint32_t record);
void live_record_end(struct flow *flow, struct process *process, uint32_t record, uint64_t time);
void live_trails_sum(
    struct flow *flow); /* once, after the last one ended: what ends on a trail counts on its parents */
uint32_t live_record_in(struct flow *flow, struct process *process, uint32_t record); /* a fork's own copy */
void live_record_recycle(struct flow *flow, uint32_t record); /* of one that has ended, without samples and name */
struct tally *live_record_tally(struct flow *flow, uint32_t record);

/* live_heap.c, live_maps.c */
void live_heap_alloc(struct flow *flow, struct process *process, const struct event *event);
void live_heap_free(struct flow *flow, struct process *process, const struct event *event);
/* The new block in `tree`, with whatever it overlaps ended; FLOW_NONE when it cannot be. */
uint32_t live_heap_put(struct flow *flow, struct process *process, struct addrtree *tree, struct addrtree_spot spot,
                       const struct event *event);
void live_maps_map(struct flow *flow, struct process *process, const struct event *event);
void live_maps_unmap(struct flow *flow, struct process *process, const struct event *event);
void live_maps_end(struct flow *flow, struct process *process, uint32_t record); /* the process has ended */

/* live_pooled.c */
struct pool_table;
void live_pooled_alloc(struct flow *flow, struct process *process, const struct event *event);
void live_pooled_change(struct flow *flow, struct process *process, const struct event *event);
/* What holds them was freed or unmapped. */
void live_pooled_end_within(struct flow *flow, struct process *process, uint64_t start, uint64_t end, uint64_t time);
struct pool_table *live_pools_share(struct pool_table *table);
void live_pools_drop(struct pool_table *table);

/* attribute.c: the record at an address now, or FLOW_NONE with a reason. */
uint32_t live_named_at(struct flow *flow, const struct addrtree *tree, uint64_t addr); /* of statics, or sections */
uint32_t live_attribute(struct flow *flow, struct process *process, struct addrtree_spot spot, uint64_t addr,
                        enum reason *reason);
/* Likewise of an access by that thread, whose last one often went to the same. */
/* A sample that fell into what is left of a map. */
void live_arena_note(struct flow *flow, const struct process *process, uint32_t map, uint64_t addr);
void live_arena_number(struct flow *flow);

/* The site of a trail: drawn on it or on one of the frames inside it. */
uint32_t live_site_of(const struct flow *flow, uint32_t trail);

uint32_t live_attribute_sample(struct flow *flow, struct process *process, uint32_t tid, uint64_t addr,
                               enum reason *reason);

/* live_sample.c: samples, and the home nodes of pages */
static inline bool live_sample_remote(const struct mark *mark)
{
    return mark->home == HOME_ELSEWHERE || (mark->home >= 0 && mark->from >= 0 && mark->home != mark->from);
}
void live_sample_add(struct flow *flow, struct process *process, const struct event *event);
void live_sample_put(struct flow *flow, struct process *process, const struct event *event, uint32_t object,
                     enum reason reason); /* with its object, or FLOW_NONE and why */
void live_sample_touch(struct flow *flow, struct process *process, const struct event *event);
void live_sample_reuse(struct flow *flow, struct process *process, const struct event *event);
void live_sample_long(struct flow *flow, struct process *process, const struct event *event);
void live_sample_home(struct flow *flow, struct process *process, const struct event *event);

/* live_page_use.c: pages used during an interval */
void live_page_add(struct flow *flow, struct process *process, const struct event *event);
void live_pages_pass(struct flow *flow, uint64_t time); /* intervals that are over by then count */
void live_pages_end_process(struct flow *flow, const struct process *process);
void live_pages_finish(struct flow *flow);
void live_pages_note_end(struct flow *flow, const struct process *process, uint32_t record); /* it ends */
void live_page_frame(struct flow *flow, struct process *process, const struct event_frame *frame);

/* whether what happens in this process counts */
static inline bool live_counts(const struct flow *flow, const struct process *process)
{
    return !flow->only_pid || process->row.pid == flow->only_pid;
}

/* whether this access of it does */
static inline bool live_event_counts(const struct flow *flow, const struct event *event)
{
    return (!flow->only_pid || event->pid == flow->only_pid) && (!flow->only_tid || event->tid == flow->only_tid);
}

/* group.c */
void live_groups_draw(struct flow *flow);

/* live_touched.c: who touched the pages of sampled objects first, and which moved */
void live_touched_add(struct flow *flow, struct process *process, uint32_t thread, const struct event *event);
void live_touched_sum(struct flow *flow, const struct process *process, uint32_t record); /* at its end */
void live_touched_moved(struct flow *flow, struct process *process, uint64_t page);
void live_touched_number(struct flow *flow, const uint32_t *index_of);

/* sites.c; live_custom_name: of a function that the user named, by the number in events, or NULL */
const char *live_custom_name(const struct flow *flow, unsigned fn);
void live_sites_draw(struct flow *flow);

/* feed.c */
struct flow *flow_new(struct symbols *symbols, const struct topology *topology);
void flow_feed(struct flow *flow, const struct event *event);
void flow_feed_block(struct flow *flow, struct process *process,
                     const struct event *event); /* EVENT_ALLOC, EVENT_FREE */
void flow_finish(struct flow *flow);

/* ahead.c: feeds events a little later than they come, so that what they need is there by then */
struct ahead;
struct ahead *ahead_new(struct flow *flow);
struct event *ahead_slot(struct ahead *ahead); /* put the next event here, */
void ahead_feed(struct ahead *ahead);          /* then feed it */
void ahead_free(struct ahead *ahead);          /* feeds what is left */

/* objects.c */
void live_objects_number(struct flow *flow);
void live_objects_free(struct flow *flow);
void code_rows_free(struct code_rows *rows); /* function.c */
void live_rows_new(struct flow *flow);       /* room for rows that are made when they are asked for */
void live_rows_free(struct flow *flow);
