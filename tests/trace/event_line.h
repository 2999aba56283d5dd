/* tests/trace/event_line.h - an event as a line of text in a buffer, so that a difference can be read. */
#ifndef NUMALENS_TESTS_TRACE_EVENT_LINE_H
#define NUMALENS_TESTS_TRACE_EVENT_LINE_H

#include "trace/event_text.h"

static inline void event_line(const struct event *event, char *line, size_t size)
{
    FILE *out = fmemopen(line, size, "w");
    event_print(out, event);
    fclose(out);
    line[size - 1] = 0;
}

#endif
