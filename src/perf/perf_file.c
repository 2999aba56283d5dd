/* perf/perf_file.c - the frame of a recording: header, sections, and one record after the other. */
#include "perf/perf_file.h"

#include "perf/file_parts.h"

#include <byteswap.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MAGIC 0x32454c4946524550ULL /* "PERFILE2" */

enum {
    PIPE_HEADER = 16,
    FILE_HEADER = 104,
    MAX_SECTION = 1 << 28, /* of a header feature or the attributes */
    MAX_AUX = 1 << 30,
};

struct section {
    uint64_t offset, size;
};

struct perf_file {
    struct perf_input input;
    const char *path;
    bool pipe;
    uint64_t data_end;
    struct perf_events events;
    struct perf_features features;
    struct perf_unpack unpack;
    struct perf_event_header header; /* of the latest record */
    uint8_t *aux;
    size_t aux_capacity;
    size_t pending; /* of the input: taken before the next record is looked at */
};

static int damaged(const struct perf_file *file, uint64_t offset, struct error *err, const char *what)
{
    return error_set(err, -EBADMSG, "%s is damaged at byte %" PRIu64 ": %s; what came before it was read", file->path,
                     offset, what);
}

static struct perf_walk walk_of(const uint8_t *bytes, size_t size)
{
    return (struct perf_walk){bytes, bytes + size, false};
}

static struct section read_section(struct perf_walk *walk)
{
    struct section section = {.offset = perf_walk64(walk)};
    section.size = perf_walk64(walk);
    return section;
}

/* The bytes of a section; NULL when the file has no such place. */
static const uint8_t *load(struct perf_file *file, struct section section)
{
    if (section.size > MAX_SECTION || perf_input_seek(&file->input, section.offset) < 0)
        return NULL;
    return perf_input_peek(&file->input, section.size, NULL);
}

static int read_ids(struct perf_file *file, const uint8_t *attr, uint64_t attr_size, struct section place,
                    struct error *err)
{
    const uint8_t *ids = load(file, place);
    if (!ids && place.size)
        return damaged(file, place.offset, err, "the ids of an event are past the end");
    struct error why;
    if (!perf_events_add(&file->events, walk_of(attr, attr_size), walk_of(ids, ids ? place.size : 0), &why))
        return damaged(file, place.offset, err, why.text);
    return 0;
}

static int read_attributes(struct perf_file *file, struct section attrs, uint64_t each, struct error *err)
{
    if (each < PERF_ATTR_SIZE_VER0 + sizeof(struct section) || attrs.size % each != 0)
        return damaged(file, attrs.offset, err, "the list of events has no sensible size");
    const uint8_t *bytes = load(file, attrs);
    if (!bytes)
        return damaged(file, attrs.offset, err, "the list of events is past the end");
    uint8_t *copy = mem_alloc(attrs.size ? attrs.size : 1); /* loading ids overwrites the buffer */
    memcpy(copy, bytes, attrs.size);
    int failed = 0;
    for (uint64_t at = 0; at < attrs.size && failed == 0; at += each) {
        struct perf_walk walk = walk_of(copy + at + each - sizeof(struct section), sizeof(struct section));
        failed = read_ids(file, copy + at, each - sizeof(struct section), read_section(&walk), err);
    }
    free(copy);
    return failed;
}

static void read_features(struct perf_file *file, const uint64_t *bits)
{
    unsigned count = 0;
    for (unsigned word = 0; word < FEATURE_BITS / 64; word++)
        count += (unsigned)__builtin_popcountll(bits[word]);
    struct section table = {file->data_end, count * sizeof(struct section)};
    const uint8_t *bytes = load(file, table);
    if (!bytes)
        return; /* a recording that was cut off: perf writes them last */
    struct section sections[FEATURE_BITS];
    struct perf_walk walk = walk_of(bytes, table.size);
    for (unsigned i = 0; i < count; i++)
        sections[i] = read_section(&walk);
    for (unsigned bit = 0, i = 0; bit < FEATURE_BITS; bit++) {
        if (!(bits[bit / 64] >> (bit % 64) & 1))
            continue;
        const uint8_t *feature = load(file, sections[i]);
        if (feature)
            perf_features_read(&file->features, &file->events, bit, walk_of(feature, sections[i].size));
        i++;
    }
}

static int read_file_header(struct perf_file *file, struct error *err)
{
    const uint8_t *bytes = perf_input_peek(&file->input, FILE_HEADER, NULL);
    if (!bytes)
        return damaged(file, 0, err, "the header is cut short");
    struct perf_walk walk = walk_of(bytes + PIPE_HEADER, FILE_HEADER - PIPE_HEADER);
    uint64_t attr_size = perf_walk64(&walk);
    struct section attrs = read_section(&walk), data = read_section(&walk);
    read_section(&walk); /* event types: empty since 2011 */
    uint64_t bits[FEATURE_BITS / 64];
    for (unsigned i = 0; i < FEATURE_BITS / 64; i++)
        bits[i] = perf_walk64(&walk);
    if (data.offset < FILE_HEADER || data.size > INT64_MAX - data.offset)
        return damaged(file, 0, err, "the header's places make no sense");
    file->data_end = data.offset + data.size;
    if (data.size == 0) /* perf was killed before it could write the size: everything up to the end */
        file->data_end = UINT64_MAX;
    if (read_attributes(file, attrs, attr_size, err) < 0)
        return -EBADMSG;
    if (data.size)
        read_features(file, bits);
    int failed = perf_input_seek(&file->input, data.offset);
    return failed < 0 ? error_set(err, failed, "cannot read %s: %s", file->path, strerror(-failed)) : 0;
}

