/* numalens/flow.h - read a numalens trace from C or C++: who touched which object, from which node, when, how slowly.
 *
 * A trace (numalens.data, written by `numalens record`) is opened as a whole. In it there are processes with threads;
 * objects, each an address range with a life; sites, each a call chain that allocates objects; and accesses, the
 * samples: one thread touched one address of one object at one time. The accesses of a thread in order of time are its
 * thread event flow; those of an object are its object event flow.
 *
 *     #include <numalens/flow.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         nlens_error err;
 *         nlens_trace *trace = nlens_open("numalens.data", &err);
 *         if (!trace)
 *             return fprintf(stderr, "%s\n", err.text), 1;
 *         nlens_foreach_object(trace, o) {
 *             unsigned long writes = 0;
 *             nlens_foreach_object_access(o, a)
 *                 writes += a->write;
 *             printf("%s: %lu writes\n", o->label, writes);
 *         }
 *         nlens_close(trace);
 *     }
 *
 *     cc -o prog prog.c $(pkg-config --cflags --libs numalens)
 *
 * `numalens script prog.c` compiles and runs such a program; numalens/script.h saves it the opening and closing.
 *
 * Who owns what: everything a function returns belongs to the trace and lives until nlens_close, unless its comment
 * says otherwise. There is nothing else to free. Rows (nlens_object, nlens_thread, ...) are read-only.
 *
 * Texts are never NULL ("" when not known) and are safe for a terminal: a program under test may call itself anything,
 * so control characters come as \x1b. nlens_raw gives what was recorded.
 *
 * Times are nanoseconds of one clock that has no meaning outside the trace; nlens_start is the first. Nodes are numbered
 * from 0 without gaps; nlens_node has the kernel's numbers.
 *
 * Threads: one trace is for one thread at a time. Different traces can be used by different threads at once.
 *
 * Failure: a function that can fail returns NULL or a negative number and fills the nlens_error, which may be NULL.
 *
 * When memory runs out, the process ends with one line on stderr and abort(). How much a trace takes goes with its size.
 *
 * Binary compatibility: libnumalens.so.0 keeps every function and the place of every field. Rows may get new fields at
 * their ends, which is safe because only the library makes them: never copy a row with sizeof, never put it in an array. */
#ifndef NUMALENS_FLOW_H
#define NUMALENS_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef NUMALENS_POLICY_H /* had these names first; its own begin with nlens_policy_ */
#undef nlens_node
#undef nlens_access
#undef nlens_page
#undef nlens_accesses
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NLENS_API __attribute__((visibility("default")))
#else
#define NLENS_API
#endif

typedef struct nlens_trace nlens_trace;
typedef struct nlens_group nlens_group; /* some of the accesses: see "Groups" */
typedef struct nlens_iter nlens_iter;

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

typedef struct nlens_error {
    int code;        /* 0, or a negative errno such as -ENOENT */
    char text[1020]; /* one line, safe for a terminal: the cause, and the remedy where there is one */
} nlens_error;

/* Reads the trace at `path` and builds its flows: seconds for millions of samples. A trace that was cut short opens
 * too, and nlens_damage says so. NULL on failure. */
NLENS_API nlens_trace *nlens_open(const char *path, nlens_error *err);

typedef struct nlens_options {
    size_t size;                 /* sizeof(nlens_options): says which fields there are */
    const char *topology;        /* simulate this topology ("numa:4 core:2", or a file from lstopo); or NULL */
    const char *assign;          /* assign threads to its CPUs: "round-robin" (NULL), "packed", "node:1" */
    const char *homes;           /* home nodes of its pages: "first-touch", "interleave", "bind:2"; or NULL */
    const char *debug_directory; /* of separate debug files, before /usr/lib/debug; or NULL */
    const char *symfs;           /* search the recorded binaries below this directory first; or NULL */
    /* Called by nlens_open_with now and then: "reading", and how much of it is done; total 0: not known. Or NULL */
    void (*progress)(void *data, const char *what, uint64_t done, uint64_t total);
    void *progress_data;
} nlens_options;

NLENS_API nlens_trace *nlens_open_with(const char *path, const nlens_options *options, nlens_error *err);

/* Frees the trace and all that came from it: rows, texts, groups, iterators. NULL is fine. */
NLENS_API void nlens_close(nlens_trace *trace);

NLENS_API const char *nlens_version(void); /* of the library: "0.1.0" */

