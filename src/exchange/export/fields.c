#include "exchange/export/fields.h"

#include "analysis/facts/accesses.h"

#include <errno.h>
#include <inttypes.h>

typedef void put_field(const struct fields_writer *writer, const struct flow_access *access);

struct field {
    const char *name, *help;
    put_field *put;
};

static const char usual[] =
    "comm,pid,tid,time,cpu,node,home,remote,op,addr,size,latency,level,kind,object,name,sym,srcline";

static void put_unknown(const struct fields_writer *writer)
{
    emit_text(writer->emit, writer->unknown);
}

static void put_number(const struct fields_writer *writer, bool known, uint64_t number)
{
    if (known)
        emit_number(writer->emit, number);
    else
        put_unknown(writer);
}

static void put_hex(const struct fields_writer *writer, bool known, uint64_t number)
{
    if (known)
        emit_hex(writer->emit, number);
    else
        put_unknown(writer);
}

static void put_name(const struct fields_writer *writer, const char *text)
{
    if (text && *text)
        writer->put_name(writer->emit, text);
    else
        put_unknown(writer);
}

/* Where the access happened: the innermost frame. False when its chain is not known. */
static bool place_of(const struct fields_writer *writer, const struct flow_access *access, struct names_frame *frame)
{
    const uint32_t *frames;
    if (names_chain_frames(writer->names, names_chain(writer->names, access), &frames) == 0)
        return false;
    *frame = names_frame(writer->names, frames[0]);
    return true;
}

static const struct flow_thread *thread_of(const struct fields_writer *writer, const struct flow_access *access)
{
    return access->thread == FLOW_NONE ? NULL : flow_thread(writer->flow, access->thread);
}

static void put_comm(const struct fields_writer *writer, const struct flow_access *access)
{
    const struct flow_thread *thread = thread_of(writer, access);
    put_name(writer, thread ? thread->name : NULL);
}

static void put_pid(const struct fields_writer *writer, const struct flow_access *access)
{
    const struct flow_thread *thread = thread_of(writer, access);
    put_number(writer, thread, thread ? thread->pid : 0);
}

static void put_tid(const struct fields_writer *writer, const struct flow_access *access)
{
    const struct flow_thread *thread = thread_of(writer, access);
    put_number(writer, thread && thread->tid, thread ? thread->tid : 0);
}

static void put_time(const struct fields_writer *writer, const struct flow_access *access)
{
    uint64_t start = flow_start(writer->flow);
    emit_nanoseconds(writer->emit, access->time > start ? access->time - start : 0, 9);
}

static void put_cpu(const struct fields_writer *writer, const struct flow_access *access)
{
    put_number(writer, access->cpu != UINT16_MAX, access->cpu);
}

/* Nodes as the kernel numbers them. */
static void put_node_number(const struct fields_writer *writer, int index)
{
    const struct topology *topology = flow_topology(writer->flow);
    bool known = index >= 0 && (unsigned)index < topology->node_count;
    put_number(writer, known, known ? topology->nodes[index].os_index : 0);
}

static void put_node(const struct fields_writer *writer, const struct flow_access *access)
{
    put_node_number(writer, access->from);
}

static void put_home(const struct fields_writer *writer, const struct flow_access *access)
{
    put_node_number(writer, access->home);
}

static void put_remote(const struct fields_writer *writer, const struct flow_access *access)
{
    put_number(writer, access->remote || access->home >= 0, access->remote);
}

static void put_op(const struct fields_writer *writer, const struct flow_access *access)
{
    unsigned both = access->flags & (SAMPLE_READ | SAMPLE_WRITE);
    if (both)
        emit_text(writer->emit, both == SAMPLE_READ ? "read" : both == SAMPLE_WRITE ? "write" : "update");
    else
        put_unknown(writer);
}

static void put_addr(const struct fields_writer *writer, const struct flow_access *access)
{
    emit_hex(writer->emit, access->addr);
}

static void put_physical(const struct fields_writer *writer, const struct flow_access *access)
{
    put_hex(writer, access->physical, access->physical);
}

static void put_size(const struct fields_writer *writer, const struct flow_access *access)
{
    put_number(writer, access->size, access->size);
}

static void put_latency(const struct fields_writer *writer, const struct flow_access *access)
{
    put_number(writer, access->has_latency, access->latency);
}

static void put_level(const struct fields_writer *writer, const struct flow_access *access)
{
    put_name(writer, access->level == LEVEL_UNKNOWN ? NULL : sample_level_name(access->level));
}

static void put_source(const struct fields_writer *writer, const struct flow_access *access)
{
    put_name(writer, sample_source_name(access->source));
}

static void put_first(const struct fields_writer *writer, const struct flow_access *access)
{
    put_number(writer, access->source == SOURCE_SOFT, (access->flags & SAMPLE_FIRST) != 0);
}

static void put_object(const struct fields_writer *writer, const struct flow_access *access)
{
    put_number(writer, access->object != FLOW_NONE, access->object);
}

static struct names_thing thing_of(const struct fields_writer *writer, const struct flow_access *access)
{
    return names_thing(writer->names, names_thing_of(writer->names, access->object));
}

static void put_kind(const struct fields_writer *writer, const struct flow_access *access)
{
    put_name(writer, thing_of(writer, access).kind);
}

static void put_object_name(const struct fields_writer *writer, const struct flow_access *access)
{
    struct names_thing thing = thing_of(writer, access);
    put_name(writer, thing.first == FLOW_NONE ? NULL : thing.name);
}

