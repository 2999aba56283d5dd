/* view/report/object_text.c - one object: its life, where it was allocated, who reads and writes it when. */
#include "view/paragraph.h"
#include "view/report/report.h"

#include "base/text.h"
#include "base/number.h"
#include "view/report/object_callers.h"
#include "view/report/object_facts.h"
#include "view/table.h"

#include <errno.h>
#include <string.h>

enum { SLICES = 24, MAX_FRAMES = 64 };

struct life { /* accesses in slices of the object's life as it was sampled */
    uint64_t first, last;
    uint64_t reads[SLICES], writes[SLICES], remote[SLICES];
};

static void put_line(FILE *out, const struct view_options *options, const char *title, const char *text)
{
    paragraph_labelled(out, title, 2, 15, options->width, "%s", text);
}

/* Where the line is short, file and line stay, and the function is cut. */
static void put_frame(const struct symbol_frame *frame, bool named, const struct view_options *options, FILE *out)
{
    enum { MARK = 4, LEAST = 8 };
    const char *function = *frame->function ? frame->function : "?";
    char *place = frame->line ? mem_format(" (%s:%u)%s", frame->file, frame->line, frame->inlined ? " inlined" : "")
                  : *frame->function && !frame->offset ? mem_strdup("")
                                                       : mem_format("+0x%lx", (unsigned long)frame->offset);
    size_t width = options->width ? options->width : LONGEST_NAME;
    char *where = text_safe_fit(place, width > MARK + LEAST ? width - MARK - LEAST : LEAST);
    size_t taken = MARK + text_width(where);
    char *safe = text_safe_fit(function, width > taken + LEAST ? width - taken : LEAST);
    fprintf(out, "  %s %s%s\n", named ? ">" : " ", safe, where);
    free(safe);
    free(where);
    free(place);
}

static void put_chain(const struct flow *flow, const struct row *row, const struct view_options *options, FILE *out)
{
    const struct flow_site *site = row->site != FLOW_NONE ? flow_site(flow, row->site) : NULL;
    const struct flow_object *object = flow_object(flow, row->object);
    if (!site || object->stack == 0)
        return;
    struct symbol_frame frames[MAX_FRAMES];
    size_t count = flow_stack_frames(flow, object->stack_process, object->stack, frames, MAX_FRAMES);
    fputs("\nAllocated at\n", out);
    for (size_t i = 0; i < count; i++) {
        bool named = site->line && site->line == frames[i].line && strcmp(site->function, frames[i].function) == 0;
        put_frame(&frames[i], named, options, out);
    }
}

static void read_life(const struct flow *flow, uint32_t object, struct life *life)
{
    struct flow_access access;
    struct flow_iter *iter = flow_object_accesses(flow, object);
    *life = (struct life){.first = UINT64_MAX};
    while (flow_next(iter, &access)) {
        if (life->first == UINT64_MAX)
            life->first = access.time;
        life->last = access.time;
    }
    flow_iter_free(iter);
    iter = flow_object_accesses(flow, object);
    uint64_t span = life->last - life->first + 1;
    while (flow_next(iter, &access)) {
        unsigned slice = (unsigned)((__uint128_t)(access.time - life->first) * SLICES / span);
        life->writes[slice] += access.write;
        life->reads[slice] += !access.write;
        life->remote[slice] += access.remote;
    }
    flow_iter_free(iter);
}

static void put_bars(const char *title, const uint64_t *counts, uint64_t most, bool ascii, FILE *out)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};
    uint64_t sum = 0;
    fprintf(out, "  %-8s  ", title);
    for (unsigned i = 0; i < SLICES; i++) {
        unsigned height = most ? (unsigned)((counts[i] * 8 + most - 1) / most) : 0;
        fputs((ascii ? plain : blocks)[height], out);
        sum += counts[i];
    }
    fprintf(out, "  %s\n", number_count(sum));
}

static void put_life(const struct flow *flow, const struct life *life, bool ascii, FILE *out)
{
    if (life->first == UINT64_MAX)
        return;
    uint64_t most = 0;
    for (unsigned i = 0; i < SLICES; i++) {
        most = life->reads[i] > most ? life->reads[i] : most;
        most = life->writes[i] > most ? life->writes[i] : most;
        most = life->remote[i] > most ? life->remote[i] : most;
    }
    fprintf(out, "\nWhen, from %s to %s after the start\n",
            number_seconds((double)(life->first - flow_start(flow)) * 1e-9),
            number_seconds((double)(life->last - flow_start(flow)) * 1e-9));
    put_bars("reads", life->reads, most, ascii, out);
    put_bars("writes", life->writes, most, ascii, out);
    if (flow_topology(flow)->node_count > 1 && flow_has_homes(flow))
        put_bars("remote", life->remote, most, ascii, out);
}