static int read_header(struct perf_file *file, struct error *err)
{
    const uint8_t *bytes = perf_input_peek(&file->input, PIPE_HEADER, NULL);
    if (!bytes && errno)
        return error_set(err, -errno, "cannot read %s: %s", file->path, strerror(errno));
    uint64_t magic = 0;
    if (bytes)
        memcpy(&magic, bytes, sizeof magic);
    if (magic == bswap_64(MAGIC))
        return error_set(err, -ENOTSUP, "%s was recorded by a machine of the other byte order", file->path);
    if (magic != MAGIC)
        return error_set(err, -EBADMSG, "%s is no recording of perf: record one with 'perf mem record'", file->path);
    struct perf_walk walk = walk_of(bytes + sizeof magic, sizeof magic);
    uint64_t size = perf_walk64(&walk);
    file->pipe = size == PIPE_HEADER;
    file->data_end = UINT64_MAX;
    if (file->pipe) {
        perf_input_skip(&file->input, PIPE_HEADER);
        return 0;
    }
    if (size != FILE_HEADER)
        return error_set(err, -EBADMSG, "%s: a header of %" PRIu64 " bytes is of no known perf", file->path, size);
    return read_file_header(file, err);
}

struct perf_file *perf_file_open(const char *path, struct error *err)
{
    struct perf_file *file = mem_zalloc(sizeof *file);
    file->path = path;
    perf_features_init(&file->features);
    if (perf_input_open(&file->input, path, err) < 0) {
        perf_file_close(file);
        return NULL;
    }
    if (read_header(file, err) < 0) {
        perf_file_close(file);
        return NULL;
    }
    return file;
}

void perf_file_close(struct perf_file *file)
{
    if (!file)
        return;
    perf_input_close(&file->input);
    perf_events_free(&file->events);
    perf_features_free(&file->features);
    perf_unpack_free(&file->unpack);
    free(file->aux);
    free(file);
}

/* The next record of what was unpacked; NULL when none is whole. */
static const uint8_t *unpacked(struct perf_file *file, size_t *size)
{
    struct perf_unpack *unpack = &file->unpack;
    size_t there = unpack->end - unpack->start;
    if (there < sizeof(struct perf_event_header))
        return NULL;
    struct perf_walk walk = walk_of(unpack->bytes + unpack->start + 6, 2);
    *size = perf_walk16(&walk);
    if (*size < sizeof(struct perf_event_header) || *size > there)
        return NULL;
    unpack->start += *size;
    return unpack->bytes + unpack->start - *size;
}

/* The next record of the file, not taken yet: file->pending is its size. 1, 0 at the end, or an error. */
static int stored(struct perf_file *file, const uint8_t **bytes, struct error *err)
{
    perf_input_skip(&file->input, file->pending);
    file->pending = 0;
    uint64_t offset = file->input.offset;
    if (offset >= file->data_end)
        return 0;
    size_t got;
    const uint8_t *head = perf_input_peek(&file->input, sizeof(struct perf_event_header), &got);
    if (!head && got == 0)
        return file->data_end == UINT64_MAX && !errno ? 0 : damaged(file, offset, err, "the file ends too soon");
    if (!head)
        return damaged(file, offset, err, "a record is cut short");
    struct perf_walk walk = walk_of(head + 6, 2);
    uint16_t size = perf_walk16(&walk);
    if (size < sizeof(struct perf_event_header))
        return damaged(file, offset, err, "a record has no size");
    if (size > file->data_end - offset)
        return damaged(file, offset, err, "a record goes on beyond the data");
    *bytes = perf_input_peek(&file->input, size, NULL);
    if (!*bytes)
        return damaged(file, offset, err, "a record is cut short");
    file->pending = size;
    return 1;
}

/* Bytes that follow a record without being one. Copied: looking further ahead moves the buffer. */
static int follow(struct perf_file *file, uint64_t size, const char *what, struct error *err)
{
    uint64_t offset = file->input.offset;
    if (size > MAX_AUX || size > file->data_end - offset - file->pending)
        return damaged(file, offset, err, what);
    const uint8_t *both = perf_input_peek(&file->input, file->pending + size, NULL);
    if (!both)
        return damaged(file, offset, err, what);
    if (file->aux_capacity < size) {
        file->aux = mem_resize(file->aux, size);
        file->aux_capacity = size;
    }
    if (size)
        memcpy(file->aux, both + file->pending, size);
    file->pending += size;
    return 0;
}

