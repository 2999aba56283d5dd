/* flow/flow.h - thread event flows and object event flows (MemProf's TEF and OEF), built from one trace.
 *
 * flow_build reads a trace once, in order of time, keeps a map of what lives where, and gives every sampled access its
 * object, the node it came from and the node it went to. Objects are instances: an address range with a life
 * [start, end). Two objects may share an address at different times, never at the same time. A site groups the
 * instances that one call chain allocated. Analyses read flows and nothing else. */
#pragma once

#include "base/error.h"
#include "symbols/symbols.h"
#include "topology/topology.h"
#include "trace/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_NONE UINT32_MAX

struct flow;
struct calibration;

enum object_kind { OBJECT_HEAP, OBJECT_STATIC, OBJECT_MAP, OBJECT_FILE, OBJECT_SECTION, OBJECT_STACK, OBJECT_KINDS };

const char *object_kind_name(unsigned kind); /* "heap", "static", ...; "?" for none of them */

/* Totals of some accesses. Latency only from samples that carry one. */
struct flow_totals {
    uint64_t samples, reads, writes;
    uint64_t remote; /* home known and not the node it came from */
    uint64_t home_known;
    uint64_t latency_sum, latency_count;
};

/* False when of none of the samples it is known whether it read or wrote. */
static inline bool flow_totals_have_direction(const struct flow_totals *totals)
{
    return totals->samples == 0 || totals->reads || totals->writes;
}

/* False when of none of the samples it is known whether it was remote: no home node is known, and no source said so. */
static inline bool flow_totals_have_homes(const struct flow_totals *totals)
{
    return totals->samples == 0 || totals->home_known || totals->remote;
}

/* Of a whole recording: without them what is remote is unknown everywhere in it. */
bool flow_has_homes(const struct flow *flow);

void flow_totals_add(struct flow_totals *to, const struct flow_totals *from);

struct flow_process {
    uint32_t pid;
    uint64_t start, end; /* end: UINT64_MAX when not seen */
    const char *exe, *command;
    int32_t exit_status; /* -1 when not known */
    uint32_t parent;     /* its pid, 0 when not known */
    uint32_t group;      /* FLOW_NONE for an image without samples that became another by exec */
    uint32_t threads;
    bool replaced; /* exec ended it: the process goes on as another image */
    struct flow_totals totals;
};

/* Processes that run the same program for the same parent, as MPI starts them: at least one. */
struct flow_group {
    const char *exe;
    const char *command; /* of all; the program's name and "..." when they differ */
    uint32_t first;      /* process */
    uint32_t processes, threads;
    uint64_t start, end; /* end: UINT64_MAX when one is not seen to end */
    struct flow_totals totals;
};

struct flow_thread {
    uint32_t process; /* index */
    uint32_t pid, tid, ordinal;
    const char *name;
    uint64_t start, end;
    uint64_t entry; /* start routine's address, or 0 */
    struct flow_totals totals;
};

struct flow_object {
    uint32_t id, site; /* site: FLOW_NONE for what no one allocated (static, section, stack) */
    uint32_t process, alloc_thread;
    uint8_t kind;
    uint8_t alloc_fn;
    uint16_t alloc_cpu;
    const char *alloc_name;          /* of the function: "malloc", "mmap", or the one that the user named */
    uint64_t addr, size, start, end; /* end: UINT64_MAX when it lived to the end */
    const char *name;                /* static: symbol; file: path; section: "libc.so.6 .got"; stack: "stack"; else
                                        the site's label */
    const char *file, *module;       /* where it is declared or allocated; "" when not known */
    const char *path;                /* static, section: the binary's, as it was mapped; else "" */
    uint32_t line;
    uint64_t offset;   /* file: where in the file it begins */
    const char *array; /* "numpy.ndarray float32 (3000, 3000)"; "" when not known */
    uint32_t stack,
        stack_process; /* its call chain, for flow_stack_frames; 0: none. A site has that of one of its objects */
    struct flow_totals totals;
};

/* A static variable with an owner: a thread's own copy. */
static inline bool flow_object_thread_local(const struct flow_object *object)
{
    return object->kind == OBJECT_STATIC && object->alloc_thread != FLOW_NONE;
}

/* The same text for all threads' copies of one such variable in one process. The caller frees it. */
char *flow_object_variable(const struct flow_object *object);

