/* exchange/export/perfetto_tracks.c - objects and nodes in a Perfetto trace: each object's lifetime with its totals and its remote
 * accesses over time; each node's share of remote accesses and, where traffic was recorded, its bandwidth. */
#include "base/map64.h"
#include "exchange/export/known_traffic.h"
#include "exchange/export/perfetto_packet.h"

enum { BINS = 1000, MIN_NS = 1000000 };

struct thing_row {
    uint64_t samples, remote, home_known, latency, timed;
};

struct bin {
    uint32_t remote, known;
};

struct perfetto_tracks {
    struct perfetto *perfetto;
    uint64_t start, bin_ns;
    uint32_t nodes;
    array_of(struct thing_row) things;
    struct map64 remote_of; /* thing << 32 | bin: remote accesses; 0 where there were only others */
    struct bin *bins;       /* [node * BINS + bin] */
};

struct perfetto_tracks *perfetto_tracks_new(struct perfetto *perfetto)
{
    struct perfetto_tracks *tracks = mem_zalloc(sizeof *tracks);
    uint64_t bin = (flow_end(perfetto->flow) - flow_start(perfetto->flow)) / BINS + 1;
    tracks->perfetto = perfetto;
    tracks->start = flow_start(perfetto->flow);
    tracks->bin_ns = bin > MIN_NS ? bin : MIN_NS;
    tracks->nodes = flow_topology(perfetto->flow)->node_count;
    tracks->bins = mem_zalloc((tracks->nodes + 1ul) * BINS * sizeof *tracks->bins);
    return tracks;
}

void perfetto_tracks_free(struct perfetto_tracks *tracks)
{
    array_free(&tracks->things);
    map64_free(&tracks->remote_of);
    free(tracks->bins);
    free(tracks);
}

static uint32_t bin_of(const struct perfetto_tracks *tracks, uint64_t time)
{
    uint64_t bin = time > tracks->start ? (time - tracks->start) / tracks->bin_ns : 0;
    return bin < BINS ? (uint32_t)bin : BINS - 1;
}

void perfetto_tracks_note(struct perfetto_tracks *tracks, const struct flow_access *access, uint32_t thing)
{
    uint32_t bin = bin_of(tracks, access->time);
    bool known = access->home >= 0 || access->remote;
    while (tracks->things.count <= thing)
        array_push(&tracks->things, (struct thing_row){0});
    struct thing_row *row = &tracks->things.items[thing];
    row->samples++;
    row->remote += access->remote;
    row->home_known += known;
    row->latency += access->latency;
    row->timed += access->has_latency;
    if (known)
        *map64_insert(&tracks->remote_of, (uint64_t)thing << 32 | bin, NULL) += access->remote;
    if (known && access->from >= 0 && (uint32_t)access->from < tracks->nodes) {
        struct bin *at = &tracks->bins[(size_t)access->from * BINS + bin];
        at->remote += access->remote;
        at->known++;
    }
}

static void annotate(struct perfetto *perfetto, const char *name, const char *text, uint64_t number)
{
    perfetto->deeper.count = 0;
    protobuf_text(&perfetto->deeper, ANNOTATION_NAME, name);
    if (text)
        protobuf_text(&perfetto->deeper, ANNOTATION_TEXT, text);
    else
        protobuf_number(&perfetto->deeper, ANNOTATION_NUMBER, number);
    protobuf_message(&perfetto->inner, EVENT_ANNOTATION, &perfetto->deeper);
}

static void event_begin(struct perfetto *perfetto, uint64_t time, unsigned type, uint64_t track)
{
    perfetto_begin(perfetto, time, 0);
    protobuf_number(&perfetto->inner, EVENT_TYPE, type);
    protobuf_number(&perfetto->inner, EVENT_TRACK, track);
}

/* From its first object's allocation to its last one's end, where both are known. */
static void lifetime(const struct perfetto_tracks *tracks, const struct names_thing *thing, uint64_t *from,
                     uint64_t *to)
{
    const struct flow *flow = tracks->perfetto->flow;
    uint64_t start = flow_start(flow), end = flow_end(flow);
    if (thing->first != FLOW_NONE) {
        struct flow_object object = flow_object_copy(flow, thing->first);
        const struct flow_site *site = object.site == FLOW_NONE ? NULL : flow_site(flow, object.site);
        start = site ? site->start : object.start;
        end = site ? site->end : object.end;
    }
    end = end > flow_end(flow) ? flow_end(flow) : end;
    *from = start > tracks->start ? start - tracks->start : 0;
    *to = end > tracks->start ? end - tracks->start : 0;
    *to = *to < *from ? *from : *to;
}

static void put_thing(struct perfetto_tracks *tracks, uint32_t number)
{
    struct perfetto *perfetto = tracks->perfetto;
    const struct thing_row *row = &tracks->things.items[number];
    struct names_thing thing = names_thing(perfetto->names, number);
    uint64_t from, to;
    lifetime(tracks, &thing, &from, &to);
    perfetto_track(perfetto, TRACK_OF_THING + (uint64_t)number, TRACKS_OBJECTS, thing.label, NULL);
    event_begin(perfetto, from, TYPE_BEGIN, TRACK_OF_THING + (uint64_t)number);
    protobuf_text(&perfetto->inner, EVENT_NAME, thing.label);
    if (*thing.kind)
        annotate(perfetto, "kind", thing.kind, 0);
    if (*thing.site)
        annotate(perfetto, "site", thing.site, 0);
    annotate(perfetto, "samples", NULL, row->samples);
    annotate(perfetto, "remote", NULL, row->remote);
    annotate(perfetto, "home_known", NULL, row->home_known);
    annotate(perfetto, "latency", NULL, row->latency);
    annotate(perfetto, "timed", NULL, row->timed);
    perfetto_end(perfetto, PACKET_TRACK_EVENT);
    event_begin(perfetto, to, TYPE_END, TRACK_OF_THING + (uint64_t)number);
    perfetto_end(perfetto, PACKET_TRACK_EVENT);
}

