#include "cli/input/recording.h"

#include <stdio.h>

int recording_open(struct recording *recording, const char *command, struct input *input,
                   const struct flow_options *options, const struct time_window *window, struct error *err)
{
    *recording = (struct recording){.path = input->name};
    if (input_merge(input, err) < 0 || !(recording->reader = trace_reader_open(input->path, err)))
        return -1;
    if (window && time_window_apply(window, recording->reader, err) < 0) {
        error_prefix(err, "%s", input->name);
        recording_close(recording);
        return -1;
    }
    recording->ending = trace_reader_ending(recording->reader);
    recording->symbols = symbols_new();
    recording->flow = flow_build(recording->reader, recording->symbols, options, err);
    if (!recording->flow) {
        error_prefix(err, "%s", input->name);
        recording_close(recording);
        return -1;
    }
    recording->damage = trace_reader_damage(recording->reader);
    if (recording->damage)
        fprintf(stderr, "numalens %s: %s: %s\n", command, input->name, recording->damage);
    return 0;
}

void recording_close(struct recording *recording)
{
    flow_free(recording->flow);
    if (recording->symbols)
        symbols_free(recording->symbols);
    trace_reader_close(recording->reader);
    *recording = (struct recording){0};
}