static void put_users(const struct rows *rows, const struct row *row, const struct view_options *options, FILE *out)
{
    struct table *table = table_new();
    table_columns(table, TABLE_RIGHT, "share", "reads", "writes", "remote", "tid");
    table_column(table, "thread", TABLE_FLEX);
    array_each (&row->threads, const struct row_thread, used) {
        const struct flow_thread *thread = flow_thread(rows->flow, used->thread);
        table_cell(table, "%s", number_percent(used->samples, row->totals.samples));
        table_cell(table, "%s", number_count(used->reads));
        table_cell(table, "%s", number_count(used->writes));
        table_cell(table, "%s", number_percent(used->remote, flow_has_homes(rows->flow) ? used->samples : 0));
        table_cell(table, "%u", thread ? thread->tid : 0);
        table_cell(table, "%s", thread ? thread->name : "?");
    }
    fputs("\nUsed by\n", out);
    table_print(table, out, 2, options->width, options->color);
}

/* The lines of the program that access it, most samples first. */
static void put_lines(const struct rows *lines, const struct view_options *options, FILE *out)
{
    enum { TOP_LINES = 12 };
    if (lines->items.count == 0)
        return;
    struct rows shown = *lines;
    size_t limit = options->limit ? options->limit : options->verbose ? shown.matching : TOP_LINES;
    shown.items.count = shown.items.count < limit ? shown.items.count : limit;
    fputs("\nAccessed at\n", out);
    tables_print(&shown, options, 2, out);
}

/* Whose stack, how much of the traffic, and whether others reach into it. */
static void put_stacks(const struct rows *rows, const struct row *row, const struct view_options *options, FILE *out)
{
    if (rows->each_stack.count == 0)
        return;
    struct table *table = table_new();
    table_columns(table, TABLE_RIGHT, "share", "remote", "by other threads");
    table_column(table, "size", TABLE_RIGHT | TABLE_OPTIONAL);
    table_column(table, "tid", TABLE_RIGHT);
    table_column(table, "stack of", TABLE_FLEX);
    array_each (&rows->each_stack, const struct row_stack, each) {
        const struct flow_object *stack = flow_object(rows->flow, each->object);
        const struct flow_thread *owner = flow_thread(rows->flow, stack->alloc_thread);
        table_cell(table, "%s", number_percent(each->samples, row->totals.samples));
        table_cell(table, "%s",
                   flow_topology(rows->flow)->node_count < 2
                       ? ""
                       : number_percent(each->remote, flow_has_homes(rows->flow) ? each->samples : 0));
        table_cell(table, "%s", number_percent(each->by_others, each->samples));
        table_cell(table, "%s", number_bytes(stack->size));
        table_cell(table, "%u", owner ? owner->tid : 0);
        table_cell(table, "%s", owner ? owner->name : "?");
    }
    fputs("\nStacks\n", out);
    table_print(table, out, 2, options->width, options->color);
}

/* Which part of the file it is, and which part of that was seen used. */
static void put_part(const struct flow *flow, const struct flow_object *object, const struct view_options *options,
                     FILE *out)
{
    char text[160];
    uint64_t low = UINT64_MAX, high = 0;
    struct flow_access access;
    struct flow_iter *iter = flow_object_accesses(flow, object->id);
    while (flow_next(iter, &access)) {
        low = access.addr < low ? access.addr : low;
        high = access.addr + access.size > high ? access.addr + access.size : high;
    }
    flow_iter_free(iter);
    snprintf(text, sizeof text, "bytes 0x%lx to 0x%lx of the file", (unsigned long)object->offset,
             (unsigned long)(object->offset + object->size));
    put_line(out, options, "part", text);
    if (low > high)
        return;
    snprintf(text, sizeof text, "bytes 0x%lx to 0x%lx", (unsigned long)(low - object->addr + object->offset),
             (unsigned long)(high - object->addr + object->offset));
    put_line(out, options, "used", text);
}

static void put_homes(const struct rows *rows, const struct row *row, FILE *out)
{
    const struct topology *topology = flow_topology(rows->flow);
    if (topology->node_count < 2 || !row->homes)
        return;
    fprintf(out, "\nHome nodes%s\n", flow_has_homes(rows->flow) ? "" : ": unknown");
    for (uint32_t i = 0; i < topology->node_count; i++) {
        if (row->homes[i])
            fprintf(out, "  node %-4d %7s of its samples\n", topology->nodes[i].os_index,
                    number_percent(row->homes[i], row->totals.samples));
    }
}

