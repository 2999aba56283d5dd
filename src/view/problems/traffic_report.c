/* view/problems/traffic_report.c - numalens report traffic: bytes from memory by object, thread and node (docs/traffic.md). */
#include "analysis/traffic/traffic_times.h"

#include "base/json.h"
#include "base/units.h"
#include "predict/recorded_machine.h"
#include "view/node_matrix.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/problems/problems.h"
#include "view/problems/reuse_report.h"
#include "view/problems/traffic_memory.h"
#include "view/problems/traffic_words.h"
#include "view/report/report.h"
#include "view/table.h"

#include <math.h>

enum { SLICES_TEXT = 10, SLICES_JSON = 64 /* of time, at most */, NODE_NAME = 32 };

static struct row row_of(const struct flow *flow, const struct traffic_object *object)
{
    return object->site != FLOW_NONE ? rows_site(flow, object->site, object->object)
                                     : rows_object(flow, object->object);
}

static void put_bytes(struct json *json, const char *key, const struct traffic_bytes *bytes, double value)
{
    json_real(json, key, !bytes->is_rated ? NAN : value, 0);
}

/* Of a node, a pair of them or a slice of time, of which samples show nothing: that is a lower bound of 0, which says nothing. */
static struct traffic_bytes known_if(const struct traffic *traffic, bool known, double value)
{
    return (struct traffic_bytes){.is_rated = known && (!traffic_by_samples(traffic) || value > 0)};
}

static void put_part(struct json *json, const char *key, const struct traffic *traffic, double value)
{
    struct traffic_bytes known = known_if(traffic, traffic->all.is_rated, value);
    put_bytes(json, key, &known, value);
}

/* Of samples, what is written back and what is hidden is not known. */
static void put_unless(struct json *json, bool sampled, const char *key, const struct traffic_bytes *bytes,
                       double value)
{
    if (sampled)
        json_null(json, key);
    else
        put_bytes(json, key, bytes, value);
}

static void put_share(struct json *json, const char *key, const struct traffic_bytes *bytes, double part)
{
    json_real(json, key, bytes->accesses > 0 ? part / bytes->accesses : NAN, 4);
}

static void put_all_bytes(struct json *json, const struct traffic *traffic, const struct traffic_bytes *bytes)
{
    bool sampled = traffic_by_samples(traffic);
    put_bytes(json, "bytes_s", bytes, traffic_total(bytes));
    put_bytes(json, "read_bytes_s", bytes, bytes->read);
    put_unless(json, sampled, "write_bytes_s", bytes, bytes->written);
    put_unless(json, sampled, "least_bytes_s", bytes, bytes->lower_bound);
    put_unless(json, sampled || bytes->error <= 0, "error_bytes_s", bytes, bytes->error);
    json_text(json, "state", traffic_state_name(bytes->state));
    if (!sampled) {
        put_unless(json, false, "accesses_s", bytes, bytes->accesses);
        return;
    }
    put_share(json, "exposed", bytes, bytes->exposed);
    put_share(json, "cached", bytes, bytes->cached);
    put_share(json, "under_way", bytes, bytes->under_way);
    put_share(json, "unknown", bytes, bytes->accesses - bytes->known - bytes->under_way);
}

static void put_objects(struct json *json, const struct traffic *traffic, const struct reuse_sizes *sizes,
                        const struct view_options *options)
{
    size_t shown = 0;
    json_array(json, "objects");
    array_each (&traffic->objects, const struct traffic_object, object) {
        struct row row = row_of(traffic->flow, object);
        if (!row_passes(&options->filter, &row, flow_totals(traffic->flow).samples))
            continue;
        if (options->limit && shown++ >= options->limit)
            break;
        json_object(json, NULL);
        json_number(json, "object", object->object);
        json_text(json, "kind", view_kind_name(row.kind));
        json_text(json, "name", row.name);
        json_text(json, "site", row.label);
        json_text(json, "file", row.file);
        json_number(json, "line", row.line);
        json_text(json, "variable", *row.variable ? row.variable : NULL);
        put_all_bytes(json, traffic, &object->bytes);
        reuse_object_json(sizes, object->object, object->site, json);
        json_end(json);
    }
    json_end(json);
}

static void put_threads(struct json *json, const struct traffic *traffic)
{
    json_array(json, "threads");
    array_each (&traffic->threads, const struct traffic_thread, row) {
        const struct flow_thread *thread = flow_thread(traffic->flow, row->thread);
        int node = flow_thread_node(traffic->flow, row->thread);
        json_object(json, NULL);
        json_number(json, "tid", thread->tid);
        json_number(json, "pid", thread->pid);
        json_text(json, "name", thread->name);
        json_integer_if(json, "node", node >= 0, node_os(traffic->flow, node));
        json_number(json, "bursts", row->bursts);
        if (traffic_by_samples(traffic)) {
            json_number(json, "samples", row->bytes.samples);
            json_null(json, "user_s");
        } else {
            json_real(json, "user_s", row->user_s, 6);
        }
        put_all_bytes(json, traffic, &row->bytes);
        json_end(json);
    }
    json_end(json);
}