/* ---- The recording as a whole ------------------------------------------------------------------------------------ */

/* Sums over accesses. Latencies only of those that have one. */
typedef struct nlens_totals {
    uint64_t samples, reads, writes; /* an atomic update is both a read and a write; both 0: directions are not known */
    uint64_t remote;                 /* the page's node is known and is not the one the access came from */
    uint64_t home_known;             /* 0: what is remote is not known, unless the hardware says */
    uint64_t latency_sum, latency_count; /* nlens_info(trace, "latency_unit"): "ns" or "cycles" */
    uint64_t reserved[5];
} nlens_totals;

NLENS_API const nlens_totals *nlens_trace_totals(nlens_trace *trace);

NLENS_API uint64_t nlens_start(nlens_trace *trace); /* times of the first and the last event */
NLENS_API uint64_t nlens_end(nlens_trace *trace);

/* What the recorder wrote down: "command", "start_time", "host", "source", "latency_unit", ... (docs/format.md).
 * NULL when there is no such key. */
NLENS_API const char *nlens_info(nlens_trace *trace, const char *key);

/* NULL when the file is whole, else a sentence on what is missing. */
NLENS_API const char *nlens_damage(nlens_trace *trace);

/* Things that were lost while recording, by cause; only causes with a count. */
typedef struct nlens_loss {
    nlens_trace *trace;
    uint32_t id;
    const char *name; /* "ring_full", as in JSON */
    const char *text; /* a phrase */
    uint64_t count;
} nlens_loss;

/* Why samples belong to no object, by reason; only reasons with a count. */
typedef struct nlens_reason {
    nlens_trace *trace;
    uint32_t id;
    const char *name;
    uint64_t count;
} nlens_reason;

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

typedef struct nlens_node {
    nlens_trace *trace;
    uint32_t id;
    int32_t os_index; /* the kernel's number */
    uint64_t memory;  /* bytes, 0 when not known */
    uint32_t cpu_count;
} nlens_node;

NLENS_API uint32_t nlens_node_count(nlens_trace *trace);
NLENS_API bool nlens_simulated(nlens_trace *trace); /* the nodes are those of a simulated topology */

/* As firmware has it: 10 is local, 20 twice as far. 0 when there are no such nodes. */
NLENS_API unsigned nlens_distance(nlens_trace *trace, int from, int to);

/* The node of a CPU, or -1. */
NLENS_API int nlens_node_of_cpu(nlens_trace *trace, uint32_t cpu);

/* ---- Processes and threads --------------------------------------------------------------------------------------- */

#define NLENS_FOREVER UINT64_MAX /* `end` of what was never seen to end */

typedef struct nlens_process {
    nlens_trace *trace;
    uint32_t id, pid;
    const char *exe, *command;
    uint64_t start, end;
    int32_t exit_status; /* as wait() gives it; -1 when not known */
    uint32_t parent;     /* its pid, 0 when not known */
    bool replaced;       /* exec ended it: the process went on as another one of these, with the same pid */
    nlens_totals totals;
} nlens_process;

typedef struct nlens_thread {
    nlens_trace *trace;
    uint32_t id, pid, tid;
    uint32_t ordinal; /* in order of creation, from 0, over the whole recording */
    const nlens_process *process;
    const char *name;
    uint64_t start, end;
    nlens_totals totals;
} nlens_thread;

/* ---- Sites and objects ------------------------------------------------------------------------------------------- */

enum nlens_kind { NLENS_HEAP, NLENS_STATIC, NLENS_MAP, NLENS_FILE, NLENS_SECTION, NLENS_STACK };

NLENS_API const char *nlens_kind_name(int kind); /* "heap", "static", ... */

/* One call chain that allocates: what a type of object is to a program without types. */
typedef struct nlens_site {
    nlens_trace *trace;
    uint32_t id;
    int kind;             /* enum nlens_kind */
    const char *label;    /* "make_grid (grid.c:41)" */
    const char *function; /* the caller that matters: allocation wrappers are looked through */
    const char *file, *module;
    uint32_t line;
    const char *via;            /* the wrappers, innermost first: "xmalloc < matrix_new" */
    const char *allocator;      /* "malloc", "operator new", ... */
    uint64_t count, live_peak;  /* instances: ever, at once */
    uint64_t bytes, bytes_peak; /* bytes: ever, at once */
    uint64_t start, end;        /* of the first; of the last */
    nlens_totals totals;
    const char *variable; /* that it is assigned to in the source: "s->basis"; "" when not known */
} nlens_site;

