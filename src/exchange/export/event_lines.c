/* exchange/export/event_lines.c - one line an event, in order of time, as its row has it (trace/event_rows.h). */
#include "exchange/export/export.h"

#include "trace/event_text.h"

#include <errno.h>
#include <string.h>

int export_events(struct trace_reader *reader, FILE *out, uint64_t *count, struct error *err)
{
    struct event event;
    int more;
    *count = 0;
    while ((more = trace_reader_next(reader, &event, err)) == 1) {
        event_print(out, &event);
        fputc('\n', out);
        ++*count;
    }
    if (more == 0 && (fflush(out) != 0 || ferror(out)))
        return error_set(err, -EIO, "cannot write: %s", strerror(errno));
    return more;
}
