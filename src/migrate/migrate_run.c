#include "migrate/migrate_run.h"

#include "base/clock.h"
#include "capture/observer.h"
#include "capture/source.h"
#include "capture/system_recorder.h"

#include <stdatomic.h>

struct loop_run {
    struct loop *loop;
    const struct loop_options *options;
    const struct loop_listener *listener;
    struct sink *sink; /* NULL until the first pass */
    bool resting;
};

static void see_event(void *context, const struct event *event)
{
    struct loop_run *run = context;
    loop_event(run->loop, event);
}

static void report_moves(struct loop_run *run, const struct plan_move *moves, size_t count)
{
    for (size_t i = 0; i < count && run->sink && run->sink->writer; i++) {
        struct event event = {.time = clock_now_ns(), .pid = moves[i].pid, .tid = moves[i].pid, .kind = EVENT_HOME};
        event.home =
            (struct event_home){moves[i].page, moves[i].bytes, run->options->topology->nodes[moves[i].to].os_index};
        sink_put(run->sink, &event);
    }
}

static void see_interval(void *context, const struct loop_interval *interval, const struct plan_move *moves,
                         size_t count)
{
    struct loop_run *run = context;
    report_moves(run, moves, count);
    if (run->listener->interval)
        run->listener->interval(run->listener->context, interval, moves, count);
}

static void see_step(void *context, uint64_t now, const struct capture_live *live)
{
    struct loop_run *run = context;
    run->sink = live->sink;
    bool wanted = loop_step(run->loop, now, sources_cost_ns(live->sources));
    if (live->region)
        atomic_store_explicit(&live->region->resting, !wanted, memory_order_relaxed);
    else if (run->resting == wanted)
        sources_want(live->sources, wanted);
    run->resting = !wanted;
}

int migrate_run(struct capture_options *capture, const struct loop_options *options,
                const struct loop_listener *listener, struct recorder_result *result, struct loop_summary *summary,
                struct error *err)
{
    struct loop_run run = {.options = options, .listener = listener};
    struct loop_listener inner = {&run, see_interval};
    struct capture_observer observer = {&run, see_event, see_step};
    *result = (struct recorder_result){.exit_status = 1};
    run.loop = loop_new(options, &inner, err);
    if (!run.loop)
        return err->code;
    capture->observer = &observer;
    int code = capture->pid ? system_recorder_run(capture, result, err) : recorder_run(capture, result, err);
    capture->observer = NULL;
    run.sink = NULL; /* the trace is closed */
    loop_finish(run.loop, clock_now_ns(), code == 0 ? summary : NULL);
    return code;
}
