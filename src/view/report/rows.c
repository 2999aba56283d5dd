#include "view/report/rows.h"

#include "analysis/names/object_name.h"
#include "base/order.h"
#include "base/strtab.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct row rows_object(const struct flow *flow, uint32_t index)
{
    const struct flow_object *object = flow_object(flow, index);
    const struct flow_site *site = object->site != FLOW_NONE ? flow_site(flow, object->site) : NULL;
    return (struct row){.id = index,
                        .object = index,
                        .site = object->site,
                        .kind = object->kind,
                        .name = object->name,
                        .label = site ? site->label : NULL,
                        .file = object->file,
                        .line = object->line,
                        .module = object->module,
                        .via = site ? site->via : "",
                        .variable = site && *site->variable ? site->name : "",
                        .type = *object->array ? object->array
                                : site         ? site->type
                                               : "",
                        .pid = flow_process(flow, object->process)->pid,
                        .process = object->process,
                        .alloc_thread = object->alloc_thread,
                        .size = object->size,
                        .count = 1,
                        .bytes = object->size,
                        .offset = object->offset,
                        .start = object->start,
                        .end = object->end,
                        .totals = object->totals};
}

struct row rows_site(const struct flow *flow, uint32_t site_index, uint32_t object)
{
    const struct flow_site *site = flow_site(flow, site_index);
    struct row row = {.object = FLOW_NONE, .process = site->process, .alloc_thread = FLOW_NONE};
    if (object != FLOW_NONE)
        row = rows_object(flow, object);
    row.id = row.site = site_index;
    row.kind = site->kind;
    row.name = row.label = site->label;
    if (site->kind == OBJECT_FILE && object != FLOW_NONE)
        row.name = flow_object(flow, object)->name; /* as long as all are of one file */
    row.file = site->file;
    row.line = site->line;
    row.module = site->module;
    row.via = site->via;
    row.variable = *site->variable ? site->name : "";
    row.type = site->type;
    row.size = site->peak_bytes;
    row.count = site->count;
    row.bytes = site->bytes;
    row.start = site->start;
    row.end = site->end;
    row.totals = site->totals;
    return row;
}

/* What nobody allocated is one group when it has one name in one module; stacks when they are of one process. */
static uint32_t group_of(struct rows *rows, struct strtab *keys, uint32_t object)
{
    const struct row row = rows_object(rows->flow, object);
    char key[700];
    if (row.kind == OBJECT_STACK)
        snprintf(key, sizeof key, "stack %u", row.process);
    else
        snprintf(key, sizeof key, "%u:%.300s:%.150s:%.200s:%u", row.kind, row.name, row.module, row.file, row.line);
    uint32_t number = strtab_add(keys, key);
    return number;
}

void rows_add(struct row *group, const struct row *row)
{
    flow_totals_add(&group->totals, &row->totals);
    group->count++;
    group->bytes += row->size;
    group->size = group->kind == OBJECT_STACK ? group->size + row->size
                  : row->size > group->size   ? row->size
                                              : group->size;
    group->start = row->start < group->start ? row->start : group->start;
    group->end = row->end > group->end ? row->end : group->end;
}

/* A site that maps files is named after the file, unless they are several. */
static void join_file(struct row *group, const struct flow_object *object)
{
    if (strcmp(group->name, object->name) != 0)
        group->name = group->label;
    group->offset = object->offset < group->offset ? object->offset : group->offset;
}

static void make_sites(struct rows *rows)
{
    const struct flow *flow = rows->flow;
    size_t objects = flow_sampled_object_count(flow);
    uint32_t *row_of_site = mem_alloc((flow_site_count(flow) + 1) * sizeof *row_of_site);
    memset(row_of_site, 0xff, (flow_site_count(flow) + 1) * sizeof *row_of_site);
    struct strtab *keys = strtab_new();
    array_of(uint32_t) row_of_key = {0};
    for (uint32_t i = 0; i < objects; i++) {
        uint32_t site = flow_object_site(flow, i), *place;
        if (flow_object_totals(flow, i).samples == 0)
            continue; /* of a process that does not count */
        if (site != FLOW_NONE) {
            place = &row_of_site[site];
        } else {
            uint32_t number = group_of(rows, keys, i);
            while (row_of_key.count <= number)
                array_push(&row_of_key, FLOW_NONE);
            place = &row_of_key.items[number];
        }
        if (*place == FLOW_NONE) {
            *place = (uint32_t)rows->items.count;
            struct row row = site != FLOW_NONE ? rows_site(flow, site, i) : rows_object(flow, i);
            if (site == FLOW_NONE)
                row.id = FLOW_NONE;
            array_push(&rows->items, row);
        } else if (site == FLOW_NONE) {
            struct row row = rows_object(flow, i);
            rows_add(&rows->items.items[*place], &row);
        } else if (rows->items.items[*place].kind == OBJECT_FILE) {
            join_file(&rows->items.items[*place], flow_object(flow, i));
        }
        struct row *group = &rows->items.items[*place];
        if (flow_object_totals(flow, i).samples > flow_object_totals(flow, group->object).samples)
            group->object = i; /* the one that stands for all */
        rows->row_of[i] = *place;
    }
    array_free(&row_of_key);
    strtab_free(keys);
    free(row_of_site);
}

