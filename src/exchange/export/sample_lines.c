/* exchange/export/sample_lines.c - one line a sample: CSV, and text with tabs. */
#include "base/text.h"
#include "exchange/export/export.h"
#include "exchange/export/fields.h"
#include "exchange/export/walk.h"

struct lines {
    struct fields fields;
    struct fields_writer writer;
    char separator;
    const char *end;
};

static void put_one(void *context, const struct flow_access *access)
{
    const struct lines *lines = context;
    struct emit *emit = lines->writer.emit;
    for (unsigned i = 0; i < lines->fields.count; i++) {
        if (i)
            emit_char(emit, lines->separator);
        field_put(&lines->writer, lines->fields.items[i], access);
    }
    emit_text(emit, lines->end);
}

static void put_head(const struct lines *lines, const char *before)
{
    struct emit *emit = lines->writer.emit;
    emit_text(emit, before);
    for (unsigned i = 0; i < lines->fields.count; i++) {
        if (i)
            emit_char(emit, lines->separator);
        emit_text(emit, field_name(lines->fields.items[i]));
    }
    emit_text(emit, lines->end);
}

static int put_lines(struct lines *lines, const struct flow *flow, const struct export_options *options,
                     const char *head, FILE *out, struct error *err)
{
    int failed = fields_parse(&lines->fields, options->fields, err);
    if (failed < 0)
        return failed;
    lines->writer.flow = flow;
    lines->writer.names = names_new(flow);
    lines->writer.emit = emit_new(out);
    if (head)
        put_head(lines, head);
    failed = walk_in_time(flow, put_one, lines, err);
    emit_free(lines->writer.emit);
    names_free(lines->writer.names);
    return failed;
}

/* Files may hold any name in quotes; a terminal must not be steered by one. */
static void put_safe_cell(struct emit *emit, const char *text)
{
    char *safe = text_safe(text);
    emit_csv(emit, safe);
    free(safe);
}

int export_csv(const struct flow *flow, const struct export_options *options, FILE *out, struct error *err)
{
    struct lines lines = {.separator = ',', .end = "\r\n", .writer = {.unknown = "", .put_name = emit_csv}};
    if (options->for_terminal)
        lines.writer.put_name = put_safe_cell;
    return put_lines(&lines, flow, options, options->without_head ? NULL : "", out, err);
}

int export_text(const struct flow *flow, const struct export_options *options, FILE *out, struct error *err)
{
    struct lines lines = {.separator = '\t', .end = "\n", .writer = {.unknown = "-", .put_name = emit_line}};
    return put_lines(&lines, flow, options, options->without_head ? NULL : "# ", out, err);
}