/* Where there are no samples nothing is known, and no value is written. */
static void put_thing_counter(struct perfetto_tracks *tracks, uint32_t number)
{
    struct perfetto *perfetto = tracks->perfetto;
    if (tracks->things.items[number].remote == 0)
        return;
    char *name = mem_format("remote accesses: %s", names_thing(perfetto->names, number).label);
    perfetto_track(perfetto, TRACK_OF_THING_REMOTE + (uint64_t)number, TRACKS_OBJECTS, name, "accesses");
    free(name);
    for (uint32_t bin = 0; bin < BINS; bin++) {
        const uint64_t *remote = map64_find(&tracks->remote_of, (uint64_t)number << 32 | bin);
        if (!remote)
            continue;
        event_begin(perfetto, bin * tracks->bin_ns, TYPE_COUNTER, TRACK_OF_THING_REMOTE + (uint64_t)number);
        protobuf_number(&perfetto->inner, EVENT_COUNTER, *remote);
        perfetto_end(perfetto, PACKET_TRACK_EVENT);
    }
}

static void put_double(struct perfetto_tracks *tracks, uint64_t track, uint32_t bin, double value)
{
    event_begin(tracks->perfetto, bin * tracks->bin_ns, TYPE_COUNTER, track);
    protobuf_double(&tracks->perfetto->inner, EVENT_DOUBLE, value);
    perfetto_end(tracks->perfetto, PACKET_TRACK_EVENT);
}

static void put_node(struct perfetto_tracks *tracks, uint32_t node)
{
    struct perfetto *perfetto = tracks->perfetto;
    int number = (int)flow_topology(perfetto->flow)->nodes[node].os_index;
    char *name = mem_format("node %d: remote share of its threads' accesses", number);
    perfetto_track(perfetto, TRACK_OF_NODE_SHARE + (uint64_t)node, TRACKS_NODES, name, "%");
    free(name);
    for (uint32_t bin = 0; bin < BINS; bin++) {
        const struct bin *at = &tracks->bins[(size_t)node * BINS + bin];
        if (at->known)
            put_double(tracks, TRACK_OF_NODE_SHARE + (uint64_t)node, bin, 100.0 * at->remote / at->known);
    }
}

struct bandwidth {
    struct perfetto_tracks *tracks;
    const struct traffic *traffic;
    double *rates; /* nodes * BINS */
};

/* An access's bytes a second are of the whole recording: in its bin they are so many more. */
static void add_bandwidth(void *context, const struct flow_access *access)
{
    struct bandwidth *bandwidth = context;
    struct perfetto_tracks *tracks = bandwidth->tracks;
    struct traffic_bytes bytes;
    if (access->home < 0 || (uint32_t)access->home >= tracks->nodes ||
        !traffic_bytes_of(bandwidth->traffic, access, &bytes))
        return;
    bandwidth->rates[(size_t)access->home * BINS + bin_of(tracks, access->time)] +=
        traffic_total(&bytes) * bandwidth->traffic->seconds * 1e9 / (double)tracks->bin_ns;
}

static void put_bandwidth(struct perfetto_tracks *tracks, const struct traffic *traffic)
{
    double *rates = mem_zalloc((tracks->nodes + 1ul) * BINS * sizeof *rates);
    struct bandwidth bandwidth = {tracks, traffic, rates};
    struct error ignored = {0}; /* the flow has read them all before */
    flow_each_access(tracks->perfetto->flow, add_bandwidth, &bandwidth, &ignored);
    for (uint32_t node = 0; node < tracks->nodes; node++) {
        uint64_t track = TRACK_OF_NODE_BANDWIDTH + (uint64_t)node;
        char *name = mem_format("node %d: bandwidth of its memory",
                                (int)flow_topology(tracks->perfetto->flow)->nodes[node].os_index);
        perfetto_track(tracks->perfetto, track, TRACKS_NODES, name, "bytes/s");
        free(name);
        for (uint32_t bin = 0; bin < BINS; bin++)
            if (rates[(size_t)node * BINS + bin] > 0)
                put_double(tracks, track, bin, rates[(size_t)node * BINS + bin]);
    }
    free(rates);
}

void perfetto_tracks_put(struct perfetto_tracks *tracks)
{
    struct traffic *traffic = known_traffic(tracks->perfetto->flow);
    perfetto_track(tracks->perfetto, TRACKS_OBJECTS, 0, "objects", NULL);
    perfetto_track(tracks->perfetto, TRACKS_NODES, 0, "nodes", NULL);
    for (uint32_t i = 0; i < tracks->things.count; i++) {
        if (tracks->things.items[i].samples == 0)
            continue;
        put_thing(tracks, i);
        put_thing_counter(tracks, i);
    }
    for (uint32_t node = 0; node < tracks->nodes; node++)
        put_node(tracks, node);
    if (traffic)
        put_bandwidth(tracks, traffic);
    traffic_free(traffic);
}