struct row rows_thread(const struct flow *flow, uint32_t index)
{
    const struct flow_thread *thread = flow_thread(flow, index);
    return (struct row){.id = index,
                        .object = FLOW_NONE,
                        .site = FLOW_NONE,
                        .kind = OBJECT_KINDS,
                        .name = thread->name,
                        .file = "",
                        .module = flow_process(flow, thread->process)->exe,
                        .via = "",
                        .pid = thread->pid,
                        .process = thread->process,
                        .alloc_thread = index,
                        .start = thread->start,
                        .end = thread->end,
                        .totals = thread->totals};
}

static void make_threads(struct rows *rows)
{
    for (uint32_t i = 0; i < flow_thread_count(rows->flow); i++) {
        array_push(&rows->items, rows_thread(rows->flow, i));
        rows->row_of[i] = i;
    }
}

struct row rows_process(const struct flow *flow, uint32_t index)
{
    const struct flow_process *process = flow_process(flow, index);
    return (struct row){.id = index,
                        .object = FLOW_NONE,
                        .site = FLOW_NONE,
                        .kind = OBJECT_KINDS,
                        .name = process->command,
                        .file = "",
                        .module = process->exe,
                        .via = "",
                        .pid = process->pid,
                        .process = index,
                        .alloc_thread = FLOW_NONE,
                        .count = process->threads,
                        .start = process->start,
                        .end = process->end,
                        .totals = process->totals};
}

static void make_processes(struct rows *rows)
{
    const struct flow *flow = rows->flow;
    uint32_t *row_of_process = mem_alloc((flow_process_count(flow) + 1) * sizeof *row_of_process);
    for (uint32_t i = 0; i < flow_process_count(flow); i++) {
        bool shown = flow_process(flow, i)->group != FLOW_NONE;
        row_of_process[i] = shown ? (uint32_t)rows->items.count : FLOW_NONE;
        if (shown)
            array_push(&rows->items, rows_process(flow, i));
    }
    for (uint32_t i = 0; i < flow_thread_count(flow); i++)
        rows->row_of[i] = row_of_process[flow_thread(flow, i)->process];
    free(row_of_process);
}

struct rows rows_groups(const struct rows *processes)
{
    struct rows groups = {
        .table = VIEW_GROUPS, .flow = processes->flow, .samples = processes->samples, .remote = processes->remote};
    for (uint32_t i = 0; i < flow_group_count(groups.flow); i++) {
        const struct flow_group *group = flow_group(groups.flow, i);
        array_push(&groups.items, (struct row){.id = i,
                                               .name = group->command,
                                               .module = group->exe,
                                               .count = group->threads,
                                               .start = group->start,
                                               .end = group->end,
                                               .totals = group->totals});
    }
    return groups;
}

static struct row code_row(const struct flow_function *function)
{
    return (struct row){.id = function->id,
                        .object = FLOW_NONE,
                        .site = FLOW_NONE,
                        .kind = OBJECT_KINDS,
                        .name = function->function,
                        .file = function->file,
                        .directory = function->directory,
                        .line = function->line,
                        .module = function->module,
                        .via = "",
                        .alloc_thread = FLOW_NONE,
                        .totals = function->totals};
}

struct row rows_function(const struct flow *flow, uint32_t index)
{
    return code_row(flow_function(flow, index));
}

struct row rows_line(const struct flow *flow, uint32_t index)
{
    return code_row(flow_line(flow, index));
}

const char *rows_use_name(const struct rows *rows, const struct row_use *use)
{
    const char *name = rows->names ? object_name(rows->names, use->object) : "";
    return *name ? name : "?";
}

static void make_functions(struct rows *rows)
{
    for (uint32_t i = 0; i < flow_function_count(rows->flow); i++)
        array_push(&rows->items, rows_function(rows->flow, i));
}

static void make_lines(struct rows *rows)
{
    for (uint32_t i = 0; i < flow_line_count(rows->flow); i++) {
        array_push(&rows->items, rows_line(rows->flow, i));
        rows->row_of[i] = i;
    }
}

