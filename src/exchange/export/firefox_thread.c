#include "exchange/export/firefox_thread.h"

struct firefox_thread firefox_thread_new(struct names *names, struct strtab *libraries)
{
    return (struct firefox_thread){.names = names,
                                   .libraries = libraries,
                                   .texts = strtab_new(),
                                   .function_keys = strtab_new(),
                                   .resources = strtab_new()};
}

void firefox_thread_free(struct firefox_thread *thread)
{
    strtab_free(thread->texts);
    strtab_free(thread->function_keys);
    strtab_free(thread->resources);
    map64_free(&thread->stack_of);
    map64_free(&thread->leaf_of);
    map64_free(&thread->frame_of);
    array_free(&thread->stacks);
    array_free(&thread->frames);
    array_free(&thread->functions);
}

static uint32_t function_of(struct firefox_thread *thread, const char *name, const char *file, const char *module)
{
    char *key = mem_format("%s\n%s\n%s", name, file, module);
    uint32_t number = strtab_add(thread->function_keys, key) - 1; /* "" is 0 */
    free(key);
    if (number == thread->functions.count) {
        struct firefox_function function = {
            .name = strtab_add(thread->texts, name), .file = strtab_add(thread->texts, file), .resource = FLOW_NONE};
        if (*module) {
            function.resource = strtab_add(thread->resources, module) - 1;
            strtab_add(thread->libraries, module);
            strtab_add(thread->texts, module);
        }
        array_push(&thread->functions, function);
    }
    return number;
}

static struct firefox_frame frame_make(struct firefox_thread *thread, uint32_t number)
{
    struct names_frame frame = names_frame(thread->names, number);
    return (struct firefox_frame){
        .function = function_of(thread, frame.function, frame.file, strcmp(frame.module, "?") == 0 ? "" : frame.module),
        .line = frame.line,
        .addr = frame.addr,
        .has_addr = true};
}

static struct firefox_frame thing_make(struct firefox_thread *thread, uint32_t number, enum firefox_category category)
{
    struct names_thing thing = names_thing(thread->names, number);
    char *name = number ? mem_format("[%s]", thing.label) : mem_strdup(thing.label);
    struct firefox_frame made = {
        .function = function_of(thread, name, thing.file, ""), .line = thing.line, .category = (uint8_t)category};
    free(name);
    return made;
}

/* Frames of functions by their number, then those of things: a thing in each category. */
static uint32_t frame_of(struct firefox_thread *thread, bool is_thing, uint32_t number, enum firefox_category category)
{
    bool is_new;
    uint64_t key = (uint64_t)is_thing << 63 | (uint64_t)category << 32 | number;
    uint64_t *place = map64_insert(&thread->frame_of, key, &is_new);
    if (is_new) {
        *place = thread->frames.count;
        struct firefox_frame frame = is_thing ? thing_make(thread, number, category) : frame_make(thread, number);
        array_push(&thread->frames, frame);
        return (uint32_t)thread->frames.count - 1;
    }
    return (uint32_t)*place;
}

static uint32_t stack_add(struct firefox_thread *thread, uint32_t prefix, uint32_t frame)
{
    bool is_new;
    uint64_t *place = map64_insert(&thread->stack_of, (uint64_t)prefix << 32 | frame, &is_new);
    if (is_new) {
        *place = thread->stacks.count;
        array_push(
            &thread->stacks,
            (struct firefox_stack){.prefix = prefix, .frame = frame, .category = thread->frames.items[frame].category});
    }
    return (uint32_t)*place;
}

uint32_t firefox_stack_of(struct firefox_thread *thread, uint32_t chain, uint32_t thing, enum firefox_category category)
{
    bool is_new;
    uint64_t key = (uint64_t)category << 61 | (uint64_t)chain << 31 | thing;
    uint64_t *place = map64_insert(&thread->leaf_of, key, &is_new);
    if (!is_new)
        return (uint32_t)*place;
    const uint32_t *frames;
    uint32_t stack = FLOW_NONE;
    for (size_t i = names_chain_frames(thread->names, chain, &frames); i-- > 0;)
        stack = stack_add(thread, stack, frame_of(thread, false, frames[i], FIREFOX_OTHER));
    stack = stack_add(thread, stack, frame_of(thread, true, thing, category));
    return (uint32_t)(*place = stack);
}

static void put_column(struct emit *emit, const char *name)
{
    emit_text(emit, ",\"");
    emit_text(emit, name);
    emit_text(emit, "\":[");
}

static void put_number_or_null(struct emit *emit, bool known, uint64_t number)
{
    if (known)
        emit_number(emit, number);
    else
        emit_text(emit, "null");
}

/* A column of the same in every row. */
static void put_same(struct emit *emit, const char *name, const char *value, size_t count)
{
    put_column(emit, name);
    for (size_t i = 0; i < count; i++) {
        emit_text(emit, i ? "," : "");
        emit_text(emit, value);
    }
    emit_char(emit, ']');
}

