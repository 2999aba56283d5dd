/* capture/count/count_meter.h - counters as a source: a reading when it is opened, one with each drain, and the last one when it is
 * finished. There are no events: an interval is the difference of two readings (count_amount). */
#pragma once

#include "capture/count/count_session.h"
#include "capture/source.h"

struct count_meter {
    struct count_session *session;      /* is given */
    struct count_reading *first, *last; /* likewise: where these go, the caller's */
    struct count_reading readings[2];
    unsigned current;
    const struct count_reading *before, *latest; /* the last but one, and the last; until the next drain */
};

/* `counters` must outlive it. */
struct source count_meter_source(struct count_meter *counters);
