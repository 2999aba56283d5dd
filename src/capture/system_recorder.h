/* capture/system_recorder.h - a recording without an agent: everything that runs on this machine, or what runs already in
 * one process, sampled by the hardware. There are no heap objects then. */
#pragma once

#include "capture/recorder.h"

/* As recorder_run. options->command may be NULL: then until SIGINT, SIGTERM, SIGHUP or SIGQUIT comes, or the process ends.
 * Else until the program has ended. With options->pid there is none. Negative with `err`, and no file: there is no PMU, or it is refused. */
int system_recorder_run(const struct capture_options *options, struct recorder_result *result, struct error *err);
