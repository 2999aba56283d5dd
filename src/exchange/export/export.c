/* exchange/export/export.c - the table of formats. */
#include "exchange/export/export.h"

#include <string.h>

const struct export_format export_formats[] = {
    {.name = "text",
     .line = "one line a sample, as perf script prints them, with tabs between",
     .write = export_text,
     .has_fields = true},
    {.name = "folded",
     .line = "folded stacks, for flamegraph.pl and speedscope",
     .write = export_folded,
     .one_value = true,
     .has_bytes = true},
    {.name = "csv",
     .line = "one line a sample, for spreadsheets and data frames",
     .write = export_csv,
     .has_fields = true},
    {.name = "speedscope",
     .line = "JSON for speedscope.app: samples, remote accesses, latency",
     .write = export_speedscope},
    {.name = "callgrind",
     .line = "costs by function and line, for KCachegrind and callgrind_annotate",
     .write = export_callgrind},
    {.name = "pprof",
     .line = "profile.proto, for pprof; objects, threads and nodes as labels",
     .write = export_pprof,
     .binary = true},
    {.name = "firefox",
     .line = "JSON for profiler.firefox.com: samples in time",
     .write = export_firefox,
     .one_value = true},
    {.name = "perfetto",
     .line = "a trace for ui.perfetto.dev: threads, objects and nodes as tracks",
     .write = export_perfetto,
     .binary = true},
    {.name = "sqlite",
     .line = "a database of samples, objects, threads and call chains",
#ifdef NUMALENS_SQLITE
     .write = export_sqlite,
#else
     .missing = "numalens was built without SQLite; install libsqlite3-dev and build again",
#endif
     .binary = true},
    {.name = "events", .line = "every event of the recording as a line of text", .write_events = export_events},
    {.name = "moca", .line = "pages as MOCA has them, lines T, C, A", .write_pages = moca_export_lines},
    {0},
};

const struct export_format *export_format_named(const char *name)
{
    for (const struct export_format *format = export_formats; format->name; format++)
        if (strcmp(format->name, name) == 0)
            return format;
    return NULL;
}