static int unpack_record(struct perf_file *file, const uint8_t *bytes, size_t size, uint32_t type, struct error *err)
{
    const uint8_t *payload = bytes + sizeof(struct perf_event_header);
    size_t length = size - sizeof(struct perf_event_header);
    if (type == RECORD_COMPRESSED2) {
        struct perf_walk walk = walk_of(payload, length);
        uint64_t exact = perf_walk64(&walk);
        if (walk.short_of || exact > length - 8)
            return damaged(file, file->input.offset, err, "a compressed record is longer than it is");
        payload += 8;
        length = exact;
    }
    int failed = perf_unpack_add(&file->unpack, payload, length);
    return failed < 0 ? damaged(file, file->input.offset, err, "a compressed record cannot be unpacked") : 0;
}

static void read_update(struct perf_file *file, struct perf_walk walk)
{
    enum { UPDATE_NAME = 2 };
    uint64_t kind = perf_walk64(&walk), id = perf_walk64(&walk);
    if (walk.short_of || kind != UPDATE_NAME)
        return;
    perf_events_name(&file->events, id, perf_features_text(&file->features, walk.at, (size_t)(walk.end - walk.at)));
}

static int read_attr_record(struct perf_file *file, struct perf_walk walk, struct error *err)
{
    struct perf_walk peek = walk;
    perf_walk32(&peek);
    uint32_t size = perf_walk32(&peek);
    struct error why;
    const uint8_t *attr = perf_walk_bytes(&walk, size ? size : PERF_ATTR_SIZE_VER0);
    if (!attr || !perf_events_add(&file->events, walk_of(attr, (size_t)(walk.at - attr)), walk, &why))
        return damaged(file, file->input.offset, err, "the description of an event is cut short");
    return 0;
}

/* What perf itself put between the kernel's records. */
static int look_into(struct perf_file *file, const uint8_t *bytes, size_t size, struct error *err)
{
    struct perf_walk walk = walk_of(bytes + sizeof file->header, size - sizeof file->header);
    switch (file->header.type) {
    case RECORD_HEADER_ATTR:
        return read_attr_record(file, walk, err);
    case RECORD_EVENT_UPDATE:
        read_update(file, walk);
        return 0;
    case RECORD_HEADER_FEATURE: {
        uint64_t feature = perf_walk64(&walk);
        if (!walk.short_of && feature < FEATURE_BITS)
            perf_features_read(&file->features, &file->events, (unsigned)feature, walk);
        return 0;
    }
    case RECORD_BUILD_ID:
        perf_features_build_id(&file->features, walk, file->header.misc);
        return 0;
    case RECORD_TRACING_DATA:
        return follow(file, perf_walk32(&walk), "trace data go on beyond the end", err);
    case RECORD_AUXTRACE:
        return follow(file, perf_walk64(&walk), "hardware trace data go on beyond the end", err);
    default:
        return 0;
    }
}

int perf_file_next(struct perf_file *file, struct perf_file_record *record, struct error *err)
{
    for (;;) {
        size_t size = 0;
        const uint8_t *bytes = unpacked(file, &size);
        bool inner = bytes != NULL;
        if (!inner) {
            int more = stored(file, &bytes, err);
            if (more <= 0)
                return more;
            size = file->pending;
        }
        struct perf_walk walk = walk_of(bytes, size);
        file->header.type = perf_walk32(&walk);
        file->header.misc = perf_walk16(&walk);
        file->header.size = (uint16_t)size;
        uint64_t offset = file->input.offset;
        if (!inner && (file->header.type == RECORD_COMPRESSED || file->header.type == RECORD_COMPRESSED2)) {
            if (unpack_record(file, bytes, size, file->header.type, err) < 0)
                return err ? err->code : -EBADMSG;
            continue;
        }
        int failed = inner ? 0 : look_into(file, bytes, size, err);
        if (failed < 0)
            return failed;
        if (file->header.type == RECORD_AUXTRACE && !inner)
            bytes = file->input.buffer + file->input.start; /* looking ahead may have moved it */
        *record = (struct perf_file_record){
            .header = &file->header,
            .bytes = bytes,
            .size = size,
            .event = file->header.type < RECORD_HEADER_ATTR ? perf_events_of(&file->events, &file->header, bytes, size)
                                                            : NULL,
            .aux = file->header.type == RECORD_AUXTRACE ? file->aux : NULL,
            .aux_size = file->header.type == RECORD_AUXTRACE ? file->pending - size : 0,
            .offset = offset,
        };
        return 1;
    }
}

size_t perf_file_events(const struct perf_file *file, const struct perf_file_event **events)
{
    *events = file->events.items.items;
    return file->events.items.count;
}

const struct perf_file_facts *perf_file_facts(const struct perf_file *file)
{
    return &file->features.facts;
}

size_t perf_file_build_id(const struct perf_file *file, const char *path, uint8_t build_id[20])
{
    for (size_t i = 0; i < file->features.builds.count; i++) {
        const struct perf_build *build = &file->features.builds.items[i];
        if (strcmp(build->path, path) == 0) {
            memcpy(build_id, build->id, build->size);
            return build->size;
        }
    }
    return 0;
}
