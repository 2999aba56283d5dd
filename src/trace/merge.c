#include "trace/merge.h"

#include "base/array.h"
#include "base/order.h"
#include "base/progress.h"
#include "trace/file.h"
#include "trace/index.h"
#include "trace/pack.h"
#include "trace/part_figures.h"
#include "trace/session_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct merged_part {
    const char *path;
    int fd;
    struct trace_index index;
    const char *run;
    uint64_t number, count; /* of the first file in it; of files, when it was merged itself */
};

struct output {
    int fd;
    uint64_t bytes;
    struct packer *packer;
    uint8_t *block;
    size_t capacity;
};

static int open_part(struct merged_part *part, const char *path, struct error *err)
{
    *part = (struct merged_part){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (part->fd < 0)
        return error_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
    int code = trace_index_build(&part->index, part->fd, path, err);
    if (code < 0)
        return code;
    part->run = trace_session_get(part->index.session, "run");
    part->number = trace_session_number(part->index.session, "part", 0);
    part->count = trace_session_number(part->index.session, "parts", 1);
    if (!part->run || part->number == 0 || part->count == 0 || part->number > UINT32_MAX || part->count > UINT32_MAX)
        return error_set(err, -EINVAL,
                         "%s is a recording of its own: only files of one 'numalens record --rotate' can be merged",
                         path);
    if (part->index.torn)
        return error_set(err, -EINVAL, "%s: %s", path, part->index.damage);
    return 0;
}

ORDER_BY(by_number, struct merged_part, ORDER(a->number, b->number))

/* Whether `part` follows `before`, with which it is in order. */
static int check_next(const struct merged_part *before, const struct merged_part *part, struct error *err)
{
    uint64_t due = before->number + before->count;
    if (part->number < due)
        return error_set(err, -EINVAL, "%s and %s both have file %" PRIu64 " of the run", before->path, part->path,
                         part->number);
    if (part->number > due + 1)
        return error_set(err, -EINVAL,
                         "files %" PRIu64 " to %" PRIu64
                         " of the run are missing between %s and %s: name those before or those behind",
                         due, part->number - 1, before->path, part->path);
    if (part->number > due)
        return error_set(err, -EINVAL,
                         "file %" PRIu64
                         " of the run is missing between %s and %s: name those before it or those behind",
                         due, before->path, part->path);
    if (!before->index.ending)
        return error_set(err, -EINVAL, "%s has no end, and %s follows: name those before or those behind", before->path,
                         part->path);
    if (!part->index.has_carried)
        return error_set(err, -EINVAL, "%s does not say what it repeats of %s: its start could not be written whole",
                         part->path, before->path);
    return 0;
}

static int check_parts(const struct merged_part *parts, size_t count, struct error *err)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(parts[i].run, parts[0].run) != 0)
            return error_set(err, -EINVAL, "%s and %s are of different runs", parts[0].path, parts[i].path);
    for (size_t i = 1; i < count; i++) {
        int code = check_next(&parts[i - 1], &parts[i], err);
        if (code < 0)
            return code;
    }
    return 0;
}

static int put(struct output *output, const void *bytes, size_t size, struct error *err)
{
    int code = trace_file_append(output->fd, output->bytes, bytes, size);
    if (code < 0)
        return error_set(err, code, "cannot write the merged trace: %s", strerror(-code));
    output->bytes += size;
    return 0;
}

static int put_session(struct output *output, uint16_t kind, const struct trace_session *session, struct error *err)
{
    size_t length, size;
    char *text = trace_session_to_text(session, &length);
    const void *block = packer_text(output->packer, kind, text, length, (uint32_t)trace_session_count(session), &size);
    free(text);
    return put(output, block, size, err);
}

static int copy_blocks(struct output *output, const struct merged_part *part, size_t from, size_t to, struct error *err)
{
    for (size_t i = from; i < to; i++) {
        const struct index_block *block = &part->index.blocks.items[i];
        size_t size = sizeof block->header + block->header.packed_bytes;
        if (output->capacity < size) {
            free(output->block);
            output->block = mem_alloc(output->capacity = size);
        }
        if (!trace_read_at(part->fd, block->payload - sizeof block->header, output->block, size))
            return error_set(err, -EIO, "%s cannot be read again: was it changed?", part->path);
        int code = put(output, output->block, size, err);
        if (code < 0)
            return code;
        progress_set(output->bytes);
    }
    return 0;
}