#define PUT_COLUMN(emit, name, rows, type, row, put)                                                                   \
    do {                                                                                                               \
        put_column(emit, name);                                                                                        \
        array_each (rows, const type, row) {                                                                           \
            if (row > (rows)->items)                                                                                   \
                emit_char(emit, ',');                                                                                  \
            put;                                                                                                       \
        }                                                                                                              \
        emit_char(emit, ']');                                                                                          \
    } while (0)

static void table_begin(struct emit *emit, const char *name, size_t length)
{
    emit_text(emit, ",\n\"");
    emit_text(emit, name);
    emit_text(emit, "\":{\"length\":");
    emit_number(emit, length);
}

static void put_stacks(const struct firefox_thread *thread, struct emit *emit)
{
    table_begin(emit, "stackTable", thread->stacks.count);
    PUT_COLUMN(emit, "prefix", &thread->stacks, struct firefox_stack, row,
               put_number_or_null(emit, row->prefix != FLOW_NONE, row->prefix));
    PUT_COLUMN(emit, "frame", &thread->stacks, struct firefox_stack, row, emit_number(emit, row->frame));
    PUT_COLUMN(emit, "category", &thread->stacks, struct firefox_stack, row, emit_number(emit, row->category));
    put_same(emit, "subcategory", "0", thread->stacks.count);
    emit_char(emit, '}');
}

static void put_frames(const struct firefox_thread *thread, struct emit *emit)
{
    size_t count = thread->frames.count;
    table_begin(emit, "frameTable", count);
    PUT_COLUMN(emit, "address", &thread->frames, struct firefox_frame, row,
               emit_integer(emit, row->has_addr ? (int64_t)row->addr : -1));
    put_same(emit, "inlineDepth", "0", count);
    PUT_COLUMN(emit, "category", &thread->frames, struct firefox_frame, row, emit_number(emit, row->category));
    put_same(emit, "subcategory", "0", count);
    PUT_COLUMN(emit, "func", &thread->frames, struct firefox_frame, row, emit_number(emit, row->function));
    PUT_COLUMN(emit, "line", &thread->frames, struct firefox_frame, row,
               put_number_or_null(emit, row->line, row->line));
    put_same(emit, "column", "null", count);
    put_same(emit, "nativeSymbol", "null", count);
    put_same(emit, "innerWindowID", "null", count);
    put_same(emit, "implementation", "null", count);
    emit_char(emit, '}');
}

static void put_functions(const struct firefox_thread *thread, struct emit *emit)
{
    size_t count = thread->functions.count;
    table_begin(emit, "funcTable", count);
    PUT_COLUMN(emit, "name", &thread->functions, struct firefox_function, row, emit_number(emit, row->name));
    put_same(emit, "isJS", "false", count);
    put_same(emit, "relevantForJS", "false", count);
    PUT_COLUMN(emit, "resource", &thread->functions, struct firefox_function, row,
               emit_integer(emit, row->resource == FLOW_NONE ? -1 : (int64_t)row->resource));
    PUT_COLUMN(emit, "fileName", &thread->functions, struct firefox_function, row,
               put_number_or_null(emit, row->file, row->file));
    put_same(emit, "lineNumber", "null", count);
    put_same(emit, "columnNumber", "null", count);
    emit_char(emit, '}');
}

static void put_resources(const struct firefox_thread *thread, struct emit *emit)
{
    uint32_t count = (uint32_t)strtab_count(thread->resources) - 1;
    table_begin(emit, "resourceTable", count);
    put_column(emit, "lib");
    for (uint32_t i = 1; i <= count; i++) {
        emit_text(emit, i > 1 ? "," : "");
        emit_number(emit, strtab_add(thread->libraries, strtab_text(thread->resources, i)) - 1);
    }
    emit_char(emit, ']');
    put_column(emit, "name");
    for (uint32_t i = 1; i <= count; i++) {
        emit_text(emit, i > 1 ? "," : "");
        emit_number(emit, strtab_add(thread->texts, strtab_text(thread->resources, i)));
    }
    emit_char(emit, ']');
    put_same(emit, "host", "null", count);
    put_same(emit, "type", "1", count); /* a library */
    emit_char(emit, '}');
}

void firefox_put_tables(const struct firefox_thread *thread, struct emit *emit)
{
    put_stacks(thread, emit);
    put_frames(thread, emit);
    put_functions(thread, emit);
    put_resources(thread, emit);
    emit_text(emit, ",\n\"nativeSymbols\":{\"length\":0,\"address\":[],\"functionSize\":[],\"libIndex\":[],\"name\":[]}"
                    ",\n\"stringArray\":[");
    for (uint32_t i = 0; i < strtab_count(thread->texts); i++) {
        emit_text(emit, i ? ",\n" : "");
        emit_json(emit, strtab_text(thread->texts, i));
    }
    emit_char(emit, ']');
}
