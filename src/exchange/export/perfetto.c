/* exchange/export/perfetto.c - a trace for Perfetto: samples with their call chains on the tracks of threads, what was accessed as
 * the innermost frame; objects and nodes as tracks of their own (perfetto_tracks.c). */
#include "base/map64.h"
#include "base/strtab.h"
#include "exchange/export/export.h"
#include "exchange/export/perfetto_packet.h"
#include "exchange/export/walk.h"

enum { SEQUENCE = 1 };

struct samples {
    struct perfetto perfetto;
    struct perfetto_tracks *tracks;
    struct map64 callstack_of; /* chain << 32 | thing */
    struct strtab *functions, *modules;
    struct map64 frame_of; /* frame of names, or thing with the highest bit; their numbers begin with 1 */
    struct protobuf interned;
};

void perfetto_begin(struct perfetto *perfetto, uint64_t time, unsigned flags)
{
    perfetto->packet.count = perfetto->inner.count = 0;
    if (time != UINT64_MAX)
        protobuf_number(&perfetto->packet, PACKET_TIME, time);
    protobuf_number(&perfetto->packet, PACKET_SEQUENCE, SEQUENCE);
    if (flags)
        protobuf_number(&perfetto->packet, PACKET_FLAGS, flags);
}

void perfetto_end(struct perfetto *perfetto, unsigned field)
{
    protobuf_message(&perfetto->packet, field, &perfetto->inner);
    protobuf_flush(&perfetto->packet, TRACE_PACKET, perfetto->out);
}

void perfetto_track(struct perfetto *perfetto, uint64_t track, uint64_t parent, const char *name, const char *unit)
{
    perfetto_begin(perfetto, UINT64_MAX, 0);
    protobuf_number(&perfetto->inner, TRACK_UUID, track);
    if (parent)
        protobuf_number(&perfetto->inner, TRACK_PARENT, parent);
    protobuf_text(&perfetto->inner, TRACK_NAME, name);
    if (unit) {
        perfetto->deeper.count = 0;
        protobuf_text(&perfetto->deeper, COUNTER_UNIT_NAME, unit);
        protobuf_message(&perfetto->inner, TRACK_COUNTER, &perfetto->deeper);
    }
    perfetto_end(perfetto, PACKET_TRACK);
}

static void put_processes(struct perfetto *perfetto)
{
    for (uint32_t i = 0; i < flow_process_count(perfetto->flow); i++) {
        perfetto_begin(perfetto, UINT64_MAX, 0);
        protobuf_number(&perfetto->inner, TRACK_UUID, TRACK_OF_PROCESS + (uint64_t)i);
        perfetto->deeper.count = 0;
        protobuf_number(&perfetto->deeper, PROCESS_PID, flow_process(perfetto->flow, i)->pid);
        protobuf_text(&perfetto->deeper, PROCESS_NAME, names_process(perfetto->names, i));
        protobuf_message(&perfetto->inner, TRACK_PROCESS, &perfetto->deeper);
        perfetto_end(perfetto, PACKET_TRACK);
    }
    for (uint32_t i = 0; i < flow_thread_count(perfetto->flow); i++) {
        const struct flow_thread *thread = flow_thread(perfetto->flow, i);
        perfetto_begin(perfetto, UINT64_MAX, 0);
        protobuf_number(&perfetto->inner, TRACK_UUID, TRACK_OF_THREAD + (uint64_t)i);
        protobuf_number(&perfetto->inner, TRACK_PARENT, TRACK_OF_PROCESS + (uint64_t)thread->process);
        perfetto->deeper.count = 0;
        protobuf_number(&perfetto->deeper, THREAD_PID, thread->pid);
        protobuf_number(&perfetto->deeper, THREAD_TID, thread->tid);
        protobuf_text(&perfetto->deeper, THREAD_NAME, names_thread(perfetto->names, i));
        protobuf_message(&perfetto->inner, TRACK_THREAD, &perfetto->deeper);
        perfetto_end(perfetto, PACKET_TRACK);
    }
}

/* A text's number among functions or modules; a new one goes into the packet of interned data. */
static uint32_t intern_text(struct samples *samples, struct strtab *texts, unsigned field, const char *text)
{
    size_t had = strtab_count(texts);
    uint32_t number = strtab_add(texts, text);
    if (strtab_count(texts) > had) {
        struct protobuf *deeper = &samples->perfetto.deeper;
        deeper->count = 0;
        protobuf_number(deeper, INTERNED_ID, number);
        protobuf_text(deeper, STRING_TEXT, text);
        protobuf_message(&samples->interned, field, deeper);
        if (field == INTERNED_PATHS) {
            deeper->count = 0;
            protobuf_number(deeper, INTERNED_ID, number);
            protobuf_number(deeper, MAPPING_PATH, number);
            protobuf_message(&samples->interned, INTERNED_MAPPINGS, deeper);
        }
    }
    return number;
}

