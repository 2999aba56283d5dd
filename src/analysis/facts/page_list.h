/* analysis/facts/page_list.h - every page that was seen in use: by whom, how, when, how often.
 *
 * From pages that faults recorded where the trace has any; else from the pages that samples touched, with intervals of 50 ms
 * drawn over their times. */
#pragma once

#include "base/array.h"
#include "flow/flow.h"

struct page_user {
    uint32_t thread;                 /* FLOW_NONE: the mechanism does not report */
    uint64_t reads, writes, unknown; /* unknown: of no known direction */
};

struct page_row {
    uint32_t process, object;      /* FLOW_NONE when not known; of several objects the last */
    uint64_t page, size, physical; /* physical: where it was last, 0 when not known */
    int16_t home;                  /* node index of the last that is known, or -1 */
    int16_t frame_home;            /* of the frame, where it was last */
    uint8_t mechanisms;            /* 1 << enum page_mechanism; 0 from samples */
    uint32_t intervals;            /* in which it was used */
    uint32_t first_user, user_count;
    uint64_t first, last;            /* when its use began and ended, as far as intervals show */
    uint64_t remote;                 /* uses from threads of other nodes, where both are known */
    uint64_t reads, writes, unknown; /* of all its users */
};

struct page_list {
    const struct flow *flow;
    array_of(struct page_row) rows;   /* by process, then address */
    array_of(struct page_user) users; /* of each row: by thread */
    bool from_samples;
    uint64_t uses; /* of all rows */
};

enum { PAGE_LIST_INTERVAL = 50000000 }; /* drawn over samples */

/* NULL with `err` when the trace cannot be read. */
struct page_list *page_list_make(const struct flow *flow, struct error *err);
void page_list_free(struct page_list *list);

static inline uint64_t page_row_uses(const struct page_row *row)
{
    return row->reads + row->writes + row->unknown;
}

/* Whether two rows are used alike: by the same threads in the same directions, found out in the same way, on the same
 * node, for the same object. */
bool page_rows_alike(const struct page_list *list, const struct page_row *one, const struct page_row *other);
