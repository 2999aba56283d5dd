/* view/report/row_facts.c - one pass over every access, for what totals do not report: threads and homes of each row, percentiles
 * (exact: the 95th of 100 in order), the traffic between nodes. */
#include "view/report/rows.h"

#include <stdlib.h>
#include <string.h>

struct pass {
    struct rows *rows;
    struct row_facts *facts;
    uint32_t nodes;
};

static void note_row(struct pass *pass, struct row *row, const struct flow_access *access)
{
    if (!row->homes)
        row->homes = mem_zalloc(pass->nodes * sizeof *row->homes);
    if (access->home >= 0)
        row->homes[access->home]++;
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
    uint32_t of = rows_by_thread(rows) ? access->thread : access->object;
    if (of < rows->row_of_count && rows->row_of[of] != FLOW_NONE)
        note_row(pass, &rows->items.items[rows->row_of[of]], access);
    if (pass->facts)
        note_facts(pass, access);
}

static int by_samples(const void *left, const void *right)
{
    const struct row_thread *a = left, *b = right;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int by_value(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
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
    if (failed)
        return failed;
    array_each (&rows->items, struct row, row) {
        map64_free(&row->thread_index);
        array_sort(&row->threads, by_samples);
        if (row->latencies.count == 0)
            continue;
        array_sort(&row->latencies, by_value);
        row->p95 = row->latencies.items[(row->latencies.count * 95 + 99) / 100 - 1];
        row->has_p95 = true;
        array_free(&row->latencies);
    }
    return 0;
}

void row_facts_free(struct row_facts *facts)
{
    free(facts->matrix);
    free(facts->thread_nodes);
}