/* Counted, or else by samples or bursts. */
static void put_node(struct json *json, const struct traffic *traffic, uint32_t node)
{
    const struct traffic_memory *counted = traffic_memory_of(traffic, node);
    if (counted && counted->read >= 0 && counted->written >= 0) {
        json_real(json, "read_bytes_s", counted->read, 0);
        json_real(json, "write_bytes_s", counted->written, 0);
    } else {
        put_part(json, "read_bytes_s", traffic, traffic->node_read[node]);
        put_unless(json, traffic_by_samples(traffic), "write_bytes_s", &traffic->all, traffic->node_written[node]);
    }
    json_bool(json, "counted", counted && counted->read >= 0 && counted->written >= 0);
}

static void put_nodes(struct json *json, const struct traffic *traffic)
{
    const struct traffic_bytes *all = &traffic->all;
    uint32_t count = traffic->node_count;
    json_array(json, "nodes");
    for (uint32_t i = 0; i < count; i++) {
        json_object(json, NULL);
        json_integer(json, "node", node_os(traffic->flow, (int)i));
        put_node(json, traffic, i);
        json_end(json);
    }
    json_end(json);
    json_array(json, "pairs");
    for (uint32_t i = 0; i < count * count; i++) {
        json_object(json, NULL);
        json_integer(json, "from", node_os(traffic->flow, (int)(i / count)));
        json_integer(json, "to", node_os(traffic->flow, (int)(i % count)));
        put_part(json, "bytes_s", traffic, traffic->node_pairs[i]);
        json_end(json);
    }
    json_end(json);
    put_bytes(json, "unplaced_bytes_s", all, traffic->unplaced);
}

static void put_times(struct json *json, const struct traffic *traffic)
{
    struct traffic_times times;
    traffic_times_make(&times, traffic, SLICES_JSON);
    json_array(json, "over_time");
    array_each (&times.items, const struct traffic_time, time) {
        json_object(json, NULL);
        json_real(json, "start_s", time->start_s, 6);
        json_real(json, "end_s", time->end_s, 6);
        json_array(json, "nodes");
        for (uint32_t i = 0; i < times.node_count; i++) {
            struct traffic_bytes known = known_if(traffic, time->known, time->read[i]);
            json_object(json, NULL);
            json_integer(json, "node", node_os(traffic->flow, (int)i));
            put_bytes(json, "read_bytes_s", &known, time->read[i]);
            put_unless(json, traffic_by_samples(traffic), "write_bytes_s", &known, time->written[i]);
            json_end(json);
        }
        json_end(json);
        json_end(json);
    }
    json_end(json);
    traffic_times_free(&times);
}

static void put_samples(struct json *json, const struct traffic_samples *sampled)
{
    json_object(json, "sampled");
    json_number(json, "samples", sampled->samples);
    json_number(json, "loads", sampled->loads);
    json_number(json, "stores", sampled->stores);
    json_number(json, "loads_with_source", sampled->sourced);
    json_number(json, "loads_from_memory", sampled->memory);
    json_number(json, "loads_from_remote_memory", sampled->remote);
    json_number(json, "lost", sampled->lost);
    json_end(json);
}

static void put_json(struct json *json, const struct traffic *traffic, const struct reuse_sizes *sizes,
                     const struct view_options *options)
{
    const struct traffic_bytes *all = &traffic->all;
    struct traffic_words words;
    json_text(json, "traffic_source", traffic_source_name(traffic, &words));
    json_text(json, "method", traffic->recorded ? "reuse times" : traffic_by_samples(traffic) ? "data sources" : NULL);
    json_bool(json, "at_least", traffic_by_samples(traffic));
    json_text(json, "silence", traffic_silence(traffic, options, &words));
    if (traffic_by_samples(traffic)) {
        put_samples(json, &traffic->sampled);
    } else {
        json_number(json, "long_bursts", traffic->bursts);
        json_real(json, "cache_bytes", traffic->cache, 0);
        json_real(json, "known_up_to_bytes", traffic->known_cache, 0);
        json_bool(json, "at_most", traffic->at_most);
        json_real(json, "unmet", traffic->unmet, 4);
    }
    json_real(json, "seconds", traffic->seconds, 6);
    put_bytes(json, "total_bytes_s", all, traffic_total(all));
    put_all_bytes(json, traffic, all);
    put_nodes(json, traffic);
    if (traffic_by_samples(traffic))
        traffic_memory_json(traffic, json);
    put_objects(json, traffic, sizes, options);
    put_threads(json, traffic);
    put_times(json, traffic);
}

