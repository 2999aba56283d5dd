/* fuzz_report.c - any bytes as a trace, through all that is made of one: the flow, and then one report, table, page or export of it. The
 * input's first byte says which. */
#include "analysis/problems/latency.h"
#include "exchange/export/export.h"
#include "no_binary.h"
#include "page/page.h"
#include "trace_bytes.h"
#include "view/view.h"

enum { OUTPUTS = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const struct flow *flow, unsigned which, struct view_options *view, FILE *out)
{
    struct error err = {0};
    view->json = which & 1;
    view->verbose = which & 2;
    which /= 2;
    if (which < 2)
        view_report(flow, view, out, &err);
    else if (which < 2 + VIEW_TABLES)
        view_rows(flow, (enum view_table)(which - 2), view, out, &err);
    else if (which == 7)
        view_patterns(flow, view, out, &err);
    else if (which == 8)
        view_problems(flow, VIEW_SHARING | VIEW_LATENCY | VIEW_BALANCE, view, out, &err);
    else if (which == 9)
        view_pages(flow, view, out, &err);
    else if (which == 10)
        view_map(flow, view, out, &err);
    else if (which == 11)
        view_traffic(flow, view, out, &err);
    else
        view_object(flow, 0, view, out, &err);
}

static void export(const struct flow *flow, struct trace_reader *reader, unsigned which, FILE *out)
{
    struct error err = {0};
    struct moca_export result = {0};
    uint64_t count;
    unsigned formats = 0;
    while (export_formats[formats].name)
        formats++;
    const struct export_format *format = &export_formats[which % formats];
    if (format->write && format->write != export_sqlite) /* which writes a file of its own */
        format->write(flow, &(struct export_options){.value = TALLY_SAMPLES}, out, &err);
    else if (format->write_pages)
        format->write_pages(reader, out, &result, &err);
    else if (format->write_events)
        format->write_events(reader, out, &count, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    struct error err = {0};
    uint8_t chosen;
    if (size == 0)
        return 0;
    if (!null)
        null = fopen("/dev/null", "w");
    struct trace_reader *reader = trace_reader_open(trace_bytes_file(data, size, &chosen), &err);
    if (!reader)
        return 0;
    struct symbols *symbols = symbols_new();
    struct flow *flow = flow_build(reader, symbols, NULL, &err);
    if (flow) {
        struct view_options view = {.path = "numalens.data",
                                    .filter = {.kind = -1},
                                    .damage = trace_reader_damage(reader),
                                    .ending = trace_reader_ending(reader)};
        if (chosen < OUTPUTS - 10) {
            show(flow, chosen, &view, null);
        } else if (chosen == OUTPUTS - 10) {
            struct container_bytes bytes = {0};
            page_container(&(struct page_run){flow, &view, "run", false}, &bytes, &err);
            free(bytes.data);
        } else {
            export(flow, reader, chosen, null);
        }
    } else if (err.code >= 0 || !*err.text) {
        abort();
    }
    flow_free(flow);
    symbols_free(symbols);
    trace_reader_close(reader);
    return 0;
}
