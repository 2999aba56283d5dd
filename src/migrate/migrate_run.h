/* migrate/migrate_run.h - starts a program with the agent in it, or looks at one that runs already, and migrates its pages. The recording
 * is the one that `record` makes, with or without a trace; the loop looks on. */
#pragma once

#include "capture/recorder.h"
#include "migrate/loop.h"

/* As recorder_run; of capture->pid, as system_recorder_run. `summary` is filled when it returns 0. With capture->output the trace also reports each page that was
 * moved. */
int migrate_run(struct capture_options *capture, const struct loop_options *options,
                const struct loop_listener *listener, struct recorder_result *result, struct loop_summary *summary,
                struct error *err);