static void put_object(const struct rows *rows, const struct row *row, const struct rows *lines,
                       const struct view_options *options, FILE *out)
{
    const struct flow *flow = rows->flow;
    const struct flow_object *object = flow_object(flow, row->object);
    const struct flow_thread *maker = row->alloc_thread != FLOW_NONE ? flow_thread(flow, row->alloc_thread) : NULL;
    char text[256];
    if (row->kind == OBJECT_STACK)
        paragraph(out, 0, options->width, "", "Object %u: stacks of process %u", row->object, row->pid);
    else if (*row->variable && row->kind != OBJECT_FILE)
        paragraph(out, 0, options->width, "", "Object %u: %s(%s:%u)", row->object, row->variable,
                  text_file_name(row->file), row->line);
    else
        paragraph(out, 0, options->width, "", "Object %u: %s", row->object, *row->name ? row->name : "?");
    fputc('\n', out);
    if (row->kind == OBJECT_STACK)
        snprintf(text, sizeof text, "%s stack%s, %s", number_count(row->count), row->count == 1 ? "" : "s",
                 number_bytes(row->size));
    else
        snprintf(text, sizeof text, "%s, %s at 0x%lx in process %u", view_kind_name(row->kind), number_bytes(row->size),
                 (unsigned long)object->addr, row->pid);
    put_line(out, options, "what", text);
    if (row->kind == OBJECT_FILE)
        put_part(flow, object, options, out);
    if (row->kind == OBJECT_FILE && *row->variable)
        put_line(out, options, "variable", row->variable);
    if (row->type && *row->type)
        put_line(out, options, "type", row->type);
    if (row->label)
        put_line(out, options, "site", row->label);
    if (*row->via)
        put_line(out, options, "via", row->via);
    if (row->blocks_of)
        put_line(out, options, "blocks of", row->blocks_of);
    if (maker && row->kind == OBJECT_STATIC) {
        snprintf(text, sizeof text, "%s (%u): a thread-local variable", *maker->name ? maker->name : "thread",
                 maker->tid);
        put_line(out, options, "thread's", text);
    } else if (maker && row->kind != OBJECT_STACK && row->site != FLOW_NONE) {
        char cpu[24] = "";
        if (object->alloc_cpu != UINT16_MAX)
            snprintf(cpu, sizeof cpu, " on CPU %u", object->alloc_cpu);
        snprintf(text, sizeof text, "by %s (%u)%s with %s", *maker->name ? maker->name : "thread", maker->tid, cpu,
                 object->alloc_name);
        put_line(out, options, "allocated", text);
    }
    if (row->end == UINT64_MAX)
        snprintf(text, sizeof text, "from %s to the end",
                 number_seconds((double)(row->start - flow_start(flow)) * 1e-9));
    else
        snprintf(text, sizeof text, "from %s to %s", number_seconds((double)(row->start - flow_start(flow)) * 1e-9),
                 number_seconds((double)(row->end - flow_start(flow)) * 1e-9));
    put_line(out, options, "lifetime", text);
    snprintf(text, sizeof text, "%s (%s of all), %s, %s on average, 95%% within %s", number_count(row->totals.samples),
             number_percent(row->totals.samples, rows->samples),
             number_remote(row->totals.remote, row->totals.home_known),
             number_latency(row->totals.latency_sum, row->totals.latency_count, latency_unit(flow)),
             row->has_p95 ? number_latency(row->p95, 1, latency_unit(flow)) : "-");
    paragraph_labelled(out, "samples", 2, 15, options->width, "%s", text);
    object_facts_text(rows->facts, facts_of_object(rows->facts, row->object), options->width, out);
    put_stacks(rows, row, options, out);
    put_users(rows, row, options, out);
    put_lines(lines, options, out);
    object_callers_text(flow, row->object, row->totals.samples, options, out);
    put_homes(rows, row, out);
    struct life life;
    read_life(flow, row->object, &life);
    put_life(flow, &life, options->ascii, out);
    put_chain(flow, row, options, out);
}

int view_object(const struct flow *flow, uint32_t object, const struct view_options *options, FILE *out,
                struct error *err)
{
    if (object >= flow_sampled_object_count(flow))
        return error_set(err, -ENOENT, "there is no object %u with samples; 'numalens report objects' lists them",
                         object);
    struct rows rows, lines = {0};
    rows_one_object(&rows, flow, object);
    int failed = rows_facts(&rows, NULL, err);
    rows.one_object = true;
    if (failed == 0 && !(rows.facts = facts_make(flow, err)))
        failed = -1;
    if (failed == 0)
        failed = rows_accessed_at(&lines, &rows, err);
    rows.accessed_at = &lines;
    if (failed == 0 && options->json) {
        failed = rows_json(&rows, options, out, err);
    } else if (failed == 0) {
        put_object(&rows, &rows.items.items[0], &lines, options, out);
        failed = report_flush(out, err);
    }
    rows_free(&lines);
    rows_free(&rows);
    return failed;
}
