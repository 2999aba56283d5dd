#include "view/whole.h"

#include "view/report/rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char *text_of(const struct trace_session *session, const char *key, const char *otherwise)
{
    const char *text = session ? trace_session_get(session, key) : NULL;
    return text ? text : otherwise;
}

static uint64_t number_of(const struct trace_session *session, const char *key, uint64_t otherwise)
{
    return session ? trace_session_number(session, key, otherwise) : otherwise;
}

bool whole_exit_status(const struct flow_process *process, int *status)
{
    int reported = process->exit_status;
    if (reported == -1)
        return false;
    *status = WIFSIGNALED(reported) ? 128 + WTERMSIG(reported) : WEXITSTATUS(reported);
    return true;
}

double whole_lasted(const struct flow *flow, uint64_t start, uint64_t end)
{
    uint64_t until = end < flow_end(flow) ? end : flow_end(flow);
    return until > start ? (double)(until - start) * 1e-9 : 0;
}

static void exit_status_of(struct whole *whole, const struct flow *flow, const struct trace_session *ending)
{
    const char *reported = ending ? trace_session_get(ending, "exit_status") : NULL;
    if (reported) {
        whole->has_exit_status = true;
        whole->exit_status = atoi(reported);
        return;
    }
    const struct flow_process *first = flow_process(flow, 0);
    whole->has_exit_status = first && whole_exit_status(first, &whole->exit_status);
}

struct whole whole_of(const struct flow *flow, const struct view_options *options)
{
    const struct trace_session *session = flow_session(flow);
    const struct flow_process *first = flow_process(flow, 0);
    struct whole whole = {
        .command = text_of(session, "command", first ? first->command : ""),
        .source = text_of(session, "source", "unknown"),
        .tick = text_of(session, "tick", ""),
        .period_ns = number_of(session, "period_ns", 0),
        .burst = number_of(session, "burst", 0),
        .duration = (double)(flow_end(flow) - flow_start(flow)) * 1e-9,
    };
    if (strcmp(whole.source, "faults") == 0 || strcmp(whole.source, "none") == 0) { /* no tick came */
        whole.tick = "";
        whole.period_ns = whole.burst = 0;
    }
    /* The ending is of all that is in the file, a window of a part of it. */
    uint64_t duration = flow_windowed(flow) ? 0 : number_of(options->ending, "duration_ns", 0);
    if (duration)
        whole.duration = (double)duration * 1e-9;
    exit_status_of(&whole, flow, options->ending);
    return whole;
}

const char *whole_assign(const struct topology *topology)
{
    static _Thread_local char text[TOPOLOGY_ASSIGN_TEXT];
    return topology_assign_text(topology, text);
}

const char *whole_homes(const struct topology *topology)
{
    static _Thread_local char text[TOPOLOGY_ASSIGN_TEXT];
    return topology_home_text(topology, text);
}

const char *latency_unit(const struct flow *flow)
{
    return text_of(flow_session(flow), "latency_unit", "ns");
}
