/* view/columns/object_columns.c - the columns of objects and allocation sites, and of their facts (docs/patterns.md). */
#include "view/columns/columns.h"
#include "view/report/object_facts.h"
#include "view/report/report.h"

static struct value word(const char *text)
{
    return (struct value){.type = VALUE_TEXT_OR_ABSENT, .text = text};
}

static struct value get_kind(const struct rows *rows, const struct row *row)
{
    (void)rows;
    return word(view_kind_name(row->kind));
}

static struct value get_offset(const struct rows *rows, const struct row *row)
{
    (void)rows;
    return (struct value){.type = row->kind == OBJECT_FILE ? VALUE_NUMBER : VALUE_UNKNOWN, .number = row->offset};
}

static struct value get_p95(const struct rows *rows, const struct row *row)
{
    (void)rows;
    return (struct value){.type = row->has_p95 ? VALUE_LATENCY : VALUE_UNKNOWN, .number = row->p95};
}

static void name_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    table_object(table, rows->flow, row);
}

/* "worker 3 +7": who uses it most, and how many others do. */
void row_users_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    const struct flow_thread *most = row->threads.count ? flow_thread(rows->flow, row->threads.items[0].thread) : NULL;
    char others[24] = "", name[24] = "";
    if (most && row->threads.count > 1)
        snprintf(others, sizeof others, " +%zu", row->threads.count - 1);
    if (most && *most->name)
        snprintf(name, sizeof name, "%.15s", most->name);
    else if (most)
        snprintf(name, sizeof name, "%u", most->tid);
    table_cell(table, "%s%s", name, others);
}

void row_users_put(struct json *json, const struct rows *rows, const struct row *row)
{
    json_array(json, "threads");
    array_each (&row->threads, const struct row_thread, used) {
        const struct flow_thread *thread = flow_thread(rows->flow, used->thread);
        if (!thread)
            continue;
        json_object(json, NULL);
        json_number(json, "tid", thread->tid);
        json_text(json, "name", thread->name);
        json_number(json, "samples", used->samples);
        json_number(json, "reads", used->reads);
        json_number(json, "writes", used->writes);
        json_number_if(json, "remote", flow_has_homes(rows->flow), used->remote);
        json_end(json);
    }
    json_end(json);
}

/* Each thread's own, where the row stands for all stacks of a process. */
static void put_stacks(struct json *json, const struct rows *rows, const struct row *row)
{
    (void)row;
    if (rows->each_stack.count == 0)
        return;
    json_array(json, "stacks");
    array_each (&rows->each_stack, const struct row_stack, each) {
        const struct flow_object *stack = flow_object(rows->flow, each->object);
        const struct flow_thread *owner = flow_thread(rows->flow, stack->alloc_thread);
        json_object(json, NULL);
        json_number(json, "id", each->object);
        json_number_if(json, "tid", owner, owner->tid);
        json_text(json, "name", owner ? owner->name : NULL);
        json_number(json, "size", stack->size);
        json_number(json, "samples", each->samples);
        json_number_if(json, "remote", flow_has_homes(rows->flow), each->remote);
        json_number(json, "by_others", each->by_others);
        json_end(json);
    }
    json_end(json);
}

static void put_accessed_at(struct json *json, const struct rows *rows, const struct row *row)
{
    (void)row;
    if (rows->accessed_at)
        rows_json_array(json, rows->accessed_at, "accessed_at");
}

/* The call chain, innermost first. */
static void put_allocated_at(struct json *json, const struct rows *rows, const struct row *row)
{
    enum { MOST = 64 };
    struct symbol_frame frames[MOST];
    const struct flow_object *object =
        rows->one_object && row->site != FLOW_NONE ? flow_object(rows->flow, row->object) : NULL;
    if (!object || object->stack == 0)
        return;
    size_t count = flow_stack_frames(rows->flow, object->stack_process, object->stack, frames, MOST);
    json_array(json, "allocated_at");
    for (size_t i = 0; i < count; i++) {
        json_object(json, NULL);
        json_text(json, "function", *frames[i].function ? frames[i].function : NULL);
        json_text(json, "file", frames[i].line ? frames[i].file : NULL);
        json_number_if(json, "line", frames[i].line != 0, frames[i].line);
        json_bool(json, "inlined", frames[i].inlined);
        json_end(json);
    }
    json_end(json);
}

