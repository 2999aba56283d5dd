/* view/report/row_facts.c - one pass over every access, for what totals do not report: threads and homes of each row, percentiles
 * (exact: the 95th of 100 in order), the traffic between nodes. */
#include "base/order.h"
#include "view/report/rows.h"

#include <stdlib.h>
#include <string.h>

struct pass {
    struct rows *rows;
    struct row_facts *facts;
    uint32_t nodes;
};

void row_note(struct row *row, const struct flow_access *access, uint32_t nodes)
{
    if (!row->homes) {
        row->homes = mem_zalloc(nodes * sizeof *row->homes);
        row->from = mem_zalloc(nodes * sizeof *row->from);
    }
    if (access->home >= 0)
        row->homes[access->home]++;
    if (access->from >= 0)
        row->from[access->from]++;
    if (access->has_latency)
        array_push(&row->latencies, access->latency);
    bool is_new;
    uint64_t *place = map64_insert(&row->thread_index, access->thread, &is_new);
    if (is_new) {
        *place = row->threads.count;
        array_push(&row->threads, (struct row_thread){.thread = access->thread});
    }
    struct row_thread *thread = &row->threads.items[*place];
    thread->samples++;
    thread->reads += (access->flags & SAMPLE_READ) != 0;
    thread->writes += access->write;
    thread->remote += access->remote;
}

/* Many objects come from few sites. */
static void note_use(const struct rows *rows, struct row *row, const struct flow_access *access)
{
    if (access->object == FLOW_NONE)
        return;
    uint32_t site = flow_object_site(rows->flow, access->object);
    bool is_new;
    uint64_t *place =
        map64_insert(&row->use_index, site != FLOW_NONE ? (uint64_t)1 << 32 | site : (uint64_t)access->object, &is_new);
    if (is_new) {
        *place = row->uses.count;
        array_push(&row->uses, (struct row_use){.object = access->object});
    }
    row->uses.items[*place].samples++;
    row->uses.items[*place].remote += access->remote;
}

static void note_facts(struct pass *pass, const struct flow_access *access)
{
    struct row_facts *facts = pass->facts;
    facts->levels[access->level & 15]++;
    if (access->home >= 0 && access->from >= 0)
        facts->matrix[(uint32_t)access->from * pass->nodes + (uint32_t)access->home]++;
    if (access->home >= 0 && access->thread != FLOW_NONE)
        facts->thread_nodes[(size_t)access->thread * pass->nodes + (uint32_t)access->home]++;
    if (!access->has_latency || access->home < 0)
        return;
    *(access->remote ? &facts->remote_sum : &facts->local_sum) += access->latency;
    *(access->remote ? &facts->remote_count : &facts->local_count) += 1;
}

static void visit(void *context, const struct flow_access *access)
{
    struct pass *pass = context;
    struct rows *rows = pass->rows;
    uint32_t of = rows_by_thread(rows)        ? access->thread
                  : rows->table == VIEW_LINES ? flow_access_line(rows->flow, access)
                                              : access->object;
    if (of < rows->row_of_count && rows->row_of[of] != FLOW_NONE) {
        struct row *row = &rows->items.items[rows->row_of[of]];
        row_note(row, access, pass->nodes);
        if (rows->table == VIEW_LINES)
            note_use(rows, row, access);
    }
    if (pass->facts)
        note_facts(pass, access);
}

ORDER_BY(by_samples, struct row_thread, ORDER(b->samples, a->samples) ?: ORDER(a->thread, b->thread))

ORDER_BY(by_uses, struct row_use, ORDER(b->samples, a->samples) ?: ORDER(a->object, b->object))

ORDER_BY(by_value, uint32_t, ORDER(*a, *b))

void rows_sum_up(struct rows *rows)
{
    array_each (&rows->items, struct row, row) {
        map64_free(&row->thread_index);
        map64_free(&row->use_index);
        array_sort(&row->threads, by_samples);
        array_sort(&row->uses, by_uses);
        if (row->latencies.count == 0)
            continue;
        array_sort(&row->latencies, by_value);
        row->p95 = row->latencies.items[(row->latencies.count * 95 + 99) / 100 - 1];
        row->has_p95 = true;
        array_free(&row->latencies);
    }
}

int rows_facts(struct rows *rows, struct row_facts *facts, struct error *err)
{
    const struct flow *flow = rows->flow;
    struct pass pass = {.rows = rows, .facts = facts, .nodes = flow_topology(flow)->node_count};
    if (facts) {
        *facts = (struct row_facts){.nodes = pass.nodes};
        facts->matrix = mem_zalloc((size_t)pass.nodes * pass.nodes * sizeof *facts->matrix);
        facts->thread_nodes = mem_zalloc((flow_thread_count(flow) + 1) * pass.nodes * sizeof *facts->thread_nodes);
    }
    int failed = flow_each_access(flow, visit, &pass, err);
    if (failed == 0)
        rows_sum_up(rows);
    return failed;
}

void row_facts_free(struct row_facts *facts)
{
    free(facts->matrix);
    free(facts->thread_nodes);
}

struct accessed {
    struct pass pass;
    const struct rows *of;
};

static void visit_accessed(void *context, const struct flow_access *access)
{
    struct accessed *accessed = context;
    const struct rows *of = accessed->of;
    if (access->object >= of->row_of_count || of->row_of[access->object] == FLOW_NONE)
        return;
    uint32_t line = flow_access_line(of->flow, access);
    struct rows *lines = accessed->pass.rows;
    if (line >= lines->row_of_count)
        return;
    struct row *row = &lines->items.items[line];
    flow_totals_note(&row->totals, access);
    row_note(row, access, accessed->pass.nodes);
}

int rows_accessed_at(struct rows *lines, const struct rows *of, struct error *err)
{
    rows_lines_begin(lines, of->flow);
    struct accessed accessed = {{lines, NULL, flow_topology(of->flow)->node_count}, of};
    lines->samples = lines->remote = 0;
    array_each (&of->items, const struct row, row) {
        lines->samples += row->totals.samples;
        lines->remote += row->totals.remote;
    }
    int failed = flow_each_access(of->flow, visit_accessed, &accessed, err);
    rows_lines_end(lines);
    if (failed == 0)
        rows_sum_up(lines);
    return failed;
}

uint64_t row_writers(const struct row *row)
{
    uint64_t writers = 0;
    array_each (&row->threads, const struct row_thread, thread)
        writers += thread->writes > 0;
    return writers;
}
