/* view/report/type_view.c - types, and one type as pahole prints it with the use of its fields beside them. */
#include "view/report/type_view.h"

#include "analysis/traffic/traffic.h"
#include "base/json.h"
#include "base/text.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/columns/columns.h"
#include "view/report/report.h"

#include <errno.h>

struct types { /* and what they are made of */
    struct type_uses uses;
    struct facts *facts;
    struct traffic *traffic;
};

static int begin(struct types *types, const struct flow *flow, const struct view_options *options, struct error *err)
{
    *types = (struct types){.facts = facts_make(flow, err), .traffic = rows_traffic(flow, options)};
    return types->facts ? type_uses_make(&types->uses, flow, types->facts, types->traffic, err) : -1;
}

static void end(struct types *types)
{
    type_uses_free(&types->uses);
    facts_free(types->facts);
    traffic_free(types->traffic);
}

int view_types(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err)
{
    struct types types;
    int failed = begin(&types, flow, options, err);
    struct type_uses *uses = &types.uses;
    if (failed == 0) {
        type_uses_sort(uses);
        struct rows shown = uses->rows;
        shown.matching = shown.items.count;
        if (options->limit && shown.items.count > options->limit)
            shown.items.count = options->limit;
        failed = options->json ? rows_json(&shown, options, out, err) : rows_text(&shown, options, out, err);
        if (failed == 0 && !options->json) {
            fputc('\n', out);
            paragraph(out, 0, options->width, "",
                      "%s of the samples are of stacks, files and objects whose type is not known%s.",
                      number_percent(uses->unknown, uses->rows.samples),
                      uses->items.count ? "" : ": the binaries have no debug information (-g), or are not at hand");
        }
    }
    end(&types);
    return failed;
}

/* "point" is "struct point" too, and "Pair" any Pair<...>. */
static bool is_wanted(const struct symbol_type *type, const char *name)
{
    const char *blank = *type->keyword ? strchr(type->name, ' ') : NULL, *bare = blank ? blank + 1 : type->name;
    size_t length = strcspn(type->name, "<");
    return strcmp(type->name, name) == 0 || strcmp(bare, name) == 0 ||
           (strlen(name) == length && strncmp(type->name, name, length) == 0);
}

struct printed {
    struct rows rows;
    array_of(char *) texts;
};

static void add(struct printed *printed, struct row row, char *text)
{
    row.text = text;
    array_push(&printed->texts, text);
    array_push(&printed->rows.items, row);
}

/* As pahole has it: lines of 64 bytes where items begin at lines, holes, a struct before its fields. */
static struct printed print(const struct type_use *use)
{
    const struct symbol_type *type = use->type;
    const struct row bare = {.is_bare = true};
    struct printed printed = {.rows = use->fields};
    printed.rows.items.items = NULL;
    printed.rows.items.count = printed.rows.items.capacity = 0;
    uint64_t end = 0, line = 0;
    uint32_t closing[16], depth = 0; /* the structs that are open: their last fields */
    const struct row *whole = &use->fields.items.items[type->field_count];
    add(&printed, type->field_count ? bare : *whole, mem_format("%s%s", type->name, type->field_count ? " {" : ""));
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct symbol_field *field = &type->fields[i];
        int indent = 2 * (int)(field->depth + 1);
        if (field->inside == 0 && field->offset > end && end)
            add(&printed, bare,
                mem_format("%*s/* %lu bytes free */", indent, "", (unsigned long)(field->offset - end)));
        if (field->offset / CACHE_LINE > line && type->size > CACHE_LINE)
            add(&printed, bare,
                mem_format("%*s/* line %lu */", indent, "", (unsigned long)(line = field->offset / CACHE_LINE)));
        const char *name = *field->name ? field->name : "";
        char *text = field->inside ? mem_format("%*s%s%s%s {", indent, "", field->before, name, field->after)
                                   : mem_format("%*s%s%s%s;", indent, "", field->before, name, field->after);
        bool used = use->fields.items.items[i].totals.samples > 0;
        struct row row = use->fields.items.items[i];
        row.is_bare = field->inside || !used;
        add(&printed, row, text);
        if (field->inside && depth < sizeof closing / sizeof *closing)
            closing[depth++] = i + field->inside;
        else
            end = field->offset + field->size > end ? field->offset + field->size : end;
        while (depth && closing[depth - 1] == i) {
            depth--;
            add(&printed, bare, mem_format("%*s};", 2 * (int)(depth + 1), ""));
        }
    }
    if (type->field_count && whole->totals.samples)
        add(&printed, *whole, mem_strdup("  /* padding */"));
    if (type->field_count)
        add(&printed, bare, mem_format("};"));
    printed.rows.matching = printed.rows.items.count;
    return printed;
}

