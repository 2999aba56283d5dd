#include "analysis/facts/page_list.h"

#include "base/map64.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/units.h"

#include <string.h>

enum { PAGE_BITS = 44, FEW_USERS = 8 };

#define NO_USER UINT32_MAX

struct chained_user {
    struct page_user user;
    uint32_t next;
};

struct open_row {
    struct page_row row;
    uint64_t covered; /* until when the last interval goes */
    uint32_t chain;   /* of its users */
};

struct gathering {
    const struct flow *flow;
    struct map64 row_of; /* process << PAGE_BITS | page number */
    array_of(struct open_row) rows;
    array_of(struct chained_user) users;
    struct map64 user_of; /* row << 32 | thread, of rows with more than a few users */
};

static struct open_row *row_for(struct gathering *gathering, uint32_t process, uint64_t page)
{
    uint64_t number = page >> PAGE_UNIT_SHIFT & ((UINT64_C(1) << PAGE_BITS) - 1);
    bool is_new;
    uint64_t *place = map64_insert(&gathering->row_of, (uint64_t)(process + 1) << PAGE_BITS | number, &is_new);
    if (is_new) {
        *place = gathering->rows.count;
        array_push(&gathering->rows,
                   (struct open_row){
                       .row = {.process = process, .object = FLOW_NONE, .page = page, .home = -1, .first = UINT64_MAX},
                       .chain = NO_USER});
    }
    return &gathering->rows.items[*place];
}

static uint64_t *known_user(struct gathering *gathering, const struct open_row *row, uint32_t thread)
{
    uint64_t number = (uint64_t)(row - gathering->rows.items);
    return map64_insert(&gathering->user_of, number << 32 | thread, NULL);
}

static struct page_user *user_for(struct gathering *gathering, struct open_row *row, uint32_t thread)
{
    uint64_t *known = row->row.user_count > FEW_USERS ? known_user(gathering, row, thread) : NULL;
    if (known && *known)
        return &gathering->users.items[*known - 1].user;
    for (uint32_t at = known ? NO_USER : row->chain; at != NO_USER; at = gathering->users.items[at].next) {
        if (gathering->users.items[at].user.thread == thread)
            return &gathering->users.items[at].user;
    }
    array_push(&gathering->users, (struct chained_user){.user = {.thread = thread}, .next = row->chain});
    row->chain = (uint32_t)gathering->users.count - 1;
    row->row.user_count++;
    if (known)
        *known = gathering->users.count;
    for (uint32_t at = row->row.user_count == FEW_USERS + 1 ? row->chain : NO_USER; at != NO_USER;
         at = gathering->users.items[at].next)
        *known_user(gathering, row, gathering->users.items[at].user.thread) = at + 1;
    return &gathering->users.items[row->chain].user;
}

static void use(struct gathering *gathering, struct open_row *open, uint32_t thread, const struct page_user *uses,
                int from)
{
    struct page_row *row = &open->row;
    struct page_user *user = user_for(gathering, open, thread);
    user->reads += uses->reads;
    user->writes += uses->writes;
    user->unknown += uses->unknown;
    row->reads += uses->reads;
    row->writes += uses->writes;
    row->unknown += uses->unknown;
    if (from >= 0 && row->home >= 0 && from != row->home)
        row->remote += uses->reads + uses->writes + uses->unknown;
}

static void during(struct open_row *open, uint64_t from, uint64_t until)
{
    if (open->row.intervals && from < open->covered)
        return; /* of another thread at the same time */
    open->row.intervals++;
    open->covered = until > from ? until : from + 1;
}

static void place(struct page_row *row, uint32_t object, int16_t home)
{
    if (object != FLOW_NONE)
        row->object = object;
    if (home >= 0)
        row->home = home;
}

static void set_frame(struct page_row *row, uint64_t physical, int node)
{
    if (physical == 0)
        return;
    row->physical = physical;
    row->frame_home = (int16_t)node;
}

