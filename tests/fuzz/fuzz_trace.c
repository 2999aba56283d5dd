/* fuzz_trace.c - any bytes as a trace: every event in every way, whole, in a window, and samples and pages one by one. */
#include "trace/event_copy.h"
#include "trace/event_text.h"
#include "trace/reader.h"
#include "trace_bytes.h"

enum { EVENTS_MOST = 20000, SINGLES_MOST = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(void *context, const struct event *event)
{
    if (event->kind != EVENT_SAMPLE)
        abort();
    *(uint64_t *)context += event->sample.addr;
}

static void read_events(struct trace_reader *reader, FILE *out)
{
    struct error err = {0};
    struct event event;
    uint64_t last = 0;
    int more;
    for (unsigned i = 0; i < EVENTS_MOST && (more = trace_reader_next(reader, &event, &err)) != 0; i++) {
        if (more < 0 && (err.code != more || !*err.text || strchr(err.text, '\n')))
            abort();
        if (more < 0)
            continue; /* what is left is read all the same */
        if (event.time < last || event.kind == 0 || event.kind >= EVENT_KINDS)
            abort();
        last = event.time;
        if (!out)
            continue;
        struct event copy = event_copy(&event);
        event_print(out, &copy);
        event_copy_free(&copy);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    struct error err = {0};
    uint8_t chosen;
    uint64_t sum = 0, start, end;
    if (size == 0)
        return 0;
    if (!null)
        null = fopen("/dev/null", "w");
    struct trace_reader *reader = trace_reader_open(trace_bytes_file(data, size, &chosen), &err);
    if (!reader) {
        if (err.code >= 0 || !*err.text || strchr(err.text, '\n'))
            abort();
        return 0;
    }
    read_events(reader, chosen & 1 ? null : NULL);
    struct event event;
    uint64_t samples = trace_reader_count(reader, EVENT_SAMPLE);
    for (uint64_t i = 0; i < samples && i < SINGLES_MOST; i++)
        trace_reader_sample(reader, i * 7 % samples, &event, &err);
    trace_reader_each_sample(reader, visit, &sum, &err);
    for (uint64_t i = 0; i < 2 * trace_reader_count(reader, EVENT_PAGE) && i < SINGLES_MOST; i++)
        trace_reader_page_access(reader, i, &event, &err);
    trace_reader_span(reader, &start, &end);
    if (start > end)
        abort();
    if (chosen & 2) {
        trace_reader_window(reader, start + (end - start) / 3, end);
        trace_reader_only(reader, UINT64_C(1) << EVENT_FREE | UINT64_C(1) << EVENT_SAMPLE | UINT64_C(1) << EVENT_STACK);
        read_events(reader, NULL);
    }
    trace_reader_close(reader);
    return 0;
}
