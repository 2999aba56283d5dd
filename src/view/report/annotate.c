/* view/report/annotate.c - source text with what its lines access beside them, as perf annotate has it. */
#include "view/paragraph.h"
#include "flow/names/sources.h"
#include "analysis/traffic/traffic.h"
#include "base/json.h"
#include "base/order.h"
#include "base/text.h"
#include "base/number.h"
#include "view/report/report.h"

#include <errno.h>

enum { CONTEXT = 5, LONGEST_LINE = 500, TAB = 8 };

/* Whether a name ends in `wanted` behind a `between`: sim/grid.c of /src/sim/grid.c, x of Domain::x. */
static bool ends_with(const char *name, size_t length, const char *between, const char *wanted)
{
    size_t size = strlen(wanted), gap = strlen(between);
    if (size > length || memcmp(name + length - size, wanted, size) != 0)
        return false;
    return size == length || (length >= size + gap && memcmp(name + length - size - gap, between, gap) == 0);
}

static bool is_wanted(const struct row *row, const char *wanted)
{
    size_t bare = strcspn(row->name, "(<");              /* without parameters */
    const char *region = strstr(row->name, "._omp_fn."); /* of OpenMP: conj_grad_._omp_fn.0 of Fortran's conj_grad */
    if (region && row->line) {
        size_t length = (size_t)(region - row->name), size = strlen(wanted);
        if (strncmp(row->name, wanted, size) == 0 && (size == length || (size + 1 == length && row->name[size] == '_')))
            return true;
    }
    return row->line && (ends_with(row->file, strlen(row->file), "/", wanted) || strcmp(row->name, wanted) == 0 ||
                         ends_with(row->name, bare, "::", wanted));
}

static int by_file(const struct row *a, const struct row *b)
{
    return strcmp(a->file, b->file) ?: strcmp(a->directory, b->directory);
}

ORDER_BY(by_place, struct row, by_file(a, b) ?: ORDER(a->line, b->line))

/* The line that begins at `*at`, with blanks for tabs. */
static char *next_line(const char **at, const char *end)
{
    char *line = mem_alloc(LONGEST_LINE + TAB + 1);
    size_t used = 0;
    for (; *at < end && **at != '\n'; ++*at) {
        if (used >= LONGEST_LINE || **at == '\r')
            continue;
        if (**at != '\t')
            line[used++] = **at ? **at : '?';
        else
            do
                line[used++] = ' ';
            while (used % TAB);
    }
    line[used] = '\0';
    *at += *at < end;
    return line;
}

struct annotated {
    struct rows rows; /* of VIEW_SOURCE: the lines of one file that are shown */
    const char *file;
    bool found;
    struct flow_totals totals;
    array_of(char *) texts;
};

static void add_text(struct annotated *annotated, struct row row, char *text)
{
    row.text = text;
    array_push(&annotated->texts, text);
    array_push(&annotated->rows.items, row);
}

/* `lines`: those of the file with samples, in order. */
static void fill(struct annotated *annotated, struct row *lines, size_t count, struct sources *sources, bool whole)
{
    size_t size;
    const struct flow_process *process = flow_process(annotated->rows.flow, 0);
    struct source_file file = {annotated->file, lines->directory, process ? process->exe : ""};
    const char *at = sources_text(sources, &file, &size), *end = at + size;
    annotated->found = at != NULL;
    size_t next = 0;
    uint32_t number = 1, shown = 0; /* shown: up to this line */
    for (; at && at < end; number++) {
        char *text = next_line(&at, end);
        while (next < count && lines[next].line < number)
            next++;
        bool hot = next < count && lines[next].line == number;
        bool near = (next < count && lines[next].line - number <= CONTEXT) ||
                    (next > 0 && number - lines[next - 1].line <= CONTEXT);
        if (!hot && !near && !whole) {
            free(text);
            continue;
        }
        if (shown && shown + 1 < number)
            add_text(annotated, (struct row){.is_bare = true}, mem_strdup("..."));
        add_text(annotated, hot ? lines[next] : (struct row){.is_bare = true, .line = number}, text);
        shown = number;
    }
    for (; next < count; next++) /* without a text the function is what is known */
        if (lines[next].line >= number)
            add_text(annotated, lines[next], mem_strdup(lines[next].name));
}

