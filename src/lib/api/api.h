/* lib/api/api.h - what is behind the handles of numalens/flow.h; private to src/lib.
 *
 * The public rows are copies of the flow's with pointers in place of numbers and with safe texts. Few kinds of row are
 * made at once; objects, of which there may be very many, in chunks when they are asked for. */
#pragma once

#include "base/array.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/strtab.h"
#include "flow/flow.h"
#include "numalens/flow.h"

enum { OBJECT_CHUNK = 512 };

struct nlens_trace {
    struct trace_reader *reader;
    struct symbols *symbols;
    struct topology *topology; /* that was asked for, or NULL */
    struct flow *flow;
    nlens_totals totals;

    nlens_node *nodes;
    nlens_process *processes;
    nlens_thread *threads;
    nlens_site *sites;
    nlens_object **objects; /* chunks, made when asked for */
    nlens_function *functions;
    bool functions_made;
    array_of(nlens_loss) losses;
    array_of(nlens_reason) reasons;

    struct map64 chains; /* process << 32 | stack, to an index + 1 */
    array_of(nlens_frame *) frames;

    struct strtab *texts;
    struct map64 safe_of; /* flow's text -> safe text */
    struct map64 raw_of;  /* safe text -> flow's, where they differ */

    struct api_findings *findings; /* made when asked for */
    struct api_pages *pages;       /* likewise */

    nlens_iter *iters; /* those that were not freed */
    nlens_group *groups;
};

struct nlens_iter {
    nlens_trace *trace;
    nlens_group *group; /* or NULL: no conditions */
    struct flow_iter *flow;
    nlens_access access;
    bool over;
    nlens_iter *next, **link;
};

struct nlens_group {
    nlens_trace *trace;
    array_of(struct condition *) conditions;
    nlens_group *next, **link;

    /* made when first needed, dropped when a condition is added */
    bool prepared, summed;
    uint8_t *object_fits;   /* sampled objects, and one for none at the end */
    uint8_t *thread_fits;   /* by thread */
    uint8_t *function_fits; /* by function, and one for none; NULL: nobody asks */
    bool asks_accesses;     /* conditions are left that each access is asked */
    nlens_totals totals;
    nlens_totals *object_totals, *site_totals, *thread_totals, *function_totals;

    const void **rows[4]; /* what the group's arrays return: objects, sites, threads, functions */
};

/* api_text.c: a text of the flow made safe. The same text gives the same pointer. */
const char *api_text(nlens_trace *trace, const char *raw);
const char *api_lines(nlens_trace *trace, const char *raw); /* likewise, but line ends stay */

/* api_trace.c: may be given NULL */
void api_error(nlens_error *to, const struct error *from);

/* Options of a client that may be newer: good as long as it asks for nothing that this library does not know. Both begin with their
 * size; `type` is their type's name. */
int api_options_take(void *options, size_t size, const void *given, const char *type, struct error *err);

/* api_rows.c */
void api_rows_make(nlens_trace *trace);
void api_rows_free(nlens_trace *trace);
const nlens_object *api_object(nlens_trace *trace, uint32_t index);     /* NULL for FLOW_NONE */
const nlens_thread *api_thread(nlens_trace *trace, uint32_t index);     /* likewise */
const nlens_function *api_function(nlens_trace *trace, uint32_t index); /* likewise */
uint32_t api_function_count(nlens_trace *trace);
void api_totals(nlens_totals *to, const struct flow_totals *from);

/* api_findings.c */
void api_findings_free(nlens_trace *trace);

/* api_pages.c */
void api_pages_free(nlens_trace *trace);

/* api_access.c */
void api_access(nlens_trace *trace, const struct flow_access *from, nlens_access *to);
uint32_t api_function_of(nlens_trace *trace, const struct flow_access *access); /* or FLOW_NONE */

/* api_group.c */
bool api_group_admits(nlens_group *group, const struct flow_access *access);
struct flow_iter *api_group_flow(nlens_group *group); /* the shortest run of accesses that has all of its own */

/* api_condition.c: one condition of a group. What it asks of objects, threads and functions is asked once of each. */
enum condition_level { ASKS_OBJECTS = 1, ASKS_THREADS = 2, ASKS_FUNCTIONS = 4, ASKS_ACCESSES = 8 };

struct condition {
    enum condition_level level;
    bool negated;
    bool (*object)(const struct condition *condition, const nlens_object *object);
    bool (*thread)(const struct condition *condition, const nlens_thread *thread);
    bool (*function)(const struct condition *condition, const nlens_function *function);
    bool (*access)(const struct condition *condition, const nlens_access *access);
    char *text; /* the values, each ended by a NUL */
    array_of(const char *) values;
    uint64_t low, high; /* [low, high) */
    unsigned bits;
    int (*keep_object)(const nlens_object *object, void *context);
    int (*keep_thread)(const nlens_thread *thread, void *context);
    int (*keep_access)(const nlens_access *access, void *context);
    void *context;
};

struct condition *condition_parse(nlens_trace *trace, const char *text, struct error *err); /* NULL on failure */
struct condition *condition_window(uint64_t start, uint64_t end);
void condition_free(struct condition *condition);
