/* exchange/export/pprof.c - profile.proto, as pprof reads it: values by call chain, with the object, the thread and the nodes as
 * labels (pprof -tagfocus, -tagleaf=object). Not compressed: pprof takes both. */
#include "base/strtab.h"
#include "exchange/export/export.h"
#include "exchange/export/protobuf.h"

#include <string.h>

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_DURATION = 10,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    LABEL_NUMBER = 3,
    MAPPING_ID = 1,
    MAPPING_FILE = 5,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    MAPPING_HAS_INLINES = 10,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
};

struct pprof {
    const struct flow *flow;
    struct names *names;
    FILE *out;
    struct strtab *texts; /* string_table: "" is 0, as pprof wants it */
    struct protobuf message, inner, packed;
    unsigned values;  /* of each sample */
    uint32_t unknown; /* the location of chains that are not known; others are frame + 1 */
};

static void put_types(struct pprof *pprof)
{
    for (unsigned i = 0; i < pprof->values; i++) {
        const char *unit = tally_value_unit(pprof->flow, i);
        unit = strcmp(unit, "ns") == 0 ? "nanoseconds" : i == TALLY_LATENCY || i == TALLY_BYTES ? unit : "count";
        protobuf_number(&pprof->message, TYPE_TYPE, strtab_add(pprof->texts, tally_value_name(i)));
        protobuf_number(&pprof->message, TYPE_UNIT, strtab_add(pprof->texts, unit));
        protobuf_flush(&pprof->message, PROFILE_SAMPLE_TYPE, pprof->out);
    }
}

static void put_label(struct pprof *pprof, const char *key, unsigned field, uint64_t value)
{
    pprof->inner.count = 0;
    protobuf_number(&pprof->inner, LABEL_KEY, strtab_add(pprof->texts, key));
    protobuf_number(&pprof->inner, field, value);
    protobuf_message(&pprof->message, SAMPLE_LABEL, &pprof->inner);
}

static void put_text_label(struct pprof *pprof, const char *key, const char *text)
{
    if (*text)
        put_label(pprof, key, LABEL_TEXT, strtab_add(pprof->texts, text));
}

/* A node's label is a text: pprof takes a number of 0 for none. */
static void put_node(struct pprof *pprof, const char *key, int index)
{
    const struct topology *topology = flow_topology(pprof->flow);
    if (index < 0 || (unsigned)index >= topology->node_count)
        return;
    char text[16];
    snprintf(text, sizeof text, "%d", (int)topology->nodes[index].os_index);
    put_text_label(pprof, key, text);
}

static void put_labels(struct pprof *pprof, const struct tally_row *row)
{
    struct names_thing thing = names_thing(pprof->names, row->thing);
    put_text_label(pprof, "object", thing.label);
    put_text_label(pprof, "kind", thing.kind);
    put_text_label(pprof, "site", thing.site);
    put_text_label(pprof, "thread", names_thread(pprof->names, row->thread));
    if (row->thread != FLOW_NONE) {
        const struct flow_thread *thread = flow_thread(pprof->flow, row->thread);
        put_label(pprof, "tid", LABEL_NUMBER, thread->tid);
        put_label(pprof, "pid", LABEL_NUMBER, thread->pid);
    }
    put_node(pprof, "node", row->from);
    put_node(pprof, "home", row->home);
}

static void put_sample(struct pprof *pprof, const struct tally_row *row)
{
    const uint32_t *frames;
    size_t count = names_chain_frames(pprof->names, row->chain, &frames);
    pprof->packed.count = 0;
    if (count == 0)
        protobuf_raw(&pprof->packed, pprof->unknown);
    for (size_t i = 0; i < count; i++)
        protobuf_raw(&pprof->packed, frames[i] + 1ul);
    protobuf_message(&pprof->message, SAMPLE_LOCATION, &pprof->packed);
    pprof->packed.count = 0;
    for (unsigned i = 0; i < pprof->values; i++)
        protobuf_raw(&pprof->packed, row->values[i]);
    protobuf_message(&pprof->message, SAMPLE_VALUE, &pprof->packed);
    put_labels(pprof, row);
    protobuf_flush(&pprof->message, PROFILE_SAMPLE, pprof->out);
}

static void put_function(struct pprof *pprof, uint32_t id, const char *name, const char *file)
{
    protobuf_number(&pprof->message, FUNCTION_ID, id);
    protobuf_number(&pprof->message, FUNCTION_NAME, strtab_add(pprof->texts, name));
    protobuf_number(&pprof->message, FUNCTION_SYSTEM_NAME, strtab_add(pprof->texts, name));
    protobuf_number(&pprof->message, FUNCTION_FILE, strtab_add(pprof->texts, file));
    protobuf_flush(&pprof->message, PROFILE_FUNCTION, pprof->out);
}