static void add_page(void *context, const struct flow_page *page)
{
    struct gathering *gathering = context;
    struct open_row *open = row_for(gathering, page->process, page->page);
    struct page_row *row = &open->row;
    if (page->size > row->size)
        row->size = page->size;
    place(row, page->object, page->home);
    set_frame(row, page->physical, page->frame_home);
    row->mechanisms |= (uint8_t)(page->mechanism < PAGE_MECHANISMS ? 1u << page->mechanism : 0);
    if (page->time < row->first)
        row->first = page->time;
    if (page->until > row->last)
        row->last = page->until;
    during(open, page->time, page->until);
    struct page_user uses = {.reads = page->reads, .writes = page->writes, .unknown = page->unknown};
    int from = page->thread != FLOW_NONE ? flow_thread_node(gathering->flow, page->thread) : -1;
    use(gathering, open, page->thread, &uses, from);
}

static void add_access(void *context, const struct flow_access *access)
{
    struct gathering *gathering = context;
    const struct flow_thread *thread = flow_thread(gathering->flow, access->thread);
    if (!thread)
        return;
    uint64_t start = flow_start(gathering->flow), since = access->time > start ? access->time - start : 0;
    struct open_row *open = row_for(gathering, thread->process, access->addr >> PAGE_UNIT_SHIFT << PAGE_UNIT_SHIFT);
    struct page_row *row = &open->row;
    row->size = UINT64_C(1) << PAGE_UNIT_SHIFT;
    uint64_t physical = access->physical >> PAGE_UNIT_SHIFT << PAGE_UNIT_SHIFT;
    int node = access->home;
    if (physical == 0)
        physical = flow_page_frame(gathering->flow, row->process, row->page, &node);
    place(row, access->object, access->home);
    set_frame(row, physical, node);
    if (access->time < row->first)
        row->first = access->time;
    if (access->time > row->last)
        row->last = access->time;
    uint64_t interval = since / PAGE_LIST_INTERVAL;
    during(open, interval, interval + 1);
    bool read = access->flags & SAMPLE_READ, write = access->flags & SAMPLE_WRITE;
    struct page_user uses = {.reads = read, .writes = write, .unknown = !read && !write};
    use(gathering, open, access->thread, &uses, access->from);
}

ORDER_BY(by_address, struct open_row, ORDER(a->row.process, b->row.process) ?: ORDER(a->row.page, b->row.page))

ORDER_BY(by_thread, struct page_user, ORDER(a->thread, b->thread))

static void settle(struct page_list *list, struct gathering *gathering)
{
    array_sort(&gathering->rows, by_address);
    array_each (&gathering->rows, struct open_row, open) {
        open->row.first_user = (uint32_t)list->users.count;
        for (uint32_t at = open->chain; at != NO_USER; at = gathering->users.items[at].next)
            array_push(&list->users, gathering->users.items[at].user);
        qsort(list->users.items + open->row.first_user, open->row.user_count, sizeof *list->users.items, by_thread);
        list->uses += page_row_uses(&open->row);
        array_push(&list->rows, open->row);
    }
}

struct page_list *page_list_make(const struct flow *flow, struct error *err)
{
    struct page_list *list = mem_zalloc(sizeof *list);
    struct gathering gathering = {.flow = flow};
    list->flow = flow;
    list->from_samples = flow_page_count(flow) == 0;
    int failed = list->from_samples ? flow_each_access_in_time(flow, add_access, &gathering, err)
                                    : flow_each_page(flow, add_page, &gathering, err);
    if (failed == 0)
        settle(list, &gathering);
    map64_free(&gathering.row_of);
    map64_free(&gathering.user_of);
    array_free(&gathering.rows);
    array_free(&gathering.users);
    if (failed == 0)
        return list;
    page_list_free(list);
    return NULL;
}

void page_list_free(struct page_list *list)
{
    if (!list)
        return;
    array_free(&list->rows);
    array_free(&list->users);
    free(list);
}

bool page_rows_alike(const struct page_list *list, const struct page_row *one, const struct page_row *other)
{
    if (one->process != other->process || one->object != other->object || one->home != other->home ||
        one->size != other->size || one->mechanisms != other->mechanisms || one->user_count != other->user_count)
        return false;
    for (uint32_t i = 0; i < one->user_count; i++) {
        const struct page_user *a = &list->users.items[one->first_user + i];
        const struct page_user *b = &list->users.items[other->first_user + i];
        if (a->thread != b->thread || !a->reads != !b->reads || !a->writes != !b->writes || !a->unknown != !b->unknown)
            return false;
    }
    return true;
}
