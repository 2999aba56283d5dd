/* exchange/export/speedscope.c - JSON as speedscope reads it: one profile each of samples, remote accesses and latency.
 *
 * Program and thread are the outermost frames, what was accessed is the innermost one. */
#include "base/order.h"
#include "base/strtab.h"
#include "exchange/export/emitter.h"
#include "exchange/export/export.h"

struct scope {
    const struct flow *flow;
    struct names *names;
    struct emit *emit;
    struct tally tally;
    struct strtab *functions; /* speedscope takes a function's lines for functions of their own: frames are without */
    uint32_t *function_of;    /* frame -> function, from 1 on */
};

static void find_functions(struct scope *scope)
{
    size_t frames = names_frame_count(scope->names);
    scope->functions = strtab_new();
    scope->function_of = mem_alloc((frames + 1) * sizeof *scope->function_of);
    for (uint32_t i = 0; i < frames; i++) {
        struct names_frame frame = names_frame(scope->names, i);
        char *key = mem_format("%s\n%s\n%s", frame.function, frame.file, frame.module);
        scope->function_of[i] = strtab_add(scope->functions, key);
        free(key);
    }
}

static uint32_t function_count(const struct scope *scope)
{
    return (uint32_t)strtab_count(scope->functions) - 1; /* without "" */
}

static void put_frame(struct emit *emit, const char *name, const char *file, uint32_t line, bool first)
{
    emit_text(emit, first ? "\n{\"name\":" : ",\n{\"name\":");
    emit_json(emit, name);
    if (*file) {
        emit_text(emit, ",\"file\":");
        emit_json(emit, file);
    }
    if (*file && line) {
        emit_text(emit, ",\"line\":");
        emit_number(emit, line);
    }
    emit_char(emit, '}');
}

/* Frame 0 is [unknown]; then functions, things, programs, threads. */
static void put_frames(struct scope *scope)
{
    struct emit *emit = scope->emit;
    put_frame(emit, "[unknown]", "", 0, true);
    for (uint32_t i = 0, next = 1; i < names_frame_count(scope->names); i++) {
        struct names_frame frame = names_frame(scope->names, i);
        if (scope->function_of[i] == next) {
            put_frame(emit, frame.function, frame.file, 0, false);
            next++;
        }
    }
    for (uint32_t i = 1; i < names_thing_count(scope->names); i++) {
        struct names_thing thing = names_thing(scope->names, i);
        char *name = mem_format("[%s]", thing.label);
        put_frame(emit, name, thing.file, thing.line, false);
        free(name);
    }
    for (uint32_t i = 0; i < flow_process_count(scope->flow); i++)
        put_frame(emit, names_process(scope->names, i), "", 0, false);
    for (uint32_t i = 0; i < flow_thread_count(scope->flow); i++)
        put_frame(emit, names_thread(scope->names, i), "", 0, false);
}

static uint32_t thing_frame(const struct scope *scope, uint32_t thing)
{
    return thing ? function_count(scope) + thing : 0;
}

static void put_sample(const struct scope *scope, const struct tally_row *row)
{
    struct emit *emit = scope->emit;
    const uint32_t *frames;
    size_t count = names_chain_frames(scope->names, row->chain, &frames);
    uint32_t programs = function_count(scope) + (uint32_t)names_thing_count(scope->names);
    uint32_t process = names_process_of(scope->names, row->thread);
    emit_char(emit, '[');
    emit_number(emit, process == FLOW_NONE ? 0 : programs + process);
    emit_char(emit, ',');
    emit_number(emit, row->thread == FLOW_NONE ? 0 : programs + flow_process_count(scope->flow) + row->thread);
    if (count == 0)
        emit_text(emit, ",0");
    while (count-- > 0) {
        emit_char(emit, ',');
        emit_number(emit, scope->function_of[frames[count]]);
    }
    emit_char(emit, ',');
    emit_number(emit, thing_frame(scope, row->thing));
    emit_char(emit, ']');
}

static void put_profile(const struct scope *scope, enum tally_value value)
{
    struct emit *emit = scope->emit;
    uint64_t sum = 0;
    bool first = true;
    const char *unit = tally_value_unit(scope->flow, value);
    emit_text(emit, value == TALLY_SAMPLES ? "\n" : ",\n");
    emit_text(emit, "{\"type\":\"sampled\",\"name\":");
    emit_json(emit, value == TALLY_REMOTE ? "remote accesses" : tally_value_name(value));
    emit_text(emit, ",\"unit\":\"");
    emit_text(emit, strcmp(unit, "ns") == 0 ? "nanoseconds" : value == TALLY_BYTES ? unit : "none");
    emit_text(emit, "\",\"samples\":[");
    array_each (&scope->tally.rows, const struct tally_row, row) {
        if (row->values[value] == 0)
            continue;
        emit_text(emit, first ? "\n" : ",\n");
        put_sample(scope, row);
        first = false;
    }
    emit_text(emit, "],\"weights\":[");
    first = true;
    array_each (&scope->tally.rows, const struct tally_row, row) {
        if (row->values[value] == 0)
            continue;
        if (!first)
            emit_char(emit, ',');
        emit_number(emit, row->values[value]);
        sum += row->values[value];
        first = false;
    }
    emit_text(emit, "],\"startValue\":0,\"endValue\":");
    emit_number(emit, sum);
    emit_char(emit, '}');
}

ORDER_BY(by_thread, struct tally_row,
         ORDER(a->thread, b->thread) ?: ORDER(a->chain, b->chain) ?: ORDER(a->thing, b->thing))

static void put_file(struct scope *scope)
{
    const char *command = trace_session_get(flow_session(scope->flow), "command");
    struct emit *emit = scope->emit;
    emit_text(
        emit,
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"numalens " NUMALENS_VERSION
        "\",\"name\":");
    emit_json(emit, command ? command : "numalens");
    emit_text(emit, ",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
    put_frames(scope);
    emit_text(emit, "]},\"profiles\":[");
    put_profile(scope, TALLY_SAMPLES);
    put_profile(scope, TALLY_REMOTE);
    put_profile(scope, TALLY_LATENCY);
    if (scope->tally.has_bytes)
        put_profile(scope, TALLY_BYTES);
    emit_text(emit, "]}\n");
}

int export_speedscope(const struct flow *flow, const struct export_options *options, FILE *out, struct error *err)
{
    (void)options;
    struct scope scope = {.flow = flow, .names = names_new(flow)};
    int failed = tally_make(&scope.tally, flow, scope.names, false, err);
    if (failed == 0) {
        array_sort(&scope.tally.rows, by_thread); /* in order of time it would look as if time were in it */
        find_functions(&scope);
        scope.emit = emit_new(out);
        put_file(&scope);
        emit_free(scope.emit);
        tally_free(&scope.tally);
        strtab_free(scope.functions);
        free(scope.function_of);
    }
    names_free(scope.names);
    return failed;
}