static void put_text(const struct annotated *annotated, const struct view_options *options, FILE *out)
{
    bool nodes = flow_topology(annotated->rows.flow)->node_count > 1;
    paragraph(out, 0, options->width, "", "%s: %s samples (%s of all)%s%s", annotated->file,
              number_count(annotated->totals.samples),
              number_percent(annotated->totals.samples, annotated->rows.samples), nodes ? ", " : "",
              nodes ? number_remote(annotated->totals.remote, annotated->totals.home_known) : "");
    if (!annotated->found)
        fputs("The source is not at hand: lines have their function instead.\n", out);
    fputc('\n', out);
    tables_print(&annotated->rows, options, 0, out);
}

static void put_json(const struct annotated *annotated, struct json *json)
{
    json_object(json, NULL);
    json_text(json, "file", annotated->file);
    json_bool(json, "found", annotated->found);
    json_number(json, "samples", annotated->totals.samples);
    rows_json_array(json, &annotated->rows, NULL);
    json_end(json);
}

static void annotate_file(const struct rows *lines, struct row *first, size_t count, struct sources *sources,
                          const struct view_options *options, FILE *out, struct json *json)
{
    struct annotated annotated = {.rows = *lines, .file = first->file};
    annotated.rows.table = VIEW_SOURCE;
    annotated.rows.items.items = NULL;
    annotated.rows.items.count = annotated.rows.items.capacity = 0;
    for (size_t i = 0; i < count; i++)
        flow_totals_add(&annotated.totals, &first[i].totals);
    fill(&annotated, first, count, sources, options->verbose);
    annotated.rows.matching = annotated.rows.items.count;
    if (json)
        put_json(&annotated, json);
    else
        put_text(&annotated, options, out);
    array_each (&annotated.texts, char *, text)
        free(*text);
    array_free(&annotated.texts);
    array_free(&annotated.rows.items);
}

/* A line of another function beside one of those: its figures are shown too. */
static bool is_near(const struct rows *lines, size_t wanted, const struct row *row)
{
    for (size_t i = 0; row->line && i < wanted; i++) {
        const struct row *other = &lines->items.items[i];
        uint32_t apart = row->line > other->line ? row->line - other->line : other->line - row->line;
        if (apart <= CONTEXT && by_file(row, other) == 0)
            return true;
    }
    return false;
}

/* Brings the lines that are shown to the front, in order, and returns how many; the others stay behind, to be freed. */
static size_t select_lines(struct rows *lines, const char *name)
{
    size_t count = 0, wanted = 0;
    struct row *rows = lines->items.items;
    for (int near = 0; near < 2; near++) {
        for (size_t i = count; i < lines->items.count; i++) {
            struct row row = rows[i];
            if (near ? !is_near(lines, wanted, &row) : !is_wanted(&row, name))
                continue;
            rows[i] = rows[count];
            rows[count++] = row;
        }
        wanted = count;
    }
    if (count)
        qsort(rows, count, sizeof *rows, by_place);
    return count;
}

int view_annotate(const struct flow *flow, const char *name, const struct view_options *options, FILE *out,
                  struct error *err)
{
    struct rows lines;
    rows_make(&lines, flow, VIEW_LINES, options, NULL, 0);
    size_t count = select_lines(&lines, name);
    if (count == 0) {
        rows_free(&lines);
        return error_set(err, -ENOENT,
                         "no sampled line is in a file or function '%s'; 'numalens report lines' lists them", name);
    }
    memset(lines.row_of, 0xff, (lines.row_of_count + 1) * sizeof *lines.row_of);
    for (uint32_t i = 0; i < count; i++)
        lines.row_of[lines.items.items[i].id] = i;
    lines.traffic = rows_traffic(flow, options);
    int failed = rows_facts(&lines, NULL, err);
    struct json *json = failed == 0 && options->json ? json_new(out) : NULL;
    if (json) {
        json_object(json, NULL);
        report_json_head(json, flow, options);
        json_array(json, "sources");
    }
    struct sources *sources = sources_new();
    struct row *rows = lines.items.items;
    for (size_t i = 0, end; failed == 0 && i < count; i = end) {
        for (end = i + 1; end < count && by_file(&rows[end], &rows[i]) == 0;)
            end++;
        annotate_file(&lines, rows + i, end - i, sources, options, out, json);
        if (!json && end < count)
            fputc('\n', out);
    }
    if (failed == 0)
        failed = json ? json_finish(json, err) : report_flush(out, err);
    sources_free(sources);
    traffic_free(lines.traffic);
    rows_free(&lines);
    return failed;
}