static struct trace_session *session_copy(const struct trace_session *session)
{
    struct trace_session *copy = trace_session_new();
    for (size_t i = 0; i < trace_session_count(session); i++)
        trace_session_set(copy, trace_session_key(session, i),
                          trace_session_get(session, trace_session_key(session, i)));
    return copy;
}

static int put_parts(struct output *output, const struct merged_part *parts, size_t count, struct error *err)
{
    const struct merged_part *last = &parts[count - 1];
    struct trace_file_header header = {.version = TRACE_VERSION,
                                       .block_header_bytes = sizeof(struct trace_block_header)};
    memcpy(header.magic, TRACE_FILE_MAGIC, sizeof header.magic);
    struct trace_session *session = session_copy(parts[0].index.session), *nothing = trace_session_new();
    trace_session_setf(session, "parts", "%" PRIu64, last->number + last->count - parts[0].number);
    int code = put(output, &header, sizeof header, err);
    if (code == 0)
        code = put_session(output, TRACE_BLOCK_SESSION, session, err);
    /* What the first one repeats is still only repeated. */
    if (code == 0 && parts[0].index.has_carried) {
        code = copy_blocks(output, &parts[0], 0, parts[0].index.carried, err);
        if (code == 0)
            code = put_session(output, TRACE_BLOCK_CARRIED, nothing, err);
    }
    for (size_t i = 0; i < count && code == 0; i++)
        code = copy_blocks(output, &parts[i], parts[i].index.carried, parts[i].index.blocks.count, err);
    if (code == 0 && last->index.ending) {
        struct trace_session *ending = session_copy(last->index.ending);
        for (size_t i = 0; i + 1 < count; i++)
            trace_parts_add(ending, parts[i].index.ending);
        code = put_session(output, TRACE_BLOCK_ENDING, ending, err);
        trace_session_free(ending);
    }
    trace_session_free(session);
    trace_session_free(nothing);
    return code;
}

/* Of the blocks that will be copied, about. */
static uint64_t bytes_of(const struct merged_part *parts, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i ? parts[i].index.carried : 0; k < parts[i].index.blocks.count; k++)
            bytes += sizeof(struct trace_block_header) + parts[i].index.blocks.items[k].header.packed_bytes;
    return bytes;
}

static int write_merged(const struct merged_part *parts, size_t count, const char *path, struct error *err)
{
    struct output output = {.fd = trace_file_create(path, err)};
    if (output.fd < 0)
        return output.fd;
    output.packer = packer_new();
    progress_begin("merging", bytes_of(parts, count));
    int code = put_parts(&output, parts, count, err);
    if (close(output.fd) < 0 && code == 0)
        code = error_set(err, -errno, "cannot write %s: %s", path, strerror(errno));
    packer_free(output.packer);
    free(output.block);
    if (code < 0)
        trace_file_remove(path);
    return code;
}

int trace_merge(const char *const *paths, size_t count, const char *output, struct trace_merged *merged,
                struct error *err)
{
    struct merged_part *parts = mem_zalloc((count + 1) * sizeof *parts);
    int code = count ? 0 : error_set(err, -EINVAL, "there is no file to merge");
    size_t opened = 0;
    while (code == 0 && opened < count)
        code = open_part(&parts[opened], paths[opened], err), opened++;
    if (code == 0) {
        qsort(parts, count, sizeof *parts, by_number);
        code = check_parts(parts, count, err);
    }
    if (code == 0)
        code = write_merged(parts, count, output, err);
    if (code == 0 && merged) {
        const struct merged_part *last = &parts[count - 1];
        *merged = (struct trace_merged){parts[0].number, last->number + last->count - 1,
                                        last->index.ending && !trace_session_get(last->index.ending, "next_part")};
    }
    for (size_t i = 0; i < opened; i++) {
        trace_index_free(&parts[i].index);
        if (parts[i].fd >= 0)
            close(parts[i].fd);
    }
    free(parts);
    return code;
}

char *trace_run_of(const char *path)
{
    struct merged_part part;
    char *run = open_part(&part, path, NULL) == 0 ? mem_strdup(part.run) : NULL;
    trace_index_free(&part.index);
    if (part.fd >= 0)
        close(part.fd);
    return run;
}