static void put_facts(struct json *json, const struct rows *rows, const struct row *row)
{
    const struct facts_subject *subject = row_subject(rows, row);
    if (!subject)
        return;
    json_object(json, "facts");
    object_facts_json(json, rows->flow, subject, rows->one_object);
    json_end(json);
}

const struct column object_columns[] = {
    {"id", PAGE("number", 2), HEADING("id", 1, TABLE_RIGHT), ONLY(OBJECTS), OF_ROW(INDEX, id)},
    {"kind", PAGE("kind", 3), SITE("kind", 8), WORDS("kind", 33), .get = get_kind},
    {"name", PAGE("name", 4), NAME("object"), ONLY(OBJECTS), .cell = name_cell, OF_ROW(TEXT, name)},
    {NULL, NAME("allocated at"), ONLY(SITES), .cell = name_cell, OF_ROW(TEXT, name)},
    {"variable", OF_ROW(TEXT_OR_NULL, variable)},
    {"type", OF_ROW(TEXT_OR_NULL, type)},
    {"blocks_of", OF_ROW(TEXT_OR_ABSENT, blocks_of)},
    {"site", OF_ROW(TEXT, label)},
    {NULL, SITE("function", 3), OF_SITE(TEXT, function)},
    {"file", PAGE("file", 14), SITE("file", 4), OF_ROW(TEXT_OR_NULL, file)},
    {"line", PAGE("line", 15), SITE("line", 5), OF_ROW(LINE, line)},
    {"module", PAGE("module", 16), SITE("module", 6), OF_ROW(TEXT_OR_NULL, module)},
    {"via", SITE("via", 7), OF_ROW(TEXT_OR_NULL, via)},
    {NULL, PAGE("addr", 10), OF_OBJECT(NUMBER, addr)},
    {"size", PAGE("size", 11), SITE("peak_bytes", 12), FIGURE("size", 31), OF_ROW(BYTES, size)},
    {"count", SITE("count", 9), FIGURE("count", 32), ONLY(SITES), OF_ROW(COUNT, count)},
    {NULL, SITE("live_peak", 10), OF_SITE(COUNT, live_peak)},
    {"bytes", SITE("bytes", 11), OF_ROW(BYTES, bytes)},
    {"offset", .get = get_offset},
    {"pid", OF_ROW(NUMBER, pid)},
    {NULL, PAGE("process", 7), OF_ROW(INDEX, process)},
    {"alloc_tid", OF_THREAD(NUMBER, tid)},
    {NULL, PAGE("alloc_thread", 8), OF_ROW(INDEX, alloc_thread)},
    {NULL, PAGE("alloc_fn", 9), OF_OBJECT(TEXT, alloc_name)},
    {0},
};

const struct column object_more_columns[] = {
    {"latency_p95", FIGURE("95% in", 16), .get = get_p95},
    {"threads", WORDS("used by", 34), .cell = row_users_cell, .put = row_users_put},
    {"homes", PAGE("homes", 20), .get = row_homes},
    {"facts", .put = put_facts},
    {"stacks", .put = put_stacks},
    {"accessed_at", .put = put_accessed_at},
    {"allocated_at", .put = put_allocated_at},
    {0},
};

const struct column facts_columns[] = {
#define FACT(member, kind, name, shown, place, meaning)                                                                \
    {FACT_##shown & FACT_TABLES ? name : NULL, PAGE((place) ? name : NULL, place), SITE((place) ? name : NULL, place), \
     .fact = FACT_OF_##member + 1},
    FACT_LIST(FACT)
#undef FACT
        {0},
};