static bool totals_pass(const struct view_filter *filter, const struct flow_totals *totals, uint64_t samples)
{
    return totals->samples >= filter->min_samples && share_of(totals->samples, samples) >= filter->min_share &&
           (filter->min_remote <= 0 || share_of(totals->remote, totals->samples) >= filter->min_remote);
}

bool row_passes(const struct view_filter *filter, const struct row *row, uint64_t samples)
{
    if (!totals_pass(filter, &row->totals, samples))
        return false;
    if (filter->kind >= 0 && row->kind != filter->kind)
        return false;
    if (filter->pid && row->pid && row->pid != filter->pid) /* a function is of no process: its totals are */
        return false;
    return !filter->text || text_contains(row->variable, filter->text) || text_contains(row->name, filter->text) ||
           text_contains(row->label, filter->text) || text_contains(row->file, filter->text) ||
           text_contains(row->module, filter->text) || text_contains(row->via, filter->text);
}

struct order {
    uint32_t index;
    double key; /* largest first; then most samples first */
    uint64_t samples;
    const char *text;
};

static double totals_key(const struct flow_totals *totals, const char *sort)
{
    if (strcmp(sort, "remote") == 0)
        return (double)totals->remote;
    if (strcmp(sort, "remote-share") == 0)
        return share_of(totals->remote, totals->home_known);
    if (strcmp(sort, "reads") == 0)
        return (double)totals->reads;
    if (strcmp(sort, "writes") == 0)
        return (double)totals->writes;
    if (strcmp(sort, "latency") == 0)
        return share_of(totals->latency_sum, totals->latency_count);
    return (double)totals->samples;
}

static double row_key(const struct row *row, const char *sort)
{
    if (strcmp(sort, "size") == 0)
        return (double)row->size;
    if (strcmp(sort, "count") == 0)
        return (double)row->count;
    if (strcmp(sort, "allocated") == 0)
        return -(double)row->start;
    return totals_key(&row->totals, sort);
}

static int by_order(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->text && b->text) {
        int order = strcmp(a->text, b->text);
        if (order)
            return order;
    }
    return ORDER(b->key, a->key) ?: ORDER(b->samples, a->samples) ?: ORDER(a->index, b->index);
}

/* Objects may be very many: rows are made only for those that are shown. */
static void select_objects(struct rows *rows, const struct view_filter *filter, const char *sort, size_t limit)
{
    const struct flow *flow = rows->flow;
    size_t objects = flow_sampled_object_count(flow);
    bool by_row = strcmp(sort, "size") == 0 || strcmp(sort, "allocated") == 0 || strcmp(sort, "name") == 0;
    array_of(struct order) orders = {0};
    struct map64 leads = {0};
    rows_find_stacks(rows, &leads);
    for (uint32_t i = 0; i < objects; i++) {
        struct flow_totals totals = flow_object_totals(flow, i);
        if (totals.samples == 0)
            continue; /* of a process that does not count */
        bool stack = flow_object_kind(flow, i) == OBJECT_STACK;
        if (stack && *map64_find(&leads, flow_object_process(flow, i)) != i)
            continue;
        if (stack)
            totals = rows_with_stacks(rows, i).totals;
        if (!totals_pass(filter, &totals, rows->samples))
            continue;
        struct order order = {.index = i, .key = totals_key(&totals, sort), .samples = totals.samples};
        if (by_row) {
            struct row row = rows_with_stacks(rows, i);
            order.key = row_key(&row, sort);
            order.text = strcmp(sort, "name") == 0 ? row.name : NULL;
        }
        array_push(&orders, order);
    }
    array_sort(&orders, by_order);
    bool plain = !filter->text && filter->kind < 0 && !filter->pid;
    array_each (&orders, struct order, order) {
        if (plain && limit && rows->matching >= limit) {
            rows->matching = orders.count;
            break;
        }
        struct row row = rows_with_stacks(rows, order->index);
        if (!row_passes(filter, &row, rows->samples))
            continue;
        if (limit == 0 || rows->matching < limit) {
            rows->row_of[order->index] = (uint32_t)rows->items.count;
            array_push(&rows->items, row);
        }
        rows->matching++;
    }
    array_each (&rows->stacks, uint32_t, stack)
        rows->row_of[*stack] = rows->row_of[*map64_find(&leads, flow_object_process(flow, *stack))];
    map64_free(&leads);
    array_free(&orders);
}

