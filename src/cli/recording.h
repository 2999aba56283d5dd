/* cli/recording.h - a trace opened for reading, with its flow. */
#ifndef NUMALENS_CLI_RECORDING_H
#define NUMALENS_CLI_RECORDING_H

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
void recording_close(struct recording *recording);

#endif
