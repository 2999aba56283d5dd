/* view/report/type_rows.c - samples by the type of the object's items, and by the field at their offset. */
#include "analysis/traffic/traffic_make.h"
#include "base/order.h"
#include "base/strtab.h"
#include "view/report/type_view.h"

#include <stdlib.h>
#include <string.h>

struct pass {
    struct type_uses *uses;
    const struct flow *flow;
    struct object_types *types;
    struct traffic *traffic;
    struct map64 use_of; /* struct symbol_type -> index */
    uint64_t *firsts;    /* by object: where its first item begins */
};

/* Types that several units or modules declare alike have one row. */
static uint32_t use_of(struct pass *pass, const struct symbol_type *type)
{
    bool is_new;
    struct type_uses *uses = pass->uses;
    uint64_t *place = map64_insert(&pass->use_of, (uint64_t)(uintptr_t)type, &is_new);
    if (!is_new)
        return (uint32_t)*place;
    *place = uses->items.count;
    struct flow_totals all = flow_totals(pass->flow);
    struct type_use use = {
        .type = type,
        .fields = {.table = VIEW_FIELDS, .flow = pass->flow, .samples = all.samples, .remote = all.remote}};
    use.falsely = mem_zalloc((type->field_count + 1) * sizeof *use.falsely);
    use.fields.row_bytes = mem_zalloc((type->field_count + 1) * sizeof *use.fields.row_bytes);
    for (uint32_t i = 0; i <= type->field_count; i++) {
        const struct symbol_field *field = i < type->field_count ? &type->fields[i] : NULL;
        array_push(&use.fields.items, (struct row){.id = i,
                                                   .name = field ? field->name : "",
                                                   .offset = field ? field->offset : 0,
                                                   .size = field ? field->size : type->size});
    }
    array_push(&uses->items, use);
    array_push(&uses->rows.items, (struct row){.id = (uint32_t)*place,
                                               .name = type->name,
                                               .file = type->file,
                                               .line = type->line,
                                               .size = type->size,
                                               .kind = OBJECT_KINDS,
                                               .module = "",
                                               .via = "",
                                               .variable = ""});
    return (uint32_t)*place;
}

static void find_types(struct pass *pass)
{
    size_t count = flow_sampled_object_count(pass->flow);
    pass->firsts = mem_alloc((count + 1) * sizeof *pass->firsts);
    pass->uses->of_object = mem_alloc((count + 1) * sizeof *pass->uses->of_object);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t base;
        const struct symbol_type *type = object_type(pass->types, i, &base);
        struct flow_object object = flow_object_copy(pass->flow, i);
        uint32_t number = pass->uses->of_object[i] = type ? use_of(pass, type) : FLOW_NONE;
        pass->firsts[i] = object.addr + base;
        if (!type)
            continue;
        struct type_use *use = &pass->uses->items.items[number];
        struct row *row = &pass->uses->rows.items.items[number];
        row->count++;
        row->bytes += object.size;
        use->objects++;
        use->many += object.size / 2 >= type->size;
        use->aligned += (object.addr + base) % CACHE_LINE == 0 && type->size % CACHE_LINE == 0;
    }
}

/* The type of a sampled object's items, or FLOW_NONE. */
static uint32_t number_of(const struct pass *pass, uint32_t object)
{
    return object < flow_sampled_object_count(pass->flow) ? pass->uses->of_object[object] : FLOW_NONE;
}

static uint64_t offset_in(const struct pass *pass, uint32_t object, uint64_t addr)
{
    return (addr - pass->firsts[object]) % pass->uses->items.items[pass->uses->of_object[object]].type->size;
}