static void rate_cell(struct table *table, const struct traffic_bytes *bytes, double value)
{
    if (!bytes->is_rated)
        table_cell(table, "unknown");
    else
        table_cell(table, "%.2f", value / 1e9);
}

static void share_cell(struct table *table, const struct traffic_bytes *bytes, double part)
{
    if (bytes->accesses > 0)
        table_cell(table, "%.0f%%", 100 * part / bytes->accesses);
    else
        table_cell(table, "-");
}

static const char *at_least(const struct traffic *traffic)
{
    return traffic_by_samples(traffic) ? ", at least" : "";
}

static void columns(struct table *table, const struct traffic *traffic)
{
    bool sampled = traffic_by_samples(traffic);
    table_column(table, sampled ? "GB/s at least" : "GB/s", TABLE_RIGHT);
    if (!sampled) {
        table_columns(table, TABLE_RIGHT, "interval", "read", "write");
        table_column(table, "lines of 1,000", TABLE_RIGHT | TABLE_OPTIONAL);
        return;
    }
    table_columns(table, TABLE_RIGHT, "exposed", "under way", "cached");
    table_column(table, "unknown", TABLE_RIGHT | TABLE_OPTIONAL);
}

/* Two standard errors to either side; below, what must be at least where bursts are too short for the cache. */
static void interval_cell(struct table *table, const struct traffic_bytes *bytes)
{
    double low = bytes->lower_bound - 2 * bytes->error, high = traffic_total(bytes) + 2 * bytes->error;
    if (!bytes->is_rated || bytes->error <= 0)
        table_cell(table, "-");
    else
        table_cell(table, "%.2f to %.2f", (low > 0 ? low : 0) / 1e9, high / 1e9);
}

static void cells(struct table *table, const struct traffic *traffic, const struct traffic_bytes *bytes)
{
    rate_cell(table, bytes, traffic_total(bytes));
    if (!traffic_by_samples(traffic)) {
        interval_cell(table, bytes);
        rate_cell(table, bytes, bytes->read);
        rate_cell(table, bytes, bytes->written);
        if (bytes->accesses > 0)
            table_cell(table, "%.1f", 1000 * bytes->read / CACHE_LINE / bytes->accesses);
        else
            table_cell(table, "-");
        return;
    }
    share_cell(table, bytes, bytes->exposed);
    share_cell(table, bytes, bytes->under_way);
    share_cell(table, bytes, bytes->cached);
    share_cell(table, bytes, bytes->accesses - bytes->known - bytes->under_way);
}

static void objects_text(const struct traffic *traffic, const struct view_options *options, FILE *out)
{
    struct table *table = table_new();
    size_t shown = 0, more = 0;
    columns(table, traffic);
    table_column(table, "object", TABLE_FLEX);
    array_each (&traffic->objects, const struct traffic_object, object) {
        struct row row = row_of(traffic->flow, object);
        if (!row_passes(&options->filter, &row, flow_totals(traffic->flow).samples))
            continue;
        if (options->limit && shown >= options->limit) {
            more++;
            continue;
        }
        shown++;
        cells(table, traffic, &object->bytes);
        table_object(table, traffic->flow, &row);
    }
    table_print(table, out, 2, options->width, options->color);
    if (more)
        fprintf(out, "  %s more\n", number_count(more));
}

static void threads_text(const struct traffic *traffic, const struct view_options *options, FILE *out)
{
    struct table *table = table_new();
    size_t shown = 0;
    columns(table, traffic);
    table_column(table, "thread", TABLE_FLEX);
    array_each (&traffic->threads, const struct traffic_thread, row) {
        if (options->limit && shown++ >= options->limit)
            break;
        cells(table, traffic, &row->bytes);
        thread_cell(table, traffic->flow, row->thread);
    }
    table_print(table, out, 2, options->width, options->color);
    if (options->limit && traffic->threads.count > options->limit)
        fprintf(out, "  %s more\n", number_count(traffic->threads.count - options->limit));
}

static void pair_cell(struct table *table, uint32_t from, uint32_t to, const void *argument)
{
    const struct traffic *traffic = argument;
    double value = traffic->node_pairs[from * traffic->node_count + to];
    struct traffic_bytes known = known_if(traffic, traffic->all.is_rated, value);
    rate_cell(table, &known, value);
}

