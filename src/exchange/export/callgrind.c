/* exchange/export/callgrind.c - costs by function and line with their calls, as callgrind writes them.
 *
 * A function is a name in a file and a binary; its own cost stands at lines, that of what it calls at the line of the call. A
 * chain in which a call occurs twice (recursion) counts once for it. */
#include "base/map64.h"
#include "base/strtab.h"
#include "exchange/export/emitter.h"
#include "exchange/export/export.h"

static const enum tally_value events[] = {TALLY_SAMPLES, TALLY_REMOTE, TALLY_LATENCY, TALLY_TIMED, TALLY_BYTES};
enum { EVENTS = sizeof events / sizeof *events };

struct function {
    uint32_t file, module, name; /* texts */
    array_of(uint32_t) costs;    /* of its own, and of its calls */
};

struct cost {
    uint32_t line;
    uint32_t callee;      /* a function; FLOW_NONE: the line's own */
    uint32_t callee_line; /* one of it */
    uint32_t chain;       /* the last one that was counted */
    uint64_t values[EVENTS];
};

struct callgrind {
    struct names *names;
    bool has_bytes;
    struct strtab *texts;
    struct strtab *keys;
    array_of(struct function) functions;
    array_of(struct cost) costs;
    struct map64 cost_of;    /* by a hash of function, line and callee: see find_cost */
    uint32_t *function_of;   /* frame -> function, FLOW_NONE: not asked for yet */
    array_of(uint8_t) named; /* texts that were written in full, by kind of name */
    uint64_t totals[EVENTS];
};

static uint32_t find_function(struct callgrind *grind, const char *name, const char *file, const char *module)
{
    char *key = mem_format("%s\n%s\n%s", name, file, module);
    uint32_t number = strtab_add(grind->keys, key) - 1; /* "" is 0 */
    free(key);
    if (number == grind->functions.count) {
        struct function function = {.file = strtab_add(grind->texts, *file ? file : "???"),
                                    .module = strtab_add(grind->texts, *module ? module : "???"),
                                    .name = strtab_add(grind->texts, name)};
        array_push(&grind->functions, function);
    }
    return number;
}

static uint32_t function_of(struct callgrind *grind, uint32_t frame)
{
    if (grind->function_of[frame] == FLOW_NONE) {
        struct names_frame row = names_frame(grind->names, frame);
        grind->function_of[frame] = find_function(grind, row.function, row.file, row.module);
    }
    return grind->function_of[frame];
}

static struct cost *find_cost(struct callgrind *grind, uint32_t function, uint32_t line, uint32_t callee,
                              uint32_t callee_line)
{
    uint64_t key = map64_hash(map64_hash((uint64_t)function << 32 | line) ^ callee);
    for (;; key++) {
        bool is_new;
        uint64_t *place = map64_insert(&grind->cost_of, key, &is_new);
        if (is_new) {
            struct cost cost = {.line = line, .callee = callee, .callee_line = callee_line, .chain = FLOW_NONE};
            *place = (uint64_t)function << 32 | grind->costs.count;
            array_push(&grind->functions.items[function].costs, (uint32_t)grind->costs.count);
            array_push(&grind->costs, cost);
        }
        struct cost *cost = &grind->costs.items[(uint32_t)*place];
        if (*place >> 32 == function && cost->line == line && cost->callee == callee)
            return cost;
    }
}

static void add(struct cost *cost, const struct tally_row *row, uint32_t number)
{
    if (cost->chain == number)
        return;
    cost->chain = number;
    for (unsigned i = 0; i < EVENTS; i++)
        cost->values[i] += row->values[events[i]];
}

static void add_row(struct callgrind *grind, const struct tally_row *row, uint32_t number)
{
    const uint32_t *frames;
    size_t count = names_chain_frames(grind->names, row->chain, &frames);
    uint32_t inner = FLOW_NONE, inner_line = 0;
    for (unsigned i = 0; i < EVENTS; i++)
        grind->totals[i] += row->values[events[i]];
    if (count == 0)
        add(find_cost(grind, find_function(grind, "[unknown]", "", ""), 0, FLOW_NONE, 0), row, number);
    for (size_t i = 0; i < count; i++) {
        uint32_t function = function_of(grind, frames[i]), line = names_frame(grind->names, frames[i]).line;
        add(find_cost(grind, function, line, inner, inner_line), row, number);
        inner = function;
        inner_line = line;
    }
}

enum { NAME_MODULE = 1, NAME_FILE = 2, NAME_FUNCTION = 4 }; /* callgrind numbers each kind by itself */

