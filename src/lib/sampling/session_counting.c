/* lib/sampling/session_counting.c - numalens/capture.h: memory traffic, counted by src/capture/count. */
#include "lib/api/api.h"
#include "capture/count/count_session.h"
#include "numalens/capture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct counted_node {
    int32_t node;
    uint32_t row;
};

struct nlens_counting {
    struct count_session *session;
    struct count_reading before, after;
    bool running;
    array_of(struct counted_node) places;
    char source[256];
};

/* Reasons of the counters that could not be had, in one line. */
static void report_refusals(struct count_session *session, struct error *err)
{
    const struct count_refusal *refusals;
    size_t count = count_session_refusals(session, &refusals), used = 0;
    char reasons[400] = "";
    for (size_t i = 0; i < count && used < sizeof reasons; i++)
        used += (size_t)snprintf(reasons + used, sizeof reasons - used, "%s%s: %s", i ? "; " : "",
                                 count_source_name(refusals[i].source), refusals[i].reason);
    error_set(err, -ENODEV, "no counter of memory traffic: %s", *reasons ? reasons : "this machine offers none");
}

nlens_counting *nlens_counting_new(nlens_error *err)
{
    struct error why = {0};
    struct count_session *session = count_session_open(&(struct count_request){.source = COUNT_AUTO}, &why);
    const struct count_plan *plan = session ? count_session_plan(session) : NULL;
    if (plan && plan->side == COUNT_AT_ALLOCATION) /* pages handed out are no traffic */
        report_refusals(session, &why);
    if (!session || why.code) {
        count_session_close(session);
        api_error(err, &why);
        return NULL;
    }
    nlens_counting *counting = mem_zalloc(sizeof *counting);
    counting->session = session;
    snprintf(counting->source, sizeof counting->source, "%s: %s", count_source_name(plan->source), plan->devices);
    for (uint32_t row = 0; row < plan->rows.count; row++)
        array_each (&plan->rows.items[row].nodes, int32_t, node)
            array_push(&counting->places, (struct counted_node){*node, row});
    return counting;
}

const char *nlens_counting_source(nlens_counting *counting)
{
    return counting->source;
}

size_t nlens_counting_nodes(nlens_counting *counting)
{
    return counting->places.count;
}

static int fail(nlens_error *to, int code, const char *text)
{
    struct error why;
    error_set(&why, code, "%s", text);
    api_error(to, &why);
    return code;
}

int nlens_counting_start(nlens_counting *counting, nlens_error *err)
{
    if (counting->running)
        return fail(err, -EALREADY, "counting runs already: nlens_counting_stop comes first");
    counting->running = true;
    count_session_read(counting->session, &counting->before);
    return 0;
}

int nlens_counting_stop(nlens_counting *counting, nlens_error *err)
{
    if (!counting->running)
        return fail(err, -EALREADY, "counting does not run: nlens_counting_start comes first");
    counting->running = false;
    count_session_read(counting->session, &counting->after);
    return 0;
}

static double amount(const nlens_counting *counting, uint32_t row, enum count_what what, bool *known)
{
    double value = count_amount(&counting->before, &counting->after, row, what);
    *known = !isnan(value);
    return *known ? value : 0;
}

int nlens_counting_read(nlens_counting *counting, size_t index, nlens_traffic *traffic, nlens_error *err)
{
    *traffic = (nlens_traffic){0};
    if (index >= counting->places.count)
        return fail(err, -EINVAL, "there is no such node: nlens_counting_nodes returns how many there are");
    if (!counting->before.cells)
        return fail(err, -EINVAL, "nothing was counted yet: nlens_counting_start comes first");
    if (counting->running)
        count_session_read(counting->session, &counting->after);
    const struct counted_node *place = &counting->places.items[index];
    traffic->node = place->node;
    traffic->nodes = (int)count_session_plan(counting->session)->rows.items[place->row].nodes.count;
    traffic->reads = amount(counting, place->row, COUNT_READ, &traffic->reads_known);
    traffic->writes = amount(counting, place->row, COUNT_WRITE, &traffic->writes_known);
    traffic->total = amount(counting, place->row, COUNT_TOTAL, &traffic->total_known);
    return 0;
}

void nlens_counting_close(nlens_counting *counting)
{
    if (!counting)
        return;
    count_session_close(counting->session);
    count_reading_free(&counting->before);
    count_reading_free(&counting->after);
    array_free(&counting->places);
    free(counting);
}
