/* exchange/export/perfetto_packet.h - packets of a Perfetto trace, and the field numbers of its schema. Private to perfetto.c and
 * perfetto_tracks.c. */
#pragma once

#include "exchange/export/names.h"
#include "exchange/export/protobuf.h"

enum {
    TRACE_PACKET = 1,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,
    PACKET_PERF_SAMPLE = 66,

    FLAG_CLEARED = 1, /* the first packet: interned data begin */
    FLAG_NEEDED = 2,  /* this one uses them */

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    COUNTER_UNIT_NAME = 6,

    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_COUNTER = 30,
    EVENT_DOUBLE = 44,
    TYPE_BEGIN = 1,
    TYPE_END = 2,
    TYPE_COUNTER = 4,
    ANNOTATION_NUMBER = 3,
    ANNOTATION_TEXT = 6,
    ANNOTATION_NAME = 10,

    PERF_CPU = 1,
    PERF_PID = 2,
    PERF_TID = 3,
    PERF_CALLSTACK = 4,
    PERF_MODE = 5,
    MODE_USER = 2,

    INTERNED_FUNCTIONS = 5,
    INTERNED_FRAMES = 6,
    INTERNED_CALLSTACKS = 7,
    INTERNED_PATHS = 17,
    INTERNED_MAPPINGS = 19,
    INTERNED_ID = 1, /* of all of them */
    STRING_TEXT = 2,
    FRAME_FUNCTION = 2,
    FRAME_MAPPING = 3,
    FRAME_PC = 4,
    CALLSTACK_FRAME = 2,
    MAPPING_PATH = 7,
};

/* Tracks: a number of the kind's own behind it. */
enum perfetto_track {
    TRACKS_OBJECTS = 1,
    TRACKS_NODES = 2,
    TRACK_OF_PROCESS = 0x10000000,
    TRACK_OF_THREAD = 0x20000000,
    TRACK_OF_THING = 0x30000000,
    TRACK_OF_THING_REMOTE = 0x40000000,
    TRACK_OF_NODE_SHARE = 0x50000000,
    TRACK_OF_NODE_BANDWIDTH = 0x60000000,
};

struct perfetto {
    const struct flow *flow;
    struct names *names;
    FILE *out;
    struct protobuf packet, inner, deeper; /* rooms to put packets together in */
};

/* A packet begins, with its time (UINT64_MAX: none) since the start; flags may be 0. */
void perfetto_begin(struct perfetto *perfetto, uint64_t time, unsigned flags);
void perfetto_end(struct perfetto *perfetto, unsigned field); /* `inner` becomes the packet's content */

/* A track of its own, or below another. `unit`: of a counter, or NULL. */
void perfetto_track(struct perfetto *perfetto, uint64_t track, uint64_t parent, const char *name, const char *unit);

struct perfetto_tracks;

/* What the objects and nodes have over time. */
struct perfetto_tracks *perfetto_tracks_new(struct perfetto *perfetto);
void perfetto_tracks_note(struct perfetto_tracks *tracks, const struct flow_access *access, uint32_t thing);
void perfetto_tracks_put(struct perfetto_tracks *tracks);
void perfetto_tracks_free(struct perfetto_tracks *tracks);