/* One instance. Two may have the same address at different times. At the same time only when one is inside the other,
 * as what came from a pool is inside the pool's block: then accesses belong to the inner one. Objects without a single
 * sample are kept only when they lived to the end; sites count all. */
typedef struct nlens_object {
    nlens_trace *trace;
    uint32_t id;
    int kind;           /* enum nlens_kind */
    const char *label;  /* for a table: "make_grid (grid.c:41)", "table (main.c:7)", "libc.so.6 .got" */
    const char *name;   /* static: its symbol; file: its path; section and stack: what they are; else the site's */
    const char *file;   /* where it is allocated or declared */
    const char *module; /* the binary that does */
    uint32_t line;
    const nlens_site *site; /* NULL for what nobody allocated */
    const nlens_process *process;
    const nlens_thread *alloc_thread; /* NULL when not known */
    const char *allocator;            /* "malloc", "mmap", ...; "" for what nobody allocated */
    int alloc_cpu;                    /* -1 when not known */
    uint64_t address, size;
    uint64_t start, end; /* from its allocation to its end, [a, b) */
    uint64_t offset;     /* NLENS_FILE: where in the file it begins */
    nlens_totals totals;
    const char *variable; /* the site's; static: its symbol; "" when not known */
} nlens_object;

NLENS_API const nlens_object *nlens_object_by_id(nlens_trace *trace, uint32_t id); /* NULL: no such one */
NLENS_API const nlens_thread *nlens_thread_by_id(nlens_trace *trace, uint32_t id);
NLENS_API const nlens_site *nlens_site_by_id(nlens_trace *trace, uint32_t id);

/* The object that held `address` in a process at a time; NULL when none (with samples) did. */
NLENS_API const nlens_object *nlens_object_at(const nlens_process *process, uint64_t address, uint64_t time);

/* ---- Functions and call chains ----------------------------------------------------------------------------------- */

/* A function that accesses memory itself (the innermost of a sample's call chain). */
typedef struct nlens_function {
    nlens_trace *trace;
    uint32_t id;
    const char *name, *file, *module;
    uint32_t line; /* of its most sampled instruction */
    nlens_totals totals;
} nlens_function;

/* One frame of a call chain. A chain is a list from the innermost frame outwards. */
typedef struct nlens_frame {
    const struct nlens_frame *caller; /* NULL: the last that is known */
    const char *function, *file;
    uint32_t line;
    bool inlined; /* into its caller */
} nlens_frame;

/* ---- Accesses ---------------------------------------------------------------------------------------------------- */

enum nlens_level {
    NLENS_LEVEL_UNKNOWN,
    NLENS_LEVEL_L1,
    NLENS_LEVEL_LFB,
    NLENS_LEVEL_L2,
    NLENS_LEVEL_L3,
    NLENS_LEVEL_RAM,
    NLENS_LEVEL_REMOTE_CACHE,
    NLENS_LEVEL_REMOTE_RAM,
    NLENS_LEVEL_IO,
    NLENS_LEVEL_UNCACHED
};

NLENS_API const char *nlens_level_name(int level); /* "l1", "ram", ... */

typedef struct nlens_access {
    nlens_trace *trace;
    uint64_t time, address;
    uint64_t physical; /* 0 when not known */
    const nlens_thread *thread;
    const nlens_object *object; /* NULL: it belongs to none */
    uint32_t pid, tid;
    int from, home;                /* nodes: it came from, it went to; -1 when not known */
    int32_t cpu;                   /* -1 when not known */
    uint32_t size;                 /* bytes, 0 when not known */
    uint32_t latency;              /* 0 without has_latency */
    bool has_latency, read, write; /* neither read nor write: the source does not say */
    bool remote;                   /* false also when `home` is not known */
    bool burst;                    /* the first of a burst: what follows on this thread came right after it */
    int level;                     /* enum nlens_level */
    const char *source;            /* "soft", "pebs", "ibs", "spe", "faults" */
    uint32_t stack;                /* its call chain's number in its process */
} nlens_access;

/* Accesses in order of time: all, a thread's, an object's, a group's. */
NLENS_API nlens_iter *nlens_accesses(nlens_trace *trace);
NLENS_API nlens_iter *nlens_thread_accesses(const nlens_thread *thread);
NLENS_API nlens_iter *nlens_object_accesses(const nlens_object *object);
NLENS_API nlens_iter *nlens_group_accesses(nlens_group *group);