static uint64_t intern_frame(struct samples *samples, uint64_t key, const char *function, const char *module,
                             uint64_t addr)
{
    bool is_new;
    uint64_t *place = map64_insert(&samples->frame_of, key, &is_new);
    if (!is_new)
        return *place;
    uint64_t number = *place = samples->frame_of.count;
    uint32_t name = intern_text(samples, samples->functions, INTERNED_FUNCTIONS, function);
    uint32_t mapping = intern_text(samples, samples->modules, INTERNED_PATHS, module);
    struct protobuf *deeper = &samples->perfetto.deeper;
    deeper->count = 0;
    protobuf_number(deeper, INTERNED_ID, number);
    protobuf_number(deeper, FRAME_FUNCTION, name);
    protobuf_number(deeper, FRAME_MAPPING, mapping);
    protobuf_number(deeper, FRAME_PC, addr);
    protobuf_message(&samples->interned, INTERNED_FRAMES, deeper);
    return number;
}

/* Outermost frame first, what was accessed last. */
static void intern_callstack(struct samples *samples, uint64_t number, uint32_t chain, uint32_t thing)
{
    struct names *names = samples->perfetto.names;
    struct protobuf callstack = {0};
    const uint32_t *frames;
    protobuf_number(&callstack, INTERNED_ID, number);
    samples->interned.count = 0;
    for (size_t i = names_chain_frames(names, chain, &frames); i-- > 0;) {
        struct names_frame frame = names_frame(names, frames[i]);
        protobuf_number(&callstack, CALLSTACK_FRAME,
                        intern_frame(samples, frames[i], frame.function, frame.module, frame.addr));
    }
    char *name = thing ? mem_format("[%s]", names_thing(names, thing).label) : mem_strdup("[unknown]");
    protobuf_number(&callstack, CALLSTACK_FRAME, intern_frame(samples, 1ull << 63 | thing, name, "[memory]", thing));
    free(name);
    protobuf_message(&samples->interned, INTERNED_CALLSTACKS, &callstack);
    array_free(&callstack);
    perfetto_begin(&samples->perfetto, UINT64_MAX, FLAG_NEEDED);
    protobuf_message(&samples->perfetto.packet, PACKET_INTERNED, &samples->interned);
    protobuf_flush(&samples->perfetto.packet, TRACE_PACKET, samples->perfetto.out);
}

static void put_sample(void *context, const struct flow_access *access)
{
    struct samples *samples = context;
    struct perfetto *perfetto = &samples->perfetto;
    uint32_t chain = names_chain(perfetto->names, access), thing = names_thing_of(perfetto->names, access->object);
    uint64_t start = flow_start(perfetto->flow);
    bool is_new;
    uint64_t *callstack = map64_insert(&samples->callstack_of, (uint64_t)chain << 32 | thing, &is_new);
    if (is_new) {
        *callstack = samples->callstack_of.count;
        intern_callstack(samples, *callstack, chain, thing);
    }
    perfetto_tracks_note(samples->tracks, access, thing);
    perfetto_begin(perfetto, access->time > start ? access->time - start : 0, FLAG_NEEDED);
    if (access->cpu != UINT16_MAX)
        protobuf_number(&perfetto->inner, PERF_CPU, access->cpu);
    if (access->thread != FLOW_NONE) {
        const struct flow_thread *thread = flow_thread(perfetto->flow, access->thread);
        protobuf_number(&perfetto->inner, PERF_PID, thread->pid);
        protobuf_number(&perfetto->inner, PERF_TID, thread->tid);
    }
    protobuf_number(&perfetto->inner, PERF_CALLSTACK, *callstack);
    protobuf_number(&perfetto->inner, PERF_MODE, MODE_USER);
    perfetto_end(perfetto, PACKET_PERF_SAMPLE);
}

int export_perfetto(const struct flow *flow, const struct export_options *options, FILE *out, struct error *err)
{
    (void)options;
    struct samples samples = {.perfetto = {.flow = flow, .names = names_new(flow), .out = out},
                              .functions = strtab_new(),
                              .modules = strtab_new()};
    samples.tracks = perfetto_tracks_new(&samples.perfetto);
    perfetto_begin(&samples.perfetto, UINT64_MAX, FLAG_CLEARED);
    perfetto_end(&samples.perfetto, PACKET_INTERNED);
    put_processes(&samples.perfetto);
    int failed = walk_in_time(flow, put_sample, &samples, err);
    if (failed == 0)
        perfetto_tracks_put(samples.tracks);
    perfetto_tracks_free(samples.tracks);
    map64_free(&samples.callstack_of);
    map64_free(&samples.frame_of);
    strtab_free(samples.functions);
    strtab_free(samples.modules);
    array_free(&samples.interned);
    array_free(&samples.perfetto.packet);
    array_free(&samples.perfetto.inner);
    array_free(&samples.perfetto.deeper);
    names_free(samples.perfetto.names);
    return failed;
}