/* One row for each slice of time; with many nodes those that do not fit are dropped, the sum stays. */
static void times_text(const struct traffic *traffic, const struct view_options *options, FILE *out)
{
    struct table *table = table_new();
    struct traffic_times times;
    traffic_times_make(&times, traffic, SLICES_TEXT);
    uint32_t nodes = times.node_count > 1 ? times.node_count : 0; /* of one node, the sum is enough */
    char(*names)[NODE_NAME] = mem_zalloc((nodes + 1) * sizeof *names);
    table_columns(table, TABLE_RIGHT, "from", "to", "GB/s");
    for (uint32_t i = 0; i < nodes; i++) {
        snprintf(names[i], sizeof names[i], "node %d", node_os(traffic->flow, (int)i));
        table_column(table, names[i], TABLE_RIGHT | TABLE_OPTIONAL);
    }
    array_each (&times.items, const struct traffic_time, time) {
        struct traffic_bytes known = {.is_rated = time->known};
        double sum = 0;
        for (uint32_t i = 0; i < times.node_count; i++)
            sum += time->read[i] + time->written[i];
        table_cell(table, "%.2f s", time->start_s);
        table_cell(table, "%.2f s", time->end_s);
        rate_cell(table, &known, sum);
        for (uint32_t i = 0; i < nodes; i++) {
            double part = time->read[i] + time->written[i];
            struct traffic_bytes of_node = known_if(traffic, time->known, part);
            rate_cell(table, &of_node, part);
        }
    }
    table_print(table, out, 2, options->width, options->color);
    free(names);
    traffic_times_free(&times);
}

static void put_text(const struct traffic *traffic, const struct view_options *options, FILE *out)
{
    struct traffic_words words;
    const char *why = traffic_silence(traffic, options, &words);
    if (why) {
        paragraph(out, 2, options->width, "", "%s", why);
        traffic_memory_text(traffic, options, out);
        return;
    }
    traffic_opening(traffic, options, out);
    traffic_memory_text(traffic, options, out);
    problem_heading(options, out, "Objects");
    objects_text(traffic, options, out);
    problem_heading(options, out, "Threads");
    threads_text(traffic, options, out);
    if (traffic_by_samples(traffic) && !traffic->all.is_rated)
        return;
    problem_heading(options, out, "GB/s from threads on a node to memory of a node%s", at_least(traffic));
    node_matrix_print(flow_topology(traffic->flow), pair_cell, traffic, out, options->width, options->color);
    problem_heading(options, out, "GB/s of memory over time%s", at_least(traffic));
    times_text(traffic, options, out);
}

/* That a thread has on the machine that is named; 0: on the one that was recorded. */
static double cache_of(const struct flow *flow, const struct view_options *options)
{
    return options && options->machine ? machine_cache(options->machine, flow, false) : 0;
}

/* Samples of the processor are often not of its traffic: then there is no column. */
struct traffic *rows_traffic(const struct flow *flow, const struct view_options *options)
{
    if (traffic_is_recorded(flow))
        return traffic_make(flow, cache_of(flow, options));
    struct traffic *traffic = traffic_is_sampled(flow) ? traffic_make_sampled(flow) : NULL;
    if (!traffic || traffic->all.is_rated)
        return traffic;
    traffic_free(traffic);
    return NULL;
}

const struct traffic_bytes *row_traffic(const struct rows *rows, const struct row *row)
{
    const struct traffic_thread *thread;
    const struct traffic_object *object;
    switch (rows->table) {
    case VIEW_THREADS:
        thread = traffic_of_thread(rows->traffic, row->id);
        return thread ? &thread->bytes : NULL;
    case VIEW_FUNCTIONS:
        traffic_code(rows->traffic);
        return traffic_of_function(rows->traffic, row->id);
    case VIEW_LINES:
    case VIEW_SOURCE:
        traffic_code(rows->traffic);
        return traffic_of_line(rows->traffic, row->id);
    case VIEW_TYPES:
    case VIEW_FIELDS:
        return rows->row_bytes && row->id != FLOW_NONE ? &rows->row_bytes[row->id] : NULL;
    default:
        if (rows->table == VIEW_OBJECTS && row->site != FLOW_NONE && flow_site(rows->flow, row->site)->count > 1)
            return NULL;
        object = row->site != FLOW_NONE ? traffic_of_site(rows->traffic, row->site)
                                        : traffic_of_object(rows->traffic, row->object);
        return object ? &object->bytes : NULL;
    }
}

int view_traffic(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err)
{
    struct traffic *traffic = traffic_find(flow, cache_of(flow, options));
    struct reuse_sizes *sizes = reuse_sizes_new(flow);
    struct json *json = options->json ? json_new(out) : NULL;
    if (json) {
        json_object(json, NULL);
        report_json_head(json, flow, options);
        put_json(json, traffic, sizes, options);
        reuse_json(sizes, json);
    } else {
        put_text(traffic, options, out);
        reuse_text(sizes, flow, options, out);
    }
    reuse_sizes_free(sizes);
    traffic_free(traffic);
    return json ? json_finish(json, err) : report_flush(out, err);
}
