/* cli/input/recording.h - a trace opened for reading, with its flow. */
#pragma once

#include "cli/input/input_files.h"
#include "cli/input/time_window.h"
#include "flow/flow.h"

struct recording {
    const char *path; /* what the input is called */
    struct trace_reader *reader;
    struct symbols *symbols;
    struct flow *flow;
    const struct trace_session *ending; /* or NULL */
    const char *damage;                 /* what is missing in the file, or NULL */
};

/* Opens what the user named, which must live as long; only what is within the window, NULL: all of it. `command`: who reports damage to
 * the user, on stderr. Negative with `err` when there is no flow to be had; nothing is held then. */
int recording_open(struct recording *recording, const char *command, struct input *input,
                   const struct flow_options *options, const struct time_window *window, struct error *err);
void recording_close(struct recording *recording);
