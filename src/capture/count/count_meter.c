#include "capture/count/count_meter.h"

static void take(struct count_meter *counters, struct count_reading *reading)
{
    count_session_read(counters->session, reading);
    counters->before = counters->latest;
    counters->latest = reading;
}

static int open_counters(void *context, struct error *err)
{
    struct count_meter *counters = context;
    (void)err; /* the session is open: a counter that was lost since is a cell that is not known */
    take(counters, counters->first);
    return 0;
}

static void drain(void *context, uint64_t until, struct source_level *level)
{
    struct count_meter *counters = context;
    (void)until; /* counters have no past */
    (void)level;
    take(counters, &counters->readings[counters->current ^= 1]);
}

static void finish(void *context)
{
    struct count_meter *counters = context;
    take(counters, counters->last);
}

static void close_counters(void *context)
{
    struct count_meter *counters = context;
    count_reading_free(&counters->readings[0]);
    count_reading_free(&counters->readings[1]);
}

struct source count_meter_source(struct count_meter *counters)
{
    return (struct source){.kind = FROM_COUNTERS,
                           .context = counters,
                           .open = open_counters,
                           .drain = drain,
                           .finish = finish,
                           .close = close_counters};
}