/* Those of a group that are to one object, or by one thread. */
NLENS_API nlens_iter *nlens_group_object_accesses(nlens_group *group, const nlens_object *object);
NLENS_API nlens_iter *nlens_group_thread_accesses(nlens_group *group, const nlens_thread *thread);

/* The next access, NULL at the end. It is good until the next call on this iterator, or until its end. */
NLENS_API const nlens_access *nlens_next(nlens_iter *iter);
NLENS_API void nlens_iter_free(nlens_iter *iter); /* NULL is fine */

/* The call chain of an access, of the allocations of a site; NULL when not known. */
NLENS_API const nlens_frame *nlens_access_frames(const nlens_access *access);
NLENS_API const nlens_frame *nlens_site_frames(const nlens_site *site);

/* The function that made the access, NULL when not known. */
NLENS_API const nlens_function *nlens_access_function(const nlens_access *access);

/* ---- One after another ------------------------------------------------------------------------------------------- */

/* The row after `last`; the first one for NULL; NULL at the end. Functions come most samples first, the others in order
 * of their ids. Objects: those with samples come first, in order of allocation, then those that were alive at the end. */
NLENS_API const nlens_node *nlens_next_node(nlens_trace *trace, const nlens_node *last);
NLENS_API const nlens_process *nlens_next_process(nlens_trace *trace, const nlens_process *last);
NLENS_API const nlens_thread *nlens_next_thread(nlens_trace *trace, const nlens_thread *last);
NLENS_API const nlens_site *nlens_next_site(nlens_trace *trace, const nlens_site *last);
NLENS_API const nlens_object *nlens_next_object(nlens_trace *trace, const nlens_object *last);
NLENS_API const nlens_function *nlens_next_function(nlens_trace *trace, const nlens_function *last);
NLENS_API const nlens_loss *nlens_next_loss(nlens_trace *trace, const nlens_loss *last);
NLENS_API const nlens_reason *nlens_next_reason(nlens_trace *trace, const nlens_reason *last);

/* nlens_foreach_object(trace, o) { ... o->label ... }: `o` is declared by the loop. */
#define nlens_foreach_row(type, next, from, row) for (const type *row = NULL; ((row) = next(from, row)) != NULL;)
#define nlens_foreach_node(trace, n)             nlens_foreach_row (nlens_node, nlens_next_node, trace, n)
#define nlens_foreach_process(trace, p)          nlens_foreach_row (nlens_process, nlens_next_process, trace, p)
#define nlens_foreach_thread(trace, t)           nlens_foreach_row (nlens_thread, nlens_next_thread, trace, t)
#define nlens_foreach_site(trace, s)             nlens_foreach_row (nlens_site, nlens_next_site, trace, s)
#define nlens_foreach_object(trace, o)           nlens_foreach_row (nlens_object, nlens_next_object, trace, o)
#define nlens_foreach_function(trace, f)         nlens_foreach_row (nlens_function, nlens_next_function, trace, f)
#define nlens_foreach_loss(trace, l)             nlens_foreach_row (nlens_loss, nlens_next_loss, trace, l)
#define nlens_foreach_reason(trace, r)           nlens_foreach_row (nlens_reason, nlens_next_reason, trace, r)

#define nlens_foreach_frame(first, f) for (const nlens_frame *f = (first); (f) != NULL; (f) = (f)->caller)

/* nlens_foreach_object_access(o, a) { ... a->time ... }. `break` and `continue` do what they say; a loop that is left
 * by `return` or `goto` keeps its iterator until nlens_close. */
