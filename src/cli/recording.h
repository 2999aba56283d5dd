/* cli/recording.h - a trace opened for reading, with its flow. */
#ifndef NUMALENS_CLI_RECORDING_H
#define NUMALENS_CLI_RECORDING_H

#include "cli/rotated/time_window.h"
#include "flow/flow.h"

struct recording {
    const char *path;
    struct trace_reader *reader;
    struct symbols *symbols;
    struct flow *flow;
    const struct trace_session *ending; /* or NULL */
    const char *damage;                 /* what is missing in the file, or NULL */
};

/* `command`: who reports damage to the user, on stderr. Negative with `err` when there is no flow to be had; nothing is
 * held then. */
int recording_open(struct recording *recording, const char *command, const char *path,
                   const struct flow_options *options, struct error *err);

/* Only what is within the window; NULL: all of it. */
int recording_open_window(struct recording *recording, const char *command, const char *path,
                          const struct flow_options *options, const struct time_window *window, struct error *err);
void recording_close(struct recording *recording);

#endif
