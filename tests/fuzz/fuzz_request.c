/* fuzz_request.c - any bytes as what a browser, or somebody else, sends to `numalens view`; what is understood is answered. */
#include "serve/request.h"
#include "serve/site.h"
#include "trace/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 60, PID = 7, BASE = 0x10000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_page_served(unsigned runs, struct container_bytes *bytes, struct error *err);

/* The page itself takes node to build, and is the same for each request. */
int __wrap_page_served(unsigned runs, struct container_bytes *bytes, struct error *err)
{
    (void)runs;
    (void)err;
    *bytes = (struct container_bytes){.data = (void *)strdup("page"), .size = 4};
    return 0;
}

static void record(const char *path)
{
    struct error err = {0};
    struct trace_session *session = trace_session_new();
    struct trace_writer *writer = trace_writer_open(path, session, &err);
    struct event event = {.time = 1, .pid = PID, .tid = PID, .kind = EVENT_PROCESS_START};
    event.process.exe = event.process.command = "a program";
    trace_writer_append(writer, &event, &err);
    event = (struct event){.time = 2, .pid = PID, .tid = PID, .kind = EVENT_ALLOC};
    event.alloc.addr = BASE;
    event.alloc.size = 1 << 20;
    trace_writer_append(writer, &event, &err);
    for (unsigned i = 0; i < SAMPLES; i++) {
        event = (struct event){.time = 10 + i * 1000000, .pid = PID, .tid = PID + i % 3, .kind = EVENT_SAMPLE};
        event.sample = (struct event_sample){.addr = BASE + i * 5000, .size = 8, .flags = SAMPLE_READ};
        trace_writer_append(writer, &event, &err);
    }
    trace_writer_close(writer, session, &err);
    trace_session_free(session);
}

/* Of a small recording, made once. */
static struct site *site(void)
{
    static struct site *made;
    static struct view_options view = {.path = "fuzz", .filter = {.kind = -1}};
    static struct page_run run = {.view = &view, .label = "run", .live = true};
    struct error err = {0};
    char path[] = "/tmp/numalens-fuzz-XXXXXX";
    if (made)
        return made;
    int fd = mkstemp(path);
    record(path);
    run.flow = flow_build(trace_reader_open(path, &err), symbols_new(), NULL, &err);
    made = site_new(&run, &err);
    unlink(path);
    close(fd);
    if (!made)
        abort();
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct request request;
    char *text = malloc(size + 1); /* exactly as long: a step beyond it is seen */
    memcpy(text, data, size);
    text = realloc(text, size ? size : 1);
    size_t length = request_length(text, size);
    if (length > size)
        abort();
    if (request_parse(&request, text, length ? length : size) == 0) {
        if (request.path[0] != '/' || !request.host[0])
            abort();
        struct answer answer = {0};
        site_answer(site(), request.path + 1, &request, &answer);
        if (answer.size && answer.status == 0)
            abort();
        free(answer.owned);
    }
    free(text);
    return 0;
}