static void put_site(const struct fields_writer *writer, const struct flow_access *access)
{
    put_name(writer, thing_of(writer, access).site);
}

static void put_offset(const struct fields_writer *writer, const struct flow_access *access)
{
    struct flow_object object = {0};
    bool known = access->object != FLOW_NONE;
    if (known)
        object = flow_object_copy(writer->flow, access->object);
    put_hex(writer, known && access->addr >= object.addr, access->addr - object.addr);
}

static void put_ip(const struct fields_writer *writer, const struct flow_access *access)
{
    struct names_frame frame;
    bool known = place_of(writer, access, &frame);
    put_hex(writer, known, known ? frame.addr : 0);
}

static void put_sym(const struct fields_writer *writer, const struct flow_access *access)
{
    struct names_frame frame;
    put_name(writer, place_of(writer, access, &frame) && frame.named ? frame.function : NULL);
}

static void put_dso(const struct fields_writer *writer, const struct flow_access *access)
{
    struct names_frame frame;
    bool known = place_of(writer, access, &frame) && strcmp(frame.module, "?") != 0;
    put_name(writer, known ? frame.module : NULL);
}

static void put_srcline(const struct fields_writer *writer, const struct flow_access *access)
{
    struct names_frame frame;
    if (!place_of(writer, access, &frame) || !frame.line || !*frame.file) {
        put_unknown(writer);
        return;
    }
    char text[4096 + 16];
    snprintf(text, sizeof text, "%.4096s:%" PRIu32, frame.file, frame.line);
    put_name(writer, text);
}

/* Outermost first, as in folded stacks; a semicolon in a name is a colon. */
static void put_stack(const struct fields_writer *writer, const struct flow_access *access)
{
    const uint32_t *frames;
    char *text = NULL;
    size_t size = 0, count = names_chain_frames(writer->names, names_chain(writer->names, access), &frames);
    FILE *line = count ? open_memstream(&text, &size) : NULL;
    while (line && count-- > 0) {
        for (const char *at = names_frame(writer->names, frames[count]).function; *at; at++)
            fputc(*at == ';' ? ':' : *at, line);
        if (count)
            fputc(';', line);
    }
    if (line)
        fclose(line);
    put_name(writer, text);
    free(text);
}

static const struct field all[] = {
    {"comm", "name of the thread", put_comm},
    {"pid", "process", put_pid},
    {"tid", "thread", put_tid},
    {"time", "seconds since the start of the recording", put_time},
    {"cpu", "CPU that the thread ran on", put_cpu},
    {"node", "node that the access came from", put_node},
    {"home", "node of the memory", put_home},
    {"remote", "1 when the two differ, 0 when they do not", put_remote},
    {"op", "read, write; update: both at once, as atomic operations do", put_op},
    {"addr", "virtual address", put_addr},
    {"phys_addr", "physical address", put_physical},
    {"size", "bytes accessed", put_size},
    {"latency", "of the access, in the report's latency_unit", put_latency},
    {"level", "where it was answered: l1, l2, l3, ram and so on", put_level},
    {"source", "of the sample: soft, pebs, ibs, spe or faults", put_source},
    {"first", "1 for the first access of a burst", put_first},
    {"object", "number of the object, as in report object", put_object},
    {"kind", "of the object: heap, static, map, file, section or stack", put_kind},
    {"name", "of the object, as the source calls it", put_object_name},
    {"site", "function, file and line that allocated it", put_site},
    {"offset", "of the access in the object", put_offset},
    {"ip", "address of the instruction, in its binary", put_ip},
    {"sym", "function", put_sym},
    {"dso", "binary that the function is in", put_dso},
    {"srcline", "file and line", put_srcline},
    {"stack", "call chain, outermost function first, with semicolons between", put_stack},
};

enum { ALL = sizeof all / sizeof *all };

const char *field_name(const struct field *field)
{
    return field->name;
}

const char *field_help(const struct field *field)
{
    return field->help;
}

const struct field *field_at(unsigned index)
{
    return index < ALL ? &all[index] : NULL;
}

static const struct field *named(const char *name, size_t length)
{
    for (unsigned i = 0; i < ALL; i++)
        if (strlen(all[i].name) == length && memcmp(all[i].name, name, length) == 0)
            return &all[i];
    return NULL;
}

static int refuse(const char *name, size_t length, struct error *err)
{
    char list[512] = "";
    for (unsigned i = 0; i < ALL; i++) {
        strcat(list, i ? ", " : "");
        strcat(list, all[i].name);
    }
    return error_set(err, -EINVAL, "there is no field '%.*s'; the fields are %s", (int)(length < 100 ? length : 100),
                     name, list);
}

int fields_parse(struct fields *fields, const char *text, struct error *err)
{
    *fields = (struct fields){0};
    for (const char *at = text ? text : usual;; at++) {
        size_t length = strcspn(at, ",");
        const struct field *field = named(at, length);
        if (!field)
            return refuse(at, length, err);
        if (fields->count == FIELDS_MOST)
            return error_set(err, -EINVAL, "more than %d fields", FIELDS_MOST);
        fields->items[fields->count++] = field;
        at += length;
        if (!*at)
            return 0;
    }
}

void field_put(const struct fields_writer *writer, const struct field *field, const struct flow_access *access)
{
    field->put(writer, access);
}
