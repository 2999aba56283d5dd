/* flow/share.c - a flow for a second thread: what is made when it is asked for is its own, everything else is shared. */
#include "flow/state.h"

struct flow *flow_share(const struct flow *flow)
{
    struct flow *shared = mem_alloc(sizeof *shared);
    *shared = *flow;
    shared->reader = flow->reader ? trace_reader_share(flow->reader) : NULL;
    live_rows_new(shared);
    shared->functions = shared->lines = (struct code_rows){0};
    shared->kept = (struct flow_kept){0};
    shared->missing_made = false;
    shared->missing.items = NULL;
    shared->missing.count = shared->missing.capacity = 0;
    shared->oef = shared->oef_first = shared->tef = shared->tef_first = shared->by_address = NULL;
    shared->reach = NULL;
    return shared;
}

void flow_share_free(struct flow *shared)
{
    if (!shared)
        return;
    if (shared->kept.free)
        shared->kept.free(shared->kept.item);
    live_rows_free(shared);
    code_rows_free(&shared->functions);
    code_rows_free(&shared->lines);
    array_free(&shared->missing);
    free(shared->oef);
    free(shared->oef_first);
    free(shared->tef);
    free(shared->tef_first);
    free(shared->by_address);
    free(shared->reach);
    trace_reader_close(shared->reader);
    free(shared);
}