/* One call chain that allocates, over all processes of one image. */
struct flow_site {
    uint32_t id;
    uint8_t kind, alloc_fn;
    const char *function, *file; /* the caller that matters: wrappers are looked through */
    const char *directory;       /* where its compiler ran; "" when not known */
    const char *module;
    bool runtime; /* what a runtime uses it for is its name ("Java heap"): no line of the program allocates it */
    uint32_t line;
    const char *label;    /* "make_grid (grid.c:41)"; two sites on one line get "#1", "#2" */
    const char *variable; /* as the source writes it where it is allocated: "s->basis"; "" when not known */
    const char *type;     /* that it is declared with: "std::vector<Particle>"; "" when not known */
    const char
        *name; /* what it is called everywhere: its variable, a member with its class ("World::particles"); else the
                             function. Sites that file and line do not distinguish get "#1", "#2" */
    uint32_t stack; /* a stack that shows it, for flow_stack_frames with `process` */
    uint32_t process;
    const char *via; /* the wrappers that were looked through, innermost first: "xmalloc < matrix_new"; or "" */
    uint64_t count, live_peak, bytes, peak_bytes; /* instances ever, at once; bytes ever, at once */
    uint64_t start, end;
    struct flow_totals totals;
};

struct flow_function {
    uint32_t id;
    const char *function, *file, *directory, *module; /* directory: as of a site */
    uint32_t line;
    struct flow_totals totals;
};

/* One sampled access with everything that is known of it (SPEC M3). */
struct flow_access {
    uint64_t time, addr, physical, ordinal;
    uint32_t thread, object; /* indices; object: FLOW_NONE when not attributed */
    uint32_t stack;          /* for flow_stack_frames with the thread's process */
    uint32_t latency;        /* 0 without `has_latency` */
    uint32_t period;         /* of hardware: events that it stands for; 0 when not known */
    int16_t from, home;      /* node indices, -1 when not known; an access can be known to be remote all the same */
    uint16_t cpu, size;
    uint8_t source, level, flags; /* level: where the source reports none, by latency and calibration */
    bool write, has_latency, remote;
};

/* Adds one access. */
void flow_totals_note(struct flow_totals *totals, const struct flow_access *access);

struct flow_options {
    const struct topology *topology; /* instead of the trace's own: simulate another machine after the fact; or NULL */
    uint32_t
        pid; /* count this process's accesses and objects only; 0: all. Objects keep their numbers, without samples */
    uint32_t tid;      /* and of it, this thread's accesses only; 0: all */
    const char *symfs; /* a directory with the other machine's binaries (symbols_set_root), or NULL */
};

/* NULL with `err` on failure. Keeps using reader and symbols: free the flow first. */
struct flow *flow_build(struct trace_reader *reader, struct symbols *symbols, const struct flow_options *options,
                        struct error *err);
void flow_free(struct flow *flow);

/* What an analysis makes of the whole flow and is asked for again (reuse_of): freed with it. */
struct flow_kept {
    void *item;
    void (*free)(void *item); /* NULL: not made yet */
};
struct flow_kept *flow_kept(const struct flow *flow);

/* The same flow for another thread, while `flow` is used too: for passes over accesses, and rows of processes, threads,
 * objects and sites. Not for names of chains and functions, which are found when they are asked for. */
struct flow *flow_share(const struct flow *flow);
void flow_share_free(struct flow *shared); /* before `flow` */

const struct topology *flow_topology(const struct flow *flow);
const struct trace_session *flow_session(const struct flow *flow);
const struct trace_session *flow_ending(const struct flow *flow); /* NULL: the file ends early */
const struct calibration *
flow_calibration(const struct flow *flow); /* topology/calibration.h; NULL when none is kept */
struct flow_totals flow_totals(const struct flow *flow);
uint64_t flow_attributed(const struct flow *flow);
uint64_t flow_start(const struct flow *flow), flow_end(const struct flow *flow);

bool flow_windowed(const struct flow *flow); /* not even all of the file (trace_reader_window) */

/* Lost things by cause (LOSS_CAUSES of them), and why samples were not attributed, by name. */
const uint64_t *flow_losses(const struct flow *flow);
size_t flow_unattributed(const struct flow *flow, const char *const **reasons, const uint64_t **counts);

/* A time of which something is missing, with its cause: a pause of the recorder, or what a process did after it could no
 * longer be recorded (then `until` is UINT64_MAX). pid 0: not of one process. In order of `from`. */
struct flow_gap {
    uint64_t from, until;
    uint32_t pid;
    uint8_t cause; /* enum loss_cause */
};
size_t flow_gaps(const struct flow *flow, const struct flow_gap **rows);

