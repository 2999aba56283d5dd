#include "exchange/export/walk.h"

struct walking {
    walk_visit *visit;
    void *context;
    uint64_t known; /* accesses that were visited */
};

static void visit_one(void *context, const struct flow_access *access)
{
    struct walking *walking = context;
    walking->known++;
    walking->visit(walking->context, access);
}

static void visit_unknown(void *context, const struct flow_access *access)
{
    const struct walking *walking = context;
    if (access->thread == FLOW_NONE)
        walking->visit(walking->context, access);
}

/* Of several processes, flow_each_access_in_time has only what belongs to one of them. */
int walk_in_time(const struct flow *flow, walk_visit *visit, void *context, struct error *err)
{
    struct walking walking = {.visit = visit, .context = context};
    int failed = flow_each_access_in_time(flow, visit_one, &walking, err);
    if (failed == 0 && flow_process_count(flow) > 1 && walking.known < flow_totals(flow).samples)
        failed = flow_each_access(flow, visit_unknown, &walking, err);
    return failed;
}