static void put_location(struct pprof *pprof, uint32_t id, uint32_t mapping, uint32_t function,
                         const struct names_frame *frame)
{
    protobuf_number(&pprof->message, LOCATION_ID, id);
    protobuf_number(&pprof->message, LOCATION_MAPPING, mapping);
    protobuf_number(&pprof->message, LOCATION_ADDRESS, frame->addr);
    pprof->inner.count = 0;
    protobuf_number(&pprof->inner, LINE_FUNCTION, function);
    protobuf_number(&pprof->inner, LINE_LINE, frame->line);
    protobuf_message(&pprof->message, LOCATION_LINE, &pprof->inner);
    protobuf_flush(&pprof->message, PROFILE_LOCATION, pprof->out);
}

/* A mapping stands for a binary. The flags say that there is no need to look for names in it. */
static void put_mapping(struct pprof *pprof, uint32_t id, const char *file)
{
    protobuf_number(&pprof->message, MAPPING_ID, id);
    protobuf_number(&pprof->message, MAPPING_FILE, strtab_add(pprof->texts, file));
    for (unsigned flag = MAPPING_HAS_FUNCTIONS; flag <= MAPPING_HAS_INLINES; flag++)
        protobuf_number(&pprof->message, flag, 1);
    protobuf_flush(&pprof->message, PROFILE_MAPPING, pprof->out);
}

static void put_places(struct pprof *pprof)
{
    struct strtab *functions = strtab_new(), *mappings = strtab_new();
    for (uint32_t i = 0; i <= names_frame_count(pprof->names); i++) {
        bool known = i < names_frame_count(pprof->names);
        struct names_frame frame = {.function = "[unknown]", .file = "", .module = "?"};
        if (known)
            frame = names_frame(pprof->names, i);
        size_t had = strtab_count(mappings);
        uint32_t mapping = strtab_add(mappings, frame.module);
        if (strtab_count(mappings) > had)
            put_mapping(pprof, mapping, frame.module);
        char *key = mem_format("%s\n%s", frame.function, frame.file);
        had = strtab_count(functions);
        uint32_t function = strtab_add(functions, key);
        if (strtab_count(functions) > had)
            put_function(pprof, function, frame.function, frame.file);
        free(key);
        put_location(pprof, i + 1, mapping, function, &frame);
    }
    strtab_free(functions);
    strtab_free(mappings);
}

/* Fields of the profile itself, and the texts, when no more are added. */
static void put_rest(struct pprof *pprof)
{
    const char *command = trace_session_get(flow_session(pprof->flow), "command");
    uint32_t comment = strtab_add(pprof->texts, command ? command : "");
    uint32_t samples = strtab_add(pprof->texts, tally_value_name(TALLY_SAMPLES));
    pprof->message.count = 0;
    for (uint32_t i = 0; i < strtab_count(pprof->texts); i++)
        protobuf_text(&pprof->message, PROFILE_STRING, strtab_text(pprof->texts, i));
    protobuf_number(&pprof->message, PROFILE_DURATION, flow_end(pprof->flow) - flow_start(pprof->flow));
    protobuf_number(&pprof->message, PROFILE_COMMENT, comment);
    protobuf_number(&pprof->message, PROFILE_DEFAULT_TYPE, samples);
    fwrite(pprof->message.items, 1, pprof->message.count, pprof->out);
}

int export_pprof(const struct flow *flow, const struct export_options *options, FILE *out, struct error *err)
{
    (void)options;
    struct pprof pprof = {.flow = flow, .names = names_new(flow), .out = out, .texts = strtab_new()};
    struct tally tally;
    int failed = tally_make(&tally, flow, pprof.names, true, err);
    if (failed == 0) {
        pprof.unknown = (uint32_t)names_frame_count(pprof.names) + 1;
        pprof.values = tally_values(&tally);
        put_types(&pprof);
        array_each (&tally.rows, const struct tally_row, row)
            put_sample(&pprof, row);
        put_places(&pprof);
        put_rest(&pprof);
        tally_free(&tally);
    }
    array_free(&pprof.message);
    array_free(&pprof.inner);
    array_free(&pprof.packed);
    strtab_free(pprof.texts);
    names_free(pprof.names);
    return failed;
}
