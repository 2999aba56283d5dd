/* lib/api/api_pages.c - pages in use as rows. */
#include "lib/api/api.h"

#include "analysis/facts/page_list.h"
#include "numalens/pages.h"

#include <errno.h>

struct api_pages {
    int failed;
    bool from_samples;
    size_t count;
    nlens_page *rows;
    nlens_page_user *users;
};

static void make_users(nlens_trace *trace, const struct page_list *list)
{
    trace->pages->users = mem_zalloc((list->users.count + 1) * sizeof *trace->pages->users);
    for (size_t i = 0; i < list->users.count; i++) {
        const struct page_user *from = &list->users.items[i];
        trace->pages->users[i] = (nlens_page_user){.thread = api_thread(trace, from->thread),
                                                   .reads = from->reads,
                                                   .writes = from->writes,
                                                   .unknown = from->unknown};
    }
}

static void make_rows(nlens_trace *trace, const struct page_list *list)
{
    struct api_pages *pages = trace->pages;
    pages->from_samples = list->from_samples;
    pages->count = list->rows.count;
    pages->rows = mem_zalloc((pages->count + 1) * sizeof *pages->rows);
    for (size_t i = 0; i < pages->count; i++) {
        const struct page_row *from = &list->rows.items[i];
        nlens_page_user *users = pages->users + from->first_user;
        for (uint32_t user = 1; user < from->user_count; user++)
            users[user - 1].next = &users[user];
        pages->rows[i] = (nlens_page){.trace = trace,
                                      .id = (uint32_t)i,
                                      .process = from->process == FLOW_NONE ? NULL : &trace->processes[from->process],
                                      .object = api_object(trace, from->object),
                                      .page = from->page,
                                      .size = from->size,
                                      .physical = from->physical,
                                      .node = from->home,
                                      .physical_node = from->physical ? from->frame_home : -1,
                                      .intervals = from->intervals,
                                      .first = from->first,
                                      .last = from->last,
                                      .remote = from->remote,
                                      .users = from->user_count ? users : NULL};
    }
}

int nlens_find_pages(nlens_trace *trace, nlens_error *err)
{
    struct error cause = {0};
    if (err)
        *err = (nlens_error){0};
    if (trace->pages && trace->pages->failed == 0)
        return 0;
    if (!trace->pages)
        trace->pages = mem_zalloc(sizeof *trace->pages);
    struct page_list *list = page_list_make(trace->flow, &cause);
    trace->pages->failed = list ? 0 : cause.code < 0 ? cause.code : -EIO;
    if (!list) {
        api_error(err, &cause);
        return trace->pages->failed;
    }
    make_users(trace, list);
    make_rows(trace, list);
    page_list_free(list);
    return 0;
}

bool nlens_pages_from_samples(nlens_trace *trace)
{
    return nlens_find_pages(trace, NULL) == 0 && trace->pages->from_samples;
}

const nlens_page *nlens_next_page(nlens_trace *trace, const nlens_page *last)
{
    size_t next = last ? (size_t)last->id + 1 : 0;
    if (!trace->pages && nlens_find_pages(trace, NULL) < 0)
        return NULL;
    return next < trace->pages->count ? &trace->pages->rows[next] : NULL;
}

void api_pages_free(nlens_trace *trace)
{
    if (!trace->pages)
        return;
    free(trace->pages->rows);
    free(trace->pages->users);
    free(trace->pages);
}
