/* view/report/row_stacks.c - stacks: one object per process in tables, each thread's by itself where one is shown. */
#include "base/order.h"
#include "view/report/rows.h"

/* Of each process, the stack with the most samples stands for all. */
void rows_find_stacks(struct rows *rows, struct map64 *leads)
{
    const struct flow *flow = rows->flow;
    for (uint32_t i = 0; i < flow_sampled_object_count(flow); i++) {
        if (flow_object_kind(flow, i) != OBJECT_STACK)
            continue;
        array_push(&rows->stacks, i);
        bool is_new;
        uint64_t *lead = map64_insert(leads, flow_object_process(flow, i), &is_new);
        if (is_new || flow_object_totals(flow, i).samples > flow_object_totals(flow, (uint32_t)*lead).samples)
            *lead = i;
    }
}

struct row rows_with_stacks(const struct rows *rows, uint32_t index)
{
    const struct flow *flow = rows->flow;
    struct row row = rows_object(flow, index);
    if (row.kind != OBJECT_STACK)
        return row;
    array_each (&rows->stacks, uint32_t, stack) {
        if (*stack == index || flow_object_process(flow, *stack) != row.process)
            continue;
        struct row other = rows_object(flow, *stack);
        rows_add(&row, &other);
    }
    if (row.count > 1)
        row.alloc_thread = FLOW_NONE;
    return row;
}

ORDER_BY(by_samples, struct row_stack, ORDER(b->samples, a->samples) ?: ORDER(a->object, b->object))

void rows_each_stack(struct rows *rows)
{
    const struct flow *flow = rows->flow;
    const struct row *row = &rows->items.items[0];
    array_each (&rows->stacks, uint32_t, stack) {
        if (row->kind != OBJECT_STACK || flow_object_process(flow, *stack) != row->process)
            continue;
        struct row_stack each = {.object = *stack};
        uint32_t owner = flow_object(flow, *stack)->alloc_thread;
        struct flow_access access;
        struct flow_iter *iter = flow_object_accesses(flow, *stack);
        while (flow_next(iter, &access)) {
            each.samples++;
            each.remote += access.remote;
            each.by_others += access.thread != owner;
        }
        flow_iter_free(iter);
        array_push(&rows->each_stack, each);
    }
    array_sort(&rows->each_stack, by_samples);
}