/* "fn=(12) name", and "fn=(12)" from then on. */
static void put_name(struct callgrind *grind, struct emit *emit, const char *key, uint8_t kind, uint32_t text)
{
    while (grind->named.count <= text)
        array_push(&grind->named, 0);
    emit_text(emit, key);
    emit_char(emit, '(');
    emit_number(emit, text);
    emit_char(emit, ')');
    if (!(grind->named.items[text] & kind)) {
        emit_char(emit, ' ');
        emit_line(emit, strtab_text(grind->texts, text));
        grind->named.items[text] |= kind;
    }
    emit_char(emit, '\n');
}

static void put_values(const struct callgrind *grind, struct emit *emit, const uint64_t values[EVENTS])
{
    for (unsigned i = 0; i < (grind->has_bytes ? EVENTS : EVENTS - 1); i++) {
        if (i)
            emit_char(emit, ' ');
        emit_number(emit, values[i]);
    }
    emit_char(emit, '\n');
}

static void put_function(struct callgrind *grind, struct emit *emit, const struct function *function)
{
    emit_char(emit, '\n');
    put_name(grind, emit, "ob=", NAME_MODULE, function->module);
    put_name(grind, emit, "fl=", NAME_FILE, function->file);
    put_name(grind, emit, "fn=", NAME_FUNCTION, function->name);
    array_each (&function->costs, const uint32_t, number) {
        const struct cost *cost = &grind->costs.items[*number];
        if (cost->callee != FLOW_NONE) {
            const struct function *callee = &grind->functions.items[cost->callee];
            put_name(grind, emit, "cob=", NAME_MODULE, callee->module);
            put_name(grind, emit, "cfi=", NAME_FILE, callee->file);
            put_name(grind, emit, "cfn=", NAME_FUNCTION, callee->name);
            emit_text(emit, "calls=");
            emit_number(emit, cost->values[0]); /* how often it was called is not known: samples instead */
            emit_char(emit, ' ');
            emit_number(emit, cost->callee_line);
            emit_char(emit, '\n');
        }
        emit_number(emit, cost->line);
        emit_char(emit, ' ');
        put_values(grind, emit, cost->values);
    }
}

static void put_file(struct callgrind *grind, const struct flow *flow, FILE *out)
{
    const char *command = trace_session_get(flow_session(flow), "command");
    struct emit *emit = emit_new(out);
    emit_text(emit, "# callgrind format\nversion: 1\ncreator: numalens " NUMALENS_VERSION "\ncmd: ");
    emit_line(emit, command ? command : "?");
    emit_text(emit, "\npositions: line\n"
                    "event: Samples : sampled accesses\n"
                    "event: Remote : accesses to another node\n"
                    "event: Latency : sum of latencies, ");
    emit_text(emit, tally_value_unit(flow, TALLY_LATENCY));
    emit_text(emit, "\nevent: Timed : samples with a latency\n");
    emit_text(emit, grind->has_bytes
                        ? "event: Bytes : from memory\nevents: Samples Remote Latency Timed Bytes\nsummary: "
                        : "events: Samples Remote Latency Timed\nsummary: ");
    put_values(grind, emit, grind->totals);
    array_each (&grind->functions, const struct function, function)
        put_function(grind, emit, function);
    emit_text(emit, "\ntotals: ");
    put_values(grind, emit, grind->totals);
    emit_free(emit);
}

static void callgrind_free(struct callgrind *grind)
{
    array_each (&grind->functions, struct function, function)
        array_free(&function->costs);
    array_free(&grind->functions);
    array_free(&grind->costs);
    array_free(&grind->named);
    map64_free(&grind->cost_of);
    strtab_free(grind->texts);
    strtab_free(grind->keys);
    free(grind->function_of);
    names_free(grind->names);
}

int export_callgrind(const struct flow *flow, const struct export_options *options, FILE *out, struct error *err)
{
    (void)options;
    struct callgrind grind = {.names = names_new(flow), .texts = strtab_new(), .keys = strtab_new()};
    struct tally tally;
    int failed = tally_make(&tally, flow, grind.names, false, err);
    if (failed == 0) {
        size_t frames = names_frame_count(grind.names);
        grind.function_of = mem_alloc((frames + 1) * sizeof *grind.function_of);
        memset(grind.function_of, 0xff, (frames + 1) * sizeof *grind.function_of);
        for (uint32_t i = 0; i < tally.rows.count; i++)
            add_row(&grind, &tally.rows.items[i], i);
        grind.has_bytes = tally.has_bytes;
        put_file(&grind, flow, out);
        tally_free(&tally);
    }
    callgrind_free(&grind);
    return failed;
}