#define nlens_foreach_in(iterator, a)                                                                                  \
    for (nlens_iter *nlens_iter_##a = (iterator); nlens_iter_##a != NULL;                                              \
         nlens_iter_free(nlens_iter_##a), nlens_iter_##a = NULL)                                                       \
        for (const nlens_access *a = NULL; ((a) = nlens_next(nlens_iter_##a)) != NULL;)
#define nlens_foreach_access(trace, a)         nlens_foreach_in (nlens_accesses(trace), a)
#define nlens_foreach_thread_access(thread, a) nlens_foreach_in (nlens_thread_accesses(thread), a)
#define nlens_foreach_object_access(object, a) nlens_foreach_in (nlens_object_accesses(object), a)
#define nlens_foreach_group_access(group, a)   nlens_foreach_in (nlens_group_accesses(group), a)
#define nlens_foreach_group_object_access(group, object, a)                                                            \
    nlens_foreach_in (nlens_group_object_accesses(group, object), a)
#define nlens_foreach_group_thread_access(group, thread, a)                                                            \
    nlens_foreach_in (nlens_group_thread_accesses(group, thread), a)

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

/* A group is the accesses for which every one of its conditions is true; a new one has none and holds them all. Its
 * objects, sites, threads and functions are those with at least one access in it. */
NLENS_API nlens_group *nlens_group_new(nlens_trace *trace);
NLENS_API void nlens_group_free(nlens_group *group); /* before nlens_close, when it is no longer needed */
NLENS_API nlens_trace *nlens_group_trace(nlens_group *group);

/* Adds a condition: KEY=VALUE[,VALUE...], true when one of the values fits; KEY!=... is true when none does.
 *     object=12  object='*grid*'   by id; by pattern of its label, name or variable
 *     site=3     site='make_*'     by id; by pattern of its label, function or variable
 *     kind=heap,map                nlens_kind_name
 *     file='*.c' module='libm*'    of the object's declaration or allocation; names without their folders
 *     thread=4711  thread='w*'     by tid; by pattern of its name
 *     process=4711 process=httpd   by pid; by pattern of its executable, without folders
 *     function='*_loop'            that made the access
 *     from=0  home=1,2             nodes; home!=0 includes what is not known
 *     time=0.5..2                  seconds since nlens_start; either end may be absent
 *     access=remote,write          read, write, remote, local
 *     latency=200..                in the trace's unit
 * Patterns are the shell's (*, ?, [a-z]). Negative when `text` is no condition: nothing is added then. */
NLENS_API int nlens_group_filter(nlens_group *group, const char *text, nlens_error *err);

/* Conditions in C: nonzero keeps. For objects it is asked once each; accesses without an object never fit. */
NLENS_API void nlens_group_objects_where(nlens_group *group, int (*keep)(const nlens_object *object, void *context),
                                         void *context);
NLENS_API void nlens_group_threads_where(nlens_group *group, int (*keep)(const nlens_thread *thread, void *context),
                                         void *context);
NLENS_API void nlens_group_accesses_where(nlens_group *group, int (*keep)(const nlens_access *access, void *context),
                                          void *context);
NLENS_API void nlens_group_window(nlens_group *group, uint64_t start, uint64_t end); /* time in [start, end) */

/* Sums over the group, and over that part of it that is one object's, site's, thread's or function's. They belong to
 * the group and are good until a condition is added. */
NLENS_API const nlens_totals *nlens_group_totals(nlens_group *group);
NLENS_API const nlens_totals *nlens_group_object_totals(nlens_group *group, const nlens_object *object);
NLENS_API const nlens_totals *nlens_group_site_totals(nlens_group *group, const nlens_site *site);
NLENS_API const nlens_totals *nlens_group_thread_totals(nlens_group *group, const nlens_thread *thread);
NLENS_API const nlens_totals *nlens_group_function_totals(nlens_group *group, const nlens_function *function);

enum nlens_key {
    NLENS_BY_ID,
    NLENS_BY_SAMPLES,
    NLENS_BY_REMOTE,
    NLENS_BY_WRITES,
    NLENS_BY_LATENCY /* sum of latencies: what it cost in all */
};

/* The group's objects (sites, ...) as an array of `*count` pointers, most first, by its sums in the group. The array
 * belongs to the group and is good until it is asked for another one of the same kind of row. */
NLENS_API const nlens_object *const *nlens_group_objects(nlens_group *group, int key, size_t *count);
NLENS_API const nlens_site *const *nlens_group_sites(nlens_group *group, int key, size_t *count);
NLENS_API const nlens_thread *const *nlens_group_threads(nlens_group *group, int key, size_t *count);
NLENS_API const nlens_function *const *nlens_group_functions(nlens_group *group, int key, size_t *count);

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

/* What was recorded, for a text of this trace: not safe for a terminal. */
NLENS_API const char *nlens_raw(nlens_trace *trace, const char *text);

/* `text` cut to `width` columns, with "…" in place of its middle; `text` itself when memory ran out. */
NLENS_API const char *nlens_fit(nlens_trace *trace, const char *text, size_t width);

#ifdef __cplusplus
}
#endif

#endif