static void visit(void *context, const struct flow_access *access)
{
    struct pass *pass = context;
    struct type_uses *uses = pass->uses;
    uint32_t nodes = flow_topology(pass->flow)->node_count;
    uint32_t number = number_of(pass, access->object);
    if (number == FLOW_NONE) {
        uses->unknown++;
        return;
    }
    struct type_use *use = &uses->items.items[number];
    struct traffic_bytes bytes;
    bool has_bytes = pass->traffic && traffic_bytes_of(pass->traffic, access, &bytes);
    flow_totals_note(&uses->rows.items.items[number].totals, access);
    row_note(&uses->rows.items.items[number], access, nodes);
    if (has_bytes)
        traffic_add(&uses->rows.row_bytes[number], &bytes);
    uint32_t before = FLOW_NONE;
    for (uint64_t byte = 0; byte == 0 || byte < access->size; byte++) { /* a vector may be of several fields */
        uint32_t field = type_field_at(use->type, offset_in(pass, access->object, access->addr + byte));
        field = field == FLOW_NONE ? (uint32_t)use->type->field_count : field;
        if (field == before)
            continue;
        before = field;
        flow_totals_note(&use->fields.items.items[field].totals, access);
        row_note(&use->fields.items.items[field], access, nodes);
        if (has_bytes)
            traffic_add(&use->fields.row_bytes[field], &bytes);
    }
}

/* Fields on lines that threads share falsely. */
static void note_lines(struct pass *pass, const struct facts *facts)
{
    uint64_t last = 0;
    array_each (&facts->lines, const struct facts_line, line) {
        uint32_t number = number_of(pass, line->object);
        if (!line->falsely || number == FLOW_NONE)
            continue;
        struct type_use *use = &pass->uses->items.items[number];
        use->false_lines += line->addr != last; /* a line's threads follow one another */
        last = line->addr;
        uint32_t before = FLOW_NONE;
        for (unsigned byte = 0; byte < CACHE_LINE; byte++) {
            if (!(line->bytes >> byte & 1) || line->addr + byte < pass->firsts[line->object])
                continue;
            uint32_t field = type_field_at(use->type, offset_in(pass, line->object, line->addr + byte));
            if (field != FLOW_NONE && field != before)
                use->falsely[field]++;
            before = field;
        }
    }
}

static void finish(struct type_uses *uses, const struct traffic *traffic)
{
    rows_sum_up(&uses->rows);
    array_each (&uses->items, struct type_use, use) {
        rows_sum_up(&use->fields);
        const struct row *hottest = NULL;
        array_each (&use->fields.items, struct row, row) {
            if (row->id < use->type->field_count && row->totals.samples &&
                (!hottest || row->totals.samples > hottest->totals.samples))
                hottest = row;
            if (traffic)
                traffic_judge(traffic, &use->fields.row_bytes[row->id]);
        }
        struct row *row = &uses->rows.items.items[use - uses->items.items];
        row->text = hottest ? hottest->name : NULL;
        if (traffic)
            traffic_judge(traffic, &uses->rows.row_bytes[row->id]);
    }
}

int type_uses_make(struct type_uses *uses, const struct flow *flow, const struct facts *facts, struct traffic *traffic,
                   struct error *err)
{
    struct flow_totals all = flow_totals(flow);
    *uses = (struct type_uses){
        .rows = {.table = VIEW_TYPES, .flow = flow, .samples = all.samples, .remote = all.remote, .traffic = traffic}};
    struct pass pass = {.uses = uses, .flow = flow, .types = object_types_new(flow), .traffic = traffic};
    find_types(&pass);
    uses->rows.row_bytes = mem_zalloc((uses->items.count + 1) * sizeof *uses->rows.row_bytes);
    int failed = flow_each_access(flow, visit, &pass, err);
    if (failed == 0) {
        note_lines(&pass, facts);
        finish(uses, traffic);
    }
    array_each (&uses->items, struct type_use, use)
        use->fields.traffic = traffic;
    free(pass.firsts);
    map64_free(&pass.use_of);
    object_types_free(pass.types);
    return failed;
}

ORDER_BY(by_samples, struct row, ORDER(b->totals.samples, a->totals.samples) ?: strcmp(a->name, b->name))

void type_uses_sort(struct type_uses *uses)
{
    array_sort(&uses->rows.items, by_samples);
}

void type_uses_free(struct type_uses *uses)
{
    array_each (&uses->items, struct type_use, use) {
        rows_free(&use->fields);
        free(use->falsely);
    }
    array_free(&uses->items);
    free(uses->of_object);
    rows_free(&uses->rows);
}