/* A thread waited at a barrier (pthread_barrier_wait), from time - waited to time. In order of time. */
struct flow_barrier_wait {
    uint64_t time, waited;
    uint32_t thread;
};
size_t flow_barrier_waits(const struct flow *flow, const struct flow_barrier_wait **rows);

/* Accesses of a long burst by the time since their lines were last used, and what else is known of it (wire/event.h). In order of
 * time; a burst's rows come before it, those of several processes between each other. */
struct flow_reuse {
    struct event_reuse event;
    uint64_t time;
    uint32_t thread, object; /* object: FLOW_NONE when not attributed, or never sampled */
    uint32_t site;           /* of the object, sampled or not; or FLOW_NONE */
    uint32_t code;           /* its instruction: equal ones are one */
    int16_t from, home;      /* nodes, as in struct flow_access */
};
struct flow_long_burst {
    struct event_long_burst event;
    uint64_t time;
    uint32_t thread;
};
size_t flow_reuses(const struct flow *flow, const struct flow_reuse **rows);
size_t flow_long_bursts(const struct flow *flow, const struct flow_long_burst **rows);

size_t flow_process_count(const struct flow *flow);
size_t flow_group_count(const struct flow *flow);
size_t flow_thread_count(const struct flow *flow);
size_t flow_object_count(const struct flow *flow); /* objects with at least one sample, or alive at the end */
size_t flow_site_count(const struct flow *flow);
const struct flow_process *flow_process(const struct flow *flow, uint32_t index);
const struct flow_group *flow_group(const struct flow *flow, uint32_t index); /* in order of their first process */
const struct flow_thread *flow_thread(const struct flow *flow, uint32_t index);
const struct flow_object *flow_object(const struct flow *flow, uint32_t index);
struct flow_object flow_object_copy(const struct flow *flow, uint32_t index); /* keeps no row: for very many of them */
const struct flow_site *flow_site(const struct flow *flow, uint32_t index);

/* How many of the objects have samples: they come first, in order of their start. */
size_t flow_sampled_object_count(const struct flow *flow);

/* Facts of an object without making its row: for passes over very many of them. */
struct flow_totals flow_object_totals(const struct flow *flow, uint32_t index);
uint32_t flow_object_site(const struct flow *flow, uint32_t index);
uint64_t flow_object_thing(const struct flow *flow,
                           uint32_t index); /* a number that all objects of a site share, and all stacks of a process */
enum object_kind flow_object_kind(const struct flow *flow, uint32_t index);
uint32_t flow_object_process(const struct flow *flow, uint32_t index);

/* Who brought in the pages of a sampled object, by page faults, most pages first: up to its end, over all its
 * pages, sampled or not. Pages of recycled memory were touched before it was allocated. None when faults were not recorded
 * (flow_has_touches), or when they were lost. A huge page counts as one. */
struct flow_touched {
    uint32_t object, thread;
    uint32_t pages;
    uint32_t fresh;        /* of those, touched while it lived */
    uint64_t since, until; /* first and last touch of those that are fresh, to a millisecond or so; 0, 0 without any */
};
size_t flow_object_touched(const struct flow *flow, uint32_t object, const struct flow_touched **rows);
bool flow_has_touches(const struct flow *flow);

/* The sites whose blocks were next to the samples of [heap] and [arena]: by object, most samples first. One site may have
 * several rows. */
struct flow_arena_site {
    uint32_t object, site;
    uint64_t samples;
};
size_t flow_arena_sites(const struct flow *flow, const struct flow_arena_site **rows);

/* How many of a sampled object's pages were seen on another node than before while it lived. */
uint64_t flow_object_moved(const struct flow *flow, uint32_t object);

/* The node a thread runs on: the simulated one, or the one it was mostly seen on; -1 when it was not seen. */
int flow_thread_node(const struct flow *flow, uint32_t thread);

/* Functions that access memory (the innermost frame of each sample that has a chain), most samples first. */
size_t flow_function_count(const struct flow *flow);
const struct flow_function *flow_function(const struct flow *flow, uint32_t index);

/* Likewise by line, with the function that it is most of. `line` is 0 where debug information has none: of a whole function. */
size_t flow_line_count(const struct flow *flow);
const struct flow_function *flow_line(const struct flow *flow, uint32_t index);
uint32_t flow_stack_line(const struct flow *flow, uint32_t process, uint32_t stack); /* or FLOW_NONE */
uint32_t flow_access_line(const struct flow *flow, const struct flow_access *access);

/* A binary that has code in call chains, but is not at hand as it was recorded: its functions, lines and static objects have
 * no names. Most samples first. */