static void select_rows(struct rows *rows, const struct view_filter *filter, const char *sort, size_t limit)
{
    array_of(struct order) orders = {0};
    for (uint32_t i = 0; i < rows->items.count; i++) {
        struct row *row = &rows->items.items[i];
        if (row_passes(filter, row, rows->samples))
            array_push(&orders, (struct order){.index = i,
                                               .key = row_key(row, sort),
                                               .samples = row->totals.samples,
                                               .text = strcmp(sort, "name") == 0 ? row->name : NULL});
    }
    array_sort(&orders, by_order);
    rows->matching = orders.count;
    size_t shown = limit && limit < orders.count ? limit : orders.count;
    struct row *kept = mem_alloc((shown + 1) * sizeof *kept);
    uint32_t *moved = mem_alloc((rows->items.count + 1) * sizeof *moved);
    memset(moved, 0xff, (rows->items.count + 1) * sizeof *moved);
    for (uint32_t i = 0; i < shown; i++) {
        kept[i] = rows->items.items[orders.items[i].index];
        moved[orders.items[i].index] = i;
    }
    for (size_t i = 0; i < rows->row_of_count; i++) {
        if (rows->row_of[i] != FLOW_NONE)
            rows->row_of[i] = moved[rows->row_of[i]];
    }
    free(moved);
    free(rows->items.items);
    rows->items.items = kept;
    rows->items.count = rows->items.capacity = shown;
    array_free(&orders);
}

static void rows_begin(struct rows *rows, const struct flow *flow, enum view_table table)
{
    struct flow_totals whole = flow_totals(flow);
    *rows = (struct rows){.table = table, .flow = flow, .samples = whole.samples, .remote = whole.remote};
    rows->row_of_count = rows_by_thread(rows)  ? flow_thread_count(flow)
                         : table == VIEW_LINES ? flow_line_count(flow)
                                               : flow_sampled_object_count(flow);
    rows->names = table == VIEW_LINES ? object_names_new(flow) : NULL;
    rows->row_of = mem_alloc((rows->row_of_count + 1) * sizeof *rows->row_of);
    memset(rows->row_of, 0xff, (rows->row_of_count + 1) * sizeof *rows->row_of);
}

void rows_one_object(struct rows *rows, const struct flow *flow, uint32_t object)
{
    rows_begin(rows, flow, VIEW_OBJECTS);
    rows->matching = 1;
    rows->row_of[object] = 0;
    struct map64 leads = {0};
    rows_find_stacks(rows, &leads);
    if (flow_object_kind(flow, object) == OBJECT_STACK) {
        object = (uint32_t)*map64_find(&leads, flow_object_process(flow, object));
        array_each (&rows->stacks, uint32_t, stack) {
            if (flow_object_process(flow, *stack) == flow_object_process(flow, object))
                rows->row_of[*stack] = 0;
        }
    }
    map64_free(&leads);
    array_push(&rows->items, rows_with_stacks(rows, object));
    rows_each_stack(rows);
    rows_arenas(rows);
}

void rows_lines_begin(struct rows *rows, const struct flow *flow)
{
    rows_begin(rows, flow, VIEW_LINES);
    make_lines(rows);
    array_each (&rows->items, struct row, row)
        row->totals = (struct flow_totals){0};
}

void rows_lines_end(struct rows *rows)
{
    select_rows(rows, &(struct view_filter){.kind = -1, .min_samples = 1}, "samples", 0);
}

void rows_make(struct rows *rows, const struct flow *flow, enum view_table table, const struct view_options *options,
               const char *sort, size_t limit)
{
    rows_begin(rows, flow, table);
    if (!sort)
        sort = options->sort ? options->sort : "samples";
    switch (table) {
    case VIEW_OBJECTS:
        select_objects(rows, &options->filter, sort, limit);
        rows_arenas(rows);
        return;
    case VIEW_SITES:
        make_sites(rows);
        break;
    case VIEW_THREADS:
        make_threads(rows);
        break;
    case VIEW_PROCESSES:
        make_processes(rows);
        break;
    case VIEW_LINES:
        make_lines(rows);
        break;
    default:
        make_functions(rows);
        break;
    }
    select_rows(rows, &options->filter, sort, limit);
    if (table == VIEW_SITES)
        rows_arenas(rows);
}

void rows_free(struct rows *rows)
{
    array_each (&rows->items, struct row, row) {
        array_free(&row->threads);
        array_free(&row->latencies);
        map64_free(&row->thread_index);
        free(row->homes);
        free(row->from);
        array_free(&row->uses);
        map64_free(&row->use_index);
    }
    array_free(&rows->items);
    array_free(&rows->stacks);
    array_free(&rows->each_stack);
    object_names_free(rows->names);
    free(rows->row_bytes);
    facts_free(rows->facts);
    strtab_free(rows->arena_texts);
    free(rows->row_of);
}
