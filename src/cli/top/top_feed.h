/* cli/top/top_feed.h - what running processes do, interval by interval, each as a flow.
 *
 * A recorder of its own process (capture/system_recorder.h) writes a file an interval into a private folder in memory; each is removed
 * once it is open. The recorder lets go of the processes when it is asked to end, and by itself when whoever reads here has ended,
 * in whatever way. Symbols are kept from one interval to the next. */
#pragma once

#include "capture/options.h"
#include "flow/flow.h"

#include <signal.h>

struct top_feed;

/* Starts the recorder on options->pid and pids, with options->rotate_ns as the interval; `simulated`: the topology of flows, or NULL.
 * Both must outlive it. NULL with `err`. */
struct top_feed *top_feed_start(const struct capture_options *options, const struct topology *simulated,
                                struct error *err);

/* Waits for an interval, the recorder's end, something to read at `keyboard` (-1: nothing), or a signal, with `mask` in force. */
void top_feed_wait(const struct top_feed *feed, int keyboard, const sigset_t *mask);

/* 1: there is a next interval, and its flow takes the place of the one before; unless `taken`, it is dropped. 0: not yet. Negative: none will come; with -ENODATA the
 * processes have ended, else it is a failure. */
int top_feed_next(struct top_feed *feed, bool taken, struct error *err);

const struct flow *top_feed_flow(const struct top_feed *feed); /* NULL before the first */

/* Flows have the accesses of this process alone from now on, and of it of this thread; 0: of all. Makes the present one again. */
int top_feed_only(struct top_feed *feed, uint32_t pid, uint32_t tid, struct error *err);

void top_feed_stop(struct top_feed *feed); /* the processes are let go when it returns */
