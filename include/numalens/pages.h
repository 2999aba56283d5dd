/* numalens/pages.h - which pages of memory were in use, by which threads, when.
 *
 * From page faults where the trace has any (`numalens record --source faults`, or `--faults`): then counts are of faults,
 * and a page was used at least so often. Else from samples, with intervals of 50 ms. What `numalens report pages` prints
 * comes from here. Pages are found when first asked for, in one pass over the trace.
 *
 *     nlens_foreach_page(trace, p) {
 *         printf("%#lx of %s:", (long)p->page, p->object ? p->object->label : "?");
 *         nlens_foreach_page_user(p, u)
 *             printf(" %s (%lu reads, %lu writes)", u->thread ? u->thread->name : "unknown", u->reads, u->writes);
 *         printf(", in %u intervals\n", p->intervals);
 *     }
 *
 * Ownership, texts and threads: as in numalens/flow.h. */
#ifndef NUMALENS_PAGES_H
#define NUMALENS_PAGES_H

#include <numalens/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thread's use of a page. */
typedef struct nlens_page_user {
    const struct nlens_page_user *next;
    const nlens_thread *thread;      /* NULL: the mechanism does not report the thread */
    uint64_t reads, writes, unknown; /* unknown: of no known direction */
} nlens_page_user;

typedef struct nlens_page {
    nlens_trace *trace;
    uint32_t id; /* from 0 on: by process, then address */
    const nlens_process *process;
    const nlens_object *object; /* that most of it belongs to; NULL when not known */
    uint64_t page, size;        /* size: of the kernel's page, or of a huge one */
    uint64_t physical;          /* the frame's address where it was last; 0 when not known */
    int node;                   /* its home, or -1 */
    int physical_node;          /* the frame's, or -1 */
    uint32_t intervals;         /* in which it was used */
    uint64_t first, last;       /* when its use began and ended, as far as intervals show */
    uint64_t remote;            /* uses from threads of other nodes, where both are known */
    const nlens_page_user *users;
} nlens_page;

/* Finds the pages now, to learn of a failure: 0, or negative when the trace cannot be read. Never needed otherwise:
 * after a failure there are just no pages. */
NLENS_API int nlens_find_pages(nlens_trace *trace, nlens_error *err);

/* Whether pages are only those that samples touched. */
NLENS_API bool nlens_pages_from_samples(nlens_trace *trace);

/* The page after `last`; the first one for NULL; NULL at the end. */
NLENS_API const nlens_page *nlens_next_page(nlens_trace *trace, const nlens_page *last);

#define nlens_foreach_page(trace, p)     nlens_foreach_row (nlens_page, nlens_next_page, trace, p)
#define nlens_foreach_page_user(page, u) for (const nlens_page_user *u = (page)->users; (u) != NULL; (u) = (u)->next)

#ifdef __cplusplus
}
#endif

#endif