struct flow_missing {
    const char *path;
    const char *why;  /* "cannot be read: No such file or directory", "has changed since the recording ..." */
    uint64_t samples; /* accesses by its code */
};
size_t flow_missing(const struct flow *flow, const struct flow_missing **rows);

/* The function that made the accesses with this stack, or FLOW_NONE. */
uint32_t flow_stack_function(const struct flow *flow, uint32_t process, uint32_t stack);

/* The object that held `addr` in that process at `time`, or NULL when none (with samples) did. */
const struct flow_object *flow_object_at(const struct flow *flow, uint32_t process, uint64_t addr, uint64_t time);

/* Accesses in order of time: all, of one thread (its TEF), of one object (its OEF).
 *     struct flow_iter *iter = flow_object_accesses(flow, object);
 *     while (flow_next(iter, &access)) ...
 *     flow_iter_free(iter);  */
struct flow_iter;
struct flow_iter *flow_accesses(const struct flow *flow);
struct flow_iter *flow_thread_accesses(const struct flow *flow, uint32_t thread);
struct flow_iter *flow_object_accesses(const struct flow *flow, uint32_t object);
bool flow_next(struct flow_iter *iter, struct flow_access *access);
void flow_iter_free(struct flow_iter *iter);

/* Every access in order of the file, not of time: the fastest way over all of them. `visit` gets each one. */
int flow_each_access(const struct flow *flow, void (*visit)(void *context, const struct flow_access *access),
                     void *context, struct error *err);

/* Likewise of those in [start, end) only: blocks of the file that are outside are not read. */
int flow_each_access_between(const struct flow *flow, uint64_t start, uint64_t end,
                             void (*visit)(void *context, const struct flow_access *access), void *context,
                             struct error *err);

/* Likewise, one process after the other, each in order of time: what happens to an object comes in order. */
int flow_each_access_in_time(const struct flow *flow, void (*visit)(void *context, const struct flow_access *access),
                             void *context, struct error *err);

/* A page and its use during one interval, by one thread where that is known. */
struct flow_page {
    uint64_t time, until;          /* the interval */
    uint64_t page, size, physical; /* physical: 0 when not known */
    uint64_t ip;                   /* of one of the accesses, or 0 */
    uint32_t process;              /* index; FLOW_NONE when it was never seen */
    uint32_t thread;               /* index; FLOW_NONE: not reported by the mechanism */
    uint32_t object;               /* index, or FLOW_NONE */
    int16_t home;                  /* node index, -1 when not known */
    int16_t frame_home;            /* of the frame: it may have moved since */
    uint32_t reads, writes, unknown;
    uint8_t mechanism; /* enum page_mechanism */
    uint16_t cpu_words;
    const uint64_t *cpus; /* good while it is visited */
};

/* Every page of every interval in order of time (of the interval's start). Without samples in the trace, each is an
 * access too (two when it was read and written), but for those whose thread is not known. */
int flow_each_page(const struct flow *flow, void (*visit)(void *context, const struct flow_page *page), void *context,
                   struct error *err);
uint64_t flow_page_count(const struct flow *flow);
/* The frame of physical memory that a page was last seen in, and its node (or -1); 0 when none was reported. */
uint64_t flow_page_frame(const struct flow *flow, uint32_t process, uint64_t page, int *node);
uint64_t flow_pages_without_thread(const struct flow *flow); /* of those */

/* The frames of a stack with names (inlines expanded), innermost first. */
size_t flow_stack_frames(const struct flow *flow, uint32_t process, uint32_t stack, struct symbol_frame *frames,
                         size_t max);

/* Likewise with the file that holds the code. */
struct flow_frame {
    struct symbol_frame symbol;
    const char *module, *path;      /* its name without folders, and with them; "" when not known */
    uint64_t addr;                  /* in the module */
    struct symbols_module *symbols; /* NULL when not known */
    uint32_t level;                 /* above the innermost function that was inlined at `addr` */
};
/* The symbols of a binary by its path, or NULL. */
struct symbols_module *flow_module_symbols(const struct flow *flow, const char *path);

size_t flow_stack_places(const struct flow *flow, uint32_t process, uint32_t stack, struct flow_frame *frames,
                         size_t max);

/* The function that a thread was started with, as a runtime of threads names its own; texts are "" when it is not known. */
struct flow_frame flow_thread_start(const struct flow *flow, uint32_t thread);
/* Whether a process has a library whose name begins so loaded, at the end of the recording. */
bool flow_process_has(const struct flow *flow, uint32_t process, const char *library);
