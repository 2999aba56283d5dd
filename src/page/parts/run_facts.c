/* page/parts/run_facts.c - what was recorded, how, on which machine, and what was lost of it. */
#include "analysis/facts/accesses.h"
#include "analysis/traffic/traffic.h"
#include "page/parts/parts.h"
#include "page/parts/put.h"
#include "view/whole.h"

static const char *session_value(const struct flow *flow, const char *key)
{
    const struct trace_session *session = flow_session(flow);
    return session ? trace_session_get(session, key) : NULL;
}

static void put_losses(const struct flow *flow, struct json *json)
{
    json_array(json, "losses");
    for (unsigned i = 0; i < LOSS_CAUSES; i++) {
        if (flow_losses(flow)[i] == 0)
            continue;
        json_object(json, NULL);
        json_text(json, "name", loss_name(i));
        json_text(json, "text", loss_text(i, flow_losses(flow)[i]));
        json_number(json, "count", flow_losses(flow)[i]);
        json_end(json);
    }
    json_end(json);
    const char *const *reasons;
    const uint64_t *counts;
    size_t count = flow_unattributed(flow, &reasons, &counts);
    json_array(json, "unattributed");
    for (size_t i = 0; i < count; i++) {
        json_object(json, NULL);
        json_text(json, "reason", reasons[i]);
        json_number(json, "count", counts[i]);
        json_end(json);
    }
    json_end(json);
}

static void put_run(const struct parts *parts, struct json *json)
{
    const struct flow *flow = parts->flow;
    const struct topology *topology = flow_topology(flow);
    struct whole whole = whole_of(flow, parts->run->view);
    json_object(json, "run");
    json_text(json, "command", whole.command);
    json_text(json, "host", session_value(flow, "host"));
    json_text(json, "cpu", session_value(flow, "cpu_model"));
    json_text(json, "kernel", session_value(flow, "kernel"));
    json_text(json, "start_time", session_value(flow, "start_time"));
    json_text(json, "source", whole.source);
    json_text(json, "source_reason", session_value(flow, "source_reason"));
    json_number(json, "period_ns", whole.period_ns);
    json_number(json, "burst", whole.burst);
    json_text(json, "latency_unit", accesses_unit(flow));
    json_real(json, "duration_s", whole.duration, 6);
    json_integer_if(json, "exit_status", whole.has_exit_status, whole.exit_status);
    json_bool(json, "simulated", topology->simulated);
    json_text(json, "topology", topology->simulated ? topology->spec : NULL);
    json_text(json, "homes", topology->simulated ? whole_homes(topology) : session_value(flow, "homes"));
    json_text(json, "label", parts->run->label);
    json_text(json, "file", parts->run->view->path);
    json_bool(json, "live", parts->run->live);
    json_text(json, "damage", parts->run->view->damage);
    json_number(json, "attributed", flow_attributed(flow));
    put_losses(flow, json);
    json_end(json);
}

/* Without a recording of traffic there is none; null: it is not known. */
static void put_bytes(const struct traffic *traffic, struct json *json)
{
    if (!traffic)
        return;
    if (!traffic->all.is_rated) {
        json_null(json, "matrix_bytes_s");
        return;
    }
    uint32_t nodes = traffic->node_count;
    if (traffic->source == TRAFFIC_DATA_SOURCES)
        json_bool(json, "bytes_at_least", true);
    json_array(json, "matrix_bytes_s");
    for (uint32_t from = 0; from < nodes; from++) {
        json_array(json, NULL);
        for (uint32_t home = 0; home < nodes; home++)
            json_real(json, NULL, traffic->node_pairs[(size_t)from * nodes + home], 0);
        json_end(json);
    }
    json_end(json);
}

static void put_nodes(const struct parts *parts, struct json *json)
{
    const struct topology *topology = flow_topology(parts->flow);
    uint32_t nodes = topology->node_count;
    json_array(json, "nodes");
    for (uint32_t i = 0; i < nodes; i++) {
        json_object(json, NULL);
        json_number(json, "id", i);
        json_integer(json, "os_index", topology->nodes[i].os_index);
        json_number(json, "cpus", topology->nodes[i].cpu_count);
        json_number(json, "memory", topology->nodes[i].memory);
        json_end(json);
    }
    json_end(json);
    json_array(json, "distances");
    for (uint32_t from = 0; from < nodes; from++) {
        json_array(json, NULL);
        for (uint32_t to = 0; to < nodes; to++)
            json_number(json, NULL, topology_distance(topology, from, to));
        json_end(json);
    }
    json_end(json);
    json_array(json, "matrix");
    for (uint32_t from = 0; from < nodes; from++) {
        json_array(json, NULL);
        for (uint32_t home = 0; home < nodes; home++)
            json_number(json, NULL, parts->facts->matrix[(size_t)from * nodes + home]);
        json_end(json);
    }
    json_end(json);
    put_bytes(parts->traffic, json);
}

void run_put(const struct parts *parts, struct json *json)
{
    struct flow_totals totals = flow_totals(parts->flow);
    put_run(parts, json);
    json_object(json, "totals");
    put_totals(json, &totals);
    json_end(json);
    put_nodes(parts, json);
}