static void put_text(const struct type_use *use, const struct row *row, const struct view_options *options, FILE *out)
{
    struct printed printed = print(use);
    uint64_t lines = (use->type->size + CACHE_LINE - 1) / CACHE_LINE;
    paragraph(out, 0, options->width, "", "%s: %s, %s cache line%s%s; %s object%s, %s; %s samples (%s of all)",
              use->type->name, number_bytes(use->type->size), number_count(lines), lines == 1 ? "" : "s",
              use->aligned == use->objects ? ", items begin at lines" : "", number_count(row->count),
              row->count == 1 ? "" : "s", number_bytes(row->bytes), number_count(row->totals.samples),
              number_percent(row->totals.samples, use->fields.samples));
    if (use->type->line)
        paragraph(out, 0, options->width, "", "declared at %s:%u", use->type->file, use->type->line);
    fputc('\n', out);
    tables_print(&printed.rows, options, 0, out);
    struct type_advice advice[2];
    size_t count = type_advise(use, row, advice);
    for (size_t i = 0; i < count; i++) {
        fputc('\n', out);
        paragraph(out, 0, options->width, "", "%s", advice[i].text);
        paragraph_code(out, 4, options->width, advice[i].code);
        free(advice[i].text);
        free(advice[i].code);
    }
    array_each (&printed.texts, char *, text)
        free(*text);
    array_free(&printed.texts);
    array_free(&printed.rows.items);
}

static void put_json(const struct type_use *use, const struct rows *types, const struct row *row, struct json *json)
{
    struct rows fields = use->fields;
    json_object(json, NULL);
    columns_put_row(json, types, row);
    array_each (&fields.items, struct row, field)
        field->text = field->id < use->type->field_count ? field->name : "padding";
    fields.items.count = use->type->field_count; /* what is left is padding */
    rows_json_array(json, &fields, NULL);
    json_array(json, "falsely_shared");
    for (uint32_t i = 0; i < use->type->field_count; i++)
        if (use->falsely[i])
            json_text(json, NULL, use->type->fields[i].name);
    json_end(json);
    json_number(json, "false_lines", use->false_lines);
    type_advice_put(use, row, json);
    json_end(json);
}

int view_type(const struct flow *flow, const char *name, const struct view_options *options, FILE *out,
              struct error *err)
{
    struct types types;
    int failed = begin(&types, flow, options, err);
    struct type_uses *uses = &types.uses;
    unsigned found = 0;
    struct json *json = NULL;
    for (size_t i = 0; failed == 0 && i < uses->items.count; i++) {
        const struct type_use *use = &uses->items.items[i];
        if (!is_wanted(use->type, name))
            continue;
        if (options->json && !json) {
            json = json_new(out);
            json_object(json, NULL);
            report_json_head(json, flow, options);
            json_array(json, "types");
        }
        if (json)
            put_json(use, &uses->rows, &uses->rows.items.items[i], json);
        else {
            if (found)
                fputc('\n', out);
            put_text(use, &uses->rows.items.items[i], options, out);
        }
        found++;
    }
    if (failed == 0 && found == 0)
        failed =
            error_set(err, -ENOENT, "no sampled object is of a type '%s'; 'numalens report types' lists them", name);
    else if (failed == 0)
        failed = json ? json_finish(json, err) : report_flush(out, err);
    end(&types);
    return failed;
}
